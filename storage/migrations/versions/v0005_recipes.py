"""What the bot makes for a request."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("requests", sa.Column("recipe", sa.Text(), nullable=True))
