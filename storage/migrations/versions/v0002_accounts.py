"""The usage ledger, and samples of the cluster."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_AT = sa.DateTime(timezone=True)


def _need(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    op.create_table(
        "grants",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        *(
            _need(name, sa.Text())
            for name in (
                "decision",
                "request",
                "source",
                "owner",
                "team",
                "pool",
                "queue",
                "flavor",
                "spend",
            )
        ),
        _need("gpus", sa.Integer()),
        _need("waited", sa.Float()),
        _need("begun", _AT),
        sa.Column("ended", _AT, nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sqlite_autoincrement=True,
    )
    for column in ("decision", "request", "ended", "begun"):
        op.create_index(f"ix_grants_{column}", "grants", [column])
    op.create_table(
        "gauges",
        _need("at", _AT),
        *(
            _need(name, sa.Integer())
            for name in (
                "gpus",
                "used",
                "stranded",
                "nodes",
                "whole_free_nodes",
                "running",
                "pending",
                "pending_gpus",
            )
        ),
        sa.PrimaryKeyConstraint("at", name="pk_gauges"),
    )
