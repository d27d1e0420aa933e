"""Requests that are changed at the desk: what may be, who may, and the place in line."""

from __future__ import annotations

import dataclasses

import pytest

from bot.answers import Changed
from bot.asks import Ask, Change, Nearness, Together
from bot.desk import Desk
from bot.fields import FieldChange, FieldName
from bot.reask import ask_of
from bot.terms import Terms
from bot.views import RefusalCode, Refused
from scheduler.model import Priority
from storage.records import Audience, Person, Role
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, LEA, NOA, START, START_DELAY, House, an_ask

HOUR = 3600.0
CAL = Person(id="U0CAL", name="Cal Ruiz", teams=("nlp",))


def edit(house: House, request: str, person: Person = ADA, **change: object) -> Changed | Refused:
    answer = house.desk.edit(person.id, request, Change(**change), key=house.key())  # type: ignore[arg-type]
    house.step()
    return answer


def give(house: House, request: str, to: str, person: Person = ADA) -> Changed | Refused:
    answer = house.desk.give(person.id, request, to, key=house.key())
    house.step()
    return answer


def done(answer: object) -> Changed:
    assert isinstance(answer, Changed), answer
    return answer


def code(answer: object) -> RefusalCode:
    assert isinstance(answer, Refused), answer
    return answer.code


@pytest.fixture
def full(house: House) -> House:
    """A team's 16 GPUs are held by LEA, for longer than any test."""
    for _ in range(2):
        house.ask(LEA, gpus=8, duration=100 * HOUR)
    house.step()
    house.step(START_DELAY)
    house.core.directory.add([CAL])
    return house


def line(house: House) -> list[str]:
    return [w.id for w in house.control.read(lambda e: e.pending())]


def test_less_keeps_the_place_and_more_goes_to_the_back(full: House) -> None:
    first, second = full.ask(gpus=8), full.ask(gpus=8)
    full.step(60)
    assert line(full) == [first, second]
    answer = done(edit(full, first, gpus=4, duration=2 * HOUR, name="short"))
    assert not answer.back
    assert line(full) == [first, second]
    answer = done(edit(full, first, gpus=8))
    assert answer.back
    assert line(full) == [second, first]
    assert full.request(first).created.timestamp() == START + START_DELAY  # when it was asked stays


MORE = [
    {"duration": 9 * HOUR},
    {"topology": Together(Nearness.SAME, "node")},
    {"priority": Priority.HIGH},
    {"nodes": 2},
]


@pytest.mark.parametrize("change", MORE, ids=str)
def test_whatever_demands_more_goes_to_the_back(full: House, change: dict[str, object]) -> None:
    request = full.ask(gpus=8, topology=Together(Nearness.PREFER, "node"))
    full.step()
    assert done(edit(full, request, ADA, **change)).back


def test_giving_up_protection_keeps_the_place_and_joins_the_other_pool(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    created = full.request(request).workload.created
    answer = done(edit(full, request, preemptible=True))
    assert not answer.back
    workload = full.request(request).workload
    assert (workload.queue, workload.created, workload.preemptible) == (
        "opportunistic",
        created,
        True,
    )
    assert full.state(request) is S.ADMITTED


def test_the_audit_has_before_and_after(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    done(edit(full, request, gpus=4, person=LEA))
    (told,) = [one for one in full.story(request) if one.reason == "edited"]
    assert told.actor == LEA.id
    assert told.details["changes"] == [{"field": "size", "before": "1×8", "after": "1×4"}]
    assert full.heard("changed") == [(Audience.THREAD, None), (Audience.PERSON, ADA.id)]


def test_a_lead_reorders_the_team_and_the_owner_only_lowers(full: House) -> None:
    first, second = full.ask(gpus=8), full.ask(gpus=8)
    full.step(60)
    answer = done(edit(full, second, person=LEA, priority=Priority.HIGH))
    assert not answer.back
    assert line(full) == [second, first]
    done(edit(full, second, priority=Priority.LOW))
    assert line(full) == [first, second]
    assert code(edit(full, second, priority=Priority.CRITICAL)) is RefusalCode.PRIORITY_NOT_ALLOWED
    assert code(edit(full, second, person=BEN, name="mine")) is RefusalCode.NOT_YOURS


WRONG: list[tuple[dict[str, object], RefusalCode]] = [
    ({"gpus": 0}, RefusalCode.NOT_A_SIZE),
    ({"gpus": 12}, RefusalCode.NOT_DIVISIBLE),
    ({"gpus": 64}, RefusalCode.NEVER_FITS),
    ({"duration": 8 * 86400.0}, RefusalCode.LEASE_TOO_LONG),
    ({"duration": -1.0}, RefusalCode.LEASE_TOO_SHORT),
    ({"model": "h10"}, RefusalCode.UNKNOWN_MODEL),
    ({"name": "x" * 81}, RefusalCode.NAME_TOO_LONG),
    ({"team": "rl"}, RefusalCode.UNKNOWN_TEAM),
    ({"gpus": 8}, RefusalCode.NOTHING_NEW),
    ({}, RefusalCode.NOTHING_NEW),
]


@pytest.mark.parametrize(("change", "wrong"), WRONG, ids=str)
def test_what_cannot_be_changes_nothing(
    full: House, change: dict[str, object], wrong: RefusalCode
) -> None:
    request = full.ask(gpus=8)
    full.step()
    before = full.request(request)
    assert code(edit(full, request, ADA, **change)) is wrong
    assert full.request(request) == before


def test_what_runs_may_get_a_name_a_lease_and_a_lower_class(full: House) -> None:
    request = full.ask(BEN, gpus=8, duration=4 * HOUR)
    full.step()
    full.step(START_DELAY)
    answer = edit(full, request, BEN, gpus=4, topology=Together(Nearness.SPREAD))
    assert code(answer) is RefusalCode.RUNS
    assert isinstance(answer, Refused)
    assert answer.near == ("size", "topology")
    assert code(edit(full, request, BEN, priority=Priority.HIGH)) is RefusalCode.NOT_LOWER
    done(edit(full, request, BEN, priority=Priority.LOW, name="low", duration=2 * HOUR))
    workload = full.request(request).workload
    assert (workload.priority_class, workload.priority, workload.name) == (Priority.LOW, 100, "low")
    assert full.request(request).lease_ends is not None
    full.clock.advance(HOUR)
    assert code(edit(full, request, BEN, duration=HOUR)) is RefusalCode.LEASE_PAST
    assert code(edit(full, request, BEN, duration=9 * 86400.0)) is RefusalCode.EXTENDED_TOO_LONG
    running = full.control.read(lambda e: {w.id: w.priority for w, _ in e.running()})
    assert running[request] == 100  # type: ignore[index]


def test_an_edited_request_survives_a_restart(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    done(edit(full, request, gpus=4, name="again"))
    before = full.request(request).workload
    full.restart()
    full.step()
    assert full.control.read(lambda e: e.workload(before.id)) == before


def test_a_request_told_again_makes_the_same_workload(house: House) -> None:
    asks = (
        an_ask(gpus=8),
        an_ask(nodes=4, priority=Priority.HIGH, name="n"),
        an_ask(pods=2, gpus_per_pod=4, topology=Together(Nearness.SAME, "node")),
        an_ask(gpus=16, preemptible=True, duration=None),
        an_ask(model=None, topology=Together(Nearness.SPREAD)),
    )
    terms: Terms = house.control.terms
    for ask in asks:
        request = house.request(
            house.ask(ADA, **{**dataclasses.asdict(ask), "topology": ask.topology})
        )
        again = house.request(house.ask(ADA, **_fields(ask_of(request.workload, terms))))
        ours, theirs = request.workload, again.workload
        assert dataclasses.replace(ours, id=theirs.id) == theirs


def _fields(ask: object) -> dict[str, object]:
    return {f.name: getattr(ask, f.name) for f in dataclasses.fields(ask)}  # type: ignore[arg-type]


def test_handing_over_in_the_team_keeps_place_team_and_charge(full: House) -> None:
    request = full.ask(gpus=8)
    full.step(60)
    answer = done(give(full, request, CAL.id))
    assert answer.changes == (FieldChange(field=FieldName.OWNER, before=ADA.id, after=CAL.id),)
    workload = full.request(request).workload
    assert (workload.owner, workload.team) == (CAL.id, "nlp")
    assert full.desk.mine(CAL.id).open[0].request == request
    assert full.desk.mine(ADA.id).open == ()
    assert full.heard("changed") == [(Audience.THREAD, None), (Audience.PERSON, CAL.id)]
    assert code(full.desk.cancel(ADA.id, request, key="no")) is RefusalCode.NOT_YOURS


def test_what_runs_is_handed_over_with_its_charge(full: House) -> None:
    request = full.ask(BEN, nodes=2, duration=24 * HOUR)
    full.step()
    full.step(START_DELAY)
    assert code(give(full, request, LEA.name, BEN)) is RefusalCode.NOT_IN_TEAM
    full.step(HOUR)
    done(give(full, request, f"<@{LEA.id}>", ANA))
    assert full.request(request).workload.team == "nlp"
    with full.store.read() as view:
        since, until = full.request(request).created, full.request(request).changed
        held = [
            g for g in view.grants.during(since, until.replace(year=2099)) if g.request == request
        ]
    assert [(g.owner, g.team, g.ended is None) for g in held] == [
        (BEN.id, "vision", False),
        (LEA.id, "nlp", True),
    ]
    told = [target for audience, target in full.heard("changed") if audience is Audience.PERSON]
    assert told == [BEN.id, LEA.id]


def test_who_cannot_be_given_a_request(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    assert code(give(full, request, "nobody")) is RefusalCode.NO_SUCH_PERSON
    assert code(give(full, request, ADA.id)) is RefusalCode.SAME_OWNER
    assert code(give(full, request, BEN.id)) is RefusalCode.NOT_IN_TEAM
    assert code(give(full, request, NOA.id, LEA)) is RefusalCode.NOT_IN_TEAM
    assert code(give(full, request, CAL.id, BEN)) is RefusalCode.NOT_YOURS
    runs = full.ask(BEN, gpus=8)
    full.step()
    assert code(give(full, runs, LEA.id, ANA)) is RefusalCode.ON_TEAM_QUOTA
    assert LEA.role is Role.LEAD


def test_across_teams_a_lead_hands_over_what_waits_at_the_back(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    answer = done(give(full, request, BEN.id, LEA))
    assert answer.back
    workload = full.request(request).workload
    assert (workload.owner, workload.team, workload.queue) == (BEN.id, "vision", "team-vision")
    assert full.state(request) is S.ADMITTED


def test_the_same_delivery_edits_and_gives_once(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    desk: Desk = full.desk
    for _ in range(3):
        done(desk.edit(ADA.id, request, Change(gpus=4), key="edit"))
        full.step()
    for _ in range(3):
        done(desk.give(ADA.id, request, CAL.id, key="give"))
        full.step()
    assert [one.reason for one in full.story(request)] == ["submitted", "edited", "given"]


def test_a_request_that_ended_meanwhile_is_not_edited(full: House) -> None:
    request = full.ask(gpus=8)
    full.step()
    full.desk.cancel(ADA.id, request, key="end")
    done(full.desk.edit(ADA.id, request, Change(gpus=4), key="late"))
    full.step()
    late = full.desk.edit(ADA.id, request, Change(gpus=4), key="late")
    assert code(late) is RefusalCode.ALREADY_ENDED
    assert code(full.desk.edit(ADA.id, request, Change(gpus=4), key="later")) is (
        RefusalCode.ALREADY_ENDED
    )
    assert full.request(request).workload.gpus == 8


def test_a_form_says_everything_anew(full: House) -> None:
    near = Together(Nearness.SAME, "node")
    request = full.ask(gpus=8, name="first", topology=near)
    full.step()
    asked = full.desk.asked(ADA.id, request)
    assert isinstance(asked, Ask)
    assert (asked.pods, asked.gpus_per_pod, asked.topology) == (1, 8, near)
    same = full.desk.rewrite(ADA.id, request, asked, key=full.key())
    assert code(same) is RefusalCode.NOTHING_NEW
    freed = dataclasses.replace(asked, name=None, topology=None, team=None)
    answer = done(full.desk.rewrite(ADA.id, request, freed, key=full.key()))
    full.step()
    assert {change.field for change in answer.changes} == {FieldName.TOPOLOGY, FieldName.NAME}
    workload = full.request(request).workload
    assert (workload.name, workload.pod_sets[0].topology, workload.team) == ("", None, "nlp")
    assert code(full.desk.asked(BEN.id, request)) is RefusalCode.NOT_YOURS


def test_a_form_that_comes_back_late_gets_one_clear_answer(full: House) -> None:
    request = full.ask(BEN, gpus=8, duration=4 * HOUR, topology=Together(Nearness.SAME, "node"))
    waiting = full.desk.asked(BEN.id, request)
    assert isinstance(waiting, Ask)
    full.step()
    full.step(START_DELAY)
    smaller = dataclasses.replace(waiting, pods=None, gpus_per_pod=None, gpus=4, topology=None)
    late = full.desk.rewrite(BEN.id, request, smaller, key=full.key())
    assert code(late) is RefusalCode.RUNS
    assert isinstance(late, Refused)
    assert late.near == ("size", "topology")
    renamed = dataclasses.replace(waiting, name="night", gpus=8, pods=None, gpus_per_pod=None)
    for _ in range(2):
        done(full.desk.rewrite(BEN.id, request, renamed, key="form"))
        full.step()
    assert full.request(request).workload.name == "night"
    full.desk.release(BEN.id, request, key=full.key())
    full.step()
    ended = full.desk.examine_rewrite(BEN.id, request, waiting)
    assert code(ended) is RefusalCode.ALREADY_ENDED
