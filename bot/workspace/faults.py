"""Things that go wrong on purpose: tests switch them on, one kind at a time.

A fault is taken from the list when something it matches happens; with `times` it wears
off, without it stays until cleared. Used from the server's loop and from test threads.
"""

from __future__ import annotations

import enum
import fnmatch
import threading
from dataclasses import dataclass


class FaultKind(enum.StrEnum):
    """What goes wrong, and what `match` is compared with."""

    DUPLICATE = "duplicate"
    """An envelope is delivered twice; matches its type (`events_api`, `slash_commands` …)."""
    LATE = "late"
    """An envelope is delivered `seconds` late; matches its type."""
    LOST = "lost"
    """An envelope is not delivered at this attempt; matches its type."""
    DROPPED = "dropped"
    """The socket breaks right after an envelope was sent; matches its type."""
    DEAF = "deaf"
    """Sockets stay open and answer pings but carry nothing to the app."""
    RATE_LIMITED = "rate_limited"
    """A Web API call is answered 429, `seconds` in Retry-After; matches the method."""
    SERVER_ERROR = "server_error"
    """A Web API call is answered 503 and does nothing; matches the method."""
    LOST_ANSWER = "lost_answer"
    """A Web API call does its work, then its answer is lost; matches the method."""
    SLOW = "slow"
    """A Web API call takes `seconds` longer; matches the method."""
    INVALID_BLOCKS = "invalid_blocks"
    """A call with blocks is rejected; matches the method."""
    ARCHIVED = "archived"
    """A channel is archived for whoever posts to it; matches the channel id."""
    MISSING_USER = "missing_user"
    """A person is not found any more; matches the user id."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. `match` is a shell pattern, `times` None means for ever."""

    kind: FaultKind
    match: str = "*"
    times: int | None = 1
    seconds: float = 0.0
    taken: int = 0


class Faults:
    """The faults that are switched on now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[Fault] = []

    def add(
        self, kind: FaultKind, *, match: str = "*", times: int | None = 1, seconds: float = 0.0
    ) -> Fault:
        """Switch a fault on; the returned object counts how often it was taken."""
        fault = Fault(kind=kind, match=match, times=times, seconds=seconds)
        with self._lock:
            self._active.append(fault)
        return fault

    def take(self, kind: FaultKind, subject: str) -> Fault | None:
        """The first active fault of this kind that matches, used up by one; or None."""
        with self._lock:
            for fault in self._active:
                if fault.kind is kind and fnmatch.fnmatchcase(subject, fault.match):
                    fault.taken += 1
                    if fault.times is not None and fault.taken >= fault.times:
                        self._active.remove(fault)
                    return fault
        return None

    def clear(self) -> None:
        """Switch everything off."""
        with self._lock:
            self._active.clear()

    def active(self) -> tuple[Fault, ...]:
        """What is on, in the order it was switched on."""
        with self._lock:
            return tuple(self._active)
