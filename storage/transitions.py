"""The story of each request: append-only lines."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import func
from sqlmodel import Session, col, delete, insert, select

from storage.records import Transition
from storage.states import FINAL
from storage.tables import RequestRow, TransitionRow


class Transitions:
    """The transitions, inside one transaction.

    Lines are collected and written together, before anything is read and at the end.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unwritten: list[dict[str, object]] = []

    def append(self, line: Transition) -> None:
        """Add a line; only the requests repository does."""
        self._unwritten.append(
            {
                "request": line.request,
                "before": line.before,
                "after": line.after,
                "at": line.at,
                "actor": line.actor,
                "reason": line.reason,
                "decision": line.decision,
                "details": line.details,
            }
        )

    def flush(self) -> None:
        """Write what was collected."""
        if self._unwritten:
            self._session.exec(insert(TransitionRow), params=self._unwritten)
            self._unwritten = []

    def of(self, request: str) -> tuple[Transition, ...]:
        """Return the lines of one request, oldest first."""
        self.flush()
        rows = self._session.exec(
            select(TransitionRow)
            .where(col(TransitionRow.request) == request)
            .order_by(col(TransitionRow.id))
        )
        return tuple(_record(row) for row in rows)

    def count(self, reason: str, since: dt.datetime, until: dt.datetime) -> int:
        """Return how many lines of a reason were written in a period."""
        self.flush()
        return self._session.exec(
            select(func.count())
            .select_from(TransitionRow)
            .where(col(TransitionRow.reason) == reason)
            .where(col(TransitionRow.at) >= since, col(TransitionRow.at) < until)
        ).one()

    def prune(self, before: dt.datetime) -> int:
        """Thin out the stories of requests that ended before a moment; return lines removed.

        The first and the last line stay: when it was asked for, and how it ended.
        """
        self.flush()
        ended = (
            select(col(RequestRow.id))
            .where(col(RequestRow.state).in_(FINAL))
            .where(col(RequestRow.changed) < before)
        )
        of_ended = col(TransitionRow.request).in_(ended)
        ends = select(TransitionRow.request).where(of_ended).group_by(col(TransitionRow.request))
        first = ends.with_only_columns(func.min(col(TransitionRow.id)))
        last = ends.with_only_columns(func.max(col(TransitionRow.id)))
        gone = self._session.exec(
            delete(TransitionRow)
            .where(of_ended)
            .where(col(TransitionRow.id).not_in(first))
            .where(col(TransitionRow.id).not_in(last))
        )
        return gone.rowcount


def _record(row: TransitionRow) -> Transition:
    return Transition(
        request=row.request,
        before=row.before,
        after=row.after,
        at=row.at,
        actor=row.actor,
        reason=row.reason,
        decision=row.decision,
        details=row.details,
    )
