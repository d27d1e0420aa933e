"""Whom the policy protects, and what stopping somebody would cost."""

from __future__ import annotations

from scheduler.events import Checkpointed, Finished
from scheduler.layout import Layout, Options, Reclaim
from scheduler.model import Flip, WorkloadId
from scheduler.protection import Flips, cost, guards, outranks, safe_times
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload

A, B, C = WorkloadId("a"), WorkloadId("b"), WorkloadId("c")


def test_without_a_bound_nobody_is_counted() -> None:
    flips = Flips(None)
    assert flips.count(A, B, 1.0) is None
    assert not flips.concern(A)
    assert not flips.forbid(A, B)


def test_the_last_flip_that_is_allowed_is_told_and_ends_it_for_both() -> None:
    flips = Flips(2)
    assert flips.count(B, A, 1.0) is None
    assert not flips.forbid(A, B)
    assert flips.count(A, B, 2.0) == Flip(pair=(A, B), times=2, at=2.0)
    assert flips.forbid(A, B)
    assert flips.forbid(B, A)
    assert flips.concern(A)
    assert not flips.forbid(A, C), "others may still stop them"
    flips.lifted = True
    assert not flips.forbid(A, B)


def test_who_is_gone_for_good_is_forgotten_on_both_sides() -> None:
    flips = Flips(1)
    flips.count(A, B, 1.0)
    flips.count(A, C, 1.0)
    flips.forget(A)
    assert not flips.concern(B)
    assert not flips.concern(C)
    copied = flips.copy()
    copied.count(B, C, 2.0)
    assert not flips.forbid(B, C)


def layout(**own: float) -> Layout:
    lender = a_queue("A", 8, reclaim=Reclaim.ANY)
    return a_layout(lender, a_queue("B", 0, **own))  # type: ignore[arg-type]  # passed on


def test_a_policy_protects_if_it_says_so_anywhere() -> None:
    assert not guards(layout())
    assert guards(layout(min_runtime=60.0))
    assert guards(layout(min_runtime_own=60.0))
    assert guards(a_layout(a_queue("A", 8), options=Options(flips_at_most=2)))


def test_the_times_at_which_more_may_be_stopped_are_those_still_to_come() -> None:
    cluster = Cluster(layout(min_runtime=60.0, min_runtime_own=30.0), a_node("n"))
    cluster.start(a_workload("a", "B", 1, 2), a_workload("b", "B", 1, 2), later=10.0)
    state = cluster.engine._state
    assert safe_times(state, 0) == [1070.0, 1080.0]
    assert safe_times(state, 1) == [1040.0, 1050.0], "another time holds in the own queue"
    state.look_at(1045.0)
    assert safe_times(state, 1) == [1050.0]


def test_what_waiting_adds_counts_only_against_later_work() -> None:
    raised = a_workload("a", "A", priority=15, raised=10, created=100.0)
    assert outranks(raised, a_workload("b", "A", priority=10, created=200.0))
    assert not outranks(raised, a_workload("b", "A", priority=10, created=50.0))
    assert outranks(raised, a_workload("b", "A", priority=4, created=50.0))
    assert not outranks(raised, a_workload("b", "A", priority=15, created=200.0))


def test_the_cost_is_what_was_done_since_the_last_checkpoint_or_the_start() -> None:
    cluster = Cluster(layout(), a_node("n"))
    cluster.start(a_workload("a", "A", 2, 2), later=0.0)
    running = cluster.engine._state.running[A]
    assert cost(running, 1000.0 + 1800.0) == 4 * 0.5
    cluster.engine.apply(Checkpointed(workload=A, at=1000.0 + 900.0))
    assert cost(running, 1000.0 + 1800.0) == 4 * 0.25
    assert cost(running, 1000.0) == 0.0, "a clock that was set back makes nothing cheaper than free"
    cluster.engine.apply(Finished(workload=A, at=2000.0))
