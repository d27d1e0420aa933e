"""Reasons with their numbers, position, holders, limits that can never be met, starvation."""

from __future__ import annotations

import pytest

from scheduler.events import NodeObserved
from scheduler.layout import Reclaim, Strategy
from scheduler.model import (
    Explanation,
    LimitKind,
    Priority,
    QueueName,
    Refusal,
    Verdict,
    WaitReason,
    WorkloadId,
)
from scheduler.standing import EngineError
from tests.scheduler.builders import (
    Cluster,
    a_cohort,
    a_flavor,
    a_layout,
    a_node,
    a_queue,
    a_workload,
)


def explained(cluster: Cluster, one: str) -> Explanation:
    return cluster.engine.explain(WorkloadId(one), cluster.now)


def verdict(cluster: Cluster, one: str) -> Verdict:
    return explained(cluster, one).verdict


def full_cluster() -> Cluster:
    cluster = Cluster(a_layout(a_queue("A", 8), a_queue("B", 8)), a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("small", "B", 1, 2, duration=100.0, team="t"),
        a_workload("large", "A", 1, 8),
        a_workload("rest", "B", 1, 6),
    )
    return cluster


def test_quota_names_the_node_of_the_tree_and_the_numbers() -> None:
    cluster = full_cluster()
    cluster.submit(a_workload("w", "A", 1, 4))
    cluster.cycle()
    found = verdict(cluster, "w")
    assert found.reason is WaitReason.QUOTA
    assert found.figures == {
        "where": "all",
        "flavor": "h100",
        "resource": "nvidia.com/gpu",
        "asked": 4,
        "available": 0,
        "limit": 16,
        "used": 16,
    }


def test_a_queues_own_borrowing_limit_is_named_as_the_queues() -> None:
    cluster = Cluster(
        a_layout(a_queue("A", 8, borrowing=0), a_queue("B", 8)), a_node("n1"), a_node("n2")
    )
    cluster.start(a_workload("r", "A", 1, 6))
    cluster.submit(a_workload("w", "A", 1, 4))
    cluster.cycle()
    assert verdict(cluster, "w").figures["where"] == "A"
    assert verdict(cluster, "w").figures["available"] == 2


def lending_cluster(own: int) -> Cluster:
    """Sixteen GPUs: A may use 8 of its own and takes back what B has borrowed of them."""
    layout = a_layout(
        a_queue("A", 8, borrowing=0, reclaim=Reclaim.ANY), a_queue("B", 0), a_queue("C", 8)
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("own", "A", 1, own, preemptible=False))
    cluster.start(*[a_workload(f"b{n}", "B", 1, 1) for n in range(16 - own)])
    return cluster


def test_its_own_limit_is_named_and_not_what_others_have_borrowed() -> None:
    cluster = lending_cluster(6)
    cluster.submit(a_workload("w", "A", 1, 4))
    cluster.cycle()
    found = explained(cluster, "w")
    assert found.verdict.reason is WaitReason.QUOTA
    figures = found.verdict.figures
    assert (figures["where"], figures["available"], figures["limit"]) == ("A", 2, 8)
    assert [holder.workload for holder in found.holders] == ["own"]


def test_the_reason_stays_while_others_borrow_more_or_less() -> None:
    cluster = lending_cluster(6)
    cluster.submit(a_workload("w", "A", 1, 4))
    cluster.cycle()
    first = verdict(cluster, "w")
    for one in ("b0", "b1", "b2", "b3"):
        cluster.finish(one)
        cluster.cycle()
        assert verdict(cluster, "w") == first


def test_what_its_queue_can_take_back_is_quota_but_may_be_no_room() -> None:
    layout = a_layout(
        a_queue("A", 8, borrowing=0, reclaim=Reclaim.ANY), a_queue("B", 0), a_queue("C", 8)
    )
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("c1", "C", 1, 4, preemptible=False))
    cluster.start(a_workload("b1", "B", 1, 4))
    cluster.start(a_workload("c2", "C", 1, 4, preemptible=False))
    cluster.start(a_workload("b2", "B", 1, 4))
    cluster.submit(a_workload("w", "A", 1, 8))
    cluster.cycle()
    assert verdict(cluster, "w").reason is WaitReason.TOPOLOGY


def test_holders_are_the_largest_first_with_their_ends() -> None:
    cluster = full_cluster()
    cluster.submit(a_workload("w", "A", 1, 4))
    cluster.cycle()
    holders = explained(cluster, "w").holders
    assert [(h.workload, h.gpus) for h in holders] == [("large", 8), ("rest", 6), ("small", 2)]
    assert holders[2].ends == 1001.0 + 100.0
    assert holders[0].ends is None
    cluster.now += 5000.0
    assert explained(cluster, "w").holders[2].ends == cluster.now


def test_position_counts_in_the_queues_own_order() -> None:
    cluster = full_cluster()
    for number in range(13):
        cluster.submit(a_workload(f"w{number:02d}", "A", 1, 4, created=float(number)))
    cluster.submit(a_workload("first", "A", 1, 4, priority=5, created=99.0))
    cluster.cycle()
    last = explained(cluster, "w12")
    assert last.position == 14
    assert last.ahead[:2] == ("first", "w00")
    assert len(last.ahead) == 10
    assert last.since == 12.0


def test_topology_says_what_the_nodes_could_take() -> None:
    cluster = Cluster(a_layout(a_queue("A", 32)), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("r1", "A", 1, 5), a_workload("r2", "A", 1, 6))
    cluster.submit(a_workload("w", "A", 2, 3))
    cluster.cycle()
    found = verdict(cluster, "w")
    assert found.reason is WaitReason.TOPOLOGY
    assert (found.figures["room"], found.figures["pods"]) == (1, 2)
    assert (found.figures["free"], found.figures["largest"]) == (5, 3)


def test_behind_a_strict_head() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8, strategy=Strategy.STRICT)), a_node("n1"))
    cluster.start(a_workload("r", "A", 1, 6))
    cluster.submit(a_workload("head", "A", 1, 8), a_workload("w", "A", 1, 1, created=1.0))
    cluster.cycle()
    assert verdict(cluster, "w") == Verdict(
        reason=WaitReason.BEHIND, figures={"position": 2, "first": "head"}
    )


def test_not_yet_looked_at() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    cluster.submit(a_workload("w", "A"))
    assert verdict(cluster, "w").reason is WaitReason.NOT_EVALUATED


def test_waiting_for_targets_names_them() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B"))
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8), a_workload("next", "A", 1, 8, created=1.0))
    cluster.cycle()
    found = explained(cluster, "a")
    assert found.verdict.reason is WaitReason.WAITING_FOR_TARGETS
    assert found.verdict.figures == {"targets": 1, "gpus": 8}
    assert [h.workload for h in found.holders] == ["b"]
    assert found.position == 1
    assert explained(cluster, "next").position == 2


def test_only_those_who_wait_can_be_explained() -> None:
    cluster = full_cluster()
    for one in ("small", "nobody"):
        with pytest.raises(EngineError):
            explained(cluster, one)


def limit(refusal: Refusal | None) -> tuple[LimitKind, str, int, int] | None:
    return None if refusal is None else (refusal.limit, refusal.where, refusal.asked, refusal.most)


def wide() -> Cluster:
    layout = a_layout(
        a_queue("A", 64, borrowing=0),
        a_queue("B", 8, cohort="sub"),
        a_queue("C", {"a100": 8}),
        cohorts=(a_cohort("sub", "all", lending=0), a_cohort("all", nominal=900)),
        flavors=(a_flavor(), a_flavor("a100")),
    )
    return Cluster(layout, a_node("n1"), a_node("n2"), a_node("n3", ready=False))


def test_what_could_never_start_is_refused_with_the_limit() -> None:
    check = wide().engine.check
    assert limit(check(a_workload("w", "A", 9, 8))) == (LimitKind.QUEUE, "A", 72, 64)
    assert limit(check(a_workload("w", "B", 200, 8))) == (LimitKind.COHORT, "all", 1600, 972)
    assert limit(check(a_workload("w", "A", 1, 9))) == (LimitKind.NODE, "h100", 9, 8)
    assert limit(check(a_workload("w", "A", 4, 8))) == (LimitKind.CLUSTER, "h100", 32, 24)
    assert limit(check(a_workload("w", "A", model="a100"))) == (LimitKind.NO_FLAVOR, "A", 1, 0)
    assert limit(check(a_workload("w", "Z"))) == (LimitKind.NO_QUEUE, "Z", 1, 0)


def test_what_only_waits_for_others_or_for_a_node_is_not_refused() -> None:
    cluster = wide()
    cluster.start(a_workload("r", "A", 2, 8))
    assert cluster.engine.check(a_workload("w", "A", 3, 8)) is None


def test_an_overflow_queue_that_could_hold_it_is_enough() -> None:
    cluster = wide()
    assert cluster.engine.check(a_workload("w", "C", 1, 8, model="h100", overflow=("A",))) is None


def test_before_the_first_node_only_quota_is_checked() -> None:
    cluster = Cluster(a_layout(a_queue("A", 16)))
    assert cluster.engine.check(a_workload("w", "A", 1, 9)) is None
    assert cluster.engine.check(a_workload("w", "A", 3, 8)) is not None


def test_the_answer_follows_the_nodes() -> None:
    cluster = Cluster(a_layout(a_queue("A", 64)), a_node("n1"))
    big = a_workload("w", "A", 2, 8)
    assert cluster.engine.check(big) is not None
    cluster.engine.apply(NodeObserved(node=a_node("n2")))
    assert cluster.engine.check(big) is None


def test_a_request_that_became_impossible_says_so_while_it_waits() -> None:
    cluster = Cluster(a_layout(a_queue("A", 16)), a_node("n1"))
    cluster.submit(a_workload("w", "A", 2, 8))
    cluster.cycle()
    found = verdict(cluster, "w")
    assert found.reason is WaitReason.EXCEEDS_LIMIT
    assert found.figures == {"limit": "cluster", "where": "h100", "asked": 16, "most": 8}


def test_starving_are_those_past_the_target_of_their_class_longest_first() -> None:
    layout = a_layout(a_queue("A", 8), target_waits={Priority.HIGH: 100.0, Priority.LOW: 5000.0})
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("r", "A", 1, 8))
    waiting = {"h2": (Priority.HIGH, 900.0), "h1": (Priority.HIGH, 880.0), "l": (Priority.LOW, 1.0)}
    for one, (priority, created) in waiting.items():
        cluster.submit(a_workload(one, "A", 1, 8, priority_class=priority, created=created))
    cluster.submit(a_workload("m", "A", 1, 8, priority_class=Priority.MEDIUM, created=0.0))
    cluster.cycle()
    cluster.now = 1000.0
    found = cluster.engine.starving(cluster.now)
    assert [(s.workload, s.waited, s.target_wait) for s in found] == [("h1", 120.0, 100.0)]
    assert found[0].explanation.verdict.reason is WaitReason.QUOTA
    assert [s.workload for s in cluster.engine.starving(1001.0)] == ["h1", "h2"]


def test_a_preemptor_that_waits_long_for_its_targets_starves_too() -> None:
    layout = a_layout(
        a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B"), target_waits={Priority.MEDIUM: 60.0}
    )
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8, created=cluster.now))
    cluster.cycle()
    (found,) = cluster.engine.starving(cluster.now + 61.0)
    assert found.explanation.verdict.reason is WaitReason.WAITING_FOR_TARGETS
    assert found.explanation.queue == QueueName("A")
