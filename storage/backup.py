"""A consistent copy of the store while it is in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from storage.engines import BUSY_SECONDS, read_url
from storage.errors import StoreError, StoreMisconfigured


class BackupFailed(StoreError):
    """The copy could not be made or is damaged; nothing is left at its path."""


def backup(url: str, path: Path) -> int:
    """Copy a SQLite store to a new file, through SQLite's own backup; return its bytes.

    The copy is one moment of the store, in a single file, and was checked. Raises
    FileExistsError rather than overwrite, StoreMisconfigured for PostgreSQL (which has
    pg_dump), BackupFailed with the cause otherwise.
    """
    where = read_url(url)
    if where.drivername != "sqlite":
        msg = "this store is on PostgreSQL: make the copy with pg_dump"
        raise StoreMisconfigured(msg)
    source = Path(where.database or "")
    if not source.is_file():
        msg = f"there is no database at {source}"
        raise BackupFailed(msg)
    if path.exists():
        msg = f"{path} exists; choose another path for the copy"
        raise FileExistsError(msg)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        _copy(source, unfinished)
        unfinished.rename(path)
    except (sqlite3.Error, OSError) as error:
        msg = f"no copy was made of {source}: {error}"
        raise BackupFailed(msg) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return path.stat().st_size


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(source, timeout=BUSY_SECONDS)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.backup(copy)
        # The copy inherits the write-ahead mode, which would spread it over three files.
        copy.execute("PRAGMA journal_mode=DELETE")
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            msg = f"the copy is damaged: {found}"
            raise sqlite3.DatabaseError(msg)
