"""One file that remembers the workspace over a restart: SQLite, written through.

Slack does not forget a message that it has acknowledged, so each change is committed
before the answer goes out; a killed process loses nothing that the bot believes posted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from bot.workspace.wire import Json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


class Archive:
    """Records by kind and key. Without a path nothing outlives the object."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # The server's own thread is the only user once it runs; it is opened by another.
        self._db = sqlite3.connect(
            str(path) if path else ":memory:", check_same_thread=False, isolation_level=None
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)

    def put(self, kind: str, key: str, body: Json) -> None:
        """Write one record, replacing what was there."""
        self._db.execute(
            "INSERT INTO records (kind, key, body) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
            (kind, key, json.dumps(body, ensure_ascii=False)),
        )

    def delete(self, kind: str, key: str) -> None:
        """Forget one record, if it is there."""
        self._db.execute("DELETE FROM records WHERE kind = ? AND key = ?", (kind, key))

    def all(self, kind: str) -> Iterator[tuple[str, Json]]:
        """All records of a kind, by key."""
        rows = self._db.execute(
            "SELECT key, body FROM records WHERE kind = ? ORDER BY key", (kind,)
        ).fetchall()
        for key, body in rows:
            yield key, json.loads(body)

    def put_file(self, file_id: str, content: bytes) -> None:
        """Keep the bytes of an uploaded file."""
        self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file_id, content))

    def file(self, file_id: str) -> bytes | None:
        """The bytes of a file, or None."""
        row = self._db.execute("SELECT content FROM files WHERE id = ?", (file_id,)).fetchone()
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()
