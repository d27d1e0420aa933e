"""A workload that is changed while it waits or runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.events import Amended, Finished
from scheduler.invariants import check_invariants
from scheduler.layout import Reclaim, UsageRules, Within
from scheduler.model import Seconds, TeamName, Workload, WorkloadId
from scheduler.standing import EngineError
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload


def amend(cluster: Cluster, workload: Workload, **changes: object) -> None:
    after = replace(workload, **changes)  # type: ignore[arg-type]
    cluster.engine.apply(Amended(workload=after, at=cluster.now))
    check_invariants(cluster.engine)


def full() -> Cluster:
    """One node, held by A."""
    cluster = Cluster(a_layout(a_queue("q", 8, within=Within.LOWER)), a_node("n0"))
    cluster.start(a_workload("A", "q", 1, 8, priority=5, team="nlp"))
    return cluster


def sized(workload: Workload, gpus: int) -> dict[str, object]:
    (pods,) = workload.pod_sets
    return {"pod_sets": (replace(pods, requests=dict.fromkeys(pods.requests, gpus)),)}


def test_what_waits_keeps_its_place_or_goes_to_the_back_by_its_time() -> None:
    cluster = full()
    first, second = (a_workload(name, "q", 1, 8, created=at) for name, at in (("B", 1), ("C", 2)))
    cluster.submit(first, second)
    amend(cluster, first, name="other", duration=60.0)
    assert cluster.waiting() == ["B", "C"]
    amend(cluster, first, created=3.0)
    assert cluster.waiting() == ["C", "B"]


def test_less_may_start_at_once() -> None:
    cluster = Cluster(a_layout(a_queue("q", 8)), a_node("n0"))
    cluster.start(a_workload("A", "q", 1, 6))
    waits = a_workload("B", "q", 1, 4)
    cluster.submit(waits)
    assert cluster.settle() == ([], [])
    amend(cluster, waits, **sized(waits, 2))
    assert cluster.settle() == (["B"], [])


def test_another_queue_is_joined_and_the_old_one_left() -> None:
    layout = a_layout(a_queue("q", 8), a_queue("r", 8))
    cluster = Cluster(layout, a_node("n0"), a_node("n1"))
    cluster.start(a_workload("A", "q", 1, 8))
    waits = a_workload("B", "q", 1, 8)
    cluster.submit(waits)
    amend(cluster, waits, queue="r")
    assert cluster.settle() == (["B"], [])
    assert cluster.waiting() == []


def claimed() -> tuple[Cluster, Workload]:
    """B waits for A, which was told to stop for it."""
    cluster = full()
    hero = a_workload("B", "q", 1, 8, priority=9)
    cluster.submit(hero)
    assert [p.target for p in cluster.cycle().preemptions] == ["A"]
    return cluster, hero


def test_a_promise_is_kept_through_a_change_of_name_and_lease() -> None:
    cluster, hero = claimed()
    amend(cluster, hero, name="renamed", duration=7200.0)
    cluster.evict_leaving()
    assert [a.workload for a in cluster.cycle().admissions] == ["B"]
    running = {w.id: w for w, _ in cluster.engine.running()}
    assert running[hero.id].name == "renamed"


def test_a_promise_is_taken_back_when_something_else_is_asked_for() -> None:
    cluster, hero = claimed()
    amend(cluster, hero, priority=0)
    cluster.evict_leaving()
    assert [a.workload for a in cluster.cycle().admissions] == ["A"]


def test_what_runs_may_be_lowered_and_then_be_stopped() -> None:
    cluster = full()
    rival = a_workload("B", "q", 1, 8, priority=4)
    cluster.submit(rival)
    assert cluster.cycle().preemptions == ()
    (running, _) = cluster.engine.running()[0]
    amend(cluster, running, priority=1)
    assert cluster.settle()[0][0] == "B"


def test_what_runs_keeps_its_pods_queue_and_place() -> None:
    cluster = full()
    (running, _) = cluster.engine.running()[0]
    for changes in (sized(running, 4), {"queue": "other"}, {"created": 77.0}):
        with pytest.raises(EngineError):
            amend(cluster, running, **changes)
    assert cluster.engine.running()[0][0] == running


def test_use_is_charged_to_the_new_team_from_then_on() -> None:
    rules = UsageRules(half_life=1e9, interval=300.0)
    layout = a_layout(a_queue("q", 8, reclaim=Reclaim.ANY), usage=rules)
    cluster = Cluster(layout, a_node("n0"))
    cluster.start(a_workload("A", "q", 1, 8, team="nlp"))

    def hours(later: Seconds) -> dict[str, float]:
        cluster.now += later
        return {u.team: u.chip_hours for u in cluster.engine.sample_usage(cluster.now)}

    mine = hours(3600.0)["nlp"]
    (running, _) = cluster.engine.running()[0]
    amend(cluster, running, team=TeamName("vision"), owner="someone-else")
    after = hours(3600.0)
    assert after["nlp"] == pytest.approx(mine, rel=1e-3)
    assert after["vision"] > 0
    cluster.engine.apply(Finished(workload=WorkloadId("A"), at=cluster.now))
    check_invariants(cluster.engine)


def test_who_is_not_known_or_names_no_queue_changes_nothing() -> None:
    cluster = full()
    waits = a_workload("B", "q", 1, 8)
    with pytest.raises(EngineError):
        amend(cluster, waits)
    cluster.submit(waits)
    with pytest.raises(EngineError):
        amend(cluster, waits, queue="nowhere")
    assert cluster.engine.workload(waits.id) == waits
