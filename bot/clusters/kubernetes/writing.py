"""Writes go out behind the decision: in parallel, in order for each object, each until it is told.

A write is a function that may run more than once, for an answer that was lost says nothing
about whether it was done. What the API server refuses for good is handed back, not repeated.

A write that has to be tried again waits without a thread, so that however many wait do not hold
up those of others. When nothing at all gets through, only one is tried at a time, ever less
often: what sheds load is not to be met by everything that has piled up. The first that gets
through lets all others go again.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bot.clusters.kubernetes.connection import Refused, Unanswered
from bot.leading import NotLeading
from bot.pauses import spread

log = logging.getLogger(__name__)

AT_ONCE = 16  # writes that are under way together; as many that fail in a row are a storm
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0
UNAUTHORIZED, FORBIDDEN, CONFLICT = 401, 403, 409
_NO_MORE = frozenset({404, CONFLICT})
MOST_CONFLICTS = 8  # tries of a write that others keep getting ahead of


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One thing to be written.

    `about` is the object, whose writes keep their order; `refused` hears of a final no, `over` that
    it is not sent again, whatever became of it. `moot` says that the object is no more: another of
    its name answers with a conflict each time.
    """

    about: str
    what: str
    send: Callable[[], object]
    refused: Callable[[Refused], None] = lambda _: None
    over: Callable[[], None] = lambda: None
    moot: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class _Line:
    """The writes of one object that are still to be done; the rest is about the first of them.

    `pause` was the last between two tries, 0 without any; `conflicts` is how often others were
    ahead.
    """

    waiting: deque[Write] = field(default_factory=deque)
    pause: float = 0.0
    conflicts: int = 0


class Writer:
    """Sends writes with a bounded number of threads. Safe to use from any thread."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="kubernetes-write")
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._stopping = threading.Event()
        self._later: list[tuple[float, int, str]] = []  # lines by when they are tried again
        self._count = itertools.count()
        self._held: deque[str] = deque()  # lines that wait for the end of a storm
        self._storm = at_once
        self._failed = 0  # tries in a row, of all lines
        self._next_try, self._pause, self._trying = 0.0, 0.0, False  # in a storm
        self._changed = threading.Condition(self._lock)
        self._timer: threading.Thread | None = None
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
        with self._lock:
            self._stopping.set()
            self._changed.notify_all()
        self._pool.shutdown(cancel_futures=True)
        if self._timer is not None:
            self._timer.join()

    def _work_off(self, about: str) -> None:
        """Send the writes of one object, until they are done or the first is to be tried again."""
        while not self._stopping.is_set():
            with self._lock:
                line = self._lines[about]
                if not line.waiting:
                    del self._lines[about]
                    self._idle.notify_all()
                    return
                if not self._may_try():
                    (self._held.append if line.pause else self._held.appendleft)(about)
                    self._keep_time()
                    return
                write = line.waiting[0]
            pause = self._try(write, line)
            if pause is None:
                write.over()
            with self._lock:
                self._trying = False
                if self._held:
                    self._keep_time()
                if pause is not None:
                    when = time.monotonic() + pause
                    heapq.heappush(self._later, (when, next(self._count), about))
                    self._keep_time()
                    return
                line.waiting.popleft()
                line.pause, line.conflicts = 0.0, 0

    def _try(self, write: Write, line: _Line) -> float | None:
        """Send a write once; after how many seconds again, None if it is done with."""
        try:
            write.send()
        except Unanswered as error:
            return self._put_off(write, line, error)
        except NotLeading:
            log.debug("%s of %s is left to the bot that leads", write.what, write.about)
        except Refused as error:
            if error.status == UNAUTHORIZED:  # that is about us, and passes: a token that ran out
                return self._put_off(write, line, Unanswered(str(error)))
            self._get_through()
            if error.status in _NO_MORE and write.moot():
                return None
            line.conflicts += error.status == CONFLICT
            if error.status == CONFLICT and line.conflicts < MOST_CONFLICTS:
                return _grow(line)
            log.warning("%s of %s was refused: %s", write.what, write.about, error)
            write.refused(error)
        except Exception:  # the next write of the object must not wait for ever
            log.exception("%s of %s failed", write.what, write.about)
        else:
            self._get_through()
        return None

    def _put_off(self, write: Write, line: _Line, error: Unanswered) -> float:
        """A write had no answer; after how many seconds it is sent again."""
        log.warning("%s of %s: %s", write.what, write.about, error)
        if not error.apart:
            with self._lock:
                now = time.monotonic()
                self._stuck_since = self._stuck_since or now
                self._failed += 1
                if self._failed >= self._storm:
                    self._rest(now, error.after or 0.0)
        return max(_grow(line), error.after or 0.0)

    def _get_through(self) -> None:
        """The server has taken, or refused, a write: whatever waits for that goes on."""
        with self._lock:
            self._stuck_since, self._failed, self._pause = None, 0, 0.0
            while self._held:
                self._submit(self._held.popleft())

    # ---- all under the lock

    def _may_try(self) -> bool:
        """Whether a write may be sent now; in a storm one that may is the only one for a while."""
        if self._failed < self._storm:
            return True
        if self._trying or time.monotonic() < self._next_try:
            return False
        self._trying = True
        return True

    def _rest(self, now: float, after: float) -> None:
        """In a storm, wait longer than the last time; what failed together counts as one try."""
        if now >= self._next_try:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
            after = max(after, spread(self._pause))
        self._next_try = max(self._next_try, now + after)

    def _submit(self, about: str) -> None:
        if not self._stopping.is_set():
            self._pool.submit(self._work_off, about)

    def _keep_time(self) -> None:
        """Have the lines that wait taken up in time, by a thread that is there once one has."""
        if self._timer is None and not self._stopping.is_set():
            self._timer = threading.Thread(
                target=self._take_up, name="kubernetes-write-timer", daemon=True
            )
            self._timer.start()
        self._changed.notify_all()

    def _take_up(self) -> None:
        with self._lock:
            while not self._stopping.is_set():
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    self._submit(heapq.heappop(self._later)[2])
                times = [when for when, *_ in self._later[:1]]
                if self._held and not self._trying:
                    times.append(self._next_try)
                    if self._next_try <= now:
                        self._submit(self._held.popleft())
                        times = [now + FIRST_PAUSE]  # by then it is under way
                self._changed.wait(max(0.0, min(times) - now) if times else None)


def _grow(line: _Line) -> float:
    """The pause before the next try: twice the last, spread at random."""
    line.pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * line.pause))
    return spread(line.pause)
