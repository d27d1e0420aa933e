"""The store: the only way to what must survive a crash."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlmodel import Session

from storage.engines import BUSY_SECONDS, Engines, open_engines, read_url
from storage.errors import ReadOnly, StoreError, StoreMisconfigured, StoreUnavailable
from storage.schema import migrate
from storage.transfer import copy_rows
from storage.work import Work

_READ_ONLY = ("SQLITE_READONLY", "25006")
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "XX001", "XX002")


class Store:
    """One database. Safe to share between threads; each transaction belongs to one thread."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        # Threads queue here, in turn, rather than poll for the database's own lock.
        self._writing = threading.Lock()
        self._writer: int | None = None

    @property
    def url(self) -> URL:
        """Where the database is; printed without its password."""
        return self._engines.url

    @functools.cached_property
    def identity(self) -> str:
        """Which store this is: another for each that was made anew, the same for a copy."""
        with self.read() as view:
            return view.identity()

    @property
    def writing(self) -> bool:
        """Whether this very thread is in a writing transaction."""
        return self._writer == threading.get_ident()

    @contextmanager
    def write(self, fence: int | None = None) -> Iterator[Work]:
        """One writing transaction: it is committed at the end, or undone by an exception.

        Writers exclude one another from the start, so what is read here is still true at
        the end. `fence` is the leader's fencing number: StaleLeader is raised when a later
        leader has written. Raises StoreUnavailable when the database cannot be reached or
        stays busy; a write within a write of the same thread raises RuntimeError.
        """
        if self.writing:
            msg = "this thread is already writing: one step is one transaction"
            raise RuntimeError(msg)
        if not self._writing.acquire(timeout=BUSY_SECONDS):
            msg = f"another thread has been writing for {BUSY_SECONDS} s"
            raise StoreUnavailable(msg)
        self._writer = threading.get_ident()
        try:
            with _transaction(self._engines.writer) as work:
                if fence is not None:
                    work.counters.check_fence(fence)
                yield work
                work.flush()
        finally:
            self._writer = None
            self._writing.release()

    @contextmanager
    def read(self) -> Iterator[Work]:
        """One reading transaction: the store at one moment. Writing in it raises ReadOnly."""
        with _transaction(self._engines.reader) as view:
            yield view
            view.flush()  # nothing to write, or the database refuses it

    def copy_into(self, other: Store) -> int:
        """Copy all there is into an empty store, which is this one from then on; return the rows.

        Nobody else writes meanwhile. Raises NotEmpty and leaves the other as it was.
        """
        with (
            _told_plainly(),
            self._engines.writer.begin() as source,
            other._engines.writer.begin() as target,
        ):
            copied = copy_rows(source, target)
        other.__dict__.pop("identity", None)  # it was remembered
        return copied

    def close(self) -> None:
        """Close all connections."""
        self._engines.dispose()


def open_store(url: str) -> Store:
    """Open a database by URL and bring its schema up to date.

    Raises StoreMisconfigured for a URL or database that cannot serve, SchemaTooNew for one
    that a later version has written, StoreUnavailable for one that does not answer.
    """
    place = read_url(url)
    try:
        with _told_plainly():
            engines = open_engines(place)
            try:
                migrate(engines.writer)
            except BaseException:
                engines.dispose()
                raise
    except (StoreMisconfigured, StoreUnavailable) as error:
        where = place.database if place.drivername == "sqlite" else place.render_as_string()
        raise type(error)(f"{where}: {error}") from error
    return Store(engines)


@contextmanager
def _transaction(engine: Engine) -> Iterator[Work]:
    with (
        _told_plainly(),
        Session(engine, autobegin=False, expire_on_commit=False) as session,
        session.begin(),
    ):
        session.connection()  # begins now: a writer has its lock before it reads anything
        work = Work(session)
        try:
            yield work
        finally:
            work.end()


@contextmanager
def _told_plainly() -> Iterator[None]:
    """Turn the database library's errors into ours where a caller can act on them."""
    try:
        yield
    except DBAPIError as error:
        plain = _plain(error)
        if plain is None:
            raise
        raise plain from error
    except PoolTimeout as error:
        msg = f"all connections to the database are busy: {error}"
        raise StoreUnavailable(msg) from error
    except StatementError as error:
        if isinstance(error.orig, (TypeError, ValueError)):
            raise error.orig from error
        raise


def _plain(error: DBAPIError) -> StoreError | None:
    """Say in our words what the driver reported, by SQLite's or PostgreSQL's code for it."""
    cause = error.orig
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    if code.startswith(_READ_ONLY):
        return ReadOnly(f"nothing can be written here: {cause}")
    if code.startswith(_DAMAGED):
        return StoreMisconfigured(f"{cause}: restore a backup, or name another file")
    if error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError)):
        return StoreUnavailable(f"the database is not available: {str(cause).strip()}")
    return None
