"""Whose turn it is in a lane: urgent first, then by age; bursts of a kind go together.

Of a burst the first goes at once; the rest of the same kind waits until the window is over
and then goes as one. One person gets what waits for them in one message from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.notices import NoticeKind
from storage.records import Audience, OutboxItem

WINDOW = 10.0
URGENT_WINDOW = 2.0
"""Urgent notices are heard within three seconds, so they are gathered for less long."""

WINDOWS: dict[tuple[str, Audience], float] = {
    (NoticeKind.ADMITTED, Audience.CHANNEL): WINDOW,
    (NoticeKind.ADMITTED, Audience.PERSON): WINDOW,
    (NoticeKind.LEASE_ENDING, Audience.PERSON): WINDOW,
    (NoticeKind.ENDED, Audience.PERSON): WINDOW,
    (NoticeKind.PREEMPTED, Audience.PERSON): URGENT_WINDOW,
    (NoticeKind.PREEMPTED_GROUP, Audience.PERSON): URGENT_WINDOW,
    (NoticeKind.PREEMPTED_GROUP, Audience.CHANNEL): URGENT_WINDOW,
    (NoticeKind.PREEMPTED_GROUP, Audience.ONCALL): URGENT_WINDOW,
    (NoticeKind.STARVING, Audience.CHANNEL): URGENT_WINDOW,
    (NoticeKind.STARVING, Audience.ONCALL): URGENT_WINDOW,
    (NoticeKind.STARVING, Audience.PERSON): URGENT_WINDOW,
    (NoticeKind.NODE_FAILED, Audience.ONCALL): URGENT_WINDOW,
}
"""What is said together with others of its kind; everything else is said alone."""


@dataclass(slots=True, kw_only=True)
class Held:
    """A claimed notice that waits for its turn; `since` is an epoch second."""

    item: OutboxItem
    lane: str
    channel: str
    since: float
    thread: str | None = None

    @property
    def order(self) -> tuple[bool, int]:
        """Urgent first, then by age."""
        return (not self.item.notice.urgent, self.item.id)

    @property
    def window(self) -> float | None:
        """For how long it waits for others of its kind; None if it goes alone."""
        if self.item.ts is not None or self.thread is not None:
            return None  # drawn anew in its place, or in a story of its own
        return WINDOWS.get((self.item.notice.kind, self.item.notice.audience))


class Turns:
    """Remembers when each lane last said something of a kind."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, Audience], float] = {}

    def next(self, waiting: Sequence[Held], now: float) -> list[Held]:
        """The next of a lane: one notice, or those of a kind together; none while all wait."""
        ordered = sorted(waiting, key=lambda held: held.order)
        urgent = [held for held in ordered if held.item.notice.urgent]
        for held in urgent:
            if turn := self._turn(held, ordered, now):
                return turn
        rest = ordered[len(urgent) :]
        ripe = [held for held in rest if held.window and now - held.since >= held.window]
        for held in (*ripe, *rest):  # a burst is not kept waiting by a row of single messages
            if turn := self._turn(held, ordered, now):
                return turn
        return []

    def said(self, held: Held, now: float) -> None:
        """Note that a message of this kind goes out."""
        if held.window is not None:
            self._said[_group(held)] = now

    def _turn(self, held: Held, ordered: Sequence[Held], now: float) -> list[Held]:
        window = held.window
        if window is None:
            return [held]
        together = [other for other in ordered if other.window and _group(other) == _group(held)]
        last = self._said.get(_group(held))
        if last is None or now - last >= 2 * window:
            alone = held.item.notice.audience is not Audience.PERSON
            return [held] if alone else together
        ripe = any(now - other.since >= window for other in together)
        return together if ripe or now - last >= window else []


def _group(held: Held) -> tuple[str, str, Audience]:
    return (held.lane, held.item.notice.kind, held.item.notice.audience)
