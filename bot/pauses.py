"""Waits between tries, spread at random: what failed together is not to come back together."""

from __future__ import annotations

import random

CHANCE = random.Random()  # noqa: S311 - no secret; its own, for others may go by the common seed


def spread(seconds: float, least: float = 0.5, most: float = 1.0) -> float:
    """Some part of a wait, from the `least` to the `most` of it."""
    return seconds * CHANCE.uniform(least, most)
