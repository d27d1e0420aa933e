"""How Alembic runs our migrations: on the connection that it is handed, in its transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
