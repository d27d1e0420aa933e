"""Looking ahead at the desk: expected starts, tries, offers, and what became of estimates."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from bot.answers import Changed, Tried, WhenView
from bot.asks import Change
from bot.control.sweeps import LeaseSweep
from bot.desk.estimates import FRESH
from bot.leases import delayed
from bot.lookout.port import Question
from bot.prospects import Offered, Prospect
from bot.views import RefusalCode, Refused, Submitted
from scheduler.engine import Engine
from scheduler.forecast import Reach
from scheduler.model import Basis, WorkloadId
from scheduler.offers import OfferKind
from storage.records import Estimate, Person
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, START_DELAY, STOP_TIME, House, an_ask
from tests.fixtures_workspace import eventually

HOUR = 3600.0


@pytest.fixture
def house(house: House) -> House:
    """The desk sees every order carried out at once."""
    return prompt(house)


def prompt(house: House) -> House:
    """Let the loop go round whenever it is woken."""
    house.step()
    house.desk.patience = 1.0
    house.desk.foresight.rest, house.desk.foresight.patience = 0.0, 30.0
    house.control.on_wake = house.control.step
    return house


def busy(house: House) -> House:
    """Nlp's 16 GPUs are held for 4 and for 8 hours, the shared 32 for 20; nothing is idle."""
    for hours in (4, 8):
        house.ask(LEA, gpus=8, duration=hours * HOUR)
    for _ in range(2):
        house.ask(BEN, gpus=8, duration=20 * HOUR)
    house.ask(BEN, nodes=4, duration=20 * HOUR)
    house.step()
    house.step(START_DELAY)
    assert {house.state(f"R-{number}") for number in range(1001, 1006)} == {S.RUNNING}
    return house


def ask(house: House, person: Person = ADA, **more: object) -> Submitted:
    answer = house.desk.submit(person.id, an_ask(**more), key=house.key())
    assert isinstance(answer, Submitted), answer
    house.step()
    return answer


def ahead(house: House, request: str) -> Prospect:
    found = house.desk.when(ADA.id, request)
    assert isinstance(found, WhenView), found
    assert found.card.prospect is not None
    return found.card.prospect


def offer(prospect: Prospect, kind: OfferKind) -> Offered:
    return next(one for one in prospect.offers if one.kind is kind)


def code(answer: object) -> RefusalCode:
    assert isinstance(answer, Refused), answer
    return answer.code


def play(house: House, request: str) -> float:
    """Let leases end one after the other until a request has started: when that was."""
    sweep = LeaseSweep(house.control.terms)
    for _ in range(40):
        if house.state(request) is not S.WAITING:
            break
        running = house.control.read(lambda e: e.running())
        ends = [admission.at + (one.duration or 0.0) for one, admission in running]
        house.clock.advance(max(0.0, min(ends) - house.clock.now()))
        house.control.propose(sweep)
        for (one, _), end in zip(running, ends, strict=True):
            if end <= house.clock.now() and house.state(one.id) in {S.ADMITTED, S.RUNNING}:
                house.desk.release(one.owner, one.id, key=house.key())  # as long as it had said
        house.step()
        house.step(STOP_TIME)
        house.step(START_DELAY)
    admission = house.request(request).admission
    assert admission is not None, "it did not start"
    return admission.at


def test_the_answer_to_what_waits_says_when_it_starts(house: House) -> None:
    busy(house)
    answer = ask(house, gpus=8)
    prospect = answer.card.prospect
    assert prospect is not None
    told = prospect.forecast
    first_end = house.request("R-1001").lease_ends
    assert first_end is not None
    assert (told.reason, told.basis) == (Reach.ENDS, Basis.DECLARED)
    assert told.likely == pytest.approx(first_end.timestamp(), abs=600)
    assert house.desk.card(answer.card.request).prospect is not None
    assert house.desk.mine(ADA.id).open[0].prospect is not None


def test_what_starts_at_once_is_not_forecast(house: House) -> None:
    answer = ask(house, gpus=8)
    house.step()
    assert house.desk.card(answer.card.request).prospect is None


def test_the_estimate_is_kept_and_compared_with_the_start(house: House) -> None:
    busy(house)
    request = ask(house, gpus=8).card.request
    (first,) = estimates(house, request)
    assert first.started is None
    house.clock.advance(600)
    ahead(house, request)
    assert estimates(house, request) == [first]  # what was told at first stays
    started = play(house, request)
    (after,) = estimates(house, request)
    assert after.started is not None
    assert after.started.timestamp() == started
    assert after.error is not None
    assert abs(after.error) < 600
    report = house.desk.report()
    assert not isinstance(report, Refused)
    assert report.guess is not None
    assert report.guess.count == 1
    assert list(report.guesses) == ["team"]


def estimates(house: House, *requests: str) -> list[Estimate]:
    with house.store.read() as view:
        return [found for one in requests if (found := view.estimates.get(one)) is not None]


def test_an_edit_voids_the_estimate_and_another_is_made(house: House) -> None:
    busy(house)
    request = ask(house, gpus=8).card.request
    (first,) = estimates(house, request)
    house.clock.advance(60)
    house.desk.edit(ADA.id, request, Change(gpus=4), key=house.key())
    (again,) = estimates(house, request)
    assert again.at > first.at


def test_the_sweep_draws_a_card_again_only_when_the_start_moves(house: House) -> None:
    busy(house)
    request = ask(house, gpus=8).card.request
    house.desk.look_ahead()
    before = revision(house, request)
    house.desk.look_ahead()
    assert revision(house, request) == before
    house.desk.extend(LEA.id, "R-1002", HOUR, key=house.key())
    house.desk.release(LEA.id, "R-1002", key=house.key())
    house.step()
    house.desk.look_ahead()
    assert revision(house, request) > before


def revision(house: House, request: str) -> int:
    return next(i.revision for i in house.said("card") if i.notice.request == request)


def test_a_try_creates_nothing_and_the_real_request_is_decided_alike(house: House) -> None:
    for wanted in ({"gpus": 8}, {"nodes": 4}, {"gpus": 8, "preemptible": True}):
        before = dump(house)
        tried = house.desk.try_out(ADA.id, an_ask(**wanted))
        assert isinstance(tried, Tried)
        assert dump(house) == before
        assert tried.card.prospect is not None
        at_once = tried.card.prospect.forecast.reason is Reach.NOW
        request = ask(house, ADA, **wanted).card.request
        assert (house.state(request) is S.ADMITTED) is at_once
        house.step(START_DELAY)
    wrong = house.desk.try_out(ADA.id, an_ask(gpus=64))
    assert code(wrong) is RefusalCode.NEVER_FITS


def dump(house: House) -> Sequence[object]:
    with house.store.read() as view:
        return (
            view.requests.find(),
            view.events.unhandled(),
            view.outbox.items(),
            house.control.read(lambda e: (e.pending(), e.running())),
        )


def test_offers_start_sooner_and_one_is_taken(house: House) -> None:
    busy(house)
    house.desk.release(LEA.id, "R-1002", key=house.key())
    house.step()
    house.step(STOP_TIME)
    house.step()
    request = ask(house, nodes=2, duration=6 * HOUR).card.request
    prospect = ahead(house, request)
    assert prospect.forecast.likely is not None
    assert prospect.offers
    for one in prospect.offers:
        assert one.start < prospect.forecast.likely
    fewer = offer(prospect, OfferKind.FEWER_GPUS)
    answer = house.desk.take(ADA.id, request, fewer.key, key=house.key())
    assert isinstance(answer, Changed)
    house.step()
    assert house.request(request).workload.gpus == 8
    assert play(house, request) == pytest.approx(fewer.start, abs=120)
    (line,) = [one for one in house.story(request) if one.reason == "edited"]
    assert line.actor == ADA.id


def test_an_offer_is_taken_once_and_only_as_it_was_made(house: House) -> None:
    busy(house)
    request = ask(house, nodes=2, duration=6 * HOUR).card.request
    other = ask(house, nodes=3, duration=6 * HOUR).card.request
    key = ahead(house, request).offers[0].key
    for person, which, wrong in (
        (ADA, "0" * 16, RefusalCode.OFFER_STALE),
        (ADA, ahead(house, other).offers[0].key, RefusalCode.OFFER_STALE),
        (BEN, key, RefusalCode.NOT_YOURS),
    ):
        assert code(house.desk.take(person.id, request, which, key=house.key())) is wrong
    for delivery in ("one", "one"):
        assert isinstance(house.desk.take(ADA.id, request, key, key=delivery), Changed)
        house.step()
    assert len([one for one in house.story(request) if one.reason == "edited"]) == 1
    late = house.desk.take(ADA.id, request, key, key="two")
    assert code(late) in {RefusalCode.OFFER_STALE, RefusalCode.RUNS_ALREADY}


def test_an_offer_for_what_starts_in_the_same_moment_is_refused_clearly(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people take two offers: the first starts it after the second was found waiting."""
    for _ in range(2):
        ask(house, LEA, gpus=8)
    request = ask(house, gpus=8).card.request
    prospect = ahead(house, request)
    first = offer(prospect, OfferKind.PREEMPTIBLE)
    second = next(one for one in prospect.offers if one.key != first.key)
    look = house.desk.foresight.look

    def overtaken(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr(house.desk.foresight, "look", look)
        assert isinstance(house.desk.take(LEA.id, request, first.key, key="first"), Changed)
        house.step()
        assert house.state(request) is S.ADMITTED
        return look(*args, **more)

    monkeypatch.setattr(house.desk.foresight, "look", overtaken)
    answer = house.desk.take(ADA.id, request, second.key, key="second")
    assert code(answer) is RefusalCode.RUNS_ALREADY


def test_an_offer_for_what_runs_or_has_ended_is_refused_clearly(house: House) -> None:
    busy(house)
    request = ask(house, nodes=2, duration=6 * HOUR).card.request
    key = ahead(house, request).offers[0].key
    running = house.desk.take(LEA.id, "R-1001", key, key=house.key())
    assert code(running) is RefusalCode.RUNS_ALREADY
    house.desk.cancel(ADA.id, request, key=house.key())
    house.step()
    assert code(house.desk.take(ADA.id, request, key, key=house.key())) is RefusalCode.ALREADY_ENDED
    assert code(house.desk.when(ADA.id, "R-9999")) is RefusalCode.NO_SUCH_REQUEST


def test_when_of_what_runs_tells_the_first_estimate(house: House) -> None:
    busy(house)
    request = ask(house, gpus=8).card.request
    play(house, request)
    found = house.desk.when(BEN.id, request)
    assert isinstance(found, WhenView)
    assert found.card.prospect is None
    assert found.first is not None
    assert found.first.error is not None


def test_run_times_of_what_ended_survive_a_restart(house: House) -> None:
    for _ in range(6):
        request = ask(house, gpus=8, duration=5 * HOUR).card.request
        house.step(START_DELAY)
        house.desk.release(ADA.id, request, key=house.key())
        house.step(HOUR)
        house.step(STOP_TIME)
        house.step()
        assert house.state(request) is S.RELEASED
    house.restart()
    house.step()
    unknown = dataclasses.replace(house.request(request).workload, duration=None)
    expected = house.control.read(lambda e: e.expected(unknown))
    assert expected.basis is Basis.HISTORY
    assert expected.likely == pytest.approx(HOUR, rel=0.05)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6, 7])
def test_an_offer_that_is_taken_starts_when_it_said(house: House, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - the same cases each time, no secret
    for number in range(draw.randint(3, 5)):
        length = draw.choice([1, 2, 3, 5, 8]) * HOUR
        ask(house, (BEN, LEA)[number % 2], nodes=1 + number % 2, duration=length)
    house.step(START_DELAY)
    hours = draw.choice([2, 6, 12])
    request = ask(house, nodes=draw.randint(2, 3), duration=hours * HOUR).card.request
    assert house.state(request) is S.WAITING
    prospect = ahead(house, request)
    assert prospect.offers
    chosen = draw.choice(prospect.offers)
    answer = house.desk.take(ADA.id, request, chosen.key, key=house.key())
    assert isinstance(answer, Changed), answer
    house.step()
    assert play(house, request) == pytest.approx(chosen.start, abs=120)


def test_a_lease_grows_where_nobody_starts_later_for_it(house: House) -> None:
    busy(house)
    hero = ask(house, nodes=4, duration=2 * HOUR).card.request  # waits for what BEN holds
    assert house.state(hero) is S.WAITING
    mine = house.desk.extend(LEA.id, "R-1001", HOUR, key=house.key())
    assert isinstance(mine, Changed)
    his = house.desk.extend(BEN.id, "R-1005", HOUR, key=house.key())
    assert isinstance(his, Refused)
    assert (his.code, his.args["first"]) == (RefusalCode.SOMEBODY_WAITS, hero)
    rival = ask(house, gpus=8, duration=HOUR).card.request
    again = house.desk.extend(LEA.id, "R-1001", HOUR, key=house.key())
    assert isinstance(again, Refused)
    assert again.args["first"] == rival
    longest = house.desk.extend(LEA.id, "R-1002", HOUR, key=house.key())
    assert isinstance(longest, Changed)  # the other node of the team is free long before


def test_a_longer_lease_is_played_only_where_somebody_starts_after_its_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(house)
    assert isinstance(house.desk.extend(LEA.id, "R-1001", 18 * HOUR, key=house.key()), Changed)
    house.step()
    hero = WorkloadId(ask(house, nodes=4, duration=2 * HOUR).card.request)
    now = house.control.clock.now()

    def judge(engine: Engine) -> list[tuple[bool, bool]]:
        start = engine.forecast(hero, now).likely
        assert start is not None
        forks: list[Engine] = []
        fork = engine.fork

        def counted() -> Engine:
            forks.append(fork())
            return forks[-1]

        monkeypatch.setattr(engine, "fork", counted)
        seen = []
        for workload, admission in engine.running():
            lease = workload.duration or 0.0
            played = len(forks)
            delayed(engine, workload.id, lease + HOUR, now)
            seen.append((admission.at + lease <= start, len(forks) > played))
        return seen

    seen = house.control.read(judge)
    assert {ends_before for ends_before, _ in seen} == {True, False}
    assert all(ends_before == played for ends_before, played in seen)


def test_what_is_only_good_to_know_waits_while_the_desk_rests(house: House) -> None:
    busy(house)
    house.desk.foresight.rest = 1e9
    first = ask(house, gpus=8)
    assert first.card.prospect is not None
    second = ask(house, gpus=8)
    assert second.card.prospect is None
    assert ahead(house, second.card.request).forecast.likely is not None  # who asks is told
    third = ask(house, gpus=8)
    house.desk.look_ahead()
    assert house.desk.card(third.card.request).prospect is not None


def test_a_look_that_takes_too_long_for_the_answer_is_kept_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(house)
    foresight, answered = house.desk.foresight, threading.Event()
    look = foresight.look

    def look_late(ask: Question[object], *, patience: float) -> object:
        answered.wait(10)
        return look(ask, patience=patience)

    monkeypatch.setattr(foresight, "look", look_late)
    foresight.patience = 0.0
    answer = ask(house, gpus=8)
    request = answer.card.request
    assert answer.card.prospect is None
    answered.set()
    eventually(lambda: house.desk.foresight.of(request))
    assert house.desk.card(request).prospect is not None
    house.desk.look_ahead()
    assert len(estimates(house, request)) == 1


def test_whoever_is_first_in_any_line_keeps_a_lease_from_growing(house: House) -> None:
    busy(house)
    for _ in range(6):
        ask(house, gpus=8, duration=HOUR)  # a long line in another queue
    hero = ask(house, BEN, nodes=4, duration=2 * HOUR).card.request
    his = house.desk.extend(BEN.id, "R-1005", HOUR, key=house.key())
    assert isinstance(his, Refused)
    assert his.args["first"] == hero


def test_when_tells_again_what_was_foreseen_a_moment_ago(house: House) -> None:
    busy(house)
    request = ask(house, gpus=8).card.request

    def told_as_of() -> float:
        found = house.desk.when(BEN.id, request)
        assert isinstance(found, WhenView)
        assert found.card.prospect is not None
        return found.card.prospect.at

    first = told_as_of()
    house.clock.advance(FRESH - 1.0)
    assert told_as_of() == first
    house.clock.advance(2.0)
    assert told_as_of() == first + FRESH + 1.0
