"""Fixtures of the bot's rooms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.house import House
from tests.fixtures_store import quick_schema

__all__ = ["house", "quick_schema"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A bot without Slack that has looked at its cluster once."""
    built = House(tmp_path)
    built.step()
    yield built
    built.close()
