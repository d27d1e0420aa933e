"""What an engine was told since it was built, so that another can be made to stand as it does.

The same events in the same order give the same decisions (design, invariant 5).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.engine import Engine
from scheduler.events import Event
from scheduler.layout import Layout
from scheduler.model import Decisions, Seconds, Usage


@dataclass(frozen=True, slots=True)
class Told:
    """An event."""

    event: Event


@dataclass(frozen=True, slots=True)
class Cycled:
    """A cycle, and what it decided."""

    now: Seconds
    decided: Decisions


@dataclass(frozen=True, slots=True)
class Sampled:
    """Everybody's usage was brought up to a time."""

    now: Seconds


Line = Told | Cycled | Sampled


class OutOfStep(Exception):
    """An engine that was told the same has decided otherwise."""


class Transcript:
    """Written by the loop while it holds the engine; taken by one reader at any time.

    `whole` as long as nothing was taken: only then can an engine be built from it.
    """

    def __init__(self) -> None:
        self.whole = True
        self._open: list[Line] = []
        self._sealed: deque[list[Line]] = deque()

    def write(self, line: Line) -> None:
        """Add a line to the step that is under way."""
        self._open.append(line)

    def seal(self) -> None:
        """A step has ended and is stored: it may be read from here on."""
        if self._open:
            self._sealed.append(self._open)
            self._open = []

    def take(self) -> list[Line]:
        """What was sealed since the last call, in order; it is not kept."""
        self.whole = False
        taken: list[Line] = []
        while self._sealed:
            taken += self._sealed.popleft()
        return taken


class Recorded(Engine):
    """An engine that writes down what it is told. Its forks do not."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.transcript = Transcript()
        self._cycling = False

    def apply(self, event: Event) -> None:
        """As of any engine."""
        super().apply(event)
        self.transcript.write(Told(event))

    def cycle(self, now: Seconds) -> Decisions:
        """As of any engine."""
        self._cycling = True
        try:
            decided = super().cycle(now)
        finally:
            self._cycling = False
        self.transcript.write(Cycled(now, decided))
        return decided

    def sample_usage(self, now: Seconds) -> tuple[Usage, ...]:
        """As of any engine; a cycle does so by itself."""
        if not self._cycling:
            self.transcript.write(Sampled(now))
        return super().sample_usage(now)


def repeat(engine: Engine, lines: Sequence[Line]) -> None:
    """Tell an engine what another was told. Raises OutOfStep when it decides otherwise."""
    for line in lines:
        match line:
            case Told(event):
                engine.apply(event)
            case Cycled(now, decided):
                if engine.cycle(now) != decided:
                    raise OutOfStep
            case Sampled(now):
                engine.sample_usage(now)
