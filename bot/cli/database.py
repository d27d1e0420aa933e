"""`gpubot db`: what is done to a database while no bot uses it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from storage.engines import read_url
from storage.errors import StoreError, StoreMisconfigured
from storage.store import open_store


class DatabaseError(Exception):
    """It could not be done; the message says why."""


def run_import(source: str, target: str) -> int:
    """Copy all of one database into another, empty one; return the rows. Raises DatabaseError."""
    try:
        _check(source, target)
        with closing(open_store(source)) as old, closing(open_store(target)) as new:
            return old.copy_into(new)
    except StoreError as error:
        raise DatabaseError(str(error)) from error


def _check(source: str, target: str) -> None:
    """A file that is not there would be made, and a database waits for itself."""
    old = read_url(source)
    if old == read_url(target):
        msg = "it is the database of GPUBOT_DATABASE_URL itself: name the one to copy from"
        raise StoreMisconfigured(msg)
    if old.drivername == "sqlite" and not Path(old.database or "").is_file():
        msg = f"there is no database at {old.database}"
        raise StoreMisconfigured(msg)
