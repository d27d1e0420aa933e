"""The chat's ports on the store: each call is one short transaction, none spans a network call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from bot.notices import NEEDS_ACKNOWLEDGEMENT
from storage.records import Audience, Call, Notice, OutboxItem, OutboxState
from storage.store import Store

LEASE_SECONDS = 120.0
"""How long a claimed message stays ours; after a crash it is claimed anew when this is over."""

PATIENCE = 600.0
"""Seconds that on-call has to acknowledge, unless it is set otherwise."""


class StoredOutbox:
    """The outbox of a store."""

    def __init__(self, store: Store, *, patience: float = PATIENCE) -> None:
        self._store = store
        self._patience = dt.timedelta(seconds=patience)

    def put(self, notice: Notice, *, at: dt.datetime) -> None:
        """Have something more said, once for its key."""
        with self._store.write() as work:
            work.outbox.put(notice, at)

    def claim(self, now: dt.datetime, limit: int) -> tuple[OutboxItem, ...]:
        """Take messages to send: urgent first, a thread after its card."""
        with self._store.write() as work:
            return work.outbox.claim(now, LEASE_SECONDS, limit, after_cards=True)

    def sent_all(
        self,
        items: Sequence[OutboxItem],
        *,
        channel: str | None,
        ts: str | None,
        at: dt.datetime,
        more: Sequence[Notice] = (),
    ) -> None:
        """Note that several notices went out as one message, and what is to be said besides.

        What on-call has to acknowledge becomes a call, with the time when the next are called.
        """
        with self._store.write() as work:
            for item in items:
                work.outbox.sent(item.id, item.revision, channel, ts, at)
                if channel and ts and _is_call(item.notice):
                    work.calls.put(
                        Call(
                            key=item.notice.key,
                            kind=item.notice.kind,
                            request=item.notice.request,
                            channel=channel,
                            ts=ts,
                            raised=at,
                            due=at + self._patience,
                        )
                    )
            for notice in more:
                work.outbox.put(notice, at)

    def get(self, key: str) -> OutboxItem | None:
        """The message of a key as it stands now."""
        with self._store.read() as view:
            return view.outbox.get(key)

    def heard(self, keys: Sequence[str], channel: str, ts: str, at: dt.datetime) -> None:
        """Note what Slack says was posted by us, where our own note of it is missing.

        The answer to a post may be lost, and history closed: then this is how we know. A card
        keeps its place and still goes out, for it may have changed since.
        """
        with self._store.read() as view:
            found = [item for key in keys if (item := view.outbox.get(key)) is not None]
        doubtful = [item for item in found if item.ts is None and item.attempts]
        unsent = [i for i in doubtful if i.state in (OutboxState.PENDING, OutboxState.CLAIMED)]
        cards = [item for item in unsent if item.notice.audience is Audience.CARD]
        self.sent_all([i for i in unsent if i not in cards], channel=channel, ts=ts, at=at)
        with self._store.write() as work:
            for card in cards:
                work.outbox.place(card.id, channel, ts)

    def at(self, channel: str, ts: str) -> tuple[OutboxItem, ...]:
        """The notices that one message says."""
        with self._store.read() as view:
            return view.outbox.at(channel, ts)

    def call_of(self, key: str) -> Call | None:
        """The call of a notice, if there is one."""
        with self._store.read() as view:
            return view.calls.get(key)

    def retry(self, item: OutboxItem, *, error: str, due: dt.datetime) -> None:
        """Give a message back to be tried again from `due` on."""
        with self._store.write() as work:
            work.outbox.retry(item.id, item.revision, error, due)

    def defer(self, items: Sequence[OutboxItem], *, due: dt.datetime) -> None:
        """Give messages back untried."""
        with self._store.write() as work:
            for item in items:
                work.outbox.defer(item.id, item.revision, due)

    def dead(self, item: OutboxItem, *, error: str) -> None:
        """Give a message up for good; it stays in the store."""
        with self._store.write() as work:
            work.outbox.dead(item.id, item.revision, error)

    def card_of(self, request: str) -> OutboxItem | None:
        """The card of a request, with its place once it was posted."""
        with self._store.read() as view:
            return view.outbox.card_of(request)


def _is_call(notice: Notice) -> bool:
    return notice.audience is Audience.ONCALL and notice.kind in NEEDS_ACKNOWLEDGEMENT


class StoredOnce:
    """What was answered, in the store's inbox."""

    def __init__(self, store: Store, clock: Callable[[], dt.datetime]) -> None:
        self._store, self._clock = store, clock

    def first(self, key: str) -> bool:
        """True the first time a key is seen."""
        with self._store.write() as work:
            return work.inbox.first(key, self._clock())
