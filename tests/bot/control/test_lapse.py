"""Training whose lease is over makes way for whoever waits, also after a restart."""

from __future__ import annotations

from bot.asks import Change
from bot.control.sweeps import LeaseSweep
from scheduler.lapse import LAPSED
from scheduler.model import Lapsed, Priority, Workload, WorkloadId
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, START_DELAY, STOP_TIME, House

HOUR = 3600.0


def _overstayed(house: House) -> tuple[str, str]:
    """Critical training that fills its pool and whose lease is over; a hero that waits for it."""
    critical = house.ask(ANA, nodes=4, priority=Priority.CRITICAL, duration=4 * HOUR)
    house.step()
    house.step(START_DELAY)
    hero = house.ask(ADA, nodes=4, priority=Priority.HIGH, duration=4 * HOUR)
    house.step(3.9 * HOUR)
    assert (house.state(critical), house.state(hero)) == (S.RUNNING, S.WAITING)
    house.clock.advance(HOUR)
    house.control.propose(LeaseSweep(house.control.terms))
    return critical, hero


def _known(house: House, request: str) -> Workload:
    found = house.control.read(lambda engine: engine.workload(WorkloadId(request)))
    assert found is not None
    return found


def test_a_hero_gets_what_was_overstayed_whatever_its_rank(house: House) -> None:
    critical, hero = _overstayed(house)
    stored = house.request(critical).workload
    assert (stored.priority, stored.lapsed) == (LAPSED, Lapsed(priority=1000, preemptible=False))
    assert stored.priority_class is Priority.CRITICAL
    assert house.heard("unprotected") == [(Audience.THREAD, None), (Audience.PERSON, ANA.id)]
    house.restart()
    house.step()
    assert house.state(critical) is S.PREEMPTING
    told = [item.notice.args for item in house.said("preempted")]
    assert [args["overstayed"] for args in told] == [True, True]
    house.restart()
    house.step(STOP_TIME)
    house.step(START_DELAY)
    house.step()
    assert (house.state(critical), house.state(hero)) == (S.WAITING, S.RUNNING)


def test_who_overstayed_waits_with_its_old_standing_and_does_not_stop_the_hero(
    house: House,
) -> None:
    critical, hero = _overstayed(house)
    house.step()
    house.step(STOP_TIME)
    house.step(START_DELAY)
    house.desk.edit(ANA.id, critical, Change(name="again"), key=house.key())
    house.step()
    for _ in range(2):
        workload = house.request(critical).workload
        assert (workload.priority, workload.preemptible) == (1000, False)
        assert (workload.lapsed, workload.barred, workload.name) == (None, True, "again")
        assert _known(house, critical).barred
        assert (house.state(critical), house.state(hero)) == (S.WAITING, S.RUNNING)
        house.restart()
        house.step(60.0)
    house.desk.release(ADA.id, hero, key=house.key())
    house.step(STOP_TIME)
    house.step(STOP_TIME)
    house.step(START_DELAY)
    assert house.state(critical) is S.RUNNING
    house.restart()
    house.step()
    assert not _known(house, critical).barred


def test_a_lower_class_after_the_lease_counts_when_it_waits_again(house: House) -> None:
    critical, _ = _overstayed(house)
    house.desk.edit(ANA.id, critical, Change(priority=Priority.LOW), key=house.key())
    house.control.propose(LeaseSweep(house.control.terms))
    house.step()
    stored = house.request(critical).workload
    assert (stored.priority_class, stored.priority) == (Priority.LOW, LAPSED)
    assert stored.lapsed == Lapsed(priority=100, preemptible=False)
    assert _known(house, critical) == stored
    assert len(house.heard("unprotected")) == 2
