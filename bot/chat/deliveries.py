"""Each delivery is answered once, by whoever handles it first.

Slack delivers again when it is unsure. A duplicate that arrives while the first is in hand
is joined with it: what the person reads is the first result. After a crash a duplicate may
be the only one that can answer; then it does, with the first result, which the desk kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bot.chat.ports import Once


class Deliveries:
    """The deliveries in hand, and a memory of those that were answered."""

    def __init__(self, once: Once) -> None:
        self._once = once
        self._lock = threading.Lock()
        self._in_hand: set[str] = set()

    @contextmanager
    def turn(self, key: str) -> Iterator[bool]:
        """Whether this is the one to handle a delivery; the others have nothing to do."""
        with self._lock:
            mine = key not in self._in_hand
            self._in_hand.add(key)
        try:
            yield mine
        finally:
            if mine:
                with self._lock:
                    self._in_hand.discard(key)

    def first_answer(self, key: str) -> bool:
        """Whether nothing was answered to this delivery yet, not even before a restart."""
        return self._once.first(f"answer:{key}")
