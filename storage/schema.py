"""Brings a database to the schema of this version; only forward."""

from __future__ import annotations

import functools
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from storage.errors import SchemaTooNew

_MIGRATIONS = Path(__file__).parent / "migrations"


def known_revisions() -> frozenset[str]:
    """Return the schemas that this version can open, each by the migration that makes it."""
    return frozenset(script.revision for script in _scripts().walk_revisions())


def migrate(writer: Engine) -> None:
    """Run the missing migrations in one transaction, one process at a time.

    Raises SchemaTooNew when the database knows a migration that this version does not.
    """
    newest = _scripts().get_current_head() or "none"
    with writer.begin() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and found not in known_revisions():
            raise SchemaTooNew(found, newest)
        if found != newest:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@functools.cache
def _scripts() -> ScriptDirectory:
    """The migrations of this version, read once."""
    return ScriptDirectory.from_config(_config())
