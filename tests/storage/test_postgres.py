"""What only a server can do: vanish in the middle, or keep a writer waiting."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from storage.errors import StoreUnavailable
from storage.records import Setting
from storage.store import open_store
from storage.work import Work
from tests.storage.postgres import Server

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    with server.database() as url:
        yield url


def _put(work: Work, name: str) -> None:
    work.settings.put(Setting(name=name, value="1", author="U1"))


def test_a_connection_that_breaks_undoes_the_step_and_is_replaced(database: str) -> None:
    store = open_store(database)

    def step() -> None:
        with store.write() as work:
            _put(work, "lost")
            work.flush()
            backend = work._session.connection().scalar(text("SELECT pg_backend_pid()"))
            with psycopg.connect(database, autocommit=True) as rival:
                rival.execute("SELECT pg_terminate_backend(%s, 60000)", (backend,))

    with pytest.raises(StoreUnavailable):
        step()
    with store.write() as work:
        _put(work, "kept")
    with store.read() as view:
        assert [setting.name for setting in view.settings.all()] == ["kept"]
    store.close()


def test_a_server_s_restart_is_survived_by_idle_connections(database: str) -> None:
    store = open_store(database)
    with store.write() as work:
        _put(work, "a")
    with store.read() as view:
        assert view.settings.get("a")
    with psycopg.connect(database, autocommit=True) as rival:
        rival.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE application_name = 'gpubot' AND datname = current_database()"
        )
    with store.read() as view:
        assert view.settings.get("a")
    with store.write() as work:
        _put(work, "b")
    store.close()


def test_a_writer_elsewhere_that_never_ends_makes_the_store_unavailable(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(database)
    monkeypatch.setattr("storage.engines.BUSY_SECONDS", 0.05)
    other = open_store(database)
    with store.write() as work:
        _put(work, "a")
        with pytest.raises(StoreUnavailable, match="lock timeout"), other.write():
            pass
        with other.read() as view:
            assert view.settings.all() == ()
    with other.write() as work:
        assert len(work.settings.all()) == 1
    other.close()
    store.close()
