"""What happens by itself: named ticks on APScheduler, none of which can block another.

Lateness, coalescing, the number of instances and a time limit are set for every tick,
because the defaults drop runs that are a second late. A tick that overruns its limit is
given up: the scheduler goes on, the next run starts afresh, and what the late one still
does must not matter (a tick may run twice). Due times of business matters (leases,
reminders) are columns of our own tables; nothing is pickled.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from apscheduler.events import (
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
    JobEvent,
)
from apscheduler.executors.pool import ThreadPoolExecutor as TickExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from bot import mishaps

log = logging.getLogger(__name__)

LATENESS = 24 * 3600  # a late tick still runs, once: better late than never
MOST_GIVEN_UP = 3  # runs of one tick that may hang at once before it is left alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One thing that recurs: `every` and `limit` are seconds; `given_up` hears of an overrun."""

    name: str
    run: Callable[[], object]
    every: float
    limit: float
    given_up: Callable[[], None] | None = None


@dataclass(slots=True)
class Pulse:
    """How a tick is doing. Times are seconds of the monotonic clock."""

    ran: int = 0
    failed: int = 0
    overran: int = 0
    missed: int = 0
    last_good: float = field(default_factory=time.monotonic)
    hanging: list[threading.Thread] = field(default_factory=list)
    wanted: bool = False
    busy: bool = False


class Ticker:
    """Runs ticks until it is stopped, and knows for each when it last came through."""

    def __init__(self, ticks: tuple[Tick, ...]) -> None:
        self._ticks = {tick.name: tick for tick in ticks}
        self._pulses = {tick.name: Pulse() for tick in ticks}
        self._scheduler = BackgroundScheduler(
            timezone=dt.UTC,
            executors={"default": TickExecutor(max_workers=len(ticks) + 1)},
        )
        self._scheduler.add_listener(
            self._hear,
            EVENT_JOB_ERROR | EVENT_JOB_EXECUTED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_MISSED,
        )

    def start(self) -> None:
        """Start every tick at once, then at its interval."""
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # `_hear` says it with a name
        for tick in self._ticks.values():
            self._scheduler.add_job(
                self._run,
                "interval",
                args=(tick.name,),
                id=tick.name,
                seconds=tick.every,
                next_run_time=dt.datetime.now(dt.UTC),
                misfire_grace_time=LATENESS,
                coalesce=True,
                max_instances=1,
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Stop; a run that is under way may finish within its limit."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def wake(self, name: str) -> None:
        """Run a tick now, or once more if it is just running. Never lost, never queued twice."""
        pulse = self._pulses[name]
        pulse.wanted = True
        if not pulse.busy:
            self._hurry(name)

    def pulses(self) -> dict[str, Pulse]:
        """How each tick is doing, by name."""
        return dict(self._pulses)

    def late(self, now: float | None = None) -> tuple[str, ...]:
        """The ticks that have not come through for three intervals and their limit."""
        seen = time.monotonic() if now is None else now
        return tuple(
            name
            for name, tick in sorted(self._ticks.items())
            if seen - self._pulses[name].last_good > 3 * tick.every + tick.limit
        )

    def _hurry(self, name: str) -> None:
        if self._scheduler.running:
            self._scheduler.modify_job(name, next_run_time=dt.datetime.now(dt.UTC))

    def _run(self, name: str) -> None:
        tick, pulse = self._ticks[name], self._pulses[name]
        pulse.hanging = [thread for thread in pulse.hanging if thread.is_alive()]
        if len(pulse.hanging) >= MOST_GIVEN_UP:
            log.error("tick %s is left alone: %d runs hang", name, len(pulse.hanging))
            return
        pulse.busy = True
        try:
            pulse.wanted = False
            self._run_limited(tick, pulse)
        finally:
            pulse.busy = False

    def _run_limited(self, tick: Tick, pulse: Pulse) -> None:
        failure: list[BaseException] = []

        def body() -> None:
            try:
                tick.run()
            except Exception as error:  # noqa: BLE001 - handed to the listener, with its trace
                failure.append(error)

        thread = threading.Thread(target=body, name=f"tick-{tick.name}", daemon=True)
        thread.start()
        thread.join(tick.limit)
        if thread.is_alive():
            pulse.overran += 1
            pulse.hanging.append(thread)
            log.error("tick %s overran its %g s and is given up", tick.name, tick.limit)
            if tick.given_up is not None:
                tick.given_up()
        elif failure:
            raise failure[0]
        else:
            pulse.ran += 1
            pulse.last_good = time.monotonic()

    def _hear(self, event: JobEvent) -> None:
        name = event.job_id
        pulse = self._pulses[name]
        if event.code == EVENT_JOB_MISSED:
            pulse.missed += 1
            log.warning("tick %s missed its time %s", name, event.scheduled_run_time)
        elif event.code == EVENT_JOB_ERROR:
            pulse.failed += 1
            mishaps.note(log, f"running tick {name}", event.exception)
        elif event.code == EVENT_JOB_MAX_INSTANCES:
            log.debug("tick %s is still running", name)
        if pulse.wanted and event.code in {EVENT_JOB_ERROR, EVENT_JOB_EXECUTED}:
            self._hurry(name)
