"""A lookout in the same process: it copies the loop's engine."""

from __future__ import annotations

import time
from typing import TypeVar

from bot.control.loop import Control
from bot.lookout.port import SHARED, Question, Turns
from scheduler.engine import Engine
from scheduler.model import Seconds

T = TypeVar("T")


class Here:
    """See the module."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._turns = Turns()
        self._origin: Engine | None = None
        self._copy: Engine | None = None
        self._revision = -1
        self._taken = 0.0

    def ask(self, question: Question[T], *, patience: Seconds, shared: bool = False) -> T:
        """See `Lookout`."""
        with self._turns.one(patience) as queued:
            fresh = time.monotonic() - self._taken < SHARED
            if shared and queued and self._copy is not None and fresh:
                copy = self._copy
            else:
                copy = self._control.read(self._fresh)
            return question(copy, self._control.terms, self._control.clock.now())

    def took(self) -> Seconds:
        """See `Lookout`."""
        return self._turns.took

    def keep_up(self) -> None:
        """Nothing: the copy is taken when it is needed."""

    def close(self) -> None:
        """Nothing is held open."""

    def _fresh(self, engine: Engine) -> Engine:
        """The copy as it is, if nothing has happened since, else a new one."""
        same = self._origin is engine and self._revision == engine.revision
        if self._copy is None or not same:
            self._copy, self._taken = engine.fork(), time.monotonic()
            self._origin, self._revision = engine, engine.revision
        return self._copy
