"""What time alone brings about, and that it is said once."""

from __future__ import annotations

from bot.control.sweeps import CardSweep, LeaseSweep, StarvationCheck
from scheduler.model import Priority
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, START_DELAY, STOP_TIME, House

HOUR = 3600.0


def test_a_lease_is_announced_once_and_then_ends(house: House) -> None:
    sweep = LeaseSweep(house.control.terms)
    request = house.ask(duration=4 * HOUR)
    house.step()
    house.step(START_DELAY)
    house.control.propose(sweep)
    assert house.said("lease-ending") == []
    house.clock.advance(3.7 * HOUR)
    for _ in range(3):
        house.control.propose(sweep)
    assert house.heard("lease-ending") == [(Audience.PERSON, ADA.id)]
    house.clock.advance(0.4 * HOUR)
    house.control.propose(sweep)
    assert house.state(request) is S.STOPPING
    house.step(STOP_TIME)
    house.step()
    assert house.state(request) is S.EXPIRED
    assert house.holds() == {}


def test_a_reminder_is_not_repeated_after_a_restart(house: House) -> None:
    house.ask(duration=4 * HOUR)
    house.step()
    house.step(START_DELAY)
    house.clock.advance(3.7 * HOUR)
    house.control.propose(LeaseSweep(house.control.terms))
    house.restart()
    house.step()
    house.control.propose(LeaseSweep(house.control.terms))
    assert len(house.said("lease-ending")) == 1


def test_training_outlives_its_lease_but_loses_its_protection(house: House) -> None:
    sweep = LeaseSweep(house.control.terms)
    request = house.ask(ADA, nodes=4, duration=4 * HOUR)
    house.step()
    house.step(START_DELAY)
    house.clock.advance(5 * HOUR)
    house.control.propose(sweep)
    house.control.propose(sweep)
    assert house.state(request) is S.RUNNING
    assert house.request(request).workload.preemptible
    house.restart()
    house.step()
    running = house.control.read(lambda engine: [w.preemptible for w, _ in engine.running()])
    assert running == [True]


def test_starvation_is_said_once_and_again_only_after_a_start(house: House) -> None:
    check = StarvationCheck(house.control.terms)
    house.ask(BEN, nodes=4, duration=10 * HOUR)
    house.step()
    request = house.ask(ADA, nodes=4, priority=Priority.HIGH, duration=10 * HOUR)
    house.step()
    house.clock.advance(3.9 * HOUR)
    house.control.propose(check)
    assert house.said("starving") == []
    house.clock.advance(0.2 * HOUR)
    for _ in range(3):
        house.control.propose(check)
    house.restart()
    house.step()
    house.control.propose(StarvationCheck(house.control.terms))
    assert house.heard("starving") == [
        (Audience.CHANNEL, None),
        (Audience.THREAD, None),
        (Audience.ONCALL, None),
    ]
    since = house.request(request).starving_since
    assert since is not None
    assert since.timestamp() == house.request(request).created.timestamp() + 4 * HOUR


def test_a_card_is_drawn_again_when_its_place_changes(house: House) -> None:
    sweep = CardSweep(house.store)
    house.ask(BEN, nodes=4)
    ahead = house.ask(BEN, nodes=4)
    request = house.ask(ADA, nodes=4, team="vision")
    house.step()
    house.control.propose(sweep)
    before = _revision(house, request)
    house.control.propose(sweep)
    assert _revision(house, request) == before
    house.desk.cancel(BEN.id, ahead, key=house.key())
    house.step()
    house.control.propose(sweep)
    assert _revision(house, request) == before + 1


def _revision(house: House, request: str) -> int:
    return next(i.revision for i in house.said("card") if i.notice.request == request)
