"""Every scenario file, each a story with one point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduler.scenarios import Scenario, paths


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    Scenario(path).play()


def test_there_are_scenarios() -> None:
    assert len(paths()) > 20
