"""Calls for on-call: taken once, passed on when nobody takes them, kept over a restart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clock import moment
from bot.duty import OnCall
from bot.views import Acknowledged, RefusalCode, Refused
from storage.records import Audience, Call
from tests.bot.house import ADA, ANA, BEN, LEA, START, House

PATIENCE = 600.0


class Rota:
    """Somebody in particular is on call."""

    def __init__(self, *people: str) -> None:
        self.people = frozenset(people)

    def oncall(self) -> OnCall:
        return OnCall(called="S0ONCALL", people=self.people)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path)
    built.control.wall = built.clock
    yield built
    built.close()


def raised(house: House, *keys: str, ts: str = "1.000001") -> None:
    """On-call was told of these in one message."""
    with house.store.write() as work:
        for key in keys:
            work.calls.put(
                Call(
                    key=key,
                    kind="starving",
                    request="R-1001",
                    channel="C0ONCALL",
                    ts=ts,
                    raised=moment(START),
                    due=moment(START + PATIENCE),
                )
            )


def call(house: House, key: str) -> Call:
    with house.store.read() as view:
        found = view.calls.get(key)
    assert found is not None
    return found


def test_who_presses_first_takes_all_that_the_message_says(house: House) -> None:
    raised(house, "a", "b")
    raised(house, "c", ts="2.000001")
    taken = house.desk.acknowledge(ANA.id, "a", key="k1")
    assert taken == Acknowledged(by=ANA.id, at=START, count=2)
    house.clock.advance(60)
    assert call(house, "a").acknowledged_at == moment(START)
    late = house.desk.acknowledge(LEA.id, "b", key="k2")
    assert late == Acknowledged(by=ANA.id, at=START, count=2, before=True)
    again = house.desk.acknowledge(ANA.id, "a", key="k1")  # the same press, delivered twice
    assert isinstance(again, Acknowledged)
    assert not again.before
    assert call(house, "b").acknowledged_by == ANA.id
    assert call(house, "c").acknowledged_by is None


def test_a_researcher_cannot_silence_on_call_unless_on_call(house: House) -> None:
    raised(house, "a")
    refused = house.desk.acknowledge(BEN.id, "a", key=house.key())
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.NOT_ON_CALL
    assert call(house, "a").acknowledged_by is None
    house.desk.duty = Rota(ADA.id)  # an override: Ada stands in
    assert isinstance(house.desk.acknowledge(ADA.id, "a", key=house.key()), Acknowledged)


def test_a_forged_call_is_refused(house: House) -> None:
    refused = house.desk.acknowledge(ANA.id, "no-such-call", key=house.key())
    assert isinstance(refused, Refused)


def test_nobody_comes_so_the_fallback_is_called_twice_and_on_call_told_once(house: House) -> None:
    raised(house, "a", "b")
    assert house.desk.call_next("U0FALL", PATIENCE) == 0
    for _ in range(40):
        house.clock.advance(PATIENCE / 4)
        house.desk.call_next("U0FALL", PATIENCE)
        house.restart()  # rows, not timers
        house.control.wall = house.clock
    told = [item.notice for item in house.said("escalated")]
    assert [notice.audience for notice in told] == [Audience.PERSON] * 2 + [Audience.ONCALL]
    assert [notice.target for notice in told] == ["U0FALL", "U0FALL", None]
    assert [notice.args["over"] for notice in told] == [False, False, True]
    assert all(notice.urgent and len(notice.args["calls"]) == 2 for notice in told)  # type: ignore[arg-type] # JSON
    assert call(house, "a").due is None


def test_what_is_due_soon_is_taken_along(house: House) -> None:
    raised(house, "a")
    house.clock.advance(PATIENCE / 3)
    with house.store.write() as work:
        late = dataclasses.replace(
            work.calls.at("C0ONCALL", "1.000001")[0],
            key="b",
            ts="2.000001",
            due=moment(house.clock.now() + PATIENCE),
        )
        work.calls.put(late)
    house.clock.advance(PATIENCE * 2 / 3)
    assert house.desk.call_next("U0FALL", PATIENCE) == 2
    (told,) = house.said("escalated")
    assert len(list(told.notice.args["calls"])) == 2  # type: ignore[call-overload] # JSON


def test_who_is_called_takes_all_that_the_call_was_about(house: House) -> None:
    raised(house, "a", "b")
    raised(house, "c", ts="2.000001")
    house.clock.advance(PATIENCE)
    assert house.desk.call_next(BEN.id, PATIENCE) == 3
    (told,) = house.said("escalated")
    assert isinstance(house.desk.acknowledge(ADA.id, told.notice.key, key=house.key()), Refused)
    taken = house.desk.acknowledge(BEN.id, told.notice.key, key=house.key())
    assert taken == Acknowledged(by=BEN.id, at=START + PATIENCE, count=3)
    assert {call(house, key).acknowledged_by for key in "abc"} == {BEN.id}
    late = house.desk.acknowledge(ANA.id, told.notice.key, key=house.key())
    assert isinstance(late, Acknowledged)
    assert late.before


def test_once_taken_nobody_is_called(house: House) -> None:
    raised(house, "a")
    house.clock.advance(PATIENCE)
    house.desk.call_next("S0FALL", PATIENCE)
    house.desk.acknowledge(ANA.id, "a", key=house.key())
    house.clock.advance(10 * PATIENCE)
    assert house.desk.call_next("S0FALL", PATIENCE) == 0
    (told,) = house.said("escalated")
    assert (told.notice.audience, told.notice.args["called"]) == (Audience.ONCALL, "S0FALL")
