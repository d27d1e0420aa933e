"""SQLite's modes took effect, and a database that cannot have them is refused."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from storage import engines
from storage.engines import Engines, read_url
from storage.errors import StoreMisconfigured, StoreUnavailable
from storage.records import Setting
from storage.store import open_store


@pytest.mark.usefixtures("patient_disk")
def test_every_connection_has_the_modes(sqlite_url: str) -> None:
    opened = engines.open_engines(read_url(sqlite_url))
    expected = {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2, "busy_timeout": 30_000}
    for engine, query_only in ((opened.writer, 0), (opened.reader, 1)):
        with engine.connect() as connection:
            for pragma, value in (expected | {"query_only": query_only}).items():
                assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value, pragma
    opened.dispose()


def test_a_file_that_cannot_be_written_ahead_is_refused(tmp_path: Path) -> None:
    """SQLite keeps its old mode without an error where it has no shared memory."""
    url = make_url(f"sqlite:///file:{tmp_path / 'x.db'}?vfs=unix-dotfile&uri=true")
    engine = engines._open_sqlite(url, begin="BEGIN IMMEDIATE", query_only=False)
    with pytest.raises(StoreMisconfigured, match="journal_mode=wal"):
        engine.connect()
    engine.dispose()


def test_locks_that_do_not_lock_are_noticed(sqlite_url: str) -> None:
    url = read_url(sqlite_url)
    lax = engines._open_sqlite(url, begin="BEGIN", query_only=False)
    with pytest.raises(StoreMisconfigured, match="two writers"):
        engines._check_exclusion(Engines(url, lax, lax))
    lax.dispose()


def test_the_folder_of_a_new_database_is_made(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path / 'a' / 'b' / 'gpubot.db'}").close()
    assert (tmp_path / "a" / "b" / "gpubot.db").is_file()


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, by far too short a text" * 50)
    with pytest.raises(StoreMisconfigured, match="not a database"):
        open_store(f"sqlite:///{tmp_path / 'notes.txt'}")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open"):
        open_store(f"sqlite:///{tmp_path}")


def test_a_write_waits_for_another_process(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    started = threading.Event()

    def write() -> None:
        started.set()
        with store.write() as work:
            work.settings.put(Setting(name="a", value="1", author="U1"))

    with (
        closing(sqlite3.connect(read_url(sqlite_url).database or "")) as rival,
        ThreadPoolExecutor(1) as pool,
    ):
        rival.isolation_level = None
        rival.execute("BEGIN IMMEDIATE")
        writing = pool.submit(write)
        assert started.wait(60)
        assert not writing.done()
        rival.execute("COMMIT")
        writing.result()
    with store.read() as view:
        assert view.settings.get("a")
    store.close()


def test_a_store_that_stays_busy_is_unavailable(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.engines.BUSY_SECONDS", 0.01)
    monkeypatch.setattr("storage.store.BUSY_SECONDS", 0.01)
    store = open_store(sqlite_url)
    with closing(sqlite3.connect(read_url(sqlite_url).database or "")) as rival:
        rival.isolation_level = None
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"), store.write():
            pass
    with store.write(), ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(store.write().__enter__)
        with pytest.raises(StoreUnavailable, match="another thread"):
            blocked.result()
    with store.write() as work:
        assert work.requests.next_id() == "R-1001"
    store.close()
