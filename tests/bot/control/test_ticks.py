"""Ticks: late runs still run, one that hangs blocks nobody, a wake-up is never lost."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bot.control.ticks import MOST_GIVEN_UP, Tick, Ticker

NEVER = 3600.0  # an interval that no test lives to see


def eventually(seen: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something other threads bring about."""
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture
def run() -> Iterator[Callable[..., Ticker]]:
    """Start tickers that are stopped at the end."""
    running: list[Ticker] = []

    def start(*ticks: Tick) -> Ticker:
        ticker = Ticker(ticks)
        ticker.start()
        running.append(ticker)
        return ticker

    yield start
    for ticker in running:
        ticker.stop()


def test_every_tick_states_its_lateness_coalescing_and_instances(
    run: Callable[..., Ticker],
) -> None:
    ticker = run(Tick(name="a", run=lambda: None, every=NEVER, limit=1))
    (job,) = ticker._scheduler.get_jobs()
    assert (job.coalesce, job.max_instances) == (True, 1)
    assert job.misfire_grace_time >= NEVER


def test_a_hanging_tick_is_given_up_and_the_next_run_starts(run: Callable[..., Ticker]) -> None:
    hang, given_up, other = threading.Event(), threading.Event(), threading.Event()
    runs: list[int] = []

    def stuck_once() -> None:
        runs.append(1)
        if len(runs) == 1:
            hang.wait(30)

    ticker = run(
        Tick(name="stuck", run=stuck_once, every=NEVER, limit=0.1, given_up=given_up.set),
        Tick(name="other", run=other.set, every=0.05, limit=1),
    )
    assert given_up.wait(10)
    other.clear()
    assert other.wait(10)
    ticker.wake("stuck")
    eventually(lambda: len(runs) == 2)
    assert ticker.pulses()["stuck"].overran == 1
    hang.set()


def test_a_tick_that_always_hangs_is_left_alone(
    run: Callable[..., Ticker], caplog: pytest.LogCaptureFixture
) -> None:
    hang = threading.Event()
    runs: list[int] = []

    def stuck() -> None:
        runs.append(1)
        hang.wait(30)

    with caplog.at_level(logging.ERROR):
        ticker = run(Tick(name="stuck", run=stuck, every=0.02, limit=0.02))
        eventually(lambda: "left alone" in caplog.text)
    assert len(runs) == MOST_GIVEN_UP
    assert ticker.late(time.monotonic() + 60) == ("stuck",)
    hang.set()


def test_a_failing_tick_goes_on_and_its_trace_is_logged(
    run: Callable[..., Ticker], caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[int] = []

    def fail_once() -> None:
        runs.append(1)
        if len(runs) == 1:
            raise OSError("disk full")

    with caplog.at_level(logging.ERROR):
        ticker = run(Tick(name="shaky", run=fail_once, every=0.02, limit=1))
        eventually(lambda: len(runs) >= 2)
    assert re.search(r"fault [0-9a-f]{8} while running tick shaky", caplog.text)
    assert "Traceback" in caplog.text
    assert "disk full" in caplog.text
    assert ticker.pulses()["shaky"].failed == 1


def test_a_wake_during_a_run_brings_one_more_run(run: Callable[..., Ticker]) -> None:
    began, go_on = threading.Event(), threading.Event()
    runs: list[int] = []

    def slow() -> None:
        runs.append(1)
        began.set()
        if len(runs) == 1:
            go_on.wait(10)

    ticker = run(Tick(name="slow", run=slow, every=NEVER, limit=20))
    assert began.wait(10)
    for _ in range(5):
        ticker.wake("slow")
    go_on.set()
    eventually(lambda: len(runs) == 2)
    eventually(lambda: not ticker.pulses()["slow"].busy)
    assert len(runs) == 2


def test_a_missed_time_is_logged_and_made_up_once(
    run: Callable[..., Ticker], caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[int] = []
    ticker = run(Tick(name="late", run=lambda: runs.append(1), every=NEVER, limit=1))
    eventually(lambda: ticker.pulses()["late"].ran == 1)
    due = ticker._scheduler.get_job("late").next_run_time
    ticker._scheduler.modify_job("late", next_run_time=due.replace(year=due.year - 1))
    with caplog.at_level(logging.WARNING):
        ticker.wake("late")
        eventually(lambda: ticker.pulses()["late"].ran == 2)
