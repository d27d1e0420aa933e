"""A team's plan for a month: who hears what, and how often."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.control.months import MonthCheck, month_of
from scheduler.policy import compile_policy, load_policy
from storage.records import Audience
from tests.bot.house import LEA, POLICY, House

HOUR = 3600.0


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    text = POLICY.replace("nlp: {gpus: 16}", "nlp: {gpus: 16, monthly_gpu_hours: 100}")
    built = House(tmp_path, compile_policy(load_policy(text, "monthly.yaml")))
    built.step()
    yield built
    built.close()


def look(house: House) -> list[int]:
    """The percentages told so far, in order, after another look."""
    check = MonthCheck(house.control.terms, house.store, house.core.directory.leads)
    house.control.propose(check)
    told = house.said("monthly")
    return [
        int(str(item.notice.args["percent"]))
        for item in told
        if item.notice.audience is Audience.CHANNEL
    ]


def test_each_part_is_told_once_to_the_channel_and_the_leads(house: House) -> None:
    house.ask(gpus=8, duration=30 * HOUR)
    house.step()
    house.step(9 * HOUR)
    assert look(house) == []  # 72 of 100
    house.clock.advance(1.5 * HOUR)
    assert look(house) == [80]
    assert look(house) == [80]
    house.restart()
    house.step()
    house.clock.advance(HOUR)
    assert look(house) == [80]
    house.clock.advance(2 * HOUR)
    assert look(house) == [80, 100]
    heard = house.heard("monthly")
    assert heard.count((Audience.CHANNEL, None)) == 2
    assert heard.count((Audience.PERSON, LEA.id)) == 2


def test_a_plan_that_is_passed_at_once_is_told_once(house: House) -> None:
    house.ask(gpus=16, duration=30 * HOUR)
    house.step()
    house.step(10 * HOUR)
    assert look(house) == [100]


def test_other_teams_count_for_themselves(house: House) -> None:
    house.ask(gpus=8, team="vision", duration=30 * HOUR)
    house.step()
    house.step(20 * HOUR)
    assert look(house) == []


@pytest.mark.parametrize(
    ("at", "begin", "end"),
    [
        ("2026-02-28T23:59:59+00:00", "2026-02-01", "2026-03-01"),
        ("2026-12-01T00:00:00+00:00", "2026-12-01", "2027-01-01"),
        ("2026-12-31T23:30:00-02:00", "2027-01-01", "2027-02-01"),
    ],
)
def test_months_are_those_of_utc(at: str, begin: str, end: str) -> None:
    found = [f"{moment:%Y-%m-%d}" for moment in month_of(dt.datetime.fromisoformat(at))]
    assert found == [begin, end]
