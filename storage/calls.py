"""Calls: what on-call has to acknowledge, and how far up it was taken meanwhile.

Rows, not timers: a call that is due while the bot is down is due when it comes back.
"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, delete, select

from storage.records import Call
from storage.tables import CallRow


class Calls:
    """The calls, inside one transaction. Every order is by time raised, then key."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, call: Call) -> None:
        """Store a call; one that is known under its key stays as it is."""
        if self._session.get(CallRow, call.key) is None:
            self._session.add(
                CallRow(
                    key=call.key,
                    kind=call.kind,
                    request=call.request,
                    channel=call.channel,
                    ts=call.ts,
                    raised=call.raised,
                    level=call.level,
                    due=call.due,
                )
            )
            self._session.flush()

    def get(self, key: str) -> Call | None:
        """Return one call, or None."""
        row = self._session.get(CallRow, key)
        return None if row is None else _record(row)

    def at(self, channel: str, ts: str) -> tuple[Call, ...]:
        """Return the calls that one message of Slack's says."""
        return self._find(col(CallRow.channel) == channel, col(CallRow.ts) == ts)

    def due(self, now: dt.datetime) -> tuple[Call, ...]:
        """Return those that nobody acknowledged in time."""
        return self._find(
            col(CallRow.due).is_not(None),
            col(CallRow.due) <= now,
            col(CallRow.acknowledged_by).is_(None),
        )

    def raise_(self, key: str, due: dt.datetime | None) -> None:
        """Note that the next were called, and when the ones after them are."""
        row = self._session.get_one(CallRow, key)
        row.level, row.due = row.level + 1, due

    def acknowledge(self, key: str, by: str, at: dt.datetime) -> None:
        """Note who took it; the first keeps it."""
        row = self._session.get_one(CallRow, key)
        if row.acknowledged_by is None:
            row.acknowledged_by, row.acknowledged_at, row.due = by, at, None

    def prune(self, before: dt.datetime) -> int:
        """Forget calls raised before a moment; return how many."""
        self._session.flush()
        gone = self._session.exec(delete(CallRow).where(col(CallRow.raised) < before))
        return gone.rowcount

    def _find(self, *where: ColumnElement[bool]) -> tuple[Call, ...]:
        self._session.flush()
        wanted = select(CallRow).where(*where)
        rows = self._session.exec(wanted.order_by(col(CallRow.raised), col(CallRow.key)))
        return tuple(_record(row) for row in rows)


def _record(row: CallRow) -> Call:
    return Call(
        key=row.key,
        kind=row.kind,
        request=row.request,
        channel=row.channel,
        ts=row.ts,
        raised=row.raised,
        level=row.level,
        due=row.due,
        acknowledged_by=row.acknowledged_by,
        acknowledged_at=row.acknowledged_at,
    )
