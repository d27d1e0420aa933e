"""Looks ahead on a copy of the engine, so that the loop need not wait for it.

One looks at a time: playing the engine forward keeps a processor busy, and what was played
is kept for the next who asks about the same moment. Who would have to queue too long goes
without an answer, and asks again later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from bot.control.loop import Control
from bot.prospects import Prospect
from bot.views import NotReady
from scheduler.engine import Engine
from scheduler.model import Seconds

T = TypeVar("T")
GLANCE = 0.5  # seconds an answer waits for a look ahead
SHARED = 2.0  # seconds for which those who queue may share a copy
KEPT = 10_000  # prospects that are remembered for cards


class Foresight:
    """A copy of the engine, taken anew when something has happened; and what was last foreseen."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._lock = threading.Lock()
        self._origin: Engine | None = None
        self._copy: Engine | None = None
        self._revision = -1
        self._taken = 0.0
        self._known: dict[str, Prospect] = {}
        self.rest = 1.0  # seconds of rest for each second of looking
        self.patience = GLANCE
        self._rests_until = 0.0

    def glance(
        self,
        ask: Callable[[Engine, Seconds], T],
        *,
        late: Callable[[T], None],
        queue: Seconds = 0.0,
    ) -> T:
        """As `look`, for what is only good to know: not while others look, nor soon after.

        So looking ahead takes no more than its share of the processor, however many ask. It
        goes on in a thread of its own if it takes longer than `patience`: then NotReady is
        raised, and `late` called with what was found in the end. With `queue`, for what somebody
        has asked for, it does not rest, and waits so long for others who look.
        """
        if not queue and time.monotonic() < self._rests_until:
            raise NotReady
        found: Future[T] = Future()

        def work() -> None:
            try:
                found.set_result(self.look(ask, patience=queue))
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
                found.set_exception(error)

        threading.Thread(target=work, name="glance", daemon=True).start()
        try:
            return found.result(timeout=self.patience)
        except TimeoutError:
            found.add_done_callback(lambda done: _tell(done, late))
            raise NotReady from None

    def look(
        self, ask: Callable[[Engine, Seconds], T], *, patience: Seconds, shared: bool = False
    ) -> T:
        """Ask a copy of the engine as it is now, which may be changed at will only if forked.

        Who has to queue may share the copy of a moment ago with those before him, if that is
        good enough for him: `shared`. Raises NotReady without an engine, or when others look for
        longer than `patience`.
        """
        alone = self._lock.acquire(blocking=False)
        if not alone and not self._lock.acquire(timeout=patience):
            raise NotReady
        try:
            began = time.monotonic()
            if shared and not alone and self._copy is not None and began - self._taken < SHARED:
                copy = self._copy
            else:
                copy = self._control.read(self._fresh)
            found = ask(copy, self._control.clock.now())
            ended = time.monotonic()
            self._rests_until = ended + self.rest * (ended - began)
            return found
        finally:
            self._lock.release()

    def _fresh(self, engine: Engine) -> Engine:
        """The copy as it is, if nothing has happened since, else a new one."""
        same = self._origin is engine and self._revision == engine.revision
        if self._copy is None or not same:
            self._copy, self._taken = engine.fork(), time.monotonic()
            self._origin, self._revision = engine, engine.revision
        return self._copy

    def keep(self, request_id: str, prospect: Prospect | None) -> None:
        """Remember what was foreseen for a request, or that nothing is to be."""
        self._known.pop(request_id, None)
        if prospect is not None:
            self._known[request_id] = prospect
            while len(self._known) > KEPT:
                self._known.pop(next(iter(self._known)), None)

    def of(self, request_id: str) -> Prospect | None:
        """What was last foreseen for a request, without looking again."""
        return self._known.get(request_id)


def _tell(found: Future[T], late: Callable[[T], None]) -> None:
    """Hand on what was found too late for an answer; nothing if it could not be."""
    if found.exception() is None:
        late(found.result())
