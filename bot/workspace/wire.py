"""What travels between workspace, app and page: JSON objects, errors and time stamps."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
"""A JSON object as Slack sends it. Its shape is Slack's, so it is not typed again here."""


class SlackError(Exception):
    """An answer with `ok: false`: a code of Slack's, and what exactly was wrong, line by line."""

    def __init__(
        self, code: str, *, messages: Sequence[str] = (), extra: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.messages = tuple(messages)
        self.extra = dict(extra or {})

    def body(self) -> Json:
        """The answer as JSON."""
        answer: Json = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            answer["errors"] = list(self.messages)
            answer["response_metadata"] = {"messages": [f"[ERROR] {m}" for m in self.messages]}
        return answer


class RateLimitedError(SlackError):
    """Too many calls; `retry_after` is in whole seconds, as in Slack's header."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("ratelimited")
        self.retry_after = retry_after


class Stamps:
    """Message ids: `seconds.microseconds`, strictly increasing whatever the clock does."""

    def __init__(self, now: Callable[[], float] = time.time, last: str = "0.000000") -> None:
        self._now = now
        self._last = stamp_micros(last)

    def next(self) -> str:
        """A time stamp later than all before it."""
        self._last = max(self._last + 1, int(self._now() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"


def stamp_micros(ts: str) -> int:
    """A time stamp as microseconds; raises ValueError if it is none."""
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int((micros or "0").ljust(6, "0")[:6])


class Ids:
    """Ids that look like Slack's: a letter and ten characters, never twice in one run."""

    ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"

    def __init__(self, start: int | None = None) -> None:
        self._counter = itertools.count(int(time.time() * 1000) if start is None else start)

    def next(self, prefix: str) -> str:
        """A new id."""
        number, digits = next(self._counter), ""
        while number:
            number, digit = divmod(number, len(self.ALPHABET))
            digits = self.ALPHABET[digit] + digits
        return f"{prefix}{digits.rjust(10, '0')}"
