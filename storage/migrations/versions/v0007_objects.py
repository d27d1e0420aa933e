"""The object of the cluster that a request stands for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("requests", sa.Column("ref", sa.Text(), nullable=True))
    op.add_column("requests", sa.Column("ref_uid", sa.Text(), nullable=True))
    op.create_index("ix_requests_ref_uid", "requests", ["ref_uid"])
