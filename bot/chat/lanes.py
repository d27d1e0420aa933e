"""How fast may be spoken: a token bucket that also obeys Retry-After. Time is an argument."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """Messages a second in the long run, and how many may go at once after a silence."""

    per_second: float
    burst: int


POSTS = Rate(1.0, 4)
"""Slack lets about one message a second into a channel, and tolerates short bursts."""

UPDATES = Rate(50 / 60, 10)
"""chat.update is a tier-3 method: fifty a minute for the whole workspace."""


class Bucket:
    """One lane's allowance."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens = float(rate.burst)
        self._at: float | None = None
        self._blocked_until = 0.0

    def take(self, now: float) -> bool:
        """Use one token, if there is one and nobody told us to wait."""
        self._refill(now)
        if now < self._blocked_until or self._tokens < 1.0 - 1e-9:
            return False
        self._tokens -= 1.0
        return True

    def block(self, until: float) -> None:
        """Send nothing before `until`; afterwards begin without a burst."""
        self._blocked_until = max(self._blocked_until, until)
        self._tokens = min(self._tokens, 1.0)
        self._at = self._blocked_until  # tokens grow again from then on

    def next_at(self, now: float, ahead: int = 0) -> float:
        """When the message after `ahead` others may go."""
        self._refill(now)
        missing = max(0.0, ahead + 1.0 - self._tokens)
        return max(now, self._blocked_until) + missing / self._rate.per_second

    def _refill(self, now: float) -> None:
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._tokens = min(float(self._rate.burst), self._tokens + passed * self._rate.per_second)
        self._at = now if self._at is None else max(self._at, now)
