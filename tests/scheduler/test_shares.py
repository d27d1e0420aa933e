"""Dominant shares, the walk to targets and the order of heads where fair sharing is on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from scheduler.layout import Cohort, FairStrategy, Layout, Queue, Reclaim, Within
from scheduler.model import PreemptionRule
from scheduler.quota import QuotaTree
from scheduler.shares import Shares
from tests.scheduler.builders import Cluster, a_cohort, a_layout, a_node, a_queue, a_workload

BOTH = (FairStrategy.FINAL, FairStrategy.INITIAL)


def a_fair_layout(
    *queues: Queue, strategies: tuple[FairStrategy, ...] = BOTH, cohorts: tuple[Cohort, ...] = ()
) -> Layout:
    return replace(a_layout(*queues, cohorts=cohorts), fair_sharing=strategies)


def test_a_share_is_what_is_borrowed_over_what_could_be_lent_by_weight() -> None:
    layout = a_layout(
        a_queue("A", 4), a_queue("B", 4, weight=2.0), a_queue("C", 8), a_queue("Z", 0, weight=0.0)
    )
    tree = QuotaTree(layout)
    shares = Shares(layout, tree)
    usage = tree.empty()
    tree.charge(usage, 0, ((0, 8),))
    tree.charge(usage, 1, ((0, 8),))
    tree.charge(usage, 2, ((0, 8),))
    tree.charge(usage, 3, ((0, 1),))
    assert shares.of(usage, 0).value == pytest.approx(4 * 1000 / 16)
    assert shares.of(usage, 1).value == pytest.approx(4 * 1000 / 16 / 2)
    assert shares.of(usage, 2).value == 0.0
    assert shares.of(usage, 3).value == math.inf
    assert shares.of(usage, 3).rank > shares.of(usage, 0).rank > shares.of(usage, 1).rank
    assert shares.of(usage, tree.root[0]).borrowed == ()


def test_the_larger_borrower_gives_way_until_the_shares_are_even() -> None:
    layout = a_fair_layout(
        a_queue("A", 0, reclaim=Reclaim.ANY), a_queue("B", 0, reclaim=Reclaim.ANY), a_queue("C", 16)
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(*(a_workload(f"a{n}", "A", 1, 4) for n in range(4)))
    cluster.submit(*(a_workload(f"b{n}", "B", 1, 4, created=float(n)) for n in range(3)))
    admitted, preempted = cluster.settle()
    assert (admitted, preempted) == (["b0", "b1"], ["a3", "a2"])


def test_who_stays_inside_his_quota_takes_back_whatever_the_shares() -> None:
    layout = a_fair_layout(a_queue("A", 8, reclaim=Reclaim.ANY, weight=0.0), a_queue("B", 0))
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("loan", "B", 1, 8))
    cluster.submit(a_workload("owner", "A", 1, 8))
    (preemption,) = cluster.cycle().preemptions
    assert (preemption.target, preemption.rule) == ("loan", PreemptionRule.RECLAIM)


def test_the_strategies_differ_where_one_removal_overshoots() -> None:
    """Stopping all of B's loan leaves it with share 0, less than A's: only the second allows."""

    def stopped(*strategies: FairStrategy) -> list[str]:
        layout = a_fair_layout(
            a_queue("A", 0, reclaim=Reclaim.ANY),
            a_queue("B", 0),
            a_queue("C", 8),
            strategies=strategies,
        )
        cluster = Cluster(layout, a_node("n1"))
        cluster.start(a_workload("loan", "B", 1, 8))
        cluster.submit(a_workload("a", "A", 1, 4))
        return [p.target for p in cluster.cycle().preemptions]

    assert stopped(FairStrategy.FINAL) == []
    assert stopped(FairStrategy.INITIAL) == ["loan"]
    assert stopped(*BOTH) == ["loan"]


def test_own_work_of_lower_priority_is_taken_where_the_own_share_is_highest() -> None:
    layout = a_fair_layout(
        a_queue("A", 0, reclaim=Reclaim.ANY, within=Within.LOWER), a_queue("B", 0), a_queue("C", 16)
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("low", "A", 1, 8, priority=1),
        a_workload("b", "B", 1, 4),
        a_workload("more", "A", 1, 4, priority=5),
    )
    cluster.submit(a_workload("high", "A", 1, 8, priority=9))
    (preemption,) = cluster.cycle().preemptions
    assert (preemption.target, preemption.rule) == ("low", PreemptionRule.IN_QUEUE)


def test_heads_go_by_the_share_that_they_would_have() -> None:
    layout = a_fair_layout(
        a_queue("A", 0, cohort="left"),
        a_queue("B", 0, cohort="left"),
        a_queue("C", 0, cohort="right"),
        a_queue("D", 8),
        cohorts=(a_cohort("all"), a_cohort("left", "all"), a_cohort("right", "all")),
    )
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("a0", "A", 1, 4))
    cluster.submit(
        a_workload("a1", "A", 1, 2, priority=9),
        a_workload("b1", "B", 1, 2),
        a_workload("c1", "C", 1, 2),
    )
    assert [a.workload for a in cluster.cycle().admissions] == ["c1", "b1"]
