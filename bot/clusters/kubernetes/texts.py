"""Words and numbers that others wrote: labels and annotations in which anything may stand."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.clusters.kubernetes import names

_MOST = 9  # digits of the largest number that anything of ours has
_LONGEST = 256  # characters of the longest word
_UNSAYABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def read_number(text: object) -> int | None:
    """A number that can count pods or name one; None for anything else that stands there."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= _MOST else None


def read_word(text: object) -> str:
    """A word as it can be kept and said: not endless, and nothing in it that no store holds."""
    return _UNSAYABLE.sub("\ufffd", str(text)[:_LONGEST])


def read_marks(marks: Mapping[str, str]) -> dict[str, str]:
    """Labels and annotations of ours, without the prefix, by name."""
    return {
        name.removeprefix(names.PREFIX): read_word(text) for name, text in sorted(marks.items())
    }
