"""The engine's invariants on random worlds (design: invariants 1 to 5, and rest)."""

from __future__ import annotations

import random
from itertools import groupby

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.events import Evicted, NodeObserved, Submitted, Unprotected
from scheduler.gangs import find_places
from scheduler.invariants import check_invariants
from scheduler.layout import Layout, Queue, Within
from scheduler.model import Decisions, PreemptionRule, Workload, WorkloadId
from scheduler.state import State
from tests.scheduler.builders import a_node
from tests.scheduler.worlds import World, layouts, workloads

CAREFUL = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@CAREFUL
@given(data=st.data())
def test_gangs_stay_whole_and_nothing_is_given_twice(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 40))):
        world.now += 1
        world.something(data.draw)
        check_invariants(world.engine)
        if data.draw(st.booleans()):
            world.cycle()
            check_invariants(world.engine)


@CAREFUL
@given(data=st.data())
def test_a_second_cycle_at_rest_decides_nothing(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
        pending = world.engine.pending()
        for _ in range(3):
            assert not world.engine.cycle(world.now)
        assert world.engine.pending() == pending


@CAREFUL
@given(data=st.data())
def test_protected_work_is_never_a_target(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    protected_from = {queue.name: queue.protected_from for queue in world.layout.queues}
    for _ in range(data.draw(st.integers(5, 40))):
        world.now += 1
        world.something(data.draw)
        for preemption in world.cycle().preemptions:
            target = world.engine.workload(preemption.target)
            preemptor = world.engine.workload(preemption.preemptor)
            assert target is not None
            assert preemptor is not None
            if not target.preemptible:
                threshold = protected_from[preemption.target_queue]
                assert preemption.target_queue == preemption.preemptor_queue
                assert threshold is not None
                assert preemptor.priority >= threshold


@CAREFUL
@given(data=st.data())
def test_in_its_own_queue_work_is_stopped_by_rank_or_after_its_lease(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    queues = {queue.name: queue for queue in world.layout.queues}
    for _ in range(data.draw(st.integers(5, 40))):
        world.now += 1
        world.something(data.draw)
        for preemption in world.cycle().preemptions:
            theirs = world.engine.workload(preemption.target)
            mine = world.engine.workload(preemption.preemptor)
            assert theirs is not None
            assert mine is not None
            over = preemption.target in _lapsed(world)
            assert (theirs.lapsed is not None) is over
            if preemption.rule is PreemptionRule.IN_QUEUE:
                queue = queues[preemption.preemptor_queue]
                assert (over and queue.lapses) or _may_stop_by_rank(queue, mine, theirs)
                assert not mine.barred or (theirs.lapsed and mine.priority > theirs.lapsed.priority)


def _lapsed(world: World) -> set[WorkloadId]:
    """Whose lease ran out in the run that is still on."""
    found = set()
    for event in world.story:
        if isinstance(event, Unprotected):
            found.add(event.workload)
        elif isinstance(event, Evicted):
            found.discard(event.workload)
    return found


def _may_stop_by_rank(queue: Queue, mine: Workload, theirs: Workload) -> bool:
    """Whether the queue's rule lets one stop the other."""
    if queue.within is Within.NEVER or mine.priority < (queue.within_from or mine.priority):
        return False
    newer = (theirs.priority, mine.created) == (mine.priority, min(mine.created, theirs.created))
    equal = newer and queue.within is Within.LOWER_OR_NEWER
    return theirs.priority < mine.priority or equal


@CAREFUL
@given(data=st.data())
def test_a_preemptor_starts_once_its_targets_are_gone(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1
        world.tell(Submitted(workload=data.draw(workloads(world.number))))
        world.number += 1
        promised = {p.preemptor for p in world.cycle().preemptions}
        for one in world.engine.leaving():
            world.tell(Evicted(workload=one, at=world.now))
        started = {a.workload for a in world.cycle().admissions}
        assert promised <= started


@CAREFUL
@given(data=st.data())
def test_no_target_could_have_been_spared(data: st.DataObject) -> None:
    """With any one target back, the preemptor fits by quota and placement no more."""
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1
        world.tell(Submitted(workload=data.draw(workloads(world.number))))
        world.number += 1
        decisions = world.cycle()
        preemptors = {p.preemptor for p in decisions.preemptions}
        if len(preemptors) == 1 and not decisions.admissions:
            targets = [p.target for p in decisions.preemptions]
            assert not _could_spare(world.engine, preemptors.pop(), targets)
        for one in world.engine.leaving():
            world.tell(Evicted(workload=one, at=world.now))
        world.cycle()


def _could_spare(
    engine: Engine, preemptor: WorkloadId, targets: list[WorkloadId]
) -> list[WorkloadId]:
    """Targets whose return would leave room for the preemptor, inside its queue's quota."""
    state: State = engine._state
    claim = state.claims[preemptor]
    book, tree, charge = state.future, state.tree, claim.charge
    flavors = [dict(part.flavors) for part in claim.assignments]
    spared = []
    mark = book.checkpoint()
    book.discharge(charge)
    for target in targets:
        inner = book.checkpoint()
        book.charge(state.running[target].charge)
        if (
            tree.fits(book.usage, charge.queue, charge.amounts)
            and not any(tree.exceeds(book.usage, charge.queue, c, n) for c, n in charge.amounts)
            and find_places(state, claim.waiting.workload.pod_sets, flavors, (book,)) is not None
        ):
            spared.append(target)
        book.rollback(inner)
    book.rollback(mark)
    return spared


@CAREFUL
@given(data=st.data())
def test_nobody_preempts_each_other_in_turn(data: st.DataObject) -> None:
    """Without news from outside, preemption comes to an end and does not go in circles.

    A pair may come again only after its preemptor was itself stopped by somebody else: then
    the target may have started once more, and the preemptor has the same right again. (A high
    priority that borrows is stopped by each owner who reclaims.)
    """
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 25))):
        world.tell(Submitted(workload=data.draw(workloads(world.number))))
        world.number += 1
    _come_to_rest(world)


@CAREFUL
@given(data=st.data())
def test_nobody_preempts_each_other_in_turn_when_leases_end(data: st.DataObject) -> None:
    """Whoever is stopped after his lease does not stop in turn the one for whom it was.

    Some that run have outlived their leases, and others come.
    """
    world = World(data.draw(layouts()))
    for least in (3, 1):
        for _ in range(data.draw(st.integers(least, 12))):
            world.tell(Submitted(workload=data.draw(workloads(world.number))))
            world.number += 1
        _come_to_rest(world)
        for workload, _ in world.engine.running():
            if data.draw(st.booleans()):
                world.tell(Unprotected(workload=workload.id))
    _come_to_rest(world)


def _come_to_rest(world: World) -> None:
    """Play on without news until nobody is stopped any more; see the tests above."""
    seen: set[tuple[str, str]] = set()
    for _ in range(200):
        world.now += 1
        decisions = world.cycle()
        for preemption in decisions.preemptions:
            assert (preemption.preemptor, preemption.target) not in seen
            assert (preemption.target, preemption.preemptor) not in seen
            seen = {pair for pair in seen if pair[1] != preemption.target}
            seen.add((preemption.target, preemption.preemptor))
        if not world.engine.leaving():
            return
        for one in world.engine.leaving():
            world.tell(Evicted(workload=one, at=world.now))
    raise AssertionError("preemption does not come to an end")


def _decide(
    layout: Layout, batches: list[list[Workload]], shuffle: random.Random
) -> list[Decisions]:
    engine = Engine(layout)
    nodes = [a_node(f"n{number}") for number in range(4)]
    shuffle.shuffle(nodes)
    for node in nodes:
        engine.apply(NodeObserved(node=node))
    told = []
    for now, batch in enumerate(batches):
        shuffled = list(batch)
        shuffle.shuffle(shuffled)
        for workload in shuffled:
            engine.apply(Submitted(workload=workload))
        told.append(engine.cycle(float(now)))
        gone = list(engine.leaving())
        shuffle.shuffle(gone)
        for one in gone:
            engine.apply(Evicted(workload=one, at=float(now)))
        told.append(engine.cycle(float(now)))
    return told


@settings(CAREFUL, max_examples=8)
@given(data=st.data())
def test_the_order_of_events_of_one_instant_does_not_matter(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    everybody = [data.draw(workloads(number)) for number in range(data.draw(st.integers(10, 30)))]
    batches = [list(group) for _, group in groupby(everybody, key=lambda w: int(w.created) // 3)]
    first = _decide(layout, batches, random.Random(0))  # noqa: S311 - a shuffle, not a secret
    for seed in range(1, 101):
        shuffle = random.Random(seed)  # noqa: S311 - a shuffle, not a secret
        assert _decide(layout, batches, shuffle) == first


@CAREFUL
@given(data=st.data())
def test_the_same_story_gives_the_same_decisions(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    cycles: list[tuple[int, float]] = []
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
        cycles.append((len(world.story), world.now))
    again = Engine(world.layout)
    told, at = [], 0
    for until, now in cycles:
        for event in world.story[at:until]:
            again.apply(event)
        at = until
        told.append(again.cycle(now))
    assert told == world.told
