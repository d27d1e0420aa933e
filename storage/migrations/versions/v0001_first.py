"""The first schema."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_AT = sa.DateTime(timezone=True)


def _need(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _serial() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True, autoincrement=True)


def _key(table: str, column: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(column, name=f"pk_{table}")


def _of_request(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["request"], ["requests.id"], name=f"fk_{table}_request")


def upgrade() -> None:
    _requests()
    _transitions()
    _events()
    _outbox()
    _small_tables()


def _requests() -> None:
    op.create_table(
        "requests",
        _need("id", sa.Text()),
        _need("number", sa.Integer()),
        _need("state", sa.Text()),
        _need("source", sa.Text()),
        _need("owner", sa.Text()),
        _need("team", sa.Text()),
        _need("queue", sa.Text()),
        _need("text", sa.Text()),
        _need("created", _AT),
        _need("changed", _AT),
        _need("attempt", sa.Integer()),
        _need("workload", sa.Text()),
        _may("admission", sa.Text()),
        _may("started", _AT),
        _may("lease_ends", _AT),
        _may("ending", sa.Text()),
        _may("ended_by", sa.Text()),
        _may("run_for", sa.Float()),
        _may("starving_since", _AT),
        _may("channel", sa.Text()),
        _may("thread_ts", sa.Text()),
        _key("requests", "id"),
    )
    op.create_index("ix_requests_number", "requests", ["number"], unique=True)
    for column in ("state", "owner", "team", "queue"):
        op.create_index(f"ix_requests_{column}_number", "requests", [column, "number"])


def _transitions() -> None:
    op.create_table(
        "transitions",
        _serial(),
        _need("request", sa.Text()),
        _may("before", sa.Text()),
        _need("after", sa.Text()),
        _need("at", _AT),
        _need("actor", sa.Text()),
        _need("reason", sa.Text()),
        _may("decision", sa.Text()),
        _need("details", sa.Text()),
        _key("transitions", "id"),
        _of_request("transitions"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_transitions_request_id", "transitions", ["request", "id"])


def _events() -> None:
    op.create_table(
        "events",
        _serial(),
        _need("kind", sa.Text()),
        _need("request", sa.Text()),
        _need("actor", sa.Text()),
        _need("at", _AT),
        _may("handled", _AT),
        _key("events", "id"),
        _of_request("events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_handled_id", "events", ["handled", "id"])


def _outbox() -> None:
    op.create_table(
        "outbox",
        _serial(),
        _need("key", sa.Text()),
        _need("kind", sa.Text()),
        _need("audience", sa.Text()),
        _may("request", sa.Text()),
        _may("target", sa.Text()),
        _need("args", sa.Text()),
        _need("urgent", sa.Integer()),
        _need("state", sa.Text()),
        _need("revision", sa.Integer()),
        _need("attempts", sa.Integer()),
        _need("created", _AT),
        _need("due", _AT),
        _may("leased_until", _AT),
        _may("sent", _AT),
        _may("channel", sa.Text()),
        _may("ts", sa.Text()),
        _may("error", sa.Text()),
        _key("outbox", "id"),
        _of_request("outbox"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_key", "outbox", ["key"], unique=True)
    op.create_index("ix_outbox_state_due", "outbox", ["state", "due"])
    op.create_index("ix_outbox_request_id", "outbox", ["request", "id"])


def _small_tables() -> None:
    op.create_table(
        "inbox",
        _need("key", sa.Text()),
        _need("at", _AT),
        _may("answer", sa.Text()),
        _key("inbox", "key"),
    )
    op.create_index("ix_inbox_at", "inbox", ["at"])
    op.create_table(
        "usage",
        _need("team", sa.Text()),
        _need("chip_hours", sa.Float()),
        _need("at", _AT),
        _key("usage", "team"),
    )
    op.create_table(
        "people",
        _need("id", sa.Text()),
        _need("name", sa.Text()),
        _need("teams", sa.Text()),
        _need("role", sa.Text()),
        _key("people", "id"),
    )
    op.create_table(
        "settings",
        _need("name", sa.Text()),
        _need("value", sa.Text()),
        _need("author", sa.Text()),
        _need("reason", sa.Text()),
        _may("until", _AT),
        _key("settings", "name"),
    )
    op.create_table(
        "counters",
        _need("name", sa.Text()),
        _need("value", sa.Integer()),
        _key("counters", "name"),
    )
