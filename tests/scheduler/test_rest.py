"""Who was not ready in time, and rests before he is tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.events import Amended, Evicted, Withdrawn
from scheduler.invariants import check_invariants
from scheduler.layout import BackfillRules, Strategy
from scheduler.model import Priority, Rest, RestCause, Verdict, WaitReason, WorkloadId
from scheduler.rest import Readiness, rest_after
from tests.scheduler.builders import (
    Cluster,
    a_layout,
    a_node,
    a_queue,
    a_workload,
)

LATE = WorkloadId("late")
PAUSE = 100.0


def a_cluster(**more: object) -> Cluster:
    """Two nodes, a queue with room for both, and one that was late and rests."""
    queue = replace(a_queue("A", 16), **more)  # type: ignore[arg-type]  # fields of a queue
    layout = a_layout(queue, target_waits={Priority.MEDIUM: 10.0})
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload(LATE, "A", 2, 8, priority=5))
    evict(cluster, cluster.now + PAUSE)
    return cluster


def evict(cluster: Cluster, until: float | None) -> None:
    rest = Rest(cause=RestCause.LATE, tries=1, most=4, until=until)
    cluster.engine.apply(Evicted(workload=LATE, at=cluster.now, own_failure=True, rest=rest))


def why(cluster: Cluster) -> Verdict:
    return cluster.engine.explain(LATE, cluster.now).verdict


def test_pauses_double_up_to_the_longest_and_then_it_is_held() -> None:
    rules = Readiness(backoff=60.0, longest=200.0, tries=5)
    rests = [rest_after(rules, RestCause.LATE, tries, 1000.0) for tries in range(1, 6)]
    assert [rest.until for rest in rests] == [1060.0, 1120.0, 1200.0, 1200.0, None]
    assert {rest.most for rest in rests} == {5}


@pytest.mark.parametrize("tries", [5, 100_000])
def test_who_found_no_room_is_never_held(tries: int) -> None:
    rules = Readiness(backoff=60.0, longest=200.0, tries=5)
    rest = rest_after(rules, RestCause.UNPLACED, tries, 1000.0)
    assert (rest.until, rest.most) == (1200.0, None)


def test_it_starts_when_the_pause_is_over_and_not_before() -> None:
    cluster = a_cluster()
    assert cluster.engine.next_alarm() == cluster.now + PAUSE
    assert not cluster.cycle(later=PAUSE - 1.0).admissions
    check_invariants(cluster.engine)
    assert why(cluster).reason is WaitReason.RESTING
    assert why(cluster).figures["until"] == cluster.now + 1.0
    assert [one.workload for one in cluster.cycle(later=1.0).admissions] == [LATE]
    check_invariants(cluster.engine)
    running = cluster.engine.workload(LATE)
    assert running is not None
    assert running.rest is None


def test_who_is_held_never_starts_by_himself() -> None:
    cluster = a_cluster()
    cluster.cycle(later=PAUSE)
    evict(cluster, None)
    assert cluster.engine.next_alarm() is None
    assert not cluster.cycle(later=1e9).admissions
    assert "until" not in why(cluster).figures


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("per_flavor", [False, True])
def test_it_holds_nobody_back(strategy: Strategy, per_flavor: bool) -> None:
    cluster = a_cluster(strategy=strategy, strict_per_flavor=per_flavor)
    cluster.submit(a_workload("next", "A", 2, 8, created=2000.0))
    assert [one.workload for one in cluster.cycle(later=1.0).admissions] == ["next"]
    cluster.finish("next")
    assert not cluster.cycle(later=1.0).admissions


def test_others_of_its_shape_start() -> None:
    cluster = a_cluster()
    cluster.submit(a_workload("twin", "A", 2, 8, priority=5, created=2000.0))
    assert [one.workload for one in cluster.cycle(later=1.0).admissions] == ["twin"]


def test_it_does_not_start_in_an_overflow_queue_either() -> None:
    layout = a_layout(a_queue("A", 16, borrowing=0), a_queue("B", 16, borrowing=0))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload(LATE, "A", 2, 8, overflow=("B",)))
    evict(cluster, cluster.now + PAUSE)
    assert not cluster.cycle(later=1.0).admissions
    assert [one.workload for one in cluster.cycle(later=PAUSE).admissions] == [LATE]


def test_room_that_comes_free_does_not_wake_it() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("other", "A", 1, 8))
    cluster.finish("other")
    assert not cluster.cycle(later=1.0).admissions
    assert not cluster.engine.watch().ripe()


def test_no_room_is_kept_for_it_and_it_does_not_starve() -> None:
    cluster = a_cluster(backfill=BackfillRules(after=1.0, least=1, most=1))
    cluster.start(a_workload("other", "A", 1, 8, duration=50.0))
    cluster.cycle(later=20.0)
    assert not cluster.engine.reservations()
    assert not cluster.engine.starving(cluster.now)
    cluster.cycle(later=PAUSE)
    assert [one.workload for one in cluster.engine.reservations()] == [LATE]
    assert [one.workload for one in cluster.engine.starving(cluster.now)] == [LATE]
    check_invariants(cluster.engine)


def test_a_change_ends_it() -> None:
    cluster = a_cluster()
    cluster.cycle(later=1.0)
    waiting = cluster.engine.workload(LATE)
    assert waiting is not None
    cluster.engine.apply(Amended(workload=replace(waiting, rest=None), at=cluster.now))
    assert [one.workload for one in cluster.cycle(later=1.0).admissions] == [LATE]


def test_one_that_is_rebuilt_rests_on() -> None:
    waiting = a_cluster().engine.workload(LATE)
    assert waiting is not None
    cluster = Cluster(a_layout(a_queue("A", 16)), a_node("n1"), a_node("n2"))
    cluster.submit(waiting)
    assert not cluster.cycle(later=PAUSE).admissions
    assert [one.workload for one in cluster.cycle(later=1.0).admissions] == [LATE]


def test_one_that_rests_can_be_given_up() -> None:
    cluster = a_cluster()
    cluster.engine.apply(Withdrawn(workload=LATE, at=cluster.now))
    assert not cluster.cycle(later=PAUSE).admissions
    check_invariants(cluster.engine)


def test_what_is_foreseen_goes_by_the_end_of_the_pause() -> None:
    cluster = a_cluster()
    found = cluster.engine.forecast(LATE, cluster.now)
    assert found.likely == cluster.now + PAUSE
    evict_again = a_cluster()
    evict_again.cycle(later=PAUSE)
    evict(evict_again, None)
    assert evict_again.engine.forecast(LATE, evict_again.now).likely is None
