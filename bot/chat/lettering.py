"""The letters of pictures: a language is drawn only where the machine has a font for it.

A font that has no Chinese draws boxes. Where none has, the labels are English; what stands
beside a picture is in the reader's language all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import matplotlib as mpl
from matplotlib import font_manager

from bot.chat.words import Words, words_for

HAN_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Microsoft YaHei",
    "SimHei",
)
"""Fonts with Chinese letters, the best looking first."""


def labels(words: Words) -> Words:
    """The words to draw a picture with, for a reader of `words`."""
    drawable = words.language != "zh" or _han_font() is not None
    return words if drawable else words_for("en")


@cache
def _han_font() -> str | None:
    """The font for Chinese; from now on it stands in for letters that the usual one lacks."""
    found = best_of(font.name for font in font_manager.fontManager.ttflist)
    if found is not None:
        usual = mpl.rcParams["font.family"]
        mpl.rcParams["font.family"] = [*usual, found]
    return found


def best_of(names: Iterable[str]) -> str | None:
    """The first of HAN_FONTS that is among the names of installed fonts."""
    installed = frozenset(names)
    return next((font for font in HAN_FONTS if font in installed), None)
