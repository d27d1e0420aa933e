"""GPUs that do nothing: who is asked, when, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.answers import Kept
from bot.control.idleness import IdleSweep
from bot.idle.measure import Use
from bot.views import RefusalCode, Refused
from scheduler.policy import compile_policy, load_policy
from storage.records import Audience, Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, POLICY, START_DELAY, STOP_TIME, House, an_ask

HOUR, MINUTE = 3600.0, 60.0
RULE = "idle: {below: 5, after: 1h, answer: 30m, keep: 4h, then: release}"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    text = POLICY.replace("after_lease: release", f"after_lease: release\n    {RULE}", 1)
    built = House(tmp_path, compile_policy(load_policy(text, "idle.yaml")))
    built.step()
    yield built
    built.close()


def running(house: House) -> str:
    request = house.ask(gpus=8, duration=20 * HOUR)
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING
    return request


def look(house: House, request: str, idle: int, measured: int = 8) -> None:
    """A measurement comes in."""
    uses = {"team": {request: Use(measured=measured, idle=idle)}}
    leads = house.core.directory.leads
    house.control.propose(IdleSweep(house.control.terms, house.store, leads, uses))


def asked(house: House) -> list[tuple[Audience, str | None, bool]]:
    return [
        (item.notice.audience, item.notice.target, bool(item.notice.args["over"]))
        for item in house.said("idle")
    ]


QUESTION = [(Audience.PERSON, ADA.id, False), (Audience.THREAD, None, False)]


def test_an_hour_of_nothing_is_one_question(house: House) -> None:
    request = running(house)
    look(house, request, idle=8)
    assert asked(house) == []  # it runs for less than the window
    house.clock.advance(HOUR)
    for _ in range(3):
        look(house, request, idle=8)
    assert asked(house) == QUESTION


def test_keep_silences_for_a_time(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    answer = house.desk.keep(ADA.id, request, key="k")
    assert answer == Kept(request=request, until=house.clock.now() + 4 * HOUR)
    assert house.desk.keep(ADA.id, request, key="k") == answer  # delivered twice
    house.clock.advance(3.9 * HOUR)
    look(house, request, idle=8)
    assert len(asked(house)) == 2
    house.clock.advance(0.2 * HOUR)
    look(house, request, idle=8)
    assert len(asked(house)) == 4  # asked anew
    assert house.state(request) is S.RUNNING


def test_without_an_answer_a_hold_is_given_back(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    house.clock.advance(29 * MINUTE)
    look(house, request, idle=8)
    assert house.state(request) is S.RUNNING
    house.clock.advance(2 * MINUTE)
    look(house, request, idle=8)
    assert house.state(request) is S.STOPPING
    house.step(STOP_TIME)
    assert house.state(request) is S.RELEASED
    assert asked(house)[2:] == [(Audience.THREAD, None, True), (Audience.PERSON, ADA.id, True)]


def test_training_is_never_stopped_its_lead_and_on_call_are_told(house: House) -> None:
    recipe = Recipe(kind=RecipeKind.RUN, image="train:1")
    answer = house.desk.submit(ADA.id, an_ask(gpus=8), key=house.key(), recipe=recipe)
    assert not isinstance(answer, Refused)
    request = answer.card.request
    house.step()
    house.step(START_DELAY)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    house.clock.advance(31 * MINUTE)
    for _ in range(3):
        look(house, request, idle=8)
    assert house.state(request) is S.RUNNING
    assert asked(house)[2:] == [
        (Audience.THREAD, None, True),
        (Audience.ONCALL, None, True),
        (Audience.PERSON, LEA.id, True),
    ]


def test_some_busy_gpus_are_not_taken_with_the_idle_ones(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=3)
    assert asked(house) == []
    look(house, request, idle=6)
    assert len(asked(house)) == 2
    house.clock.advance(31 * MINUTE)
    look(house, request, idle=6)
    assert house.state(request) is S.RUNNING


def test_work_that_begins_again_voids_the_question(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    look(house, request, idle=0)
    house.clock.advance(31 * MINUTE)
    look(house, request, idle=0)
    assert house.state(request) is S.RUNNING
    refused = house.desk.keep(ADA.id, request, key=house.key())
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.NOT_ASKED


def test_it_is_asked_again_when_it_does_nothing_once_more(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    look(house, request, idle=0)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    assert asked(house) == QUESTION * 2  # before anything is given back
    house.clock.advance(29 * MINUTE)
    look(house, request, idle=8)
    assert house.state(request) is S.RUNNING


def test_half_a_measurement_says_nothing(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=4, measured=4)
    assert asked(house) == []


def test_a_question_outlives_a_restart_and_ends_with_the_grant(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    house.restart()
    house.step()
    look(house, request, idle=8)
    assert len(asked(house)) == 2
    house.desk.release(ADA.id, request, key=house.key())
    house.step()
    house.step(STOP_TIME)
    look(house, request, idle=8)
    with house.store.read() as view:
        assert view.settings.under("idle:") == ()


def test_nobody_keeps_what_is_not_theirs(house: House) -> None:
    request = running(house)
    house.clock.advance(HOUR)
    look(house, request, idle=8)
    refused = house.desk.keep(BEN.id, request, key=house.key())
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.NOT_YOURS
    unknown = house.desk.keep(ADA.id, "R-9999", key=house.key())
    assert isinstance(unknown, Refused)
    assert unknown.code is RefusalCode.NO_SUCH_REQUEST
