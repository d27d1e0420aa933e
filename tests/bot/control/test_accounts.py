"""The usage ledger as the loop writes it: every second of a grant is charged once."""

from __future__ import annotations

import pytest

from bot.clock import moment
from bot.control.sweeps import sample_usage
from storage.accounts import Grant, Outcome
from storage.states import RequestState
from tests.bot.house import ADA, START, House

HOUR = 3600.0
LATER = START + 100 * HOUR


def grants(house: House) -> tuple[Grant, ...]:
    with house.store.read() as view:
        return view.grants.during(moment(START), moment(LATER))


def test_two_jobs_add_up_to_the_second(house: House) -> None:
    """Known times: 8 GPUs for an hour and a half, 16 GPUs for forty minutes."""
    one = house.ask(gpus=8)
    house.step()
    house.step(HOUR)
    two = house.ask(gpus=16)
    house.step()
    house.step(1800)
    house.desk.release(ADA.id, one, key=house.key())
    house.step()
    house.step(5)  # its pods take that long to go
    house.step(595)
    house.desk.release(ADA.id, two, key=house.key())
    house.step()
    house.step(5)
    first, second = grants(house)
    assert (first.request, first.outcome) == (one, Outcome.RELEASED)
    assert (second.request, second.outcome) == (two, Outcome.RELEASED)
    until = moment(house.clock.now())
    assert first.hours(moment(START), until) == pytest.approx(8 * (1.5 * HOUR + 5) / HOUR)
    assert second.hours(moment(START), until) == pytest.approx(16 * (2400 + 5) / HOUR)
    assert (first.pool, second.pool) == ("team", "shared-multi")
    assert (first.owner, first.team, first.flavor) == (ADA.id, "nlp", "reserved-h100")


def test_a_stopped_gang_has_a_grant_for_each_time_it_held_gpus(house: House) -> None:
    target = house.ask(gpus=64, preemptible=True)
    house.step()
    house.step(HOUR)
    winner = house.ask(gpus=16)
    house.step()  # the target is told to stop, and has its grace
    house.step(120 + 5)
    assert house.state(target) is RequestState.WAITING
    stopped = house.clock.now()
    house.step(HOUR)
    house.desk.release(ADA.id, winner, key=house.key())
    house.step()
    house.step(5)
    back = house.clock.now()
    first, second = (one for one in grants(house) if one.request == target)
    assert (first.outcome, first.waited) == (Outcome.PREEMPTED, 0.0)
    assert first.ended == moment(stopped)
    assert (second.begun, second.ended) == (moment(back), None)
    assert second.waited == pytest.approx(back - stopped)
    assert second.decision == f"{target}/2"


def test_samples_say_what_the_status_says(house: House) -> None:
    house.ask(gpus=8)
    house.ask(gpus=4, preemptible=True)
    house.step()
    house.control.propose(sample_usage)
    with house.store.read() as view:
        (gauge,) = view.gauges.during(moment(START), moment(LATER))
    figures = house.control.read(lambda engine: engine.figures())
    assert (gauge.gpus, gauge.used, gauge.stranded) == (64, 12, 4)
    assert (gauge.nodes, gauge.whole_free_nodes) == (figures.nodes, figures.whole_free_nodes)
    assert (gauge.running, gauge.pending, gauge.pending_gpus) == (2, 0, 0)
