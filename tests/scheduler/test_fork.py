"""A copy of the engine decides as the engine would, and changes nothing in it."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler import fork
from scheduler.engine import Engine
from scheduler.events import (
    Event,
    Evicted,
    Finished,
    NodeObserved,
    NodeRemoved,
    QueuePaused,
    QueueResumed,
    Submitted,
    Withdrawn,
)
from scheduler.invariants import check_invariants
from scheduler.layout import Aging, Options, Reclaim
from scheduler.model import GPU, Decisions, NodeName, QueueName, ResourceName, WorkloadId
from scheduler.state import State
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import NODES, QUEUES, Draw, World, layouts, workloads


def a_story(draw: Draw, engine: Engine, now: float, first: int) -> list[Event]:
    """A few things that could happen to an engine as it stands."""
    story: list[Event] = []
    running = [workload.id for workload, _ in engine.running()]
    waiting = [workload.id for workload in engine.pending()]
    for number in range(first, first + draw(st.integers(1, 6))):
        match draw(st.sampled_from(("submit", "submit", "finish", "withdraw", "node", "pause"))):
            case "submit":
                story.append(Submitted(workload=draw(workloads(number))))
            case "finish" if running:
                one = running.pop(draw(st.integers(0, len(running) - 1)))
                story.append(Finished(workload=one, at=now))
            case "withdraw" if waiting:
                one = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
                story.append(Withdrawn(workload=one, at=now))
            case "node":
                node = a_node(draw(st.sampled_from(NODES)), ready=draw(st.booleans()))
                story.append(NodeObserved(node=node))
            case _:
                queue = QueueName(draw(st.sampled_from(QUEUES)))
                paused = draw(st.booleans())
                story.append(QueuePaused(queue=queue) if paused else QueueResumed(queue=queue))
    return story


def play(engine: Engine, story: list[Event], now: float) -> list[Decisions]:
    """Apply it, and let what was told to stop be gone, three times."""
    for event in story:
        engine.apply(event)
    told = [engine.cycle(now)]
    for later in range(1, 4):
        for one in engine.leaving():
            engine.apply(Evicted(workload=one, at=now + later))
        told.append(engine.cycle(now + later))
        if engine.layout.options.claims:  # without, as in Kueue, a start may precede a stop
            check_invariants(engine)
    return told


@given(st.data())
def test_a_fork_decides_as_its_original_and_leaves_it_alone(data: st.DataObject) -> None:
    draw = data.draw
    layout = draw(layouts())
    more = Options(
        defragment=draw(st.booleans()),
        by_cost=draw(st.booleans()),
        flips_at_most=draw(st.sampled_from((None, 2))),
        claims=draw(st.integers(0, 3)) > 0,
    )
    aging = draw(st.sampled_from((None, Aging(after=2.0, every=2.0, step=1, most=6, hold=True))))
    queues = tuple(
        replace(q, aging=aging, min_runtime=draw(st.sampled_from((0.0, 5.0))))
        for q in layout.queues
    )
    world = World(replace(layout, options=more, queues=queues))
    for _ in range(draw(st.integers(1, 12))):
        world.now += 1.0
        world.something(draw)
        if draw(st.booleans()):
            world.cycle()
    story = a_story(draw, world.engine, world.now, world.number)
    other = a_story(draw, world.engine, world.now, world.number)
    alike, brief = world.engine.fork(), world.engine.fork(brief=True)
    stray = world.engine.fork()
    briefer = brief.fork(brief=True)
    play(stray, other, world.now)
    told = play(alike, story, world.now)
    assert play(briefer, story, world.now) == told
    assert play(brief, story, world.now) == told
    assert play(world.engine, story, world.now) == told
    assert alike.fork().running() == world.engine.running()
    assert alike.pending() == world.engine.pending()


def test_every_field_of_the_state_is_copied_or_known_to_be_shared() -> None:
    named = [*fork.SHARED, *fork.PLAIN, *fork.FLAT, *fork.OWN]
    assert sorted(named) == sorted(field.name for field in fields(State))


def test_a_fork_learns_of_nodes_and_resources_by_itself() -> None:
    cluster = Cluster(a_layout(a_queue("a", 64)), a_node("n1"))
    cluster.start(a_workload("w1", "a", gpus=8))
    fork = cluster.engine.fork()
    rdma = ResourceName("rdma/hca")
    fork.apply(NodeObserved(node=a_node("n2", capacity={GPU: 8, rdma: 4})))
    fork.apply(Submitted(workload=a_workload("w2", "a", gpus=8)))
    assert [a.workload for a in fork.cycle(2000.0).admissions] == ["w2"]
    assert cluster.engine.node(NodeName("n2")) is None
    cluster.submit(a_workload("w3", "a", gpus=8))
    assert not cluster.cycle().admissions
    fork.apply(NodeRemoved(node=NodeName("n1")))
    assert cluster.running() == ["w1"]


def test_what_was_stopped_on_a_fork_goes_on_in_the_original() -> None:
    cluster = Cluster(
        a_layout(a_queue("owner", 8, reclaim=Reclaim.ANY), a_queue("guest", 0)), a_node("n1")
    )
    cluster.start(a_workload("loan", "guest", gpus=8))
    fork = cluster.engine.fork()
    fork.apply(Submitted(workload=a_workload("mine", "owner", gpus=8)))
    assert [p.target for p in fork.cycle(2000.0).preemptions] == ["loan"]
    assert cluster.engine.leaving() == ()
    again = fork.fork()
    again.apply(Evicted(workload=WorkloadId("loan"), at=2001.0))
    assert [a.workload for a in again.cycle(2001.0).admissions] == ["mine"]
    assert fork.leaving() == ("loan",)
