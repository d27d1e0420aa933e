"""Slack's rate limits as token buckets: a steady rate with a burst, by method or channel."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.workspace.wire import RateLimitedError


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_minute` calls on average, `burst` at once; counted by channel or for the method."""

    per_minute: float
    burst: int
    by_channel: bool = False


TIER_2 = Rate(per_minute=20, burst=20)
TIER_3 = Rate(per_minute=50, burst=50)
TIER_4 = Rate(per_minute=100, burst=100)

SLACK_RATES: Mapping[str, Rate] = {
    "chat.postMessage": Rate(per_minute=60, burst=5, by_channel=True),
    "chat.update": TIER_3,
    "chat.delete": TIER_3,
    "chat.postEphemeral": TIER_4,
    "conversations.list": TIER_2,
    "users.list": TIER_2,
    "usergroups.list": TIER_2,
    "usergroups.users.list": TIER_2,
    "views.open": TIER_4,
    "views.update": TIER_4,
    "views.publish": TIER_4,
}
"""About one message a second and channel; the rest by Slack's published tiers."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class RateLimits:
    """Counts calls and refuses those that come too fast. An empty `rates` refuses nothing."""

    rates: Mapping[str, Rate] = field(default_factory=lambda: SLACK_RATES)
    other: Rate | None = TIER_3
    now: Callable[[], float] = time.monotonic
    _buckets: dict[tuple[str, str], _Bucket] = field(default_factory=dict)

    @classmethod
    def off(cls) -> RateLimits:
        """No limits at all, for tests that are about something else."""
        return cls(rates={}, other=None)

    def check(self, method: str, channel: str = "") -> None:
        """Count one call; raises RateLimitedError if it comes too early."""
        rate = self.rates.get(method, self.other)
        if rate is None:
            return
        key = (method, channel if rate.by_channel else "")
        now, per_second = self.now(), rate.per_minute / 60
        bucket = self._buckets.setdefault(key, _Bucket(float(rate.burst), now))
        bucket.tokens = min(float(rate.burst), bucket.tokens + (now - bucket.at) * per_second)
        bucket.at = now
        if bucket.tokens < 1:
            raise RateLimitedError(max(1, math.ceil((1 - bucket.tokens) / per_second)))
        bucket.tokens -= 1
