"""Estimates of starts, and what exactly an event asks for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("events", sa.Column("args", sa.Text(), nullable=True))
    op.create_table(
        "estimates",
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("at", _AT, nullable=False),
        sa.Column("low", _AT, nullable=True),
        sa.Column("likely", _AT, nullable=True),
        sa.Column("high", _AT, nullable=True),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("started", _AT, nullable=True),
        sa.PrimaryKeyConstraint("request", name="pk_estimates"),
        sa.ForeignKeyConstraint(["request"], ["requests.id"], name="fk_estimates_request"),
    )
    op.create_index("ix_estimates_started", "estimates", ["started"])
