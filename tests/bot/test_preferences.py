"""What a person may set, how it is read, and when they are left alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.preferences import (
    FIELDS,
    Digest,
    Notices,
    Preferences,
    QuietHours,
    Where,
    changed,
    read_preferences,
)
from bot.views import PreferencesView, RefusalCode, Refused
from tests.bot.house import ADA, House

PARIS = ZoneInfo("Europe/Paris")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path)
    yield built
    built.close()


@pytest.mark.parametrize("name", FIELDS)
def test_every_example_of_a_field_can_be_set(name: str) -> None:
    for example in FIELDS[name]:
        after = changed(Preferences(), name, example)
        assert after.shown()[name] == example
        assert read_preferences(after.model_dump_json()) == after


@pytest.mark.parametrize(
    "word",
    ["22-7", "22:00-07:00", "22:00 – 7", "22到7", "22:00~07:00"],
)
def test_quiet_hours_can_be_typed_in_many_ways(word: str) -> None:
    assert changed(Preferences(), "quiet", word).shown()["quiet"] == "22:00-07:00"


def test_a_time_zone_is_found_whatever_its_case() -> None:
    assert changed(Preferences(), "zone", "europe/paris").zone == "Europe/Paris"
    assert changed(Preferences(zone="UTC"), "zone", "Auto").zone is None
    with pytest.raises(ValueError, match="not a time zone"):
        changed(Preferences(), "zone", "Mars/Base")


@pytest.mark.parametrize(
    "word", ["", "at night", "25-7", "22:61-7", "7-7", "22", "24:30-3", "-1-5"]
)
def test_what_is_no_span_of_the_day_is_refused(word: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - which part is wrong does not matter
        changed(Preferences(), "quiet", word)


def test_quiet_hours_past_midnight_end_in_the_morning() -> None:
    wishes = Preferences(quiet=QuietHours(begins=1320, ends=420), zone="Europe/Paris")
    late = dt.datetime(2026, 1, 5, 23, 30, tzinfo=PARIS)
    early = dt.datetime(2026, 1, 6, 6, 59, tzinfo=PARIS)
    morning = dt.datetime(2026, 1, 6, 7, tzinfo=PARIS)
    assert wishes.quiet_until(late) == wishes.quiet_until(early) == morning
    assert wishes.quiet_until(morning) is None
    assert wishes.quiet_until(dt.datetime(2026, 1, 6, 21, 59, tzinfo=PARIS)) is None


@given(
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.sampled_from(["UTC", "Europe/Paris", "America/St_Johns", "Asia/Shanghai"]),
    st.integers(1_735_689_600, 1_798_761_600).map(lambda at: dt.datetime.fromtimestamp(at, dt.UTC)),
)
def test_quiet_hours_end_within_about_a_day_whatever_the_clock_does(
    begins: int, ends: int, zone: str, now: dt.datetime
) -> None:
    until = QuietHours(begins=begins, ends=ends).until(now, zone)
    if until is not None:
        assert now < until <= now + dt.timedelta(hours=25)


def test_quiet_hours_are_in_the_zone_of_their_slack_unless_they_chose_one() -> None:
    wanted = Preferences(quiet=QuietHours(begins=1320, ends=420))
    late = dt.datetime(2026, 1, 5, 22, 30, tzinfo=PARIS)  # 21:30 UTC
    assert wanted.quiet_until(late) is None
    assert wanted.within("Europe/Paris").quiet_until(late) is not None
    assert wanted.within("Mars/Base") == wanted.within(None) == wanted
    chosen = wanted.model_copy(update={"zone": "UTC"})
    assert chosen.within("Europe/Paris") == chosen


def test_what_cannot_be_read_any_more_is_the_default() -> None:
    assert read_preferences('{"quiet": {"begins": -1}}') == Preferences()
    assert read_preferences("not json") == Preferences()
    assert read_preferences('{"notices": "none", "later": 1}').notices is Notices.NONE


def test_preferences_are_shown_set_and_kept(house: House) -> None:
    shown = house.desk.prefs(ADA.id, key=house.key())
    assert isinstance(shown, PreferencesView)
    assert shown.fields["notices"] == "all"
    said = [("notices", "Important"), ("where", "thread"), ("digest", "weekly")]
    after = house.desk.prefs(ADA.id, said, key="k1")
    assert isinstance(after, PreferencesView)
    assert after.changed == ("notices", "where", "digest")
    house.restart()
    kept = house.desk.preferences(ADA.id)
    assert (kept.notices, kept.where) == (Notices.IMPORTANT, Where.THREAD)
    assert kept.digest is Digest.WEEKLY
    assert house.desk.preferences("U0NOBODY") == Preferences()


def test_a_second_delivery_changes_nothing_and_gets_the_same_answer(house: House) -> None:
    house.desk.prefs(ADA.id, [("notices", "none")], key="k1")
    house.desk.prefs(ADA.id, [("notices", "all")], key="k2")
    again = house.desk.prefs(ADA.id, [("notices", "none")], key="k1")
    assert isinstance(again, PreferencesView)
    assert house.desk.preferences(ADA.id).notices is Notices.ALL
    for _ in range(2):
        refused = house.desk.prefs(ADA.id, [("quiet", "never")], key="k3")
        assert isinstance(refused, Refused)
        assert refused.args == {"field": "quiet", "value": "never"}


@pytest.mark.parametrize(
    ("changes", "code", "near"),
    [
        ([("quite", "22-7")], RefusalCode.UNKNOWN_PREFERENCE, ("quiet",)),
        ([("quiet", "noon")], RefusalCode.NOT_A_PREFERENCE, FIELDS["quiet"]),
        ([("notices", "none"), ("digest", "hourly")], RefusalCode.NOT_A_PREFERENCE, None),
    ],
)
def test_one_mistake_and_nothing_is_set(
    house: House, changes: list[tuple[str, str]], code: RefusalCode, near: tuple[str, ...] | None
) -> None:
    refused = house.desk.prefs(ADA.id, changes, key=house.key())
    assert isinstance(refused, Refused)
    assert refused.code is code
    assert near is None or refused.near == near
    assert house.desk.preferences(ADA.id) == Preferences()
