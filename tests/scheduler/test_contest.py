"""The tournament of heads where fair sharing is on."""

from __future__ import annotations

from dataclasses import replace

from scheduler.contest import hold_contest
from scheduler.layout import FairStrategy, Layout, Queue
from scheduler.nomination import Nomination, nominate
from tests.scheduler.builders import Cluster, a_cohort, a_layout, a_node, a_queue, a_workload


def fair(*queues: Queue, **more: object) -> Layout:
    return replace(a_layout(*queues, **more), fair_sharing=tuple(FairStrategy))  # type: ignore[arg-type]


def heads(cluster: Cluster) -> list[Nomination]:
    """Everybody who waits, nominated in the queue that is his home."""
    state = cluster.engine._state
    state.settle()
    return [
        nominate(state, waiting.shapes[0][0], waiting, waiting.shapes[0][1])
        for waiting in state.waiting.values()
    ]


def order(cluster: Cluster, *, admit: bool = False) -> list[str]:
    """Ids of the heads in the order of the contest; with `admit` each takes what it asks for."""
    state, found = cluster.engine._state, []
    for winner in hold_contest(state, heads(cluster)):
        found.append(str(winner.waiting.workload.id))
        if admit and winner.charge is not None:
            state.future.charge(winner.charge)
    return found


def test_who_does_not_borrow_goes_first_whatever_his_priority() -> None:
    cluster = Cluster(fair(a_queue("A", 0), a_queue("B", 16)), a_node("n0"), a_node("n1"))
    cluster.submit(a_workload("a", "A", 1, 4, priority=9), a_workload("b", "B", 1, 4))
    assert order(cluster) == ["b", "a"]


def test_of_two_borrowers_the_lower_share_goes_first_and_a_weight_divides_it() -> None:
    plain = (a_queue("A", 0), a_queue("B", 0), a_queue("C", 16))
    for queues, first in ((plain, "b"), ((a_queue("A", 0, weight=4.0), *plain[1:]), "a")):
        cluster = Cluster(fair(*queues), a_node("n0"), a_node("n1"))
        cluster.submit(a_workload("a", "A", 1, 4), a_workload("b", "B", 1, 2))
        assert order(cluster)[0] == first


def test_of_equal_shares_priority_decides_then_age() -> None:
    cluster = Cluster(
        fair(a_queue("A", 0), a_queue("B", 0), a_queue("C", 0), a_queue("D", 24)),
        *(a_node(f"n{i}") for i in range(3)),
    )
    cluster.submit(
        a_workload("old", "A", created=1.0),
        a_workload("new", "B", created=2.0),
        a_workload("high", "C", created=3.0, priority=1),
    )
    assert order(cluster) == ["high", "old", "new"]


def test_each_decision_changes_the_shares_of_the_next_round() -> None:
    """A cohort with a borrower who has just won comes after one with none."""
    layout = fair(
        a_queue("A1", 0, cohort="a"),
        a_queue("A2", 0, cohort="a"),
        a_queue("B", 0, cohort="b"),
        cohorts=(a_cohort("all", nominal=24), a_cohort("a", "all"), a_cohort("b", "all")),
    )
    cluster = Cluster(layout, *(a_node(f"n{i}") for i in range(3)))
    cluster.submit(
        a_workload("a1", "A1", 1, 4, created=1.0),
        a_workload("a2", "A2", 1, 4, created=2.0),
        a_workload("b", "B", 1, 4, created=3.0),
    )
    assert order(cluster) == ["a1", "a2", "b"]
    assert order(cluster, admit=True) == ["a1", "b", "a2"]


def test_heads_of_different_trees_do_not_meet() -> None:
    layout = fair(
        a_queue("A", 0, cohort="x"), a_queue("B", 8, cohort=None), a_queue("C", 8, cohort="x")
    )
    cluster = Cluster(layout, a_node("n0"), a_node("n1"))
    cluster.submit(a_workload("a", "A"), a_workload("b", "B", priority=9))
    assert sorted(order(cluster)) == ["a", "b"]
