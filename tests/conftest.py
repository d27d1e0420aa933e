"""What holds for every test."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from storage import engines

_LIBRARIES = ("uvicorn", "slack_bolt", "slack_sdk", "apscheduler", "alembic")


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


@pytest.fixture
def patient_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shipped: a commit is on the disk."""
    monkeypatch.setattr(engines, "SYNCHRONOUS", 2)
