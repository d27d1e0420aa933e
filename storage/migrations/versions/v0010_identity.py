"""The identity of a store: by it is known what its bot has written in a cluster."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    made = op.create_table(
        "identity",
        sa.Column("id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_identity"),
    )
    op.bulk_insert(made, [{"id": uuid.uuid4().hex[:12]}])
