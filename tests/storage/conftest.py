"""Stores to test with: the same contract on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.store import Store, open_store
from tests.storage import postgres

ON_POSTGRES = pytest.param(
    "postgres",
    # One worker runs them all, so that one server is started.
    marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")],
)


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    with postgres.serving() as running:
        yield running


@pytest.fixture(params=["sqlite", ON_POSTGRES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with nothing in it but an up-to-date schema (or less)."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'gpubot.db'}"
    else:
        running: postgres.Server = request.getfixturevalue("server")
        with running.database() as database:
            yield database


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'gpubot.db'}"
