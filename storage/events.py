"""Desk events: what people asked of the control loop, each handled once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable

from sqlmodel import Session, col, delete, insert, select, update

from storage.records import DeskEvent, EventKind, Json
from storage.tables import EventRow


class Events:
    """The desk events, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self,
        kind: EventKind,
        request: str,
        actor: str,
        at: dt.datetime,
        args: Json | None = None,
    ) -> DeskEvent:
        """Store an event behind all earlier ones."""
        row = EventRow(kind=kind, request=request, actor=actor, at=at, args=args)
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def add_all(self, events: Iterable[tuple[EventKind, str, str, dt.datetime]]) -> None:
        """Store many events without arguments (kind, request, actor, at), in this order."""
        values = [
            {"kind": kind, "request": request, "actor": actor, "at": at, "args": None}
            for kind, request, actor, at in events
        ]
        if values:
            self._session.exec(insert(EventRow), params=values)

    def unhandled(self, limit: int | None = None) -> tuple[DeskEvent, ...]:
        """Return the events that wait for the control loop, in order of id."""
        rows = self._session.exec(
            select(EventRow)
            .where(col(EventRow.handled).is_(None))
            .order_by(col(EventRow.id))
            .limit(limit)
        )
        return tuple(_record(row) for row in rows)

    def any_unhandled(self) -> bool:
        """Return whether something waits for the control loop."""
        return bool(self.unhandled(limit=1))

    def is_handled(self, number: int) -> bool:
        """Return whether an event was carried out; one that was pruned since counts as that."""
        return not self._session.exec(
            select(EventRow.id).where(col(EventRow.id) == number, col(EventRow.handled).is_(None))
        ).first()

    def mark(self, ids: Collection[int], at: dt.datetime) -> None:
        """Mark events as handled."""
        if ids:
            self._session.exec(
                update(EventRow), params=[{"id": i, "handled": at} for i in sorted(ids)]
            )

    def prune(self, before: dt.datetime) -> int:
        """Remove events handled before a moment; return how many."""
        gone = self._session.exec(delete(EventRow).where(col(EventRow.handled) < before))
        return gone.rowcount


def _record(row: EventRow) -> DeskEvent:
    if row.id is None:
        msg = "the database gave the event no id"
        raise RuntimeError(msg)
    return DeskEvent(
        id=row.id,
        kind=row.kind,
        request=row.request,
        actor=row.actor,
        at=row.at,
        args=row.args or {},
    )
