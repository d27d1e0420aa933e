"""The standing of work whose lease has run out, and what becomes of it later."""

from __future__ import annotations

from dataclasses import replace

from scheduler.events import (
    Amended,
    Boosted,
    Evicted,
    Restored,
    Submitted,
    Unprotected,
    UsageRestored,
)
from scheduler.invariants import check_invariants
from scheduler.lapse import LAPSED, lapse, own, requeued
from scheduler.layout import Aging, Order, UsageRules
from scheduler.model import GPU, Lapsed, TeamName, Usage, Workload, WorkloadId
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload

OLD = WorkloadId("old")


def a_cluster(aging: Aging | None = None, min_runtime: float = 0.0) -> Cluster:
    """Two nodes and one queue in which only 9 may stop others, but leases end."""
    queue = a_queue(
        "A",
        16,
        within_from=9,
        lapses=True,
        aging=aging,
        min_runtime=min_runtime,
        min_runtime_own=min_runtime,
    )
    return Cluster(a_layout(queue), a_node("n1"), a_node("n2"))


def standing(cluster: Cluster, one: WorkloadId = OLD) -> tuple[int, bool, Lapsed | None, bool]:
    workload = cluster.engine.workload(one)
    assert workload is not None
    return workload.priority, workload.preemptible, workload.lapsed, workload.barred


def overstayed(cluster: Cluster) -> Workload:
    """One that fills the cluster, of the highest rank and protected, whose lease is over."""
    old = a_workload(OLD, "A", 2, 8, priority=9, preemptible=False)
    cluster.start(old)
    cluster.engine.apply(Unprotected(workload=OLD))
    return old


def test_a_lease_ends_once() -> None:
    work = a_workload(OLD, "A", priority=7, preemptible=False)
    over = lapse(work)
    assert lapse(over) == over
    assert own(over) == work
    assert requeued(over) == replace(work, barred=True)
    assert requeued(work) == work


def test_what_was_owed_to_waiting_is_gone() -> None:
    work = replace(a_workload(OLD, "A", priority=17), raised=10)
    assert own(lapse(work)) == replace(work, priority=7, raised=0)


def test_it_has_its_standing_back_when_it_waits_again_and_starts_unbarred() -> None:
    cluster = a_cluster()
    overstayed(cluster)
    assert standing(cluster) == (LAPSED, True, Lapsed(priority=9, preemptible=False), False)
    cluster.engine.apply(Evicted(workload=OLD, at=1.0))
    assert standing(cluster) == (9, False, None, True)
    assert [a.workload for a in cluster.cycle().admissions] == [OLD]
    assert standing(cluster) == (9, False, None, False)
    check_invariants(cluster.engine)


def test_a_boost_and_another_class_count_when_it_waits_again() -> None:
    cluster = a_cluster()
    old = overstayed(cluster)
    cluster.engine.apply(Boosted(workload=OLD, by=5))
    assert standing(cluster)[0] == LAPSED
    cluster.engine.apply(Amended(workload=replace(old, priority=2), at=1.0))
    assert standing(cluster)[::2] == (LAPSED, Lapsed(priority=7, preemptible=False))
    cluster.engine.apply(Evicted(workload=OLD, at=2.0))
    assert standing(cluster)[0] == 7
    cluster.engine.apply(Boosted(workload=OLD, by=0))
    assert standing(cluster)[0] == 2


def test_restored_it_counts_as_before_however_long_it_had_waited() -> None:
    aging = Aging(after=1.0, every=1.0, step=1, most=5)
    first, again = a_cluster(aging=aging), a_cluster(aging=aging)
    overstayed(first)
    ((workload, admission),) = first.engine.running()
    again.engine.apply(Restored(workload=workload, admission=replace(admission, at=100.0)))
    assert standing(again) == standing(first)


def test_submitted_anew_it_has_its_own_standing() -> None:
    cluster = a_cluster()
    over = lapse(a_workload(OLD, "A", priority=7, preemptible=False))
    cluster.engine.apply(Submitted(workload=over))
    assert standing(cluster) == (7, False, None, True)


def test_a_change_while_it_waits_does_not_lift_the_bar() -> None:
    cluster = a_cluster()
    old = overstayed(cluster)
    cluster.submit(a_workload("hero", "A", 2, 8, priority=1))
    assert [p.target for p in cluster.cycle().preemptions] == [OLD]
    cluster.engine.apply(Evicted(workload=OLD, at=1.0))
    assert [a.workload for a in cluster.cycle().admissions] == ["hero"]
    cluster.engine.apply(Amended(workload=replace(old, name="x", created=5.0), at=2.0))
    assert not cluster.cycle()
    assert standing(cluster)[3]


def test_a_minimum_run_time_ends_with_the_lease() -> None:
    cluster = a_cluster(min_runtime=1e6)
    overstayed(cluster)
    cluster.submit(a_workload("hero", "A", 1, 8, priority=1))
    assert [p.target for p in cluster.cycle().preemptions] == [OLD]


def test_by_usage_too_leases_that_are_over_come_first() -> None:
    queue = a_queue("A", 16, order=Order.USAGE, lapses=True)
    usage = UsageRules(half_life=3600.0, interval=60.0, weights={GPU: 1.0})
    cluster = Cluster(a_layout(queue, usage=usage), a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("light", "A", 1, 8, team="y"), a_workload("heavy", "A", 1, 8, team="x")
    )
    cluster.engine.apply(UsageRestored(usage=Usage(team=TeamName("x"), chip_hours=9.0, at=0.0)))
    cluster.submit(a_workload("first", "A", 1, 8, priority=5, team="y"))
    cluster.engine.apply(Unprotected(workload=WorkloadId("light")))
    assert [p.target for p in cluster.cycle().preemptions] == ["light"]
