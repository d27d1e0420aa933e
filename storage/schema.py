"""Brings a database to the schema of this version; only forward."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from storage.errors import SchemaTooNew

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(writer: Engine) -> None:
    """Run the missing migrations in one transaction, one process at a time.

    Raises SchemaTooNew when the database knows a migration that this version does not.
    """
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    known = {script.revision for script in scripts.walk_revisions()}
    newest = scripts.get_current_head()
    with writer.begin() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and found not in known:
            raise SchemaTooNew(found, newest or "none")
        if found != newest:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
