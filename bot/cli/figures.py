"""What a benchmark prints: each figure beside the limit it is held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing: seconds, and the limit it is held to."""

    what: str
    seconds: float
    limit: float

    @property
    def ratio(self) -> float:
        """1.0 is the limit itself; less is better."""
        return self.seconds / self.limit


def show(console: Console, figures: Sequence[Figure]) -> bool:
    """Print the figures with their ratio to the limit, and say whether every limit was kept."""
    table = Table("what", "measured", "limit", "ratio to limit")
    for one in figures:
        limit = f"{one.limit * 1000:g} ms"
        table.add_row(one.what, f"{one.seconds * 1000:.3f} ms", limit, f"{one.ratio:.3f}")
    console.print(table)
    return all(one.ratio <= 1.0 for one in figures)
