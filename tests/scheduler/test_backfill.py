"""Reservations: kept on time where ends are kept, in nobody's way where they need not be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.events import (
    Amended,
    Finished,
    NodeObserved,
    QueuePaused,
    QueueResumed,
    Submitted,
)
from scheduler.fork import fork_state
from scheduler.invariants import check_invariants
from scheduler.layout import HOSTNAME, BackfillRules, Layout, Options, Reclaim, Strategy, Within
from scheduler.model import (
    Basis,
    Decisions,
    Priority,
    QueueName,
    Reservation,
    TopologyMode,
    TopologyRequest,
    WaitReason,
    Workload,
    WorkloadId,
)
from tests.scheduler.builders import (
    Cluster,
    a_cohort,
    a_flavor,
    a_layout,
    a_node,
    a_queue,
    a_workload,
)
from tests.scheduler.worlds import QUEUES, World, layouts, workloads

RACK = "example.com/rack"
CAREFUL = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# -- on time -----------------------------------------------------------------------------


@st.composite
def punctual_layouts(draw: st.DrawFn) -> Layout:
    """Two queues of one cohort in which nobody stops anybody, over two racks."""
    return a_layout(
        *[
            a_queue(
                name,
                draw(st.sampled_from((8, 16, 24))),
                borrowing=0,  # who borrows is not in the way of those who own
                reclaim=Reclaim.NEVER,
                within=Within.NEVER,
                backfill=BackfillRules(
                    after=draw(st.sampled_from((0.0, 5.0, 30.0))),
                    least=draw(st.sampled_from((1, 8, 16))),
                    most=draw(st.sampled_from((1, 1, 2, 3))),
                ),
            )
            for name in ("A", "B")
        ],
        cohorts=(a_cohort("all"),),
        flavors=(a_flavor(levels=(RACK, HOSTNAME)),),
    )


@st.composite
def punctual_workloads(draw: st.DrawFn, number: int, at: float) -> Workload:
    """All of one priority; each says how long it runs."""
    made = a_workload(
        f"w{number:03d}",
        draw(st.sampled_from(("A", "B"))),
        draw(st.sampled_from((1, 1, 1, 2, 3))),
        draw(st.sampled_from((1, 2, 4, 8, 8))),
        created=at,
        preemptible=False,
        duration=float(draw(st.sampled_from((3, 10, 20, 50, 100)))),
    )
    if draw(st.booleans()):
        return made
    wish = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)
    return replace(made, pod_sets=(replace(made.pod_sets[0], topology=wish),))


@dataclass
class Punctual:
    """Plays arrivals and declared ends, and notes what was promised to whom."""

    layout: Layout
    now: float = 0.0
    engine: Engine = field(init=False)
    ends: dict[WorkloadId, float] = field(default_factory=dict)
    promised: dict[WorkloadId, Reservation] = field(default_factory=dict)
    told: list[Decisions] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = Engine(self.layout)
        for number in range(4):
            node = a_node(f"n{number}")
            labels = {**node.labels, RACK: f"r{number // 2}"}
            self.engine.apply(NodeObserved(node=replace(node, labels=labels)))

    def until(self, at: float) -> None:
        """Let happen what is due before and at that time, in order."""
        while self.ends and (due := min(self.ends.values())) <= at:
            self.now = due
            for one in sorted(w for w, end in self.ends.items() if end == due):
                del self.ends[one]
                self.engine.apply(Finished(workload=one, at=due))
            self.cycle()
        if at < math.inf:
            self.now = at

    def cycle(self) -> None:
        """Decide, and look whether promises are kept."""
        decided = self.engine.cycle(self.now)
        self.told.append(decided)
        check_invariants(self.engine)
        for admission in decided.admissions:
            workload = self.engine.workload(admission.workload)
            assert workload is not None
            assert workload.duration is not None
            self.ends[workload.id] = self.now + workload.duration
            promise = self.promised.pop(workload.id, None)
            assert promise is None or self.now <= promise.at, f"{workload.id} starts too late"
        for kept in self.engine.reservations():
            before = self.promised.get(kept.workload, kept)
            assert kept.at <= before.at, f"{kept.workload} was moved to a later time"
            self.promised[kept.workload] = kept
        assert set(self.promised) == {kept.workload for kept in self.engine.reservations()}

    def nobody_is_held_in_vain(self) -> None:
        """Who would end before every reservation is held back by none; nobody fits and waits."""
        earliest = min((kept.at for kept in self.engine.reservations()), default=math.inf)
        survey = self.engine.survey(self.now)
        for workload in self.engine.pending():
            verdict = survey.explain(workload.id).verdict
            assert verdict.reason in {
                WaitReason.QUOTA,
                WaitReason.TOPOLOGY,
                WaitReason.RESERVED,
                WaitReason.EXCEEDS_LIMIT,
            }
            if verdict.reason is WaitReason.RESERVED:
                assert workload.duration is not None
                assert self.now + workload.duration > earliest


def _play(data: st.DataObject) -> Punctual:
    world = Punctual(data.draw(punctual_layouts()))
    for number in range(data.draw(st.integers(5, 25))):
        world.until(world.now + data.draw(st.sampled_from((0, 0, 1, 4, 15))))
        made = data.draw(punctual_workloads(number, world.now))
        if world.engine.check(made) is None:
            world.engine.apply(Submitted(workload=made))
        world.cycle()
        world.nobody_is_held_in_vain()
    return world


@CAREFUL
@given(data=st.data())
def test_nobody_starts_later_than_his_reservation(data: st.DataObject) -> None:
    world = _play(data)
    world.until(math.inf)
    assert not world.engine.pending()
    assert not world.engine.running()


@settings(CAREFUL, max_examples=15)
@given(data=st.data())
def test_a_copy_keeps_the_same_promises(data: st.DataObject) -> None:
    world = _play(data)
    twin = Punctual(world.layout, world.now)
    twin.engine._set_up(fork_state(world.engine._state), world.engine._mover.copy())
    twin.ends, twin.promised = world.ends.copy(), world.promised.copy()
    assert twin.engine.reservations() == world.engine.reservations()
    told = len(world.told)
    twin.until(math.inf)
    world.until(math.inf)
    assert twin.told == world.told[told:]


# -- in any world ------------------------------------------------------------------------


def _with_backfill(layout: Layout, rules: BackfillRules) -> Layout:
    return replace(layout, queues=tuple(replace(q, backfill=rules) for q in layout.queues))


@CAREFUL
@given(data=st.data())
def test_invariants_hold_with_reservations(data: st.DataObject) -> None:
    """With preemption, lost nodes, pauses and ends of all kinds; and a cycle comes to rest."""
    rules = BackfillRules(
        after=data.draw(st.sampled_from((0.0, 3.0))),
        least=data.draw(st.sampled_from((1, 8))),
        most=data.draw(st.sampled_from((1, 2))),
        patience=data.draw(st.sampled_from((None, 8.0))),
    )
    layout = _with_backfill(data.draw(layouts()), rules)
    moves = Options(defragment=data.draw(st.booleans()))
    world = World(replace(layout, options=moves))
    lengths = st.sampled_from((None, 2.0, 5.0, 20.0))
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += data.draw(st.sampled_from((1, 1, 1, 5, 700)))
        made = replace(data.draw(workloads(world.number)), duration=data.draw(lengths))
        world.number += 1
        world.tell(Submitted(workload=made))
        world.something(data.draw)
        world.cycle()
        check_invariants(world.engine)
        kept = world.engine.reservations()
        assert len(kept) <= rules.most
        assert {one.workload for one in kept} <= {w.id for w in world.engine.pending()}
        if not moves.defragment:  # which makes one move a cycle
            assert not world.engine.cycle(world.now)
            assert world.engine.reservations() == kept


@settings(CAREFUL, max_examples=30)
@given(data=st.data())
def test_the_same_story_gives_the_same_reservations(data: st.DataObject) -> None:
    rules = BackfillRules(after=2.0, least=2, most=2)
    world = World(_with_backfill(data.draw(layouts()), rules))
    seen, cycles = [], []
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
        seen.append(world.engine.reservations())
        cycles.append((len(world.story), world.now))
    again, at = Engine(world.layout), 0
    for (until, now), told, kept in zip(cycles, world.told, seen, strict=True):
        for event in world.story[at:until]:
            again.apply(event)
        at = until
        assert again.cycle(now) == told
        assert again.reservations() == kept


# -- one by one --------------------------------------------------------------------------

RULES = BackfillRules(after=10.0, least=8)


def _cluster(strategy: Strategy = Strategy.BEST_EFFORT) -> Cluster:
    queue = a_queue("A", 16, within=Within.NEVER, backfill=RULES, strategy=strategy)
    return Cluster(a_layout(queue), a_node("n1"), a_node("n2"))


def test_without_rules_nothing_is_kept() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    cluster.start(a_workload("a", "A", 1, 4, duration=100.0))
    cluster.submit(a_workload("big", "A", 1, 8))
    cluster.cycle(10_000.0)
    assert cluster.engine.reservations() == ()
    assert cluster.engine.next_alarm() is None


def test_a_cycle_without_news_looks_at_nothing() -> None:
    """The wait that is over is news, once; after that an idle cycle is idle."""
    cluster = _cluster()
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.submit(a_workload("big", "A", 2, 8, created=cluster.now))
    cluster.cycle()
    assert cluster.engine.reservations() == ()
    assert cluster.engine.next_alarm() == cluster.now + 10
    cluster.cycle(10.0)
    assert not cluster.engine._state.reservations.news
    (kept,) = cluster.engine.reservations()
    assert (kept.at, kept.basis, kept.domain) == (1501.0, Basis.DECLARED, "")
    cluster.cycle(5.0)
    assert cluster.engine.reservations() == (kept,)


def test_history_stands_in_for_a_lease() -> None:
    cluster = _cluster()
    for number in range(5):
        cluster.start(a_workload(f"h{number}", "A", 1, 8, team="x"))
        cluster.now += 100.0
        cluster.finish(f"h{number}")
    cluster.start(a_workload("a", "A", 1, 8, team="x"))
    began = cluster.now
    cluster.submit(a_workload("big", "A", 2, 8, team="y", created=began, duration=10.0))
    cluster.cycle(10.0)
    (kept,) = cluster.engine.reservations()
    assert (kept.at, kept.basis) == (began + 100.0, Basis.HISTORY)
    cluster.submit(a_workload("like", "A", 1, 8, team="x", created=cluster.now))
    assert not cluster.cycle().admissions, "the upper quartile of its like runs past that"


def test_who_ends_early_brings_a_reservation_forward() -> None:
    cluster = _cluster()
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.start(a_workload("b", "A", 1, 4, duration=900.0))
    cluster.start(a_workload("c", "A", 1, 4, duration=300.0))
    cluster.submit(a_workload("big", "A", 2, 8, created=cluster.now, duration=10.0))
    cluster.cycle(10.0)
    assert [kept.at for kept in cluster.engine.reservations()] == [1902.0]
    cluster.finish("b")
    cluster.cycle(5.0)
    assert [kept.at for kept in cluster.engine.reservations()] == [1902.0], "not yet"
    cluster.finish("c")
    cluster.cycle(300.0)
    assert [kept.at for kept in cluster.engine.reservations()] == [1501.0]


def test_what_is_asked_anew_is_planned_anew() -> None:
    cluster = _cluster()
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.start(a_workload("b", "A", 1, 4, duration=900.0))
    cluster.submit(a_workload("big", "A", 2, 8, created=cluster.now, duration=10.0))
    cluster.cycle(10.0)
    cluster.engine.apply(
        Amended(workload=a_workload("big", "A", 1, 8, created=1002.0, duration=10.0), at=1012.0)
    )
    cluster.cycle()
    (kept,) = cluster.engine.reservations()
    assert (kept.at, kept.nodes, kept.since) == (1501.0, ("n1",), 1012.0)


def test_the_plan_is_part_of_the_explanation_and_of_the_alert() -> None:
    cluster = _cluster()
    cluster.engine = Engine(replace(cluster.engine.layout, target_waits={Priority.MEDIUM: 5.0}))
    for name in ("n1", "n2"):
        cluster.engine.apply(NodeObserved(node=a_node(name)))
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.submit(a_workload("big", "A", 2, 8, created=cluster.now))
    cluster.cycle(10.0)
    (kept,) = cluster.engine.reservations()
    (alert,) = cluster.engine.starving(cluster.now)
    assert alert.explanation.reservation == kept
    assert cluster.engine.explain(WorkloadId("big"), cluster.now).reservation == kept


def test_a_paused_queue_keeps_no_room() -> None:
    cluster = _cluster()
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.submit(a_workload("big", "A", 2, 8, created=cluster.now))
    cluster.cycle(10.0)
    cluster.engine.apply(QueuePaused(queue=QueueName("A")))
    cluster.cycle()
    assert cluster.engine.reservations() == ()
    cluster.engine.apply(QueueResumed(queue=QueueName("A")))
    cluster.cycle()
    assert [kept.workload for kept in cluster.engine.reservations()] == ["big"]


def test_behind_a_strict_head_nobody_gets_room() -> None:
    cluster = _cluster(Strategy.STRICT)
    cluster.start(a_workload("a", "A", 1, 8, duration=500.0))
    cluster.submit(a_workload("first", "A", 2, 8, created=cluster.now))
    cluster.submit(a_workload("second", "A", 2, 8, created=cluster.now + 1))
    cluster.cycle(20.0)
    assert [kept.workload for kept in cluster.engine.reservations()] == ["first"]


def test_every_queue_of_a_world_may_keep_room() -> None:
    """The worlds above do meet reservations."""
    cluster = Cluster(
        _with_backfill(a_layout(*[a_queue(name, 8) for name in QUEUES]), RULES), a_node("n1")
    )
    cluster.start(a_workload("a", "A", 1, 4, duration=100.0))
    cluster.submit(a_workload("big", "B", 1, 8, created=cluster.now, priority=0))
    cluster.cycle(10.0)
    assert [kept.workload for kept in cluster.engine.reservations()] == ["big"]
