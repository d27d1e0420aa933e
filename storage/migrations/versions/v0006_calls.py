"""Calls: what on-call has to acknowledge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "calls",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", sa.Text(), nullable=False),
        sa.Column("raised", _AT, nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("due", _AT, nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", _AT, nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_calls"),
    )
    op.create_index("ix_calls_due", "calls", ["due"])
    op.create_index("ix_calls_channel_ts", "calls", ["channel", "ts"])
