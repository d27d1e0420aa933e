"""Work that leaves by itself, and work whose lease protects it no more."""

from __future__ import annotations

import pytest

from scheduler.events import Leaving, Unprotected
from scheduler.invariants import check_invariants
from scheduler.layout import Reclaim
from scheduler.model import WorkloadId
from scheduler.standing import EngineError
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload

W = WorkloadId


def a_cluster() -> Cluster:
    layout = a_layout(a_queue("A", 16, reclaim=Reclaim.ANY), a_queue("B"))
    return Cluster(layout, a_node("n1"), a_node("n2"))


def test_who_leaves_already_is_not_stopped_for_anybody() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("old", "B", gpus=8), a_workload("other", "B", gpus=8))
    cluster.engine.apply(Leaving(workload=W("old")))
    assert cluster.engine.leaving() == ("old",)
    cluster.submit(a_workload("new", "A", gpus=8))
    decisions = cluster.cycle()
    assert (decisions.admissions, decisions.preemptions) == ((), ())
    cluster.finish("old")
    assert [a.workload for a in cluster.cycle().admissions] == ["new"]
    check_invariants(cluster.engine)


def test_told_twice_is_told_once() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("old", "B", gpus=8))
    for _ in range(2):
        cluster.engine.apply(Leaving(workload=W("old")))
    cluster.finish("old")
    assert cluster.engine.figures().used == 0
    check_invariants(cluster.engine)


def test_a_lease_that_protects_no_more_makes_a_target() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("long", "B", pods=2, gpus=8, preemptible=False))
    cluster.submit(a_workload("new", "A", gpus=8))
    assert not cluster.cycle().preemptions
    cluster.engine.apply(Unprotected(workload=W("long")))
    assert [p.target for p in cluster.cycle().preemptions] == ["long"]
    check_invariants(cluster.engine)


@pytest.mark.parametrize("event", [Leaving, Unprotected])
def test_only_what_runs_can_leave_or_lose_protection(
    event: type[Leaving] | type[Unprotected],
) -> None:
    with pytest.raises(EngineError):
        a_cluster().engine.apply(event(workload=W("nobody")))
