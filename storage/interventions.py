"""Interventions: an order of an admin, and the audit row that is left of it. Never removed."""

from __future__ import annotations

import dataclasses
import datetime as dt

from sqlalchemy import func
from sqlmodel import Session, col, select, update

from storage.audit import Intervention, InterventionKind, InterventionState, Json
from storage.tables import InterventionRow

_FIELDS = tuple(one.name for one in dataclasses.fields(Intervention))


class Interventions:
    """The interventions, inside one transaction. Every order is by id."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self,
        kind: InterventionKind,
        target: str,
        *,
        actor: str,
        reason: str,
        at: dt.datetime,
        until: dt.datetime | None = None,
        wish: Json | None = None,
    ) -> Intervention:
        """Store an order behind all earlier ones."""
        row = InterventionRow(
            kind=kind,
            target=target,
            actor=actor,
            reason=reason,
            at=at,
            until=until,
            wish=wish or {},
            state=InterventionState.ORDERED,
            before={},
            after={},
        )
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def get(self, number: int) -> Intervention | None:
        """Return one, or None."""
        row = self._session.get(InterventionRow, number)
        return None if row is None else _record(row)

    def ordered(self) -> tuple[Intervention, ...]:
        """Return those that wait for the control loop."""
        return self._with(InterventionState.ORDERED)

    def in_force(self) -> tuple[Intervention, ...]:
        """Return those that last and have not ended."""
        return self._with(InterventionState.IN_FORCE)

    def write(self, done: Intervention) -> None:
        """Write down what became of one."""
        self._session.flush()
        self._session.exec(
            update(InterventionRow)
            .where(col(InterventionRow.id) == done.id)
            .values(
                state=done.state,
                before=done.before,
                after=done.after,
                ended=done.ended,
                ended_by=done.ended_by,
            )
        )

    def latest(self, limit: int) -> tuple[Intervention, ...]:
        """Return the last ones, the newest first."""
        rows = self._session.exec(
            select(InterventionRow).order_by(col(InterventionRow.id).desc()).limit(limit)
        )
        return tuple(_record(row) for row in rows)

    def count(self, since: dt.datetime, until: dt.datetime, *, but_by: str = "") -> int:
        """Return how many were ordered in a period, but for those that were never carried out.

        Those of the actor `but_by` do not count.
        """
        at = col(InterventionRow.at)
        wanted = (
            select(func.count())
            .select_from(InterventionRow)
            .where(at >= since, at < until, col(InterventionRow.actor) != but_by)
            .where(col(InterventionRow.state) != InterventionState.FAILED)
        )
        return int(self._session.exec(wanted).one())

    def _with(self, state: InterventionState) -> tuple[Intervention, ...]:
        rows = self._session.exec(
            select(InterventionRow)
            .where(col(InterventionRow.state) == state)
            .order_by(col(InterventionRow.id))
        )
        return tuple(_record(row) for row in rows)


def _record(row: InterventionRow) -> Intervention:
    return Intervention(**{name: getattr(row, name) for name in _FIELDS})
