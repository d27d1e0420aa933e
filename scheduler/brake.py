"""How many may be stopped in one cycle, and in one hour: a change of quota is no avalanche.

A preemptor that needs more than the bound on its own still goes, as the only one: a gang is
never kept waiting for ever by the size of its target set.
"""

from __future__ import annotations

from collections import deque

from scheduler.layout import EvictionBounds
from scheduler.model import Seconds

HOUR: Seconds = 3600.0
NEXT_CYCLE: Seconds = 1.0
"""After so long the next cycle may stop others, whoever asks for one earlier."""


class Brake:
    """Remembers when somebody was stopped, as far as the bounds ask for it."""

    def __init__(self, bounds: EvictionBounds) -> None:
        self._bounds = bounds
        self._times: deque[Seconds] = deque()

    def copy(self) -> Brake:
        """One that remembers the same."""
        other = Brake(self._bounds)
        other._times = self._times.copy()
        return other

    def wait(self, targets: int, now: Seconds) -> Seconds | None:
        """When so many may be stopped; None for now."""
        if self._bounds == EvictionBounds():
            return None
        while self._times and self._times[0] <= now - HOUR:
            self._times.popleft()
        most = self._bounds.per_cycle
        lately = sum(at > now - NEXT_CYCLE for at in self._times)
        if most is not None and lately and lately + targets > most:
            return now + NEXT_CYCLE
        most = self._bounds.per_hour
        if most is None or not self._times or len(self._times) + targets <= most:
            return None
        surplus = min(len(self._times), len(self._times) + targets - most)
        return self._times[surplus - 1] + HOUR

    def count(self, targets: int, now: Seconds) -> None:
        """So many were stopped."""
        if self._bounds != EvictionBounds():
            self._times.extend(now for _ in range(targets))
