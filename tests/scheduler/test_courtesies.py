"""Options beyond Kueue on random worlds, and their parts by themselves."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import aging
from scheduler.alarms import Alarms
from scheduler.budgets import Grade, grade
from scheduler.engine import Engine
from scheduler.events import Checkpointed, Counted, Evicted, NodeObserved, Restored, Submitted
from scheduler.invariants import check_invariants
from scheduler.layout import Aging, Layout, Options, Queue, Team, UsageRules
from scheduler.model import LimitKind, Priority, Refusal, TeamName, WaitReason, WorkloadId
from scheduler.protection import Flips
from scheduler.standing import EngineError
from scheduler.turns import UserLedger
from tests.scheduler.builders import Cluster, a_cohort, a_layout, a_node, a_queue, a_workload
from tests.scheduler.manifests.test_writing import read_back
from tests.scheduler.test_properties import CAREFUL
from tests.scheduler.worlds import World, layouts, workloads

TEAM = TeamName("nlp")
RULE = Aging(after=100.0, every=10.0, step=5, most=20)


@st.composite
def courteous(draw: st.DrawFn) -> Layout:
    """A random layout with random options beyond Kueue."""
    layout = draw(layouts())
    options = Options(
        by_cost=draw(st.booleans()), flips_at_most=draw(st.sampled_from((None, 1, 2)))
    )
    queues = tuple(draw(_courteous(queue)) for queue in layout.queues)
    return replace(layout, queues=queues, options=options)


@st.composite
def _courteous(draw: st.DrawFn, queue: Queue) -> Queue:
    rule = Aging(after=draw(st.sampled_from((2.0, 5.0))), every=3.0, step=4, most=8)
    holding = replace(rule, hold=True)
    return replace(
        queue,
        min_runtime=draw(st.sampled_from((0.0, 4.0, 10.0))),
        min_runtime_own=draw(st.sampled_from((0.0, 2.0))),
        aging=draw(st.sampled_from((None, rule, holding))),
        fair_users=draw(st.booleans()),
    )


@CAREFUL
@given(data=st.data())
def test_nobody_within_his_lease_is_stopped_before_his_minimum_run_time(
    data: st.DataObject,
) -> None:
    world = World(data.draw(courteous()))
    queues = {queue.name: queue for queue in world.layout.queues}
    for _ in range(data.draw(st.integers(5, 40))):
        world.now += data.draw(st.sampled_from((1.0, 1.0, 6.0)))
        world.something(data.draw)
        for preemption in world.cycle().preemptions:
            target = world.engine.workload(preemption.target)
            assert target is not None
            if target.lapsed is not None:  # a lease that is over protects nobody any more
                continue
            queue = queues[preemption.target_queue]
            own = preemption.target_queue == preemption.preemptor_queue
            assert preemption.ran >= (queue.min_runtime_own if own else queue.min_runtime)
        check_invariants(world.engine)


@CAREFUL
@given(data=st.data())
def test_between_alarms_nothing_is_decided(data: st.DataObject) -> None:
    """Waking up at the alarms alone loses nothing: no polling is needed."""
    world = World(data.draw(courteous()))
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
    for _ in range(50):
        due = world.engine.next_alarm()
        until = world.now + 100.0 if due is None else due
        assert until > world.now, "an alarm that is due stays due"
        assert not world.engine.cycle((world.now + until) / 2)
        if due is None:
            assert not world.engine.cycle(until)
            return
        world.now = due
        world.cycle()
        for one in world.engine.leaving():
            world.tell(Evicted(workload=one, at=world.now))
        world.cycle()


@CAREFUL
@given(data=st.data())
def test_what_waiting_adds_is_bounded(data: st.DataObject) -> None:
    world = World(data.draw(courteous()))
    rules = {queue.name: queue.aging for queue in world.layout.queues}
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += data.draw(st.sampled_from((1.0, 4.0)))
        world.something(data.draw)
        world.cycle()
        everybody = (*world.engine.pending(), *(w for w, _ in world.engine.running()))
        for workload in everybody:
            rule = rules[workload.queue]
            assert 0 <= workload.raised <= (0 if rule is None else rule.most)


@CAREFUL
@given(data=st.data())
def test_a_pair_flips_no_more_often_than_allowed(data: st.DataObject) -> None:
    layout = replace(data.draw(courteous()), options=Options(flips_at_most=1))
    world = World(layout)
    for _ in range(data.draw(st.integers(10, 60))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
    pairs = [frozenset((p.target, p.preemptor)) for told in world.told for p in told.preemptions]
    assert len(pairs) == len(set(pairs))
    flips = [flip for told in world.told for flip in told.flips]
    assert {frozenset(flip.pair) for flip in flips} == set(pairs)


@settings(CAREFUL, max_examples=15)
@given(data=st.data())
def test_the_order_of_events_of_one_instant_does_not_matter(data: st.DataObject) -> None:
    layout = data.draw(courteous())
    everybody = [
        replace(data.draw(workloads(n)), owner=data.draw(st.sampled_from(("ann", "bob"))))
        for n in range(data.draw(st.integers(5, 20)))
    ]
    batches = [list(group) for _, group in groupby(everybody, key=lambda w: int(w.created) // 3)]
    told = []
    for seed in range(10):
        shuffle = random.Random(seed)  # noqa: S311 - a shuffle, not a secret
        engine = Engine(layout)
        for name in shuffle.sample(["n1", "n2", "n3"], 3):
            engine.apply(NodeObserved(node=a_node(name)))
        mine = []
        for now, batch in enumerate(batches):
            for workload in shuffle.sample(batch, len(batch)):
                engine.apply(Submitted(workload=workload))
            mine.append(engine.cycle(4.0 * now))
            for one in shuffle.sample(engine.leaving(), len(engine.leaving())):
                engine.apply(Evicted(workload=one, at=4.0 * now))
        told.append((mine, engine.pending()))
    assert all(one == told[0] for one in told)


# -- aging -----------------------------------------------------------------------------


@given(
    st.floats(0, 2e9), st.floats(0.1, 1e6), st.floats(0.1, 1e5), st.integers(0, 50), st.booleans()
)
def test_a_step_is_reached_at_the_very_time_that_is_told(
    start: float,
    after: float,
    every: float,
    number: int,
    early: bool,
) -> None:
    rule = Aging(after=after, every=every, step=1, most=1000)
    at = aging.step_at(rule, start, number)
    if early:
        at -= every / 2
    reached = aging.steps(rule, start, at)
    assert reached == 0 or aging.step_at(rule, start, reached - 1) <= at
    assert aging.step_at(rule, start, reached) > at
    assert aging.next_raise(rule, start, at) == aging.step_at(rule, start, reached)


def test_it_rises_in_steps_to_the_most() -> None:
    times = (0.0, 99.0, 100.0, 109.0, 110.0, 130.0, 1e9)
    assert [aging.raise_of(RULE, 0.0, at) for at in times] == [0, 0, 5, 5, 10, 20, 20]
    assert aging.next_raise(RULE, 0.0, 130.0) is None


def test_work_keeps_the_standing_it_started_with_through_a_restart() -> None:
    queue = a_queue("A", 8, aging=RULE)
    first = Cluster(a_layout(queue), a_node("n1"))
    first.start(a_workload("old", "A", 1, 8, created=first.now))
    first.submit(a_workload("late", "A", 1, 8, created=first.now))
    first.cycle(115.0)
    first.finish("old")
    (admission,) = first.cycle().admissions
    ((started, _),) = first.engine.running()
    assert (started.raised, started.priority) == (10, 10)
    again = Engine(a_layout(queue))
    plain = aging.raised(started, 0)
    again.apply(Restored(workload=plain, admission=admission))
    assert again.running()[0][0] == started


# -- alarms, flips, users, cost ----------------------------------------------------------


def test_alarms_ring_once_and_in_order() -> None:
    alarms, one = Alarms(), WorkloadId("w")
    alarms.for_realm(1, 20.0)
    alarms.for_realm(1, 20.0)
    alarms.for_realm(0, 10.0)
    alarms.for_workload(one, 5.0)
    assert alarms.next({one}) == 5.0
    assert alarms.next(()) == 10.0
    assert alarms.due(9.0) == ((), ())
    assert alarms.due(20.0) == ((0, 1), ())
    assert alarms.next({one}) is None


def test_who_is_gone_for_good_is_forgotten() -> None:
    flips, one, other = Flips(2), WorkloadId("a"), WorkloadId("b")
    assert flips.count(one, other, 1.0) is None
    flip = flips.count(other, one, 2.0)
    assert flip is not None
    assert (flip.pair, flip.times, flip.at) == ((one, other), 2, 2.0)
    assert flips.forbid(one, other)
    assert flips.concern(other)
    flips.forget(one)
    assert not flips.forbid(other, one)
    assert not flips.concern(other)


def test_what_a_user_held_fades() -> None:
    layout = replace(
        a_layout(a_queue("A", fair_users=True)), usage=UsageRules(half_life=100.0, interval=1.0)
    )
    users = UserLedger(layout)
    workload = a_workload("w", "A", 1, 8)
    account = TeamName("A/someone")
    users.hold(workload, 1, 0.0)
    users.now = 100.0
    assert users.score(account) == pytest.approx(8 + 4)
    users.hold(workload, -1, 100.0)
    assert users.score(account) == pytest.approx(4)
    users.now = 300.0
    assert users.score(account) == pytest.approx(1)


def test_a_checkpoint_of_who_does_not_run_is_an_error() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    with pytest.raises(EngineError):
        cluster.engine.apply(Checkpointed(workload=WorkloadId("nobody"), at=1.0))


def test_pods_of_other_sets_than_granted_are_an_error() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    cluster.start(a_workload("w", "A", 1, 8))
    with pytest.raises(EngineError):
        cluster.engine.apply(Counted(workload=WorkloadId("w"), alive=(), at=1.0))
    check_invariants(cluster.engine)


def test_pods_that_finish_free_their_share() -> None:
    cluster = Cluster(a_layout(a_queue("A", 16)), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("w", "A", 2, 8))
    (assignment,) = cluster.engine.running()[0][1].assignments
    left = replace(assignment, count=1, nodes=assignment.nodes[:1])
    cluster.engine.apply(Counted(workload=WorkloadId("w"), alive=(left,), at=cluster.now))
    cluster.start(a_workload("x", "A", 1, 8))
    assert cluster.where("x") == {"n2": 1}
    cluster.finish("w", "x")
    check_invariants(cluster.engine)


def test_courtesies_survive_kueues_manifests() -> None:
    queue = a_queue("A", 8, min_runtime=60.0, min_runtime_own=5.0, aging=RULE, fair_users=True)
    layout = replace(
        a_layout(queue, cohorts=(a_cohort("all"),)),
        teams=(Team(name=TEAM, budgets={Priority.HIGH: 8}),),
        options=Options(by_cost=True, flips_at_most=2),
    )
    assert read_back(layout) == layout


# -- budgets ---------------------------------------------------------------------------


def _graded(budgets: dict[Priority, int], has: dict[Priority, int], gpus: int) -> Grade | Refusal:
    layout = replace(a_layout(a_queue("A", 8)), teams=(Team(name=TEAM, budgets=budgets),))
    return grade(layout, has, TEAM, Priority.CRITICAL, gpus)


def test_a_request_inside_the_budget_has_the_class_it_asks_for() -> None:
    found = _graded({Priority.CRITICAL: 16}, {Priority.CRITICAL: 8}, 8)
    assert found == Grade(given=Priority.CRITICAL, asked=Priority.CRITICAL, has=8, most=16)


def test_beyond_the_budget_it_has_the_next_class_whose_budget_holds_it() -> None:
    budgets = {Priority.CRITICAL: 16, Priority.HIGH: 8}
    found = _graded(budgets, {Priority.CRITICAL: 16, Priority.HIGH: 8}, 8)
    assert found == Grade(given=Priority.MEDIUM, asked=Priority.CRITICAL, has=16, most=16)


def test_with_all_budgets_used_up_it_is_refused() -> None:
    found = _graded(dict.fromkeys(Priority, 8), {Priority.LOW: 4}, 9)
    assert found == Refusal(limit=LimitKind.BUDGET, where=TEAM, asked=9, most=4)


def test_the_engine_counts_what_runs_and_what_waits() -> None:
    layout = replace(
        a_layout(a_queue("A", 8)), teams=(Team(name=TEAM, budgets={Priority.HIGH: 24}),)
    )
    cluster = Cluster(layout, a_node("n1"))
    runs, waits = (
        a_workload(name, "A", 1, 8, team=TEAM, priority_class=Priority.HIGH) for name in "rw"
    )
    cluster.start(runs)
    cluster.submit(waits, a_workload("other", "A", 1, 8, team="rl"))
    engine = cluster.engine
    assert engine.grade(TEAM, Priority.HIGH, 8) == Grade(
        given=Priority.HIGH, asked=Priority.HIGH, has=16, most=24
    )
    lower = engine.grade(TEAM, Priority.HIGH, 9)
    assert isinstance(lower, Grade)
    assert lower.given is Priority.MEDIUM


def test_a_lower_class_is_told_with_every_reason() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    cluster.start(a_workload("r", "A", 1, 8))
    cluster.submit(a_workload("w", "A", 1, 8, asked_class=Priority.CRITICAL))
    cluster.cycle()
    verdict = cluster.engine.explain(WorkloadId("w"), cluster.now).verdict
    assert verdict.reason is WaitReason.QUOTA
    assert verdict.figures["asked_class"] == "critical"
    assert verdict.figures["class"] == "medium"
