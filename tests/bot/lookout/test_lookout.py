"""Every lookout answers by the engine as it is now; the one in a process of its own survives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psutil
import pytest

from bot.control.transcript import Sampled, Told
from bot.lookout import twin
from bot.lookout.here import Here
from bot.lookout.port import Lookout
from bot.lookout.twin import Twin
from bot.views import NotReady
from scheduler.events import Withdrawn
from scheduler.model import WorkloadId
from scheduler.standing import EngineError
from tests.bot.house import House
from tests.bot.lookout.questions import stumble, who_is_there

LONG = 60.0  # seconds; what answers in the end answers long before
MAKERS: dict[str, Callable[[House], Lookout]] = {
    "here": lambda house: Here(house.control),
    "twin": lambda house: Twin(house.control),
}


@pytest.fixture
def recorded(house: House) -> House:
    house.control.records = True
    house.restart()
    house.control.records = True
    house.step()
    return house


@pytest.fixture(params=sorted(MAKERS))
def lookout(request: pytest.FixtureRequest, recorded: House) -> Iterator[Lookout]:
    made = MAKERS[request.param](recorded)
    yield made
    made.close()


def seen(house: House) -> tuple[list[str], list[str], int]:
    return house.control.read(
        lambda engine: who_is_there(engine, house.control.terms, house.clock.now())
    )


def test_it_answers_by_the_engine_as_it_is_now(recorded: House, lookout: Lookout) -> None:
    house = recorded
    assert lookout.ask(who_is_there, patience=LONG) == seen(house)
    first = house.ask(gpus=8)
    house.step(1.0)
    assert lookout.ask(who_is_there, patience=LONG) == seen(house)
    for _ in range(6):
        house.ask(gpus=8)
    house.step(1.0)
    lookout.keep_up()
    waiting, running, _ = lookout.ask(who_is_there, patience=LONG)
    assert (waiting, running) == seen(house)[:2]
    assert first in running
    assert waiting


def test_it_follows_an_engine_that_was_built_anew(recorded: House, lookout: Lookout) -> None:
    house = recorded
    lookout.ask(who_is_there, patience=LONG)
    house.ask(gpus=8)
    house.control.renew()
    house.step(1.0)
    assert lookout.ask(who_is_there, patience=LONG) == seen(house)


def test_what_a_question_raises_is_raised(lookout: Lookout) -> None:
    with pytest.raises(EngineError, match="R-0 does not wait"):
        lookout.ask(stumble, patience=LONG)


def test_without_an_engine_there_is_no_answer(recorded: House, lookout: Lookout) -> None:
    recorded.control.give_up()
    with pytest.raises(NotReady):
        lookout.ask(who_is_there, patience=LONG)


def test_who_has_no_patience_does_not_queue(recorded: House, lookout: Lookout) -> None:
    inside, done = threading.Event(), threading.Event()
    clock = recorded.clock.now

    def slowly() -> float:
        inside.set()
        assert done.wait(LONG)
        return clock()

    recorded.clock.now = slowly  # type: ignore[method-assign] # the question waits for the time
    first = threading.Thread(target=lambda: lookout.ask(who_is_there, patience=LONG))
    first.start()
    assert inside.wait(LONG)
    with pytest.raises(NotReady):
        lookout.ask(who_is_there, patience=0.0)
    done.set()
    first.join(LONG)


@pytest.fixture
def beside(recorded: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Twin]:
    monkeypatch.setattr(twin, "PAUSE", 0.0)
    made = Twin(recorded.control)
    yield made
    made.close()


def test_a_process_that_was_killed_is_started_anew(recorded: House, beside: Twin) -> None:
    house = recorded
    house.ask(gpus=8)
    house.step(1.0)
    before = beside.ask(who_is_there, patience=LONG)
    assert beside._process is not None
    psutil.Process(beside._process.pid).kill()
    with pytest.raises(NotReady):
        beside.ask(who_is_there, patience=LONG)
    house.step()  # the loop builds its engine anew, and with it the transcript
    assert beside.ask(who_is_there, patience=LONG) == before


def test_a_process_that_is_lost_again_and_again_is_started_ever_more_rarely(
    recorded: House, beside: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, started = [0.0], []
    monkeypatch.setattr("bot.lookout.twin.time.monotonic", lambda: now[0])
    monkeypatch.setattr(twin, "PAUSE", 30.0)

    def fail(*_args: object, **_more: object) -> None:
        started.append(now[0])
        raise OSError("no more processes")

    monkeypatch.setattr(twin, "_send", fail)
    for _ in range(100):
        with pytest.raises(NotReady):
            beside.ask(who_is_there, patience=LONG)
        recorded.step()
        now[0] += 10.0
    assert started == [0.0, 30.0, 90.0, 210.0, 450.0, 930.0]
    assert beside.process_id is None


def test_an_engine_that_went_astray_answers_nobody(recorded: House, beside: Twin) -> None:
    house = recorded
    beside.ask(who_is_there, patience=LONG)
    transcript = house.control.transcript
    assert transcript is not None
    transcript.write(Told(Withdrawn(workload=WorkloadId("R-0"), at=house.clock.now())))
    transcript.write(Sampled(house.clock.now()))
    transcript.seal()
    with pytest.raises(NotReady):
        beside.ask(who_is_there, patience=LONG)
    house.step()
    assert house.control.transcript is not transcript
    assert beside.ask(who_is_there, patience=LONG) == seen(house)


def test_nobody_is_answered_after_the_end(recorded: House, beside: Twin) -> None:
    beside.ask(who_is_there, patience=LONG)
    assert beside._process is not None
    process = psutil.Process(beside._process.pid)
    beside.close()
    assert not process.is_running()
    with pytest.raises(NotReady):
        beside.ask(who_is_there, patience=LONG)
    beside.keep_up()
    assert beside._process is None
