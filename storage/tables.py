"""The tables. Rows live inside one transaction and never leave this package.

What a query filters or sorts by has a column of its own; the rest of a workload stays
whole, as JSON. `number` is the digits of the id, because `R-9999` sorts after `R-10000`.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, MetaData, Text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from scheduler.model import Admission, Workload
from storage.accounts import Outcome
from storage.audit import InterventionKind, InterventionState
from storage.columns import Choice, Instant, JsonText, Names, Packed, Prose
from storage.records import (
    Audience,
    EventKind,
    Json,
    ObjectRef,
    OutboxState,
    Recipe,
    Role,
    Source,
)
from storage.states import RequestState

_KEEP_IDS = {"sqlite_autoincrement": True}  # an id is never given twice, also after pruning

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Row(SQLModel, registry=registry(metadata=metadata)):
    """The root of our tables, with a catalogue of their own."""

    metadata = metadata


def _text(*, key: bool = False, optional: bool = False) -> Any:
    return Field(sa_column=Column(Text, primary_key=key, nullable=optional))


def _whole(default: int | None = None) -> Any:
    return Field(default=default, sa_column=Column(Integer, nullable=False))


def _serial() -> Any:
    return Field(default=None, sa_column=Column(Integer, primary_key=True, autoincrement=True))


def _of_request(*, optional: bool = False) -> Any:
    return Field(sa_column=Column(Text, ForeignKey("requests.id"), nullable=optional))


def _choice(members: type[Any], *, optional: bool = False) -> Any:
    return Field(sa_column=Column(Choice(members), nullable=optional))


def _instant(*, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(Instant, nullable=optional))


def _json(*, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(JsonText, nullable=optional))


def _prose(*, optional: bool = False) -> Any:
    return Field(default=None, sa_column=Column(Prose, nullable=optional))


class RequestRow(Row, table=True):
    __tablename__ = "requests"
    __table_args__ = (
        Index(None, "number", unique=True),
        Index(None, "state", "number"),
        Index(None, "owner", "number"),
        Index(None, "team", "number"),
        Index(None, "queue", "number"),
        Index(None, "ref_uid"),
        Index(None, "family", "number"),
        Index(None, "head", "number"),
    )

    id: str = _text(key=True)
    number: int = _whole()
    state: RequestState = _choice(RequestState)
    source: Source = _choice(Source)
    owner: str = _text()
    team: str = _text()
    queue: str = _text()
    text: str = _prose()
    created: dt.datetime = _instant()
    changed: dt.datetime = _instant()
    attempt: int = _whole()
    workload: Workload = Field(sa_column=Column(Packed(Workload), nullable=False))
    admission: Admission | None = Field(sa_column=Column(Packed(Admission), nullable=True))
    kept: Admission | None = Field(sa_column=Column(Packed(Admission), nullable=True))
    started: dt.datetime | None = _instant(optional=True)
    lease_ends: dt.datetime | None = _instant(optional=True)
    ending: RequestState | None = _choice(RequestState, optional=True)
    ended_by: str | None = _text(optional=True)
    run_for: float | None = Field(sa_column=Column(Float, nullable=True))
    starving_since: dt.datetime | None = _instant(optional=True)
    channel: str | None = _text(optional=True)
    thread_ts: str | None = _text(optional=True)
    recipe: Recipe | None = Field(sa_column=Column(Packed(Recipe), nullable=True))
    ref: ObjectRef | None = Field(sa_column=Column(Packed(ObjectRef), nullable=True))
    ref_uid: str | None = _text(optional=True)
    family: str | None = _text(optional=True)
    head: str | None = _text(optional=True)


class TransitionRow(Row, table=True):
    __tablename__ = "transitions"
    __table_args__ = (Index(None, "request", "id"), _KEEP_IDS)

    id: int | None = _serial()
    request: str = _of_request()
    before: RequestState | None = _choice(RequestState, optional=True)
    after: RequestState = _choice(RequestState)
    at: dt.datetime = _instant()
    actor: str = _text()
    reason: str = _prose()
    decision: str | None = _text(optional=True)
    details: Json = _json()


class EventRow(Row, table=True):
    __tablename__ = "events"
    __table_args__ = (Index(None, "handled", "id"), _KEEP_IDS)

    id: int | None = _serial()
    kind: EventKind = _choice(EventKind)
    request: str = _of_request()
    actor: str = _text()
    at: dt.datetime = _instant()
    args: Json | None = _json(optional=True)
    handled: dt.datetime | None = _instant(optional=True)


class OutboxRow(Row, table=True):
    __tablename__ = "outbox"
    __table_args__ = (
        Index(None, "key", unique=True),
        Index(None, "state", "due"),
        Index(None, "request", "id"),
        _KEEP_IDS,
    )

    id: int | None = _serial()
    key: str = _text()
    kind: str = _text()
    audience: Audience = _choice(Audience)
    request: str | None = _of_request(optional=True)
    target: str | None = _text(optional=True)
    args: Json = _json()
    urgent: int = _whole(0)
    state: OutboxState = _choice(OutboxState)
    revision: int = _whole(1)
    attempts: int = _whole(0)
    created: dt.datetime = _instant()
    due: dt.datetime = _instant()
    leased_until: dt.datetime | None = _instant(optional=True)
    sent: dt.datetime | None = _instant(optional=True)
    channel: str | None = Field(default=None, sa_column=Column(Text, nullable=True))
    ts: str | None = Field(default=None, sa_column=Column(Text, nullable=True))
    error: str | None = _prose(optional=True)


class CallRow(Row, table=True):
    __tablename__ = "calls"
    __table_args__ = (Index(None, "due"), Index(None, "channel", "ts"))

    key: str = _text(key=True)
    kind: str = _text()
    request: str | None = _text(optional=True)
    channel: str = _text()
    ts: str = _text()
    raised: dt.datetime = _instant()
    level: int = _whole(0)
    due: dt.datetime | None = _instant(optional=True)
    acknowledged_by: str | None = _text(optional=True)
    acknowledged_at: dt.datetime | None = _instant(optional=True)


class InboxRow(Row, table=True):
    __tablename__ = "inbox"
    __table_args__ = (Index(None, "at"),)

    key: str = _text(key=True)
    at: dt.datetime = _instant()
    answer: Json | None = _json(optional=True)


class UsageRow(Row, table=True):
    __tablename__ = "usage"

    team: str = _text(key=True)
    chip_hours: float = Field(sa_column=Column(Float, nullable=False))
    at: dt.datetime = _instant()


class PersonRow(Row, table=True):
    __tablename__ = "people"

    id: str = _text(key=True)
    name: str = _prose()
    teams: tuple[str, ...] = Field(sa_column=Column(Names, nullable=False))
    role: Role = _choice(Role)


class SettingRow(Row, table=True):
    __tablename__ = "settings"

    name: str = _text(key=True)
    value: str = _prose()
    author: str = _text()
    reason: str = _prose()
    until: dt.datetime | None = _instant(optional=True)


class GrantRow(Row, table=True):
    __tablename__ = "grants"
    __table_args__ = (
        Index(None, "decision"),
        Index(None, "request"),
        Index(None, "ended"),
        Index(None, "begun"),
        _KEEP_IDS,
    )

    id: int | None = _serial()
    decision: str = _text()
    request: str = _text()
    source: Source = _choice(Source)
    owner: str = _text()
    team: str = _text()
    pool: str = _text()
    queue: str = _text()
    flavor: str = _text()
    spend: str = _text()
    gpus: int = _whole()
    waited: float = Field(sa_column=Column(Float, nullable=False))
    begun: dt.datetime = _instant()
    ended: dt.datetime | None = _instant(optional=True)
    outcome: Outcome | None = _choice(Outcome, optional=True)


class GaugeRow(Row, table=True):
    __tablename__ = "gauges"

    at: dt.datetime = Field(sa_column=Column(Instant, primary_key=True))
    gpus: int = _whole()
    used: int = _whole()
    stranded: int = _whole()
    nodes: int = _whole()
    whole_free_nodes: int = _whole()
    running: int = _whole()
    pending: int = _whole()
    pending_gpus: int = _whole()


class EstimateRow(Row, table=True):
    __tablename__ = "estimates"
    __table_args__ = (Index(None, "started"),)

    request: str = Field(sa_column=Column(Text, ForeignKey("requests.id"), primary_key=True))
    pool: str = _text()
    at: dt.datetime = _instant()
    low: dt.datetime | None = _instant(optional=True)
    likely: dt.datetime | None = _instant(optional=True)
    high: dt.datetime | None = _instant(optional=True)
    basis: str = _text()
    started: dt.datetime | None = _instant(optional=True)


class InterventionRow(Row, table=True):
    __tablename__ = "interventions"
    __table_args__ = (Index(None, "state"), Index(None, "at"), _KEEP_IDS)

    id: int | None = _serial()
    kind: InterventionKind = _choice(InterventionKind)
    target: str = _text()
    actor: str = _text()
    reason: str = _prose()
    at: dt.datetime = _instant()
    until: dt.datetime | None = _instant(optional=True)
    wish: Json = _json()
    state: InterventionState = _choice(InterventionState)
    before: Json = _json()
    after: Json = _json()
    ended: dt.datetime | None = _instant(optional=True)
    ended_by: str | None = _text(optional=True)


class CounterRow(Row, table=True):
    """Numbers that only grow: the last request id and the newest fence."""

    __tablename__ = "counters"

    name: str = _text(key=True)
    value: int = _whole()


class IdentityRow(Row, table=True):
    """One row: which store this is. Made with the schema, and copied with the rest."""

    __tablename__ = "identity"

    id: str = _text(key=True)
