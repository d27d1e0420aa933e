"""What time it is, as an argument that can be replaced.

The control loop, the desk and the simulated cluster live by a `Clock`; messages are
delivered by the wall clock, because Slack does not run faster when the demo does.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from typing import Protocol

from scheduler.model import Seconds


class Clock(Protocol):
    """The time of the bot's world, in UTC seconds since the epoch; never goes back."""

    def now(self) -> Seconds:
        """The present moment."""
        ...


class WallClock:
    """The machine's own time."""

    def now(self) -> Seconds:
        """UTC seconds since the epoch."""
        return time.time()


class ScaledClock:
    """A world that runs `speed` times as fast as ours, from `anchor` (its time) on.

    A restarted demo passes the last time it had stored as `anchor`: the world stands
    still while nobody watches.
    """

    def __init__(self, anchor: Seconds, speed: float) -> None:
        if speed <= 0:
            raise ValueError(f"speed must be above 0, not {speed}")
        self.speed = speed
        self._course = (anchor, time.monotonic(), speed)  # replaced whole: readers see one

    def now(self) -> Seconds:
        """The world's time."""
        anchor, began, speed = self._course
        return anchor + (time.monotonic() - began) * speed

    def hold(self, *, still: bool) -> None:
        """Let the world stand still, or go on. Called by one thread."""
        if still != (self._course[2] == 0.0):
            self._course = (self.now(), time.monotonic(), 0.0 if still else self.speed)


class ManualClock:
    """Time that moves only when it is told to: tests and benchmarks."""

    def __init__(self, start: Seconds) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> Seconds:
        """The time it was set to last."""
        return self._now

    def advance(self, seconds: Seconds) -> Seconds:
        """Move ahead and return the new time."""
        with self._lock:
            self._now += seconds
            return self._now


def moment(at: Seconds) -> dt.datetime:
    """The aware UTC datetime that storage keeps for `at`."""
    return dt.datetime.fromtimestamp(at, tz=dt.UTC)
