"""Numbers in labels and annotations, where people may write anything."""

from __future__ import annotations

_MOST = 9  # digits of the largest number that anything of ours has


def read_number(text: object) -> int | None:
    """A number that can count pods or name one; None for anything else that stands there."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= _MOST else None
