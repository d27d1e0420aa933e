"""Copies made while the store is written."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from storage.backup import BackupFailed, backup
from storage.errors import StoreMisconfigured
from storage.records import Audience
from storage.store import open_store
from tests.storage.samples import AT, notice, request


def test_a_copy_made_while_writing_is_one_moment(sqlite_url: str, tmp_path: Path) -> None:
    """Each step writes a request and its card: every copy has as many of one as of the other."""
    store = open_store(sqlite_url)
    stop, written = threading.Event(), threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            with store.write() as work:
                request_id = work.requests.next_id()
                work.requests.add(request(request_id))
                work.flush()
                work.outbox.put(notice(request_id, Audience.CARD, request=request_id), AT)
            written.set()

    thread = threading.Thread(target=keep_writing)
    thread.start()
    try:
        assert written.wait(60)
        sizes = [backup(sqlite_url, tmp_path / f"copy-{n}.db") for n in range(10)]
    finally:
        stop.set()
        thread.join()
        store.close()
    for n, size in enumerate(sizes):
        path = tmp_path / f"copy-{n}.db"
        assert path.stat().st_size == size
        copy = open_store(f"sqlite:///{path}")
        with copy.read() as view:
            requests = view.requests.find()
            assert requests
            assert view.outbox.figures(AT).pending == len(requests)
        copy.close()


def test_a_copy_overwrites_nothing(sqlite_url: str, tmp_path: Path) -> None:
    open_store(sqlite_url).close()
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(FileExistsError):
        backup(sqlite_url, target)
    assert target.read_text() == "precious"


def test_a_copy_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "broken.db"
    with sqlite3.connect(source) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200)
    connection.close()
    content = bytearray(source.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    source.write_bytes(content)
    with pytest.raises(BackupFailed, match=r"malformed|damaged"):
        backup(f"sqlite:///{source}", tmp_path / "copy.db")
    with pytest.raises(BackupFailed, match="no database"):
        backup(f"sqlite:///{tmp_path / 'none.db'}", tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.db"]


def test_postgresql_has_a_tool_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(StoreMisconfigured, match="pg_dump"):
        backup("postgresql://host/gpubot", tmp_path / "copy.db")
