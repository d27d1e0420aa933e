"""Where a notice goes and when: its lane and channel, quiet hours, the way round a closed place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.notices import DigestPlotsArgs, NoticeKind
from bot.preferences import Notices, Preferences, Where
from storage.records import Audience, Notice, OutboxItem

UPDATE_LANE = "updates"

Preferred = Callable[[str], Preferences]
"""What a person wants to hear."""

Card = Callable[[str], OutboxItem | None]
"""The card of a request, with its place once it was posted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Channel ids. What cannot be delivered goes to on-call, and on-call's to the channel."""

    channel: str
    oncall: str

    def fallback(self, channel: str) -> str:
        """Where to turn when `channel` is gone."""
        return self.channel if channel == self.oncall else self.oncall


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The lane and channel (or user id) of a message; `after` is when it may go at all.

    `muted` says that nobody wants to hear it.
    """

    lane: str
    channel: str
    thread: str | None = None
    after: dt.datetime | None = None
    muted: bool = False


class Router:
    """Asks the outbox for cards and the desk for preferences, each time anew."""

    def __init__(self, places: Places, card_of: Card, preferred: Preferred) -> None:
        self.places, self._card_of, self._preferred = places, card_of, preferred

    def route(self, item: OutboxItem, now: dt.datetime) -> Route:
        """The way of one message."""
        notice = item.notice
        if item.ts and item.channel:
            return Route(lane=UPDATE_LANE, channel=item.channel)
        if notice.kind == NoticeKind.DIGEST_PLOTS:
            return _to_digest(notice)
        match notice.audience:
            case Audience.PERSON if notice.target:
                return self._to_person(item, notice.target, now)
            case Audience.PERSON | Audience.ONCALL:
                return _to(self.places.oncall)
            case Audience.THREAD:
                return self._in_thread(notice.request) or _to(self.places.channel)
            case _:
                return _to(self.places.channel)

    def _to_person(self, item: OutboxItem, person: str, now: dt.datetime) -> Route:
        if item.notice.kind == NoticeKind.ESCALATED:  # duty knows no quiet hours
            return _to(person)
        wishes = self._preferred(person)
        after = wishes.quiet_until(now)
        about_own = item.notice.request is not None  # anything else asks something of them
        muted = about_own and wishes.notices is Notices.NONE
        if muted or wishes.where is Where.THREAD:
            found = self._in_thread(item.notice.request)
            if found is not None:
                return replace(found, after=None if muted else after)
        return replace(_to(person), after=after, muted=muted)

    def _in_thread(self, request: str | None) -> Route | None:
        card = self._card_of(request) if request else None
        if card is None or not card.channel:
            return None
        return Route(lane=card.channel, channel=card.channel, thread=card.ts)


def _to_digest(notice: Notice) -> Route:
    """The thread of the digest that the plots belong to."""
    args = DigestPlotsArgs.model_validate(dict(notice.args))
    return Route(lane=args.channel, channel=args.channel, thread=args.thread)


def _to(channel: str) -> Route:
    return Route(lane=channel, channel=channel)
