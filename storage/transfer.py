"""A store's whole content in another database: from SQLite to PostgreSQL, or back.

The copy is the same store, by its identity: what the bot has written in a cluster goes on being
its own.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, select, text

from storage.errors import StoreError
from storage.tables import metadata

_AT_ONCE = 1000  # rows
_IDENTITY = "identity"


class NotEmpty(StoreError):
    """The target holds something already."""


def copy_rows(source: Connection, target: Connection) -> int:
    """Copy every row of every table, in a transaction of each; return how many there are.

    Raises NotEmpty when the target has more than its identity, which is replaced.
    """
    for table in metadata.sorted_tables:
        if table.name != _IDENTITY and _count(target, table):
            msg = f"the database has rows in {table.name!r} already: name an empty one"
            raise NotEmpty(msg)
    target.execute(metadata.tables[_IDENTITY].delete())
    copied = 0
    for table in metadata.sorted_tables:
        rows = source.execution_options(stream_results=True).execute(select(table))
        for some in rows.mappings().partitions(_AT_ONCE):
            target.execute(table.insert(), [dict(row) for row in some])
            copied += len(some)
        last = _last_number(source, table)
        if last:
            _go_on_from(target, table, last)
    return copied


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _serial(table: Table) -> str | None:
    """The column whose numbers the database gives."""
    found = table.autoincrement_column
    return None if found is None else found.name


def _last_number(source: Connection, table: Table) -> int:
    """The last that was given; 0 if none was. The row that had it may be gone since."""
    column = _serial(table)
    if column is None:
        return 0
    if source.dialect.name == "sqlite":
        found = source.execute(
            text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name}
        ).scalar()
    else:
        sequence = f"pg_get_serial_sequence('{table.name}', '{column}')"
        found = source.execute(text(f"SELECT pg_sequence_last_value({sequence})")).scalar()
    return int(found or 0)


def _go_on_from(target: Connection, table: Table, last: int) -> None:
    """Give higher numbers than this one from now on."""
    if target.dialect.name == "sqlite":
        named = {"name": table.name, "seq": last}
        target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), named)
        target.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), named)
        return
    sequence = f"pg_get_serial_sequence('{table.name}', '{_serial(table)}')"
    target.execute(text(f"SELECT setval({sequence}, :last)"), {"last": last})
