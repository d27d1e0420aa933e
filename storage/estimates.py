"""Estimates: when requests were expected to start, kept to be compared with what happened."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, delete, select, update

from storage.records import Estimate
from storage.tables import EstimateRow

_FIELDS = tuple(field.name for field in dataclasses.fields(Estimate))


class Estimates:
    """The estimates, inside one transaction: one a request, the last that was told it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, estimate: Estimate) -> None:
        """Keep an estimate in place of the one that the request had."""
        self._session.merge(EstimateRow(**{name: getattr(estimate, name) for name in _FIELDS}))

    def get(self, request_id: str) -> Estimate | None:
        """Return the estimate of a request, or None."""
        row = self._session.get(EstimateRow, request_id)
        return None if row is None else _record(row)

    def known(self, requests: Collection[str]) -> frozenset[str]:
        """Return which of the requests have an estimate."""
        wanted = select(EstimateRow.request).where(col(EstimateRow.request).in_(requests))
        return frozenset(self._session.exec(wanted))

    def forget(self, requests: Collection[str]) -> None:
        """Remove the estimates of those of the requests that have not started."""
        self._session.flush()
        if requests:
            self._session.exec(delete(EstimateRow).where(*_open(requests)))

    def settle(self, requests: Collection[str], started: dt.datetime) -> None:
        """Write down that requests have started, unless they had before."""
        self._session.flush()
        if requests:
            changed = update(EstimateRow).where(*_open(requests)).values(started=started)
            self._session.exec(changed)

    def settled(self, since: dt.datetime, until: dt.datetime) -> tuple[Estimate, ...]:
        """Return the estimates of requests that started in a period, by start and id."""
        started = col(EstimateRow.started)
        wanted = (
            select(EstimateRow)
            .where(started >= since, started < until)
            .order_by(started, col(EstimateRow.request))
        )
        return tuple(_record(row) for row in self._session.exec(wanted))


def _open(requests: Collection[str]) -> tuple[ColumnElement[bool], ...]:
    return col(EstimateRow.request).in_(sorted(requests)), col(EstimateRow.started).is_(None)


def _record(row: EstimateRow) -> Estimate:
    return Estimate(**{name: getattr(row, name) for name in _FIELDS})
