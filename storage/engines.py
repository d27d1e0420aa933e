"""Connections: how each database is set up so that both behave the same.

Each store has two engines. The writer's transactions exclude one another from their first
moment: on SQLite by BEGIN IMMEDIATE, on PostgreSQL by an advisory lock, so that what was
read is still true when it is written back. The reader's transactions see one moment of the
store and can change nothing.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential

from storage.errors import StoreMisconfigured

BUSY_SECONDS = 30
SYNCHRONOUS = 2  # SQLite's word for: a commit is on the disk. Tests that cut no power need less
_EXAMPLES = "sqlite:///gpubot.db or postgresql://user:password@host/gpubot"
_WRITER_LOCK = 0x67707562  # "gpub"; advisory locks are per database


@dataclass(frozen=True, slots=True)
class Engines:
    """The two ways into one database."""

    url: URL
    writer: Engine
    reader: Engine

    def dispose(self) -> None:
        """Close the pooled connections."""
        self.reader.dispose()
        self.writer.dispose()


def read_url(text: str) -> URL:
    """Return the database URL with its driver; StoreMisconfigured if it cannot be used."""
    try:
        url = make_url(text)
    except ArgumentError:
        msg = f"the database URL cannot be read; write it like {_EXAMPLES}"
        raise StoreMisconfigured(msg) from None
    if url.drivername in {"postgres", "postgresql", "postgresql+psycopg"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "sqlite+pysqlite"}:
        msg = f"the database {url.drivername!r} is not supported; write the URL like {_EXAMPLES}"
        raise StoreMisconfigured(msg)
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        msg = "SQLite needs a file of its own, for example sqlite:///gpubot.db"
        raise StoreMisconfigured(msg)
    return url.set(drivername="sqlite")


def open_engines(url: URL) -> Engines:
    """Build both engines; StoreMisconfigured if SQLite refuses a mode that we rely on."""
    if url.drivername != "sqlite":
        return _open_postgres(url)
    folder = Path(url.database or "").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the folder {folder} of the database cannot be made: {error.strerror}"
        raise StoreMisconfigured(msg) from error
    engines = Engines(
        url,
        _open_sqlite(url, begin="BEGIN IMMEDIATE", query_only=False),
        _open_sqlite(url, begin="BEGIN", query_only=True),
    )
    try:
        _check_exclusion(engines)
    except BaseException:
        engines.dispose()
        raise
    return engines


def _is_busy(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF == sqlite3.SQLITE_BUSY  # without its extension


# SQLite waits by itself for who holds a lock, but not when it moves a database to its
# write-ahead log or when the last of the others just leaves it: there it gives up at once.
_while_busy = retry(
    retry=retry_if_exception(_is_busy),
    stop=stop_after_delay(BUSY_SECONDS),
    wait=wait_random_exponential(multiplier=0.01, max=0.5),
    reraise=True,
)


def _open_sqlite(url: URL, *, begin: str, query_only: bool) -> Engine:
    """SQLAlchemy's recipe for real transactions on sqlite3: the driver begins none itself."""
    engine = create_engine(
        url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True, pool_timeout=BUSY_SECONDS
    )

    @event.listens_for(engine, "connect")
    @_while_busy
    def set_up(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        _expect(connection, "journal_mode", "wal", "a local disk (no network file system)")
        _expect(connection, "foreign_keys", 1, "a build of SQLite with foreign keys")
        _expect(
            connection, "synchronous", SYNCHRONOUS, "a build of SQLite with full synchronisation"
        )
        _expect(connection, "query_only", int(query_only), "SQLite 3.8 or later")

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _expect(connection: sqlite3.Connection, pragma: str, value: str | int, needs: str) -> None:
    """Set a pragma and read it back: SQLite ignores what it cannot do without a word."""
    connection.execute(f"PRAGMA {pragma}={value}").close()
    row = connection.execute(f"PRAGMA {pragma}").fetchone()
    if row is None or row[0] != value:
        msg = f"SQLite did not accept {pragma}={value} (it says {row and row[0]!r}): needs {needs}"
        raise StoreMisconfigured(msg)


def _check_exclusion(engines: Engines) -> None:
    """Prove that a second writer is kept out while the first has only begun."""
    with (
        engines.writer.begin(),
        closing(sqlite3.connect(engines.url.database or "", timeout=0)) as rival,
    ):
        rival.isolation_level = None
        try:
            rival.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return
        rival.execute("ROLLBACK")
    msg = "SQLite lets two writers in at once: file locks do not work where the database lies"
    raise StoreMisconfigured(msg)


def _open_postgres(url: URL) -> Engines:
    options: dict[str, Any] = {
        "pool_pre_ping": True,
        "pool_timeout": BUSY_SECONDS,
        "hide_parameters": True,
        "connect_args": {
            "connect_timeout": 10,
            "application_name": "gpubot",
            "options": _session_options(),
        },
    }
    writer = create_engine(url, isolation_level="READ COMMITTED", **options)
    reader = create_engine(
        url,
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
        **options,
    )

    @event.listens_for(writer, "begin")
    def start(connection: Connection) -> None:
        # Before the first snapshot is taken, so that all that was committed is seen.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})")

    return Engines(url, writer, reader)


def _session_options() -> str:
    settings = (
        "timezone=UTC",
        f"lock_timeout={round(BUSY_SECONDS * 1000)}",
        # A frozen former leader must not hold the writer's lock for ever.
        "idle_in_transaction_session_timeout=60000",
    )
    return " ".join(f"-c {setting}" for setting in settings)
