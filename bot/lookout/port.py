"""What is asked of a lookout: it has an engine that stands as the loop's does, or did just now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from bot.terms import Terms
from bot.views import NotReady
from scheduler.engine import Engine
from scheduler.model import Seconds

T = TypeVar("T")
SHARED = 2.0  # seconds for which those who queue may share what the engine was

Question = Callable[[Engine, Terms, Seconds], T]
"""Asked of an engine that it may only change after a fork. It may have to travel to another
process, and its answer back: a function of a module, or a `functools.partial` of one."""


class Lookout(Protocol):
    """Answers one question after the other."""

    def ask(self, question: Question[T], *, patience: Seconds, shared: bool = False) -> T:
        """The answer, by the engine as it is now.

        Who has to queue may share what the engine was a moment ago with those before him, if
        that is good enough for him: `shared`. Raises NotReady without an engine, or when others
        take longer than `patience`, and whatever the question raises.
        """
        ...

    def took(self) -> Seconds:
        """How long the last question took, without queueing."""
        ...

    def keep_up(self) -> None:
        """Learn what happened meanwhile, so that the next question need not wait for it."""
        ...

    def close(self) -> None:
        """Answer nobody any more."""
        ...


class Turns:
    """One at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.took = 0.0

    @contextmanager
    def one(self, patience: Seconds) -> Iterator[bool]:
        """A turn; whether there was a queue. Raises NotReady if it does not come in time."""
        alone = self._lock.acquire(blocking=False)
        if not alone and not self._lock.acquire(timeout=patience):
            raise NotReady
        began = time.monotonic()
        try:
            yield not alone
        finally:
            self.took = time.monotonic() - began
            self._lock.release()
