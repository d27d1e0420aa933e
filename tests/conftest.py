"""What holds for every test, and for the processes that tests start."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn.server
from hypothesis import HealthCheck, settings
from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.engine import Dialect
from sqlalchemy.util import LRUCache

from storage import engines

_LIBRARIES = ("uvicorn", "slack_bolt", "slack_sdk", "apscheduler", "alembic")
_MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a folder of its own in it
_ROOM = 2 << 30  # bytes: some ten times what a run has there at once


def _compile_once() -> None:
    """Three workers and a hundred processes read the same modules; the image may forbid caches."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _keep_files_in_memory() -> None:
    """Databases are made and thrown away by the thousand; on a disk that takes a minute more."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    if usable and shutil.disk_usage(_MEMORY).free >= _ROOM:
        tempfile.tempdir = os.environ["TMPDIR"] = str(_MEMORY)


def _draw_alike() -> None:
    """Property tests draw the same each time and need not be quick, so that a run says of a change.

    To search further: `--hypothesis-profile=search`.
    """
    slow = [HealthCheck.too_slow]
    settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=slow)
    settings.register_profile("search", deadline=None, suppress_health_check=slow)
    settings.load_profile("suite")


_compile_once()
_keep_files_in_memory()
_draw_alike()


def pytest_collection_finish() -> None:
    """What was imported stays until the end: it need not be looked through for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command under test sets logging up on its own stderr, which ends with the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in _LIBRARIES}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


@pytest.fixture(scope="session", autouse=True)
def _quick_disk() -> Iterator[None]:
    """Nothing waits for the disk: no test cuts the power, and a killed process loses no page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "SYNCHRONOUS", 0)
        patch.setattr(os, "fsync", lambda _file: None)
        yield


_dialects: list[Dialect] = []
_statements: LRUCache[Any, Any] = LRUCache(5_000)


def _create_alike(url: URL, **options: Any) -> Engine:
    """An engine that knows the statements which others have compiled for SQLite."""
    engine = create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        _dialects.append(engine.dialect)
        engine.dialect = _dialects[0]
        engine._compiled_cache = _statements
        del _dialects[1:]
    return engine


@pytest.fixture(scope="session", autouse=True)
def _quick_statements() -> Iterator[None]:
    """Each test has a database, and a bot compiles its statements once: a third of most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "create_engine", _create_alike)
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_ends() -> Iterator[None]:
    """A server looks ten times a second whether it is to end, and then waits as long: not here."""
    quick = SimpleNamespace(**vars(asyncio))
    quick.sleep = lambda seconds: asyncio.sleep(seconds / 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", quick)
        yield


@pytest.fixture
def patient_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shipped: a commit is on the disk."""
    monkeypatch.setattr(engines, "SYNCHRONOUS", 2)
