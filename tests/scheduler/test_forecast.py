"""When work will start: exact where ends are declared, a range where they are guessed."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.events import Evicted, Finished, QueuePaused, RunTimesRestored, Submitted
from scheduler.forecast import Reach
from scheduler.history import Sample
from scheduler.layout import AfterLease, Pool, Reclaim
from scheduler.model import Basis, PoolName, QueueName, TeamName, WorkloadId
from scheduler.standing import EngineError
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import Draw, World, layouts, workloads

HOUR = 3600.0


def a_full_cluster() -> Cluster:
    """Two nodes: one is free after 30 minutes, the other after an hour."""
    cluster = Cluster(a_layout(a_queue("a", 16)), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("half", "a", gpus=8, duration=HOUR / 2), later=0.0)
    cluster.start(a_workload("hour", "a", gpus=8, duration=HOUR), later=0.0)
    return cluster


def test_who_needs_both_nodes_starts_when_the_later_one_is_free() -> None:
    cluster = a_full_cluster()
    cluster.submit(a_workload("big", "a", 2, 8))
    cluster.cycle()
    found = cluster.engine.forecast(WorkloadId("big"), cluster.now)
    assert (found.low, found.likely, found.high) == (4600.0, 4600.0, 4600.0)
    assert (found.basis, found.reason, found.horizon_hit) == (Basis.DECLARED, Reach.ENDS, False)


def test_what_starts_on_the_way_ends_as_well() -> None:
    cluster = a_full_cluster()
    cluster.submit(a_workload("next", "a", gpus=8, duration=HOUR), a_workload("last", "a", 2, 8))
    cluster.cycle()
    assert cluster.engine.forecast(WorkloadId("next"), cluster.now).likely == 1000.0 + HOUR / 2
    assert cluster.engine.forecast(WorkloadId("last"), cluster.now).likely == 1000.0 + 1.5 * HOUR


def test_a_preview_is_as_if_it_were_submitted_and_leaves_no_trace() -> None:
    cluster = a_full_cluster()
    before = (cluster.running(), cluster.waiting())
    found = cluster.engine.preview(a_workload("new", "a", gpus=8), cluster.now)
    assert (found.likely, found.reason) == (1000.0 + HOUR / 2, Reach.ENDS)
    assert (cluster.running(), cluster.waiting()) == before
    small = Cluster(a_layout(a_queue("a", 16)), a_node("n1"))
    now = small.engine.preview(a_workload("new", "a", gpus=8), small.now)
    assert (now.likely, now.reason) == (small.now, Reach.NOW)
    assert small.running() == []


def test_guessed_ends_give_a_range_with_its_basis() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    ran = (HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR)
    samples = tuple(Sample(team=TeamName("a"), gpus=8, ran=one) for one in ran)
    cluster.engine.apply(RunTimesRestored(samples=samples))
    cluster.start(a_workload("one", "a", gpus=8), later=0.0)
    cluster.submit(a_workload("two", "a", gpus=8))
    cluster.cycle()
    found = cluster.engine.forecast(WorkloadId("two"), cluster.now)
    assert (found.low, found.likely, found.high) == (8200.0, 11800.0, 15400.0)
    assert found.basis is Basis.HISTORY


def test_without_any_known_end_it_says_so() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    cluster.start(a_workload("one", "a", gpus=8), later=0.0)
    cluster.submit(a_workload("two", "a", gpus=8))
    cluster.cycle()
    found = cluster.engine.forecast(WorkloadId("two"), cluster.now)
    assert (found.low, found.likely, found.high) == (None, None, None)
    assert (found.basis, found.reason, found.horizon_hit) == (Basis.UNKNOWN, Reach.ENDLESS, False)


def test_a_paused_queue_starts_nobody() -> None:
    cluster = a_full_cluster()
    cluster.engine.apply(QueuePaused(queue=QueueName("a")))
    assert cluster.engine.preview(a_workload("new", "a"), cluster.now).reason is Reach.STUCK


def test_what_could_never_start_is_refused() -> None:
    cluster = a_full_cluster()
    found = cluster.engine.preview(a_workload("huge", "a", 3, 8), cluster.now)
    assert found.reason is Reach.NEVER
    assert found.refusal is not None


def test_targets_are_waited_for_as_long_as_their_pool_grants() -> None:
    pool = Pool(
        name=PoolName("best"), lease_default=HOUR, lease_max=HOUR, grace=120.0,
        after_lease=AfterLease.RELEASE,
    )  # fmt: skip
    layout = replace(
        a_layout(a_queue("own", 8, reclaim=Reclaim.ANY), a_queue("best", 0, pool=pool.name)),
        pools=(pool,),
    )
    cluster = Cluster(layout, a_node("n1"))
    cluster.start(a_workload("loan", "best", gpus=8, duration=HOUR), later=0.0)
    found = cluster.engine.preview(a_workload("mine", "own", gpus=8, duration=60.0), cluster.now)
    assert (found.likely, found.reason) == (1120.0, Reach.ENDS)
    cluster.submit(a_workload("mine", "own", gpus=8, duration=60.0))
    assert cluster.cycle().preemptions
    assert cluster.engine.forecast(WorkloadId("mine"), cluster.now).likely == 1120.0


def test_the_answer_changes_with_what_happens_and_with_time() -> None:
    cluster = a_full_cluster()
    new = a_workload("new", "a", gpus=8)
    assert cluster.engine.preview(new, cluster.now).likely == 1000.0 + HOUR / 2
    cluster.now += 60.0
    assert cluster.engine.preview(new, cluster.now).likely == 1000.0 + HOUR / 2
    cluster.now = 1000.0 + HOUR / 2 + 5.0  # it runs over
    assert cluster.engine.preview(new, cluster.now).likely == cluster.now + 5.0
    cluster.finish("half")
    assert cluster.engine.preview(new, cluster.now).likely == cluster.now


def test_a_crowd_is_played_coarsely_and_the_bound_is_said() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8 * 50)), *[a_node(f"n{n:02d}") for n in range(50)])
    for number in range(400):
        cluster.submit(a_workload(f"r{number:03d}", "a", duration=60.0 + number, created=1.0))
    cluster.cycle()
    for number in range(2000):
        created = 2.0 + number
        cluster.submit(a_workload(f"w{number:04d}", "a", duration=HOUR, created=created))
    cluster.cycle()
    soon = cluster.engine.forecast(WorkloadId("w0009"), cluster.now)
    assert soon.likely == 1000.0 + 60.0 + 9
    last = cluster.engine.forecast(WorkloadId("w1999"), cluster.now)
    assert (last.reason, last.horizon_hit, last.likely) == (Reach.BEYOND, True, None)
    assert last.low == last.horizon > soon.likely


def test_who_does_not_wait_has_no_forecast() -> None:
    cluster = a_full_cluster()
    for one in ("half", "nobody"):
        with pytest.raises(EngineError):
            cluster.engine.forecast(WorkloadId(one), cluster.now)


class Play:
    """Everybody runs for as long as was declared; who is stopped is gone at once."""

    def __init__(self, engine: Engine, now: float) -> None:
        self.engine = engine
        self.now = now
        self.ends: list[tuple[float, WorkloadId, float]] = []
        self.since: dict[WorkloadId, float] = {}
        self.first: dict[WorkloadId, float] = {}
        for workload, admission in engine.running():
            self.begin(workload.id, admission.at)

    def begin(self, one: WorkloadId, at: float) -> None:
        """It runs from then on."""
        workload = self.engine.workload(one)
        assert workload is not None
        assert workload.duration is not None
        self.since[one] = at
        heappush(self.ends, (at + workload.duration, one, at))

    def out(self) -> dict[WorkloadId, float]:
        """Until nothing happens any more: when each first started."""
        for _ in range(1000):
            for admission in self.engine.cycle(self.now).admissions:
                self.begin(admission.workload, self.now)
                self.first.setdefault(admission.workload, self.now)
            if not self.evict() and not self.pass_time():
                return self.first
        raise AssertionError("does not come to an end")

    def evict(self) -> bool:
        """Who was told to stop is gone."""
        leaving = self.engine.leaving()
        for one in leaving:
            del self.since[one]
            self.engine.apply(Evicted(workload=one, at=self.now))
        return bool(leaving)

    def pass_time(self) -> bool:
        """Up to the next end or alarm, False if there is none."""
        next_end = self.ends[0][0] if self.ends else None
        times = [at for at in (next_end, self.engine.next_alarm()) if at is not None]
        self.now = max(self.now, min(times, default=self.now))
        while self.ends and self.ends[0][0] <= self.now:
            _, one, began = heappop(self.ends)
            if self.since.get(one) == began:
                del self.since[one]
                self.engine.apply(Finished(workload=one, at=self.now))
        return bool(times)


def a_busy_world(draw: Draw) -> World:
    """A world in which everybody has declared how long he will run."""
    world = World(draw(layouts()))
    for _ in range(draw(st.integers(1, 14))):
        world.now += 1.0
        workload = draw(workloads(world.number))
        world.number += 1
        duration = float(draw(st.integers(50, 90)))
        world.tell(Submitted(workload=replace(workload, duration=duration)))
        if draw(st.integers(0, 2)):
            world.cycle()
            for one in world.engine.leaving():
                world.tell(Evicted(workload=one, at=world.now))
    world.cycle()
    return world


@given(st.data())
def test_with_exact_durations_and_no_arrivals_the_forecast_is_what_happens(
    data: st.DataObject,
) -> None:
    world = a_busy_world(data.draw)
    engine, now = world.engine, world.now
    forecasts = {w.id: engine.forecast(w.id, now) for w in engine.pending()}
    first = Play(engine.fork(), now).out()
    for one, found in forecasts.items():
        assert found.likely == first.get(one), one
        if found.likely is not None:
            assert found.low == found.high == found.likely


@given(st.data())
def test_a_preview_is_what_happens_after_submission(data: st.DataObject) -> None:
    world = a_busy_world(data.draw)
    new = replace(data.draw(workloads(world.number)), duration=60.0, created=world.now)
    found = world.engine.preview(new, world.now)
    world.tell(Submitted(workload=new))
    assert world.engine.forecast(new.id, world.now).likely == found.likely
    assert Play(world.engine, world.now).out().get(new.id) == found.likely
