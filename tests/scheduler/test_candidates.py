"""Who may be stopped, by which right and in which order: the walk over the cohort tree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.candidates import Attack, Target, Variant, find_sources, in_order, sort_targets
from scheduler.events import Checkpointed
from scheduler.layout import BorrowWithin, Layout, Options, Reclaim, Within
from scheduler.model import WorkloadId
from tests.scheduler.builders import (
    Cluster,
    a_cohort,
    a_layout,
    a_node,
    a_queue,
    a_workload,
)
from tests.scheduler.worlds import World, layouts


def attack(cluster: Cluster, queue: str, gpus: int, priority: int = 0) -> Attack:
    """The question whom to stop for so many GPUs of a queue."""
    state = cluster.engine._state
    return Attack(
        state=state,
        workload=a_workload("mine", queue, 1, gpus, priority=priority, created=2000.0),
        queue=state.tree.queue_index[state.layout.queue(queue).name],  # type: ignore[arg-type]
        amounts=((0, gpus),),
        short=frozenset((0,)),
    )


def rights(cluster: Cluster, queue: str, gpus: int, priority: int = 0) -> dict[str, Variant]:
    """Who may be stopped and by which right, in order."""
    question = attack(cluster, queue, gpus, priority)
    found = find_sources(question)
    return {
        target.running.workload.id: target.variant
        for sources in (found.hierarchy, found.priority, found.own)
        for target in in_order(question, sources, set())
    }


def two_levels(**of_a: object) -> Layout:
    """A and B share a cohort; C is in another one below the same root."""
    return a_layout(
        a_queue("A", 8, cohort="left", **of_a),  # type: ignore[arg-type]  # passed on
        a_queue("B", 0, cohort="left"),
        a_queue("C", 0, cohort="right"),
        cohorts=(a_cohort("all"), a_cohort("left", "all"), a_cohort("right", "all", nominal=8)),
    )


def lent(layout: Layout) -> Cluster:
    """B and C each run with four GPUs that they have not."""
    cluster = Cluster(layout, *(a_node(f"n{i}") for i in range(2)))
    cluster.start(a_workload("b", "B", 1, 4), a_workload("c", "C", 1, 4))
    return cluster


def test_inside_its_own_quota_a_queue_takes_from_whoever_borrows() -> None:
    cluster = lent(two_levels(reclaim=Reclaim.ANY))
    assert rights(cluster, "A", 8) == {"b": Variant.HIERARCHY}, "C borrows from its own cohort"


def test_beyond_its_quota_only_lower_priority_falls_and_only_up_to_the_threshold() -> None:
    for most, priority, right in (
        (None, 1, Variant.WHILE_BORROWING),
        (None, 0, Variant.WITHOUT_BORROWING),
        (-1, 1, Variant.WITHOUT_BORROWING),
    ):
        layout = two_levels(reclaim=Reclaim.ANY, borrow_within=BorrowWithin(max_priority=most))
        assert rights(lent(layout), "A", 12, priority) == {"b": right}


def test_whoever_may_not_reclaim_takes_from_nobody_else() -> None:
    cluster = lent(two_levels(within=Within.LOWER))
    cluster.start(a_workload("a", "A", 1, 4))
    assert rights(cluster, "A", 8, 1) == {"a": Variant.OWN_QUEUE}


def test_work_that_is_not_preemptible_is_nobodys_candidate() -> None:
    cluster = Cluster(two_levels(reclaim=Reclaim.ANY), a_node("n0"), a_node("n1"))
    cluster.start(a_workload("firm", "B", 1, 4, preemptible=False))
    assert rights(cluster, "A", 8) == {}


def test_who_uses_no_more_than_his_quota_is_passed_over() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 4))
    cluster = Cluster(layout, a_node("n0"), a_node("n1"))
    cluster.start(a_workload("b1", "B", 1, 4))
    assert rights(cluster, "A", 8) == {}
    cluster.start(a_workload("b2", "B", 1, 1))
    assert rights(cluster, "A", 8) == dict.fromkeys(("b2", "b1"), Variant.HIERARCHY)


@pytest.mark.parametrize("by_cost", [False, True])
def test_the_latest_start_comes_first_or_who_has_least_to_lose(*, by_cost: bool) -> None:
    options = Options(by_cost=by_cost)
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 0), options=options)
    cluster = Cluster(layout, a_node("n0"), a_node("n1"))
    cluster.start(*(a_workload(f"b{i}", "B", 1, 2) for i in range(3)), later=10.0)
    cluster.cycle(5.0)
    cluster.engine.apply(Checkpointed(workload=WorkloadId("b0"), at=cluster.now))
    order = ["b0", "b2", "b1"] if by_cost else ["b2", "b1", "b0"]
    assert list(rights(cluster, "A", 8)) == order


def test_of_replicas_that_started_together_the_newest_comes_first_then_the_id() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 0))
    cluster = Cluster(layout, a_node("n0"))
    replicas = (("b4", 0), ("b3", 1), ("b2", 2), ("b1", 2))
    cluster.submit(*(replace(a_workload(one, "B", 1, 2), replica=n) for one, n in replicas))
    cluster.cycle()
    while cluster.waiting():
        cluster.cycle()
    assert list(rights(cluster, "A", 8)) == ["b1", "b2", "b3", "b4"]


def test_a_queue_that_is_spent_gives_nobody_more() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 0))
    cluster = Cluster(layout, a_node("n0"))
    cluster.start(*(a_workload(f"b{i}", "B", 1, 2) for i in range(3)))
    question = attack(cluster, "A", 8)
    spent: set[int] = set()
    walk = in_order(question, find_sources(question).hierarchy, spent)
    assert next(walk).running.workload.id == "b2"
    spent.add(1)
    assert list(walk) == []


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.data())
def test_the_walk_gives_the_order_in_which_a_sort_would_put_them(
    layout: Layout, data: st.DataObject
) -> None:
    """Queues are merged as far as somebody looks; the outcome is that of sorting everybody."""
    world = World(replace(layout, usage=None))
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += 1.0
        world.something(data.draw)
        world.cycle()
    state = world.engine._state
    for number in range(state.tree.queues):
        question = Attack(
            state=state,
            workload=a_workload("mine", "A", 1, 4, priority=5, created=world.now),
            queue=number,
            amounts=((0, 4),),
            short=frozenset((0,)),
        )
        found = find_sources(question)
        for sources in (found.hierarchy, found.priority, found.own):
            walked: list[Target] = list(in_order(question, sources, set()))
            assert walked == list(sort_targets(state, walked))
            assert not any(target.running.leaving for target in walked)
