"""Watches whether Slack still reaches us, which an open socket does not prove.

Every event is a proof. After a while without one the bot makes one itself: it changes a
line of its own in Slack, whose event has to come back. When it does not, or the socket
answers no ping, the connection is built anew; when that does not help, the process is to
end so that it is started afresh. Until the next proof the bot is not ready.

Time is an argument: seconds of any clock that does not go back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

QUIET = 120.0
"""Seconds without an event after which one is made."""
PATIENCE = 30.0
"""Seconds in which the event of a self test has to come."""
MOST_REBUILDS = 2
"""How often the connection is built anew before the process is given up."""

_log = logging.getLogger("gpubot.chat.watchdog")


class Ear(Protocol):
    """The connection that events come through."""

    @property
    def deaf(self) -> bool:
        """Whether the connection itself seems dead."""
        ...

    def rebuild(self) -> bool:
        """Connect anew; whether that went well."""
        ...


class Watchdog:
    """One per bot. `look` is called by one thread, `heard` by any.

    `test` makes an event; it returns whether Slack took it, for if Slack does not, silence
    proves nothing. `give_up` is called once, when nothing has helped.
    """

    def __init__(
        self, *, ear: Ear, test: Callable[[], bool], give_up: Callable[[], None], now: float
    ) -> None:
        self._ear, self._test, self._give_up = ear, test, give_up
        self._lock = threading.Lock()
        self._proved = now
        self._tested: float | None = None
        self._rebuilt = 0
        self._doubted = self._lost = False

    @property
    def hears(self) -> bool:
        """Whether there is no doubt that Slack reaches us."""
        return not (self._doubted or self._lost)

    @property
    def lost(self) -> bool:
        """Whether nothing helped."""
        return self._lost

    def silence(self, now: float) -> float:
        """Seconds since the last event."""
        return max(0.0, now - self._proved)

    def heard(self, now: float) -> None:
        """An event came, whatever it says."""
        with self._lock:
            if self._doubted:
                _log.warning("Slack reaches us again")
            self._proved = max(self._proved, now)
            self._tested, self._rebuilt = None, 0
            self._doubted = self._lost = False

    def look(self, now: float) -> None:
        """Test, rebuild or give up, as the time without a proof says."""
        if self._lost:
            return
        with self._lock:
            tested, silent = self._tested, now - self._proved
        if self._ear.deaf:
            self._mend(now, "the socket answers no ping")
        elif tested is not None and now - tested > PATIENCE:
            self._mend(now, f"a test of {now - tested:.0f} s ago did not come back")
        elif tested is None and silent > QUIET:
            self._make_event(now)

    def _make_event(self, now: float) -> None:
        with self._lock:
            self._tested = now  # before the call: the event may be faster than its answer
        if not self._test():
            with self._lock:
                self._tested = None

    def _mend(self, now: float, why: str) -> None:
        with self._lock:
            self._doubted, self._tested = True, None
            self._rebuilt += 1
            over = self._rebuilt > MOST_REBUILDS
        if over:
            self._lost = True
            _log.error("Slack does not reach us: %s; giving up", why)
            self._give_up()
            return
        _log.warning("Slack may not reach us: %s; connecting anew", why)
        if self._ear.rebuild():
            self._make_event(now)
        else:
            self._rebuilt -= 1  # Slack is down, which a new process does not mend
