"""The chat's ports on the store: each call is one short transaction, none spans a network call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from storage.records import OutboxItem
from storage.store import Store

LEASE_SECONDS = 120.0
"""How long a claimed message stays ours; after a crash it is claimed anew when this is over."""


class StoredOutbox:
    """The outbox of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(self, now: dt.datetime, limit: int) -> tuple[OutboxItem, ...]:
        """Take messages to send: urgent first, a thread after its card."""
        with self._store.write() as work:
            return work.outbox.claim(now, LEASE_SECONDS, limit, after_cards=True)

    def sent_all(
        self, items: Sequence[OutboxItem], *, channel: str, ts: str, at: dt.datetime
    ) -> None:
        """Note that several notices went out as one message."""
        with self._store.write() as work:
            for item in items:
                work.outbox.sent(item.id, item.revision, channel, ts, at)

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


class StoredOnce:
    """What was answered, in the store's inbox."""

    def __init__(self, store: Store, clock: Callable[[], dt.datetime]) -> None:
        self._store, self._clock = store, clock

    def first(self, key: str) -> bool:
        """True the first time a key is seen."""
        with self._store.write() as work:
            return work.inbox.first(key, self._clock())
