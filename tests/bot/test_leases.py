"""Leases at the desk: extended unless somebody waits, reminded of, and over."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.answers import Changed, ChangeKind
from bot.control.sweeps import LeaseSweep
from bot.fields import FieldName
from bot.views import RefusalCode, Refused
from scheduler.policy import compile_policy, load_policy
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, LEA, POLICY, START, START_DELAY, STOP_TIME, House

HOUR = 3600.0
DAY = 24 * HOUR


def running(house: House, **more: object) -> str:
    request = house.ask(ADA, **more)
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING
    return request


def extend(house: House, request: str, by: float = 2 * HOUR, **more: object) -> Changed | Refused:
    person = more.pop("person", ADA)
    key = more.pop("key", None) or house.key()
    answer = house.desk.extend(person.id, request, by, key=key, **more)  # type: ignore[attr-defined, arg-type]
    house.step()
    return answer


def refused(answer: object) -> RefusalCode:
    assert isinstance(answer, Refused), answer
    return answer.code


def ends(house: House, request: str) -> float:
    at = house.request(request).lease_ends
    assert at is not None
    return at.timestamp()


def test_an_extension_moves_the_end_and_is_told_in_the_thread(house: House) -> None:
    request = running(house, duration=4 * HOUR)
    answer = extend(house, request, 2 * HOUR)
    assert isinstance(answer, Changed)
    assert (answer.kind, answer.decided) == (ChangeKind.EXTENDED, False)
    (change,) = answer.changes
    assert (change.field, change.before, change.after) == (FieldName.LEASE, 4 * HOUR, 6 * HOUR)
    assert ends(house, request) == START + 6 * HOUR
    line = house.story(request)[-1]
    assert (line.reason, line.actor, line.after) == ("extended", ADA.id, S.RUNNING)
    assert house.heard("changed") == [(Audience.THREAD, None)]
    house.restart()
    house.step()
    durations = house.control.read(lambda e: [w.duration for w, _ in e.running()])
    assert durations == [6 * HOUR]


def test_an_extended_lease_is_reminded_of_again_and_ends_later(house: House) -> None:
    sweep = LeaseSweep(house.control.terms)
    request = running(house, duration=4 * HOUR)
    house.clock.advance(3.7 * HOUR)
    house.control.propose(sweep)
    assert len(house.said("lease-ending")) == 1
    extend(house, request, 2 * HOUR)
    house.clock.advance(0.5 * HOUR)
    house.control.propose(sweep)
    assert house.state(request) is S.RUNNING
    house.clock.advance(1.4 * HOUR)
    for _ in range(2):
        house.control.propose(sweep)
    assert len(house.said("lease-ending")) == 2
    house.clock.advance(0.5 * HOUR)
    house.control.propose(sweep)
    house.step(STOP_TIME)
    house.step()
    assert house.state(request) is S.EXPIRED


def test_nothing_is_extended_while_somebody_waits_for_it(house: House) -> None:
    request = running(house, gpus=8)
    running(house, gpus=8, duration=20 * HOUR)
    rival = house.ask(LEA, gpus=8)
    house.step()
    assert house.state(rival) is S.WAITING
    answer = extend(house, request)
    assert refused(answer) is RefusalCode.SOMEBODY_WAITS
    assert isinstance(answer, Refused)
    assert (answer.args["first"], answer.args["owner"]) == (rival, LEA.name)
    house.desk.cancel(LEA.id, rival, key=house.key())
    house.step()
    assert isinstance(extend(house, request), Changed)


@pytest.mark.parametrize("by", [0.0, -3600.0, 59.0])
def test_no_time_at_all_is_no_extension(house: House, by: float) -> None:
    request = running(house)
    assert refused(extend(house, request, by)) is RefusalCode.LEASE_TOO_SHORT


def test_the_maximum_of_the_pool_holds_from_the_grant_on_and_is_said(house: House) -> None:
    request = running(house, duration=6 * DAY)
    answer = extend(house, request, 2 * DAY)
    assert refused(answer) is RefusalCode.EXTENDED_TOO_LONG
    assert isinstance(answer, Refused)
    assert (answer.args["most"], answer.args["left"]) == (7 * DAY, DAY)
    assert isinstance(extend(house, request, DAY), Changed)
    assert house.desk.card(request).longer is None


def test_the_maximum_is_that_of_the_pool_which_admitted(tmp_path: Path) -> None:
    text = POLICY.replace(
        'queue: "team-{team}"}', 'queue: "team-{team}", overflow: [shared-multi]}'
    )
    house = House(tmp_path, compile_policy(load_policy(text, "overflow.yaml")))
    for _ in range(2):
        running(house, gpus=8)
    request = running(house, gpus=8)
    answer = extend(house, request, 20 * DAY)
    house.close()
    assert isinstance(answer, Refused)
    assert (answer.args["pool"], answer.args["most"]) == ("shared-multi", 14 * DAY)


def test_who_may_extend(house: House) -> None:
    request = running(house)
    assert refused(extend(house, request, person=BEN)) is RefusalCode.NOT_YOURS
    for person in (LEA, ANA):
        assert isinstance(extend(house, request, person=person), Changed)
    told = [target for audience, target in house.heard("changed") if audience is Audience.PERSON]
    assert told == [ADA.id, ADA.id]


def test_what_waits_has_ended_or_is_not_known_is_refused_clearly(house: House) -> None:
    assert refused(extend(house, "R-9999")) is RefusalCode.NO_SUCH_REQUEST
    request = house.ask()
    house.control.step()
    waiting = house.ask(gpus=16, pods=None, nodes=None)
    assert refused(extend(house, waiting)) is RefusalCode.NOT_RUNNING
    house.desk.release(ADA.id, request, key=house.key())
    house.step()
    assert refused(extend(house, request)) is RefusalCode.ALREADY_ENDED
    house.step(STOP_TIME)
    house.step()
    assert refused(extend(house, request)) is RefusalCode.ALREADY_ENDED


def test_after_its_end_a_lease_is_not_extended_any_more(house: House) -> None:
    request = running(house, nodes=4, duration=4 * HOUR)
    house.clock.advance(5 * HOUR)
    house.control.propose(LeaseSweep(house.control.terms))
    assert refused(extend(house, request)) is RefusalCode.LEASE_OVER
    assert house.request(request).workload.preemptible
    assert house.heard("unprotected") == [(Audience.THREAD, None), (Audience.PERSON, ADA.id)]


def test_the_same_delivery_extends_once(house: House) -> None:
    request = running(house, duration=4 * HOUR)
    answers = [extend(house, request, HOUR, key="same") for _ in range(3)]
    assert [isinstance(a, Changed) and a.again for a in answers] == [False, True, True]
    assert ends(house, request) == START + 5 * HOUR
    wrong = [extend(house, request, 99 * DAY, key="wrong") for _ in range(2)]
    assert wrong[0] == wrong[1]


def test_a_button_pressed_twice_extends_once(house: House) -> None:
    request = running(house, duration=4 * HOUR)
    until = ends(house, request)
    assert isinstance(extend(house, request, HOUR, ends=until), Changed)
    assert refused(extend(house, request, HOUR, ends=until)) is RefusalCode.LEASE_MOVED
    assert ends(house, request) == START + 5 * HOUR


def test_what_ends_before_the_loop_looks_is_not_extended(house: House) -> None:
    request = running(house, duration=4 * HOUR)
    house.desk.release(ADA.id, request, key="end")
    late = house.desk.extend(ADA.id, request, HOUR, key="late")
    assert isinstance(late, Changed)
    assert not late.decided
    house.step()
    again = house.desk.extend(ADA.id, request, HOUR, key="late")
    assert refused(again) is RefusalCode.CHANGED_MEANWHILE
    assert house.state(request) is S.STOPPING


def test_two_changes_at_once_do_not_add_up(house: House) -> None:
    request = running(house, duration=4 * HOUR)
    for key in ("a", "b"):
        house.desk.extend(ADA.id, request, HOUR, key=key)
    house.step()
    assert ends(house, request) == START + 5 * HOUR
    second = house.desk.extend(ADA.id, request, HOUR, key="b")
    assert refused(second) is RefusalCode.CHANGED_MEANWHILE


def test_a_clock_that_is_set_back_neither_ends_nor_reminds_again(house: House) -> None:
    sweep = LeaseSweep(house.control.terms)
    request = running(house, duration=4 * HOUR)
    house.clock.advance(3.7 * HOUR)
    house.control.propose(sweep)
    house.clock.advance(-HOUR)
    house.control.propose(sweep)
    house.clock.advance(HOUR)
    house.control.propose(sweep)
    assert len(house.said("lease-ending")) == 1
    assert house.state(request) is S.RUNNING
    assert isinstance(extend(house, request, HOUR), Changed)
    assert ends(house, request) == START + 5 * HOUR
