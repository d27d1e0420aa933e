"""New SQLite databases in a few milliseconds: the migrations run once, then their result is copied.

Each has an identity of its own, as if it had been made by them.

What the migrations themselves do is tested in tests/storage, where they run.
"""

from __future__ import annotations

import sqlite3
import uuid

import pytest
from sqlalchemy import Engine

from storage import store
from storage.schema import migrate

_made: list[str] = []


def migrate_once(writer: Engine) -> None:
    """Bring a database up to date; an empty one by what the migrations made of the first."""
    if writer.dialect.name != "sqlite":
        migrate(writer)
        return
    with writer.begin() as connection:
        database = connection.connection.driver_connection
        assert isinstance(database, sqlite3.Connection)
        empty = not database.execute("SELECT 1 FROM sqlite_master").fetchall()
        if empty and _made:
            for statement in _made:
                database.execute(statement)
            database.execute("UPDATE identity SET id = ?", (uuid.uuid4().hex[:12],))
    if not empty or not _made:
        migrate(writer)
    if not _made and empty:
        with writer.connect() as connection:
            database = connection.connection.driver_connection
            assert isinstance(database, sqlite3.Connection)
            _made.extend(
                s for s in database.iterdump() if s not in {"BEGIN TRANSACTION;", "COMMIT;"}
            )


@pytest.fixture(autouse=True)
def quick_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `open_store` use it."""
    monkeypatch.setattr(store, "migrate", migrate_once)
