"""What holds for every test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

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
