"""Who is due a digest, and when."""

from __future__ import annotations

import datetime as dt

import pytest

from bot.clock import moment
from bot.control.digests import DigestSweep, last_due
from bot.preferences import Digest
from storage.records import Audience
from tests.bot.house import ADA, BEN, House

HOUR = 3600.0


@pytest.mark.parametrize(
    ("at", "often", "zone", "due"),
    [
        ("2026-03-04T10:00", Digest.DAILY, "UTC", "2026-03-04T09:00"),
        ("2026-03-04T08:59", Digest.DAILY, "UTC", "2026-03-03T09:00"),
        ("2026-03-04T08:59", Digest.DAILY, "Asia/Shanghai", "2026-03-04T01:00"),
        ("2026-03-04T10:00", Digest.WEEKLY, "UTC", "2026-03-02T09:00"),
        ("2026-03-02T08:00", Digest.WEEKLY, "UTC", "2026-02-23T09:00"),
        ("2026-03-30T10:00", Digest.DAILY, "Europe/Paris", "2026-03-30T07:00"),  # summer time
    ],
)
def test_a_digest_is_due_at_nine_where_its_reader_is(
    at: str, often: Digest, zone: str, due: str
) -> None:
    when = dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC)
    found = last_due(when, often, zone)
    assert found == dt.datetime.fromisoformat(due).replace(tzinfo=dt.UTC)


def test_who_wants_none_gets_none() -> None:
    assert last_due(moment(0), Digest.OFF, "UTC") is None


def at(house: House, hour: int) -> None:
    """Let it be that hour of the next day, UTC."""
    now = moment(house.clock.now())
    then = (now + dt.timedelta(days=1)).replace(hour=hour, minute=5, second=0, microsecond=0)
    house.clock.advance((then - now).total_seconds())


def test_a_digest_comes_once_a_day_to_those_who_asked(house: House) -> None:
    house.desk.prefs(ADA.id, [("digest", "daily")], key=house.key())
    house.desk.prefs(BEN.id, [("quiet", "22:00-07:00")], key=house.key())
    sweep = DigestSweep(house.store, Digest.OFF)
    at(house, 9)
    for _ in range(3):
        house.control.propose(sweep)
    assert house.heard("digest") == [(Audience.PERSON, ADA.id)]
    house.restart()
    house.step()
    house.control.propose(DigestSweep(house.store, Digest.OFF))
    assert len(house.said("digest")) == 1
    at(house, 9)
    house.control.propose(DigestSweep(house.store, Digest.OFF))
    assert len(house.said("digest")) == 2


def test_the_channel_gets_one_if_it_is_set_so(house: House) -> None:
    at(house, 9)
    house.control.propose(DigestSweep(house.store, Digest.DAILY))
    assert house.heard("digest") == [(Audience.CHANNEL, None)]


def test_a_digest_that_is_half_a_day_late_is_left_out(house: House) -> None:
    at(house, 22)
    house.control.propose(DigestSweep(house.store, Digest.DAILY))
    assert house.said("digest") == []
