"""What is there once an engine was built is not looked through again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bot.memory import settle_memory


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_what_is_there_is_passed_over_and_what_was_let_go_is_not_kept() -> None:
    class Link:
        other: object = None

    settle_memory()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    old = Link()
    old.other = old  # only the collector can free it
    settle_memory()
    assert any(isinstance(one, Link) for one in gc.get_objects()) is False  # in no generation
    del old
    settle_memory()
    assert not [one for one in gc.get_referrers(Link) if isinstance(one, Link)]
