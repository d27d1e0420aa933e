"""What is there once an engine was built is not looked through again and again."""

from __future__ import annotations

import gc
import weakref
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
    assert gc.get_freeze_count() > 0
    old = Link()
    old.other = old  # only the collector can free it
    settle_memory()
    assert not any(isinstance(one, Link) for one in gc.get_objects())  # in no generation
    gone = weakref.ref(old)
    del old
    gc.collect()
    assert gone() is not None  # the collector passes over it
    settle_memory()
    assert gone() is None
