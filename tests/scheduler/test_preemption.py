"""Whom to stop: rights, order, minimal sets, rules and levels as reported."""

from __future__ import annotations

import pytest

from scheduler.layout import BorrowWithin, Reclaim, Strategy, Within
from scheduler.model import PreemptionRule
from tests.scheduler.builders import Cluster, a_cohort, a_layout, a_node, a_queue, a_workload


def test_own_queue_by_priority() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8, within=Within.LOWER)), a_node("n1"))
    cluster.start(
        a_workload("low", "A", 1, 4, priority=1), a_workload("mid", "A", 1, 4, priority=2)
    )
    cluster.submit(a_workload("high", "A", 1, 4, priority=3))
    (preemption,) = cluster.cycle(60.0).preemptions
    assert (preemption.target, preemption.rule) == ("low", PreemptionRule.IN_QUEUE)
    assert (preemption.level, preemption.gpus) == ("A", 4)
    assert preemption.ran == 61.0


@pytest.mark.parametrize(
    ("within", "stopped"), [(Within.LOWER, []), (Within.LOWER_OR_NEWER, ["newer"])]
)
def test_equal_priority_is_stopped_only_if_newer_and_only_where_allowed(
    within: Within, stopped: list[str]
) -> None:
    cluster = Cluster(a_layout(a_queue("A", 8, within=within)), a_node("n1"))
    cluster.start(
        a_workload("older", "A", 1, 4, created=1.0), a_workload("newer", "A", 1, 4, created=9.0)
    )
    cluster.submit(a_workload("between", "A", 1, 4, created=5.0))
    assert [p.target for p in cluster.cycle().preemptions] == stopped


def test_within_from_names_the_least_priority_that_may_stop_others() -> None:
    queue = a_queue("A", 8, within=Within.LOWER, within_from=9)
    cluster = Cluster(a_layout(queue), a_node("n1"))
    cluster.start(a_workload("low", "A", 1, 8, priority=1))
    cluster.submit(a_workload("high", "A", 1, 8, priority=8))
    assert not cluster.cycle()
    cluster.submit(a_workload("critical", "A", 1, 8, priority=9))
    assert [p.preemptor for p in cluster.cycle().preemptions] == ["critical"]


def test_protected_work_falls_only_from_the_named_priority_and_only_in_its_queue() -> None:
    queue = a_queue("A", 8, within=Within.LOWER, protected_from=9, borrowing=0)
    cluster = Cluster(a_layout(queue, a_queue("B", 8, borrowing=0)), a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("a", "A", 1, 8, priority=1, preemptible=False),
        a_workload("b", "B", 1, 8, priority=1, preemptible=False),
    )
    cluster.submit(a_workload("high", "A", 1, 8, priority=8))
    assert not cluster.cycle()
    cluster.submit(a_workload("critical", "A", 1, 8, priority=9))
    assert [p.target for p in cluster.cycle().preemptions] == ["a"]


@pytest.mark.parametrize(
    ("reclaim", "stopped"),
    [(Reclaim.NEVER, []), (Reclaim.LOWER, ["low"]), (Reclaim.ANY, ["high"])],
)
def test_reclaim_decides_whose_loans_come_back(reclaim: Reclaim, stopped: list[str]) -> None:
    cluster = Cluster(a_layout(a_queue("A", 8, reclaim=reclaim), a_queue("B")), a_node("n1"))
    if reclaim is Reclaim.ANY:
        cluster.start(a_workload("high", "B", 1, 8, priority=9))
    else:
        cluster.start(a_workload("low", "B", 1, 8, priority=1))
    cluster.submit(a_workload("a", "A", 1, 8, priority=5))
    decisions = cluster.cycle()
    assert [p.target for p in decisions.preemptions] == stopped
    assert all(p.rule is PreemptionRule.RECLAIM and p.level == "all" for p in decisions.preemptions)


def test_a_borrower_may_stop_lower_ones_up_to_a_threshold() -> None:
    taker = a_queue("A", reclaim=Reclaim.LOWER, borrow_within=BorrowWithin(max_priority=5))
    cluster = Cluster(
        a_layout(taker, a_queue("B"), a_queue("bank", 16)), a_node("n1"), a_node("n2")
    )
    cluster.start(
        a_workload("six", "B", 1, 8, priority=6), a_workload("five", "B", 1, 8, priority=5)
    )
    cluster.submit(a_workload("a1", "A", 1, 8, priority=9), a_workload("a2", "A", 1, 8, priority=9))
    (preemption,) = cluster.cycle().preemptions
    assert preemption.target == "five"
    assert preemption.rule is PreemptionRule.RECLAIM_WHILE_BORROWING


def test_without_that_right_a_borrower_stops_nobody() -> None:
    taker = a_queue("A", reclaim=Reclaim.ANY)
    cluster = Cluster(a_layout(taker, a_queue("B"), a_queue("bank", 8)), a_node("n1"))
    cluster.start(a_workload("low", "B", 1, 8, priority=1))
    cluster.submit(a_workload("a", "A", 1, 8, priority=9))
    assert not cluster.cycle()


def test_lower_priority_first_then_the_latest_start_then_the_id() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8, within=Within.LOWER)), a_node("n1"))
    cluster.start(
        a_workload("p2", "A", 1, 2, priority=2), a_workload("p1-old", "A", 1, 2, priority=1)
    )
    cluster.submit(
        a_workload("p1-b", "A", 1, 2, priority=1), a_workload("p1-a", "A", 1, 2, priority=1)
    )
    cluster.cycle(60.0)
    order = []
    for number in range(4):
        cluster.submit(a_workload(f"boss{number}", "A", 1, 2, priority=9, created=float(number)))
        order += [p.target for p in cluster.cycle().preemptions]
    assert order == ["p1-a", "p1-b", "p1-old", "p2"]


def test_targets_that_turn_out_to_be_needless_are_spared() -> None:
    """The small one comes first in order, but the large one alone is enough."""
    cluster = Cluster(a_layout(a_queue("A", 8, within=Within.LOWER)), a_node("n1"))
    cluster.start(
        a_workload("large", "A", 1, 6, priority=2), a_workload("small", "A", 1, 2, priority=1)
    )
    cluster.submit(a_workload("boss", "A", 1, 6, priority=9))
    assert [p.target for p in cluster.cycle().preemptions] == ["large"]


def test_many_small_targets_are_spared_but_those_on_one_node() -> None:
    nodes = [a_node(f"n{number}") for number in range(6)]
    cluster = Cluster(a_layout(a_queue("A", 48, within=Within.LOWER)), *nodes)
    for number in range(48):
        cluster.start(a_workload(f"s{number:02d}", "A", 1, 1, priority=number % 3))
    cluster.submit(a_workload("boss", "A", 1, 8, priority=9))
    targets = [p.target for p in cluster.cycle().preemptions]
    assert len(targets) == 8
    assert len({tuple(cluster.where(target)) for target in targets}) == 1


def test_nobody_is_stopped_when_not_even_all_would_be_enough() -> None:
    layout = a_layout(a_queue("A", 16, within=Within.LOWER))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("keep1", "A", 1, 4, preemptible=False),
        a_workload("low1", "A", 1, 4),
        a_workload("keep2", "A", 1, 4, preemptible=False),
        a_workload("low2", "A", 1, 4),
    )
    cluster.submit(a_workload("boss", "A", 1, 8, priority=9))
    assert not cluster.cycle()


def test_a_queue_is_not_driven_below_its_own_quota() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 4), a_queue("C", 4))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(*[a_workload(f"b{number}", "B", 1, 2) for number in range(4)])
    cluster.start(*[a_workload(f"c{number}", "C", 1, 2) for number in range(4)])
    cluster.submit(a_workload("whole", "A", 1, 8, priority=9))
    assert not cluster.cycle(), "half of each node is inside B's and C's own quota"
    cluster.submit(a_workload("a", "A", 2, 4, priority=9))
    assert sorted(p.target for p in cluster.cycle().preemptions) == ["b2", "b3", "c2", "c3"]


def test_a_loan_far_away_is_named_with_the_cohort_where_the_rule_applies() -> None:
    layout = a_layout(
        a_queue("A", 8, cohort="left", reclaim=Reclaim.ANY),
        a_queue("B", cohort="right"),
        cohorts=(a_cohort("left", "root"), a_cohort("right", "root"), a_cohort("root")),
    )
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    (preemption,) = cluster.cycle().preemptions
    assert (preemption.target, preemption.level) == ("b", "root")


def test_two_preemptors_of_one_cycle_take_different_targets() -> None:
    layout = a_layout(
        a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 8, reclaim=Reclaim.ANY), a_queue("C")
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("c1", "C", 1, 8), a_workload("c2", "C", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8), a_workload("b", "B", 1, 8))
    pairs = {p.preemptor: p.target for p in cluster.cycle().preemptions}
    assert pairs == {"a": "c2", "b": "c1"}
    cluster.evict_leaving()
    assert sorted(a.workload for a in cluster.cycle().admissions) == ["a", "b"]


def test_quota_kept_for_a_head_without_targets_has_nobody_stopped() -> None:
    """The strict head may stop nobody; the reclaiming one stops for itself, and only one."""
    layout = a_layout(
        a_queue("A"),
        a_queue("B", 4, reclaim=Reclaim.ANY, borrow_within=BorrowWithin(max_priority=None)),
        a_queue("C", 8, strategy=Strategy.STRICT),
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("stays", "A", 1, 7, preemptible=False),
        a_workload("small", "A", 1, 1),
        a_workload("large", "A", 1, 4, created=2.0),
    )
    cluster.submit(
        a_workload("strict", "C", 1, 4, created=3.0), a_workload("owner", "B", 1, 1, created=4.0)
    )
    assert [(p.target, p.preemptor) for p in cluster.cycle().preemptions] == [("large", "owner")]
