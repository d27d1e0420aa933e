"""Migrations: they make what the tables say, from every released schema, only forward."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from storage.engines import read_url
from storage.errors import SchemaTooNew
from storage.records import Audience, EventKind, OutboxState, Person, Role, Setting, UsageSample
from storage.schema import known_revisions
from storage.states import RequestState
from storage.store import open_store
from storage.tables import metadata
from tests.storage import postgres
from tests.storage.conftest import ON_POSTGRES
from tests.storage.samples import AT, admission, later, notice, request

RELEASES = Path(__file__).parent / "releases"


@pytest.fixture(params=["sqlite", ON_POSTGRES])
def bare_url(request: pytest.FixtureRequest, sqlite_url: str) -> object:
    """A database without any schema."""
    if request.param == "sqlite":
        yield sqlite_url
    else:
        running: postgres.Server = request.getfixturevalue("server")
        with running.database(empty=True) as database:
            yield database


def test_migrations_make_what_the_tables_say(bare_url: str) -> None:
    open_store(bare_url).close()
    engine = create_engine(read_url(bare_url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_many_may_open_a_new_database_at_once(bare_url: str) -> None:
    together = threading.Barrier(8)

    def start() -> None:
        together.wait()
        store = open_store(bare_url)
        with store.write() as work:
            work.requests.next_id()
        store.close()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(start) for _ in range(8)]:
            done.result()
    store = open_store(bare_url)
    with store.write() as work:
        assert work.requests.next_id() == "R-1009"
    store.close()


def test_a_new_database_that_somebody_writes_is_waited_for(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite gives up at once when it must move a database to its write-ahead log."""
    naps = []
    with closing(sqlite3.connect(read_url(sqlite_url).database or "")) as writer:
        writer.execute("CREATE TABLE before_us (id INTEGER)")
        writer.execute("BEGIN IMMEDIATE")

        def leave(seconds: float) -> None:
            naps.append(seconds)
            writer.rollback()

        monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=leave))
        open_store(sqlite_url).close()
    assert naps


def test_opening_again_keeps_everything(url: str) -> None:
    for number in range(3):
        store = open_store(url)
        with store.write() as work:
            work.requests.add(request(work.requests.next_id()))
            assert len(work.requests.find()) == number + 1
        store.close()


def test_a_database_of_a_later_version_is_left_alone(url: str) -> None:
    open_store(url).close()
    engine = create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaTooNew, match="9999"):
        open_store(url)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    engine.dispose()
    assert found == "9999"


def test_every_schema_has_a_database_as_it_was_released() -> None:
    """A new migration needs the dump of the schema before it: see `write_release`."""
    assert [path.stem for path in sorted(RELEASES.glob("*.sql"))] == sorted(known_revisions())


@pytest.mark.parametrize("release", sorted(known_revisions()))
def test_a_released_database_opens_with_all_it_held(release: str, sqlite_url: str) -> None:
    with closing(sqlite3.connect(read_url(sqlite_url).database or "")) as connection:
        connection.executescript((RELEASES / f"{release}.sql").read_text())
    store = open_store(sqlite_url)
    with store.write() as work:
        one = work.requests.get("R-1001")
        assert one == request(
            "R-1001",
            state=RequestState.ADMITTED,
            changed=later(60),
            attempt=1,
            admission=admission("R-1001"),
        )
        assert [line.after for line in work.transitions.of("R-1001")] == [
            RequestState.WAITING,
            RequestState.ADMITTED,
        ]
        (event,) = work.events.unhandled()
        assert (event.kind, event.actor) == (EventKind.SUBMIT, "U1")
        (card,) = work.outbox.of("R-1001")
        assert (card.state, card.notice.args) == (OutboxState.PENDING, {"n": 1})
        assert not work.inbox.first("Ev1", AT)
        assert work.inbox.answer("Ev1") == {"request": "R-1001"}
        assert work.usage.all() == (UsageSample(team="nlp", chip_hours=1.5, at=AT),)
        assert work.people.all() == (Person(id="U1", name="Ada", teams=("nlp",), role=Role.LEAD),)
        pause = Setting(name="pause:q", value="on", author="U1", until=later(60))
        assert work.settings.all() == (pause,)
        assert work.requests.next_id() == "R-1002"
    store.close()


def write_release(folder: Path) -> Path:
    """Fill a store of the newest schema and dump it; run once for each new migration."""
    path = folder / "release.db"
    store = open_store(f"sqlite:///{path}")
    with store.write(fence=7) as work:
        one = work.requests.next_id()
        work.requests.add(request(one))
        work.events.add(EventKind.SUBMIT, one, "U1", AT)
        work.requests.move(
            one,
            RequestState.ADMITTED,
            at=later(60),
            actor="engine",
            reason="admitted",
            attempt=1,
            admission=admission(one),
        )
        work.outbox.put(notice(f"card:{one}", Audience.CARD, request=one, args={"n": 1}), AT)
        work.inbox.first("Ev1", AT)
        work.inbox.remember("Ev1", {"request": one})
        work.usage.put(UsageSample(team="nlp", chip_hours=1.5, at=AT))
        work.people.put(Person(id="U1", name="Ada", teams=("nlp",), role=Role.LEAD))
        work.settings.put(Setting(name="pause:q", value="on", author="U1", until=later(60)))
    store.close()
    target = RELEASES / f"{max(known_revisions())}.sql"
    with closing(sqlite3.connect(path)) as connection:
        target.write_text("\n".join(connection.iterdump()) + "\n")
    return target


def test_a_released_migration_was_not_edited(sqlite_url: str) -> None:
    """What the migrations make now is what the newest dump has: changes need a new migration."""
    open_store(sqlite_url).close()
    with (
        closing(sqlite3.connect(read_url(sqlite_url).database or "")) as made,
        closing(sqlite3.connect(":memory:")) as released,
    ):
        released.executescript((RELEASES / f"{max(known_revisions())}.sql").read_text())
        assert _objects(made) == _objects(released)


def _objects(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
