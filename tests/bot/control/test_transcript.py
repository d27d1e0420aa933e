"""What an engine was told, told to another: it comes to stand where the first one does."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.control.transcript import Cycled, OutOfStep, Recorded, Sampled, Told, Transcript, repeat
from scheduler.engine import Engine
from scheduler.events import NodeObserved, Submitted
from scheduler.model import Decisions
from tests.scheduler.builders import a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts


@given(st.data())
def test_an_engine_that_is_told_the_same_decides_the_same(data: st.DataObject) -> None:
    draw = data.draw
    layout = draw(layouts())
    world = World(layout, make=Recorded)
    engine, twin = world.engine, Engine(layout)
    assert isinstance(engine, Recorded)
    for _ in range(draw(st.integers(1, 30))):
        world.now += 1.0
        world.something(draw)
        if draw(st.booleans()):
            world.cycle()
        if draw(st.booleans()):  # people look on meanwhile, at the first one only
            survey = engine.survey(world.now + 0.5)
            for waiting in engine.pending():
                survey.explain(waiting.id)
        engine.transcript.seal()
        if draw(st.booleans()):
            travelled = pickle.dumps(engine.transcript.take())
            repeat(twin, pickle.loads(travelled))  # noqa: S301 - our own, a moment old
    repeat(twin, engine.transcript.take())
    assert twin.pending() == engine.pending()
    assert twin.running() == engine.running()
    assert twin.leaving() == engine.leaving()
    assert twin.figures() == engine.figures()
    assert twin.cycle(world.now + 9.0) == engine.cycle(world.now + 9.0)


def a_recorded_engine() -> Recorded:
    engine = Recorded(a_layout(a_queue("a", 8)))
    engine.apply(NodeObserved(node=a_node("n1")))
    return engine


def test_nothing_is_read_before_the_step_is_sealed() -> None:
    engine = a_recorded_engine()
    assert engine.transcript.take() == []
    engine.transcript.seal()
    assert [type(line) for line in engine.transcript.take()] == [Told]
    assert not engine.transcript.whole
    assert engine.transcript.take() == []


def test_a_fork_writes_nothing_down() -> None:
    engine = a_recorded_engine()
    fork = engine.fork()
    fork.apply(Submitted(workload=a_workload("w1", "a", gpus=8)))
    fork.cycle(1.0)
    engine.transcript.seal()
    assert len(engine.transcript.take()) == 1


def test_a_sample_that_a_cycle_takes_by_itself_is_no_line() -> None:
    engine = a_recorded_engine()
    engine.cycle(1.0)
    engine.sample_usage(2.0)
    engine.transcript.seal()
    assert engine.transcript.take()[1:] == [Cycled(1.0, Decisions()), Sampled(2.0)]


def test_another_decision_is_found_out() -> None:
    engine = a_recorded_engine()
    engine.apply(Submitted(workload=a_workload("w1", "a", gpus=8)))
    assert engine.cycle(1.0).admissions
    engine.transcript.seal()
    lines = engine.transcript.take()
    other = Engine(a_layout(a_queue("a", 4)))
    with pytest.raises(OutOfStep):
        repeat(other, lines)


def test_a_new_transcript_is_whole() -> None:
    transcript = Transcript()
    transcript.seal()
    assert transcript.whole
    assert transcript.take() == []
