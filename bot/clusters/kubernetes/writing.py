"""Writes go out behind the decision: in parallel, in order for each object, each until it is told.

A write is a function that may run more than once, for an answer that was lost says nothing
about whether it was done. What the API server refuses for good is handed back, not repeated.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bot.clusters.kubernetes.connection import Refused, Unanswered
from bot.leading import NotLeading

log = logging.getLogger(__name__)

AT_ONCE = 16  # writes that are under way together
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0
FORBIDDEN, CONFLICT = 403, 409
MOST_CONFLICTS = 8  # tries of a write that others keep getting ahead of


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One thing to be written.

    `about` is the object, whose writes keep their order; `refused` hears of a final no.
    """

    about: str
    what: str
    send: Callable[[], object]
    refused: Callable[[Refused], None] = lambda _: None


@dataclass(slots=True)
class _Line:
    """The writes of one object that are still to be done."""

    waiting: deque[Write] = field(default_factory=deque)


class Writer:
    """Sends writes with a bounded number of threads. Safe to use from any thread."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="kubernetes-write")
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._stopping = threading.Event()
        self._stuck_since: float | None = None

    def put(self, write: Write) -> None:
        """Have it sent after all earlier writes about the same object."""
        with self._lock:
            line = self._lines.get(write.about)
            if line is not None:
                line.waiting.append(write)
                return
            self._lines[write.about] = _Line(deque([write]))
        self._pool.submit(self._work_off, write.about)

    def busy(self, about: str) -> bool:
        """Whether something about an object is still to be written."""
        with self._lock:
            return about in self._lines

    @property
    def stuck(self) -> float:
        """For how many seconds no write has got through although there were some to send."""
        since = self._stuck_since
        return 0.0 if since is None else time.monotonic() - since

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to be written; False if that was not in time."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._lines, timeout=seconds)

    def stop(self) -> None:
        """Send nothing more; what is under way is finished."""
        self._stopping.set()
        self._pool.shutdown(cancel_futures=True)

    def _work_off(self, about: str) -> None:
        while not self._stopping.is_set():
            with self._lock:
                line = self._lines[about]
                if not line.waiting:
                    del self._lines[about]
                    self._idle.notify_all()
                    return
                write = line.waiting.popleft()
            try:
                self._send(write)
            except NotLeading:
                log.debug("%s of %s is left to the bot that leads", write.what, write.about)
            except Exception:  # the next write of the object must not wait for ever
                log.exception("%s of %s failed", write.what, write.about)

    def _send(self, write: Write) -> None:
        pause, conflicts = FIRST_PAUSE, 0
        while not self._stopping.is_set():
            after: float | None = None
            try:
                write.send()
            except Unanswered as error:
                log.warning("%s of %s: %s", write.what, write.about, error)
                self._stuck_since = self._stuck_since or time.monotonic()
                after = error.after
            except Refused as error:
                self._stuck_since = None
                conflicts += error.status == CONFLICT
                if error.status != CONFLICT or conflicts >= MOST_CONFLICTS:
                    log.warning("%s of %s was refused: %s", write.what, write.about, error)
                    write.refused(error)
                    return
            else:
                self._stuck_since = None
                return
            spread = random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, no secret
            self._stopping.wait(max(pause * spread, after or 0.0))
            pause = min(LONGEST_PAUSE, 2 * pause)
