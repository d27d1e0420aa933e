"""Background load: fed in parts, once, silent, and topped up to the wanted share."""

from __future__ import annotations

import re
from functools import partial

from bot.background import A_TEAM, STANDING, Background, Mix, handle_of, load_of
from bot.clock import ScaledClock
from bot.composition import in_use, names_standing
from scheduler.simulation.traces import TraceJob
from storage.records import Request, Source
from storage.states import RequestState as S
from tests.bot.house import NODES, START_DELAY, STOP_TIME, House
from tests.fixtures_workspace import eventually

GPUS = NODES * 8


def _background(house: House, **more: object) -> Background:
    return Background(
        house.desk,
        teams=["nlp", "vision"],
        gpus=GPUS,
        node_gpus=8,
        **more,  # type: ignore[arg-type]  # trace and mix, checked when it is built
    )


def _feed(house: House, background: Background) -> int:
    busy = house.control.read(in_use)
    fed = background.feed(house.clock.now(), lambda: busy)
    house.step()
    return fed


def _all(house: House) -> tuple[Request, ...]:
    with house.store.read() as view:
        return view.requests.find()


def _job(
    number: int, at: float, gpus: int = 1, hours: float = 1.0, tenant: str = "nlp"
) -> TraceJob:
    return TraceJob(id=f"J{number}", tenant=tenant, submitted=at, duration=hours * 3600, gpus=gpus)


def test_the_first_population_fills_the_cluster_and_says_nothing(house: House) -> None:
    background = _background(house)
    while _feed(house, background):
        continue
    busy = house.control.read(in_use)
    assert 0.8 * GPUS <= busy <= GPUS
    assert {request.source for request in _all(house)} == {Source.TRACE}
    assert house.said() == []


def test_what_ends_is_made_up_for(house: House) -> None:
    background = _background(house, mix=Mix(busy=0.9))
    while _feed(house, background):
        continue
    before = len(_all(house))
    for _ in range(50):
        house.step(3600)
        _feed(house, background)
    ended = [request for request in _all(house) if request.state is S.FINISHED]
    assert ended
    assert len(_all(house)) > before
    assert house.control.read(in_use) <= GPUS


def test_a_trace_is_fed_at_its_own_times_and_never_twice(house: House) -> None:
    trace = [_job(1, 100.0), _job(2, 100.0), _job(3, 160.0), _job(4, 400.0)]
    assert _feed(house, _background(house, trace=trace)) == 2
    house.restart()
    house.step()
    assert _feed(house, _background(house, trace=trace)) == 0
    house.clock.advance(60)
    assert _feed(house, _background(house, trace=trace)) == 1
    house.clock.advance(1000)
    assert _feed(house, _background(house, trace=trace)) == 1
    assert len(_all(house)) == 4


def test_a_job_runs_as_long_as_the_trace_says_whatever_the_lease(house: House) -> None:
    _feed(house, _background(house, trace=[_job(1, 0.0, hours=100.0)]))
    house.step(START_DELAY)
    (request,) = _all(house)
    assert request.state is S.RUNNING
    assert request.workload.duration == 125 * 3600
    house.step(100 * 3600 + STOP_TIME)
    assert house.state(request.id) is S.FINISHED


def test_what_never_fits_is_left_out(house: House) -> None:
    assert _feed(house, _background(house, trace=[_job(1, 0.0, gpus=4000)])) == 0
    assert _all(house) == ()


def test_a_job_is_cut_into_equal_pods_that_fit_on_nodes() -> None:
    shapes = {gpus: load_of(_job(1, 0.0, gpus), Mix(), 8).ask for gpus in (1, 8, 12, 64)}
    found = {gpus: (ask.pods, ask.gpus_per_pod) for gpus, ask in shapes.items()}
    assert found == {1: (1, 1), 8: (1, 8), 12: (2, 6), 64: (8, 8)}


def test_load_waits_until_the_loop_has_taken_in_what_was_fed(house: House) -> None:
    background = _background(house, trace=[_job(1, 0.0), _job(2, 60.0)])
    assert background.feed(house.clock.now(), lambda: 0) == 1
    house.clock.advance(60)
    assert background.feed(house.clock.now(), lambda: 0) == 0
    assert background.behind
    house.step()
    assert background.feed(house.clock.now(), lambda: 0) == 1
    assert not background.behind


def test_a_held_world_stands_still_and_then_goes_on_from_there() -> None:
    clock = ScaledClock(1000.0, 3600.0)
    clock.hold(still=True)
    held = clock.now()
    assert [clock.now() for _ in range(100)] == [held] * 100
    clock.hold(still=True)
    assert clock.now() == held
    clock.hold(still=False)
    eventually(lambda: clock.now() > held)


def test_standing_requests_wait_and_are_not_taken_for_load(house: House) -> None:
    background = _background(house, mix=Mix(guarantee=GPUS // 2))
    while not (standing := house.control.read(names_standing)):
        busy = house.control.read(in_use)
        background.feed(house.clock.now(), partial(int, busy), standing)
        house.step()
    assert standing <= set(STANDING)
    waiting = [one.gpus for one in house.control.read(lambda engine: engine.pending())]
    assert sum(waiting) > 0
    before = len(_all(house))
    background.feed(house.clock.now(), lambda: GPUS, STANDING)
    assert len(_all(house)) == before
    assert house.control.read(in_use) <= GPUS


def test_background_people_are_neither_teams_nor_taken_for_people() -> None:
    teams = ("nlp", "vision", "speech")
    handles = {
        team: {load_of(_job(n, 0.0, tenant=team), Mix(), 8).owner for n in range(200)}
        for team in teams
    }
    for team, found in handles.items():
        assert 1 < len(found) <= A_TEAM
        assert not found & set(teams)
        assert all(re.fullmatch(r"sim-[a-z]+", one) for one in found)
        again = {load_of(_job(n, 0.0, tenant=team), Mix(), 8).owner for n in range(200)}
        assert found == again


def test_a_team_has_five_of_them() -> None:
    assert {handle_of("nlp", n / 10) for n in range(10)} == {
        handle_of("nlp", n / 5) for n in range(5)
    }
    assert len({handle_of("nlp", n / 5) for n in range(5)}) == A_TEAM
