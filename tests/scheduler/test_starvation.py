"""Who has waited beyond the target of his class, and in which order that is told."""

from __future__ import annotations

from dataclasses import replace

from scheduler.layout import Reclaim
from scheduler.model import Priority, WaitReason, WorkloadId
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload

LOW, HIGH = Priority.LOW, Priority.HIGH


def full(**targets: float) -> Cluster:
    """A cluster of 8 GPUs that are taken."""
    waits = {Priority(name): wait for name, wait in targets.items()}
    layout = a_layout(a_queue("A", 8), target_waits=waits)
    cluster = Cluster(layout, a_node("n"))
    cluster.start(a_workload("first", "A", 1, 8, preemptible=False))
    return cluster


def late(cluster: Cluster, now: float, *skip: str) -> list[tuple[str, float]]:
    found = cluster.engine.starving(now, [WorkloadId(one) for one in skip])
    return [(one.workload, one.waited) for one in found]


def test_a_wait_of_just_the_target_is_no_starvation() -> None:
    cluster = full(low=100.0)
    cluster.submit(a_workload("w", "A", created=1000.0, priority_class=LOW))
    cluster.cycle()
    assert late(cluster, 1100.0) == []
    assert late(cluster, 1100.5) == [("w", 100.5)]


def test_each_class_has_its_own_target_and_one_without_never_starves() -> None:
    cluster = full(high=10.0)
    cluster.submit(
        a_workload("low", "A", created=1000.0, priority_class=LOW),
        a_workload("high", "A", created=1000.0, priority_class=HIGH),
    )
    cluster.cycle()
    assert late(cluster, 5000.0) == [("high", 4000.0)]


def test_the_longest_wait_comes_first_then_the_id_and_who_was_told_is_left_out() -> None:
    cluster = full(low=10.0)
    for name, created in (("b", 1000.0), ("a", 1000.0), ("c", 900.0), ("d", 1990.0)):
        cluster.submit(a_workload(name, "A", created=created, priority_class=LOW))
    cluster.cycle()
    assert late(cluster, 2000.0) == [("c", 1100.0), ("a", 1000.0), ("b", 1000.0)]
    assert late(cluster, 2000.0, "c", "b") == [("a", 1000.0)]


def test_each_is_told_with_the_reason_for_which_it_waits() -> None:
    cluster = full(low=10.0)
    cluster.submit(a_workload("w", "A", 1, 4, created=1000.0, priority_class=LOW))
    cluster.cycle()
    (found,) = cluster.engine.starving(2000.0)
    assert found.target_wait == 10.0
    assert found.explanation.verdict.reason is WaitReason.QUOTA


def test_who_waits_for_others_to_leave_starves_like_anybody() -> None:
    lender = a_queue("A", 8, reclaim=Reclaim.ANY)
    layout = replace(a_layout(lender, a_queue("B", 0)), target_waits={LOW: 10.0})
    cluster = Cluster(layout, a_node("n"))
    cluster.start(a_workload("lent", "B", 1, 8))
    cluster.submit(a_workload("w", "A", 1, 8, created=1000.0, priority_class=LOW))
    assert [p.target for p in cluster.cycle().preemptions] == ["lent"]
    (found,) = cluster.engine.starving(2000.0)
    assert found.workload == "w"
    assert found.explanation.verdict.reason is WaitReason.WAITING_FOR_TARGETS
