"""Pictures are lettered in a language only where a font can draw it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib import font_manager

from bot.chat import lettering
from bot.chat.picture import draw
from bot.chat.words import words_for
from tests.bot.chat import mapping


@pytest.fixture(autouse=True)
def _fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    usual = mpl.rcParams["font.family"]
    lettering._han_font.cache_clear()
    yield
    lettering._han_font.cache_clear()
    mpl.rcParams["font.family"] = usual


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    fonts = [type("Font", (), {"name": name}) for name in names]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)


def test_without_a_chinese_font_labels_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "DejaVu Sans")
    assert lettering.labels(words_for("zh")).language == "en"
    assert lettering.labels(words_for("en")).language == "en"


def test_with_one_they_are_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "DejaVu Sans", "WenQuanYi Micro Hei", "Noto Sans SC")
    assert lettering.labels(words_for("zh")).language == "zh"
    assert mpl.rcParams["font.family"][-1] == "Noto Sans SC"


def test_a_map_for_a_chinese_reader_has_no_letter_that_cannot_be_drawn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(mapping.MAP, lettering.labels(words_for("zh"))).startswith(b"\x89PNG")
