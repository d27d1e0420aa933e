"""Replicas of one Deployment or StatefulSet: what they are of, and whose card is theirs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("requests", sa.Column("family", sa.Text(), nullable=True))
    op.add_column("requests", sa.Column("head", sa.Text(), nullable=True))
    op.create_index("ix_requests_family_number", "requests", ["family", "number"])
    op.create_index("ix_requests_head_number", "requests", ["head", "number"])
