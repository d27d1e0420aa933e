"""What is asked of the lookout, how long an answer waits for it, and what was last foreseen.

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

from bot.lookout.port import Lookout, Question
from bot.prospects import Prospect
from bot.views import NotReady
from scheduler.model import Seconds

T = TypeVar("T")
GLANCE = 0.5  # seconds an answer waits for a look ahead
KEPT = 10_000  # prospects that are remembered for cards


class Foresight:
    """Looks ahead, and remembers what was foreseen."""

    def __init__(self, lookout: Lookout) -> None:
        self.lookout = lookout
        self._known: dict[str, Prospect] = {}
        self.rest = 1.0  # seconds of rest for each second of looking
        self.patience = GLANCE
        self._rests_until = 0.0

    def glance(
        self, question: Question[T], *, late: Callable[[T], None], queue: Seconds = 0.0
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
                found.set_result(self.look(question, patience=queue))
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
                found.set_exception(error)

        threading.Thread(target=work, name="glance", daemon=True).start()
        try:
            return found.result(timeout=self.patience)
        except TimeoutError:
            found.add_done_callback(lambda done: _tell(done, late))
            raise NotReady from None

    def look(self, question: Question[T], *, patience: Seconds, shared: bool = False) -> T:
        """Ask the lookout; see there."""
        found = self.lookout.ask(question, patience=patience, shared=shared)
        self._rests_until = time.monotonic() + self.rest * self.lookout.took()
        return found

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
