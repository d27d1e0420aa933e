"""Usage ledger: a row for each grant, opened when GPUs are given and closed once.

Nothing but the end of an open row is ever written to it, so a sum over the past stays what
it was. Rows name requests without a foreign key: they outlive them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from sqlmodel import Session, col, delete, or_, select, update

from storage.accounts import Gauge, Grant, Outcome
from storage.records import Source
from storage.tables import GaugeRow, GrantRow

_FIELDS = tuple(name for name in Grant.__dataclass_fields__)
_GAUGES = tuple(name for name in Gauge.__dataclass_fields__)


class Grants:
    """The usage ledger, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def open(self, grant: Grant) -> None:
        """Begin to charge. Raises ValueError for a grant that has ended already."""
        if grant.ended is not None:
            msg = f"a grant is opened before it ends: {grant.decision}"
            raise ValueError(msg)
        self._session.add(GrantRow(**{name: getattr(grant, name) for name in _FIELDS}))

    def close(self, ends: Mapping[str, tuple[dt.datetime, Outcome]]) -> None:
        """End the open grants of some decisions; one that is closed or unknown stays as it is."""
        self._session.flush()
        for decision, (at, outcome) in ends.items():
            self._session.exec(
                update(GrantRow)
                .where(col(GrantRow.decision) == decision, col(GrantRow.ended).is_(None))
                .values(ended=at, outcome=outcome)
            )

    def hand_over(self, decision: str, at: dt.datetime, *, owner: str, team: str) -> None:
        """Charge what is held by a decision to somebody else from a moment on."""
        self._go_on(decision, at, {"owner": owner, "team": team})

    def resize(self, decision: str, at: dt.datetime, gpus: int) -> None:
        """Charge so many GPUs for a decision from a moment on; nothing where those are charged."""
        self._go_on(decision, at, {"gpus": gpus})

    def _go_on(self, decision: str, at: dt.datetime, changes: Mapping[str, object]) -> None:
        """End the open row, and go on in another; one that would be the same stays open."""
        self._session.flush()
        open_row = self._session.exec(
            select(GrantRow).where(
                col(GrantRow.decision) == decision, col(GrantRow.ended).is_(None)
            )
        ).first()
        if open_row is None:
            return
        rest = {name: getattr(open_row, name) for name in _FIELDS}
        if all(rest[name] == value for name, value in changes.items()):
            return
        self.close({decision: (at, Outcome.GIVEN)})
        self._session.add(GrantRow(**{**rest, **changes, "begun": at, "waited": 0.0}))

    def of(self, request: str) -> tuple[Grant, ...]:
        """All grants of a request, in the order they were opened."""
        wanted = select(GrantRow).where(col(GrantRow.request) == request).order_by(col(GrantRow.id))
        return tuple(_grant(row) for row in self._session.exec(wanted))

    def last_end(self, request: str) -> dt.datetime | None:
        """When the request last gave GPUs back; None if it never did."""
        return self._session.exec(
            select(GrantRow.ended)
            .where(col(GrantRow.request) == request, col(GrantRow.ended).is_not(None))
            .order_by(col(GrantRow.id).desc())
        ).first()

    def during(
        self, since: dt.datetime, until: dt.datetime, *, team: str | None = None
    ) -> tuple[Grant, ...]:
        """All grants that held GPUs at some time of a period, in the order they were opened."""
        wanted = (
            select(GrantRow)
            .where(col(GrantRow.begun) < until)
            .where(or_(col(GrantRow.ended).is_(None), col(GrantRow.ended) > since))
            .order_by(col(GrantRow.id))
        )
        if team is not None:
            wanted = wanted.where(col(GrantRow.team) == team)
        return tuple(_grant(row) for row in self._session.exec(wanted))

    def prune(self, source: Source, before: dt.datetime) -> int:
        """Remove what ended before a moment; return how many rows."""
        gone = self._session.exec(
            delete(GrantRow).where(col(GrantRow.source) == source, col(GrantRow.ended) < before)
        )
        return gone.rowcount


class Gauges:
    """Samples of the whole cluster, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, gauge: Gauge) -> None:
        """Keep a sample; one of the same moment is replaced."""
        self._session.merge(GaugeRow(**{name: getattr(gauge, name) for name in _GAUGES}))

    def during(self, since: dt.datetime, until: dt.datetime) -> tuple[Gauge, ...]:
        """Return the samples of a period, oldest first."""
        rows = self._session.exec(
            select(GaugeRow)
            .where(col(GaugeRow.at) >= since, col(GaugeRow.at) < until)
            .order_by(col(GaugeRow.at))
        )
        return tuple(Gauge(**{name: getattr(row, name) for name in _GAUGES}) for row in rows)

    def prune(self, before: dt.datetime) -> int:
        """Remove samples from before a moment; return how many."""
        return self._session.exec(delete(GaugeRow).where(col(GaugeRow.at) < before)).rowcount


def _grant(row: GrantRow) -> Grant:
    return Grant(**{name: getattr(row, name) for name in _FIELDS})
