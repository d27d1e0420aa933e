"""Outbox: what Slack must be told, stored with the decision and sent afterwards.

A sender claims items for a while, sends, and reports. An item without `ts` whose `attempts`
are more than one may already be in Slack, said by a sender that crashed before it could
report: whoever claims it must look for the message before posting it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, and_, case, delete, exists, func, or_
from sqlalchemy import select as select_columns
from sqlalchemy import update as update_columns
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from storage.records import Audience, Notice, OutboxFigures, OutboxItem, OutboxState
from storage.tables import metadata

OUTBOX: Table = metadata.tables["outbox"]
_O = OUTBOX.c
_UNSENT = (OutboxState.PENDING, OutboxState.CLAIMED)


class Outbox:
    """The outbox, inside one transaction.

    Notices are collected and written together, before anything is read and at the end;
    within one batch cards come before what is said about them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cards: list[dict[str, Any]] = []
        self._others: list[dict[str, Any]] = []

    def put(self, notice: Notice, at: dt.datetime) -> None:
        """Say something once.

        A card replaces the older card of that key and has to go out again, keeping its
        place and any delay that Slack asked for; while a sender has it in hand, it is not
        given to another. Any other notice whose key is known is ignored.
        """
        self._session.connection()  # raises when the transaction is over
        batch = self._cards if notice.audience is Audience.CARD else self._others
        batch.append(
            {
                "key": notice.key,
                "kind": notice.kind,
                "audience": notice.audience,
                "request": notice.request,
                "target": notice.target,
                "args": notice.args,
                "urgent": int(notice.urgent),
                "state": OutboxState.PENDING,
                "revision": 1,
                "attempts": 0,
                "created": at,
                "due": at,
            }
        )

    def flush(self) -> None:
        """Write what was collected."""
        if not (self._cards or self._others):
            return
        connection = self._session.connection()
        insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        if self._cards:
            put = insert(OUTBOX)
            new = put.excluded
            # Spelled out: a statement that is run for many rows cannot hold an IN (...).
            unsent = or_(_O.state == OutboxState.PENDING, _O.state == OutboxState.CLAIMED)
            replace = put.on_conflict_do_update(
                index_elements=[_O.key],
                set_={
                    "kind": new.kind,
                    "target": new.target,
                    "args": new.args,
                    "urgent": new.urgent,
                    "state": new.state,
                    "revision": _O.revision + 1,
                    # What was claimed before may be in Slack: the count must go on to say so.
                    "attempts": case(
                        (_O.state == OutboxState.SENT, 0),
                        (_O.state == OutboxState.DEAD, 1),
                        else_=_O.attempts,
                    ),
                    "error": None,
                    "due": case((unsent, _O.due), else_=new.due),
                },
            )
            connection.execute(replace, self._cards)
        if self._others:
            once = insert(OUTBOX).on_conflict_do_nothing(index_elements=[_O.key])
            connection.execute(once, self._others)
        self._cards, self._others = [], []

    def claim(
        self,
        now: dt.datetime,
        lease_seconds: float,
        limit: int,
        *,
        after_cards: bool = False,
    ) -> tuple[OutboxItem, ...]:
        """Take items to send; nobody else gets them for `lease_seconds`.

        Urgent ones come first, then by id. Of a request's thread one message is given at a
        time, so that its order holds whatever fails; with `after_cards` a thread waits
        until its card, if there is one, was posted or given up.
        """
        ready = and_(
            _O.state.in_(_UNSENT),
            _O.due <= now,
            or_(_O.leased_until.is_(None), _O.leased_until <= now),
            or_(_O.audience != Audience.THREAD, ~_EARLIER_IN_THREAD),
        )
        if after_cards:
            ready = and_(ready, or_(_O.audience != Audience.THREAD, ~_CARD_UNPOSTED))
        rows = self._select(ready, order=(_O.urgent.desc(), _O.id), limit=limit)
        if not rows:  # as at most moments
            return ()
        those = _O.id.in_([row.id for row in rows])
        self._update(
            those,
            state=OutboxState.CLAIMED,
            attempts=_O.attempts + 1,
            leased_until=now + dt.timedelta(seconds=lease_seconds),
        )
        claimed = self._select(those)
        by_id = {row.id: _record(row) for row in claimed}
        return tuple(by_id[row.id] for row in rows)

    def sent(
        self, item_id: int, revision: int, channel: str | None, ts: str | None, at: dt.datetime
    ) -> None:
        """Note that a revision is in Slack, and where.

        If the card was replaced meanwhile, the place is kept and the newer one still goes out.
        """
        here = {"channel": channel, "ts": ts, "leased_until": None}
        old = and_(_O.id == item_id, _O.revision > revision, _O.state.in_(_UNSENT))
        self._update(old, state=OutboxState.PENDING, **here)
        now = and_(_O.id == item_id, _O.revision == revision)
        self._update(now, state=OutboxState.SENT, sent=at, error=None, **here)

    def place(self, item_id: int, channel: str, ts: str) -> None:
        """Note where an unsent message is after all; it goes out once more, in its place."""
        unsent = and_(_O.id == item_id, _O.ts.is_(None), _O.state.in_(_UNSENT))
        self._update(unsent, channel=channel, ts=ts)

    def retry(self, item_id: int, revision: int, error: str, due: dt.datetime) -> None:
        """Give an item back to be sent from `due` on; also a newer revision waits that long."""
        self._update(
            and_(_O.id == item_id, _O.revision >= revision, _O.state.in_(_UNSENT)),
            state=OutboxState.PENDING,
            error=error,
            due=due,
            leased_until=None,
        )

    def defer(self, item_id: int, revision: int, due: dt.datetime) -> None:
        """Give an item back untried, because it is not its turn: no attempt is counted."""
        self._update(
            and_(_O.id == item_id, _O.revision >= revision, _O.state.in_(_UNSENT)),
            state=OutboxState.PENDING,
            attempts=case((_O.attempts > 0, _O.attempts - 1), else_=0),
            due=due,
            leased_until=None,
        )

    def redo(self, channel: str, ts: str) -> bool:
        """Have a message that is in Slack drawn anew; return whether there is one.

        Of several notices in one message the first stands for all.
        """
        first = self._select(
            and_(_O.channel == channel, _O.ts == ts, _O.state == OutboxState.SENT), limit=1
        )
        for row in first:
            self._update(
                _O.id == row.id,
                state=OutboxState.PENDING,
                revision=_O.revision + 1,
                attempts=0,
                due=row.sent,
            )
        return bool(first)

    def at(self, channel: str, ts: str) -> tuple[OutboxItem, ...]:
        """Return the notices that one message of Slack's says, in order of id."""
        return tuple(map(_record, self._select(and_(_O.channel == channel, _O.ts == ts))))

    def letters(self, limit: int) -> tuple[OutboxItem, ...]:
        """Return the messages that were given up, the latest first."""
        dead = _O.state == OutboxState.DEAD
        return tuple(map(_record, self._select(dead, order=(_O.id.desc(),), limit=limit)))

    def free_claims(self) -> int:
        """Let what a sender had in hand be claimed at once; return how many messages.

        For the start of the only sender there is: the one before it is gone. Attempts stay
        counted, so each message is looked for in Slack before it is posted.
        """
        claimed = and_(_O.state == OutboxState.CLAIMED, _O.leased_until.is_not(None))
        self.flush()
        freed = self._session.connection().execute(
            update_columns(OUTBOX).where(claimed).values(leased_until=None)
        )
        return freed.rowcount

    def dead(self, item_id: int, revision: int, error: str) -> None:
        """Give an item up for good; a card that was replaced meanwhile is tried anew."""
        mine = and_(_O.id == item_id, _O.state.in_(_UNSENT))
        self._update(
            and_(mine, _O.revision > revision), state=OutboxState.PENDING, leased_until=None
        )
        self._update(
            and_(mine, _O.revision == revision),
            state=OutboxState.DEAD,
            error=error,
            leased_until=None,
        )

    def get(self, key: str) -> OutboxItem | None:
        """Return the item of a key, or None."""
        return _only(self._select(_O.key == key, limit=1))

    def card_of(self, request: str) -> OutboxItem | None:
        """Return the card of a request, with its channel and `ts` once it was posted."""
        return _only(
            self._select(and_(_O.request == request, _O.audience == Audience.CARD), limit=1)
        )

    def of(self, request: str) -> tuple[OutboxItem, ...]:
        """Return all that was or is to be said about a request, in order of id."""
        return tuple(map(_record, self._select(_O.request == request)))

    def items(self, *states: OutboxState, limit: int | None = None) -> tuple[OutboxItem, ...]:
        """Return the items in the given states, in order of id."""
        return tuple(map(_record, self._select(_O.state.in_(states), limit=limit)))

    def figures(self, now: dt.datetime) -> OutboxFigures:
        """Return how much is unsent, and for how long the oldest has been due."""
        self.flush()
        counted = self._session.connection().execute(
            select_columns(_O.state, func.count()).group_by(_O.state)
        )
        counts = dict.fromkeys(OutboxState, 0)
        counts.update((state, count) for state, count in counted)
        oldest = self._session.connection().scalar(
            select_columns(_O.due)
            .where(_O.state.in_(_UNSENT), _O.due <= now)
            .order_by(_O.due)
            .limit(1)
        )
        return OutboxFigures(
            pending=counts[OutboxState.PENDING],
            claimed=counts[OutboxState.CLAIMED],
            sent=counts[OutboxState.SENT],
            dead=counts[OutboxState.DEAD],
            lag=0.0 if oldest is None else (now - oldest).total_seconds(),
        )

    def prune(self, before: dt.datetime) -> int:
        """Remove messages done with before a moment, but no cards; return how many.

        Their keys are forgotten: call it with a moment so old that nobody says them again.
        """
        self.flush()
        done = or_(
            and_(_O.state == OutboxState.SENT, _O.sent < before),
            and_(_O.state == OutboxState.DEAD, _O.due < before),
        )
        gone = self._session.connection().execute(
            delete(OUTBOX).where(done, _O.audience != Audience.CARD)
        )
        return gone.rowcount

    def _select(
        self,
        where: ColumnElement[bool],
        *,
        order: Sequence[ColumnElement[Any]] = (_O.id,),
        limit: int | None = None,
    ) -> Sequence[Row[Any]]:
        self.flush()
        wanted = select_columns(OUTBOX).where(where).order_by(*order).limit(limit)
        return self._session.connection().execute(wanted).all()

    def _update(self, where: ColumnElement[bool], **values: Any) -> None:
        self.flush()
        self._session.connection().execute(update_columns(OUTBOX).where(where).values(**values))


def _earlier_in_thread() -> ColumnElement[bool]:
    other = OUTBOX.alias("earlier")
    return exists().where(
        other.c.request == _O.request,
        other.c.audience == Audience.THREAD,
        other.c.id < _O.id,
        other.c.state.in_(_UNSENT),
    )


def _card_unposted() -> ColumnElement[bool]:
    card = OUTBOX.alias("card")
    return exists().where(
        card.c.request == _O.request,
        card.c.audience == Audience.CARD,
        card.c.ts.is_(None),
        card.c.state != OutboxState.DEAD,
    )


# Built once: to build the aliases takes as long as to run the statement.
_EARLIER_IN_THREAD = _earlier_in_thread()
_CARD_UNPOSTED = _card_unposted()


def _only(rows: Sequence[Row[Any]]) -> OutboxItem | None:
    return _record(rows[0]) if rows else None


def _record(row: Row[Any]) -> OutboxItem:
    return OutboxItem(
        id=row.id,
        notice=Notice(
            key=row.key,
            kind=row.kind,
            audience=row.audience,
            request=row.request,
            target=row.target,
            args=row.args,
            urgent=bool(row.urgent),
        ),
        state=row.state,
        revision=row.revision,
        attempts=row.attempts,
        created=row.created,
        due=row.due,
        channel=row.channel,
        ts=row.ts,
        error=row.error,
    )
