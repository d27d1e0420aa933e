"""A whole bot in a workspace, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rig import Rig
from tests.fixtures_browser import browser, look_at

__all__ = ["browser", "look_at", "rig"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """The bot, connected."""
    built = Rig(tmp_path)
    yield built
    built.close()
