"""The domains of a topology in order, so that a domain of any level is a slice.

Leaves (domains of the finest level) are sorted by their level values from coarse to fine,
then by name. The children of a domain, and its leaves, therefore lie side by side, and sums
over them are one `reduceat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

Path = tuple[str, ...]
"""Values of all levels of a domain, from coarse to fine."""


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The tree of one flavor's domains.

    `columns[i]` is the node column of leaf i and `paths[i]` its level values. For every level
    but the finest, `starts[level][d]` is the first child of domain d, counted among the
    domains of the next finer level; `leaves[level][d]` is its first leaf.
    """

    levels: tuple[str, ...]
    columns: Indices
    paths: tuple[Path, ...]
    starts: tuple[Indices, ...]
    leaves: tuple[Indices, ...]

    @property
    def lowest(self) -> int:
        """The number of the finest level."""
        return len(self.levels) - 1

    def size(self, level: int) -> int:
        """How many domains a level has."""
        return len(self.leaves[level])

    def path(self, level: int, domain: int) -> Path:
        """The level values that name a domain."""
        return self.paths[int(self.leaves[level][domain])][: level + 1]

    def children(self, level: int, chosen: Sequence[int]) -> Indices:
        """The domains of the next finer level under the chosen ones, in order."""
        starts, total = self.starts[level], self.size(level + 1)
        spans = [
            np.arange(starts[d], starts[d + 1] if d + 1 < len(starts) else total)
            for d in sorted(chosen)
        ]
        return spans[0] if len(spans) == 1 else np.concatenate(spans)

    def holder(self, level: int, leaf: int) -> int:
        """The domain of a level in which a leaf lies."""
        return int(np.searchsorted(self.leaves[level], leaf, side="right")) - 1

    def sums(self, level: int, values: Ints) -> Ints:
        """Sums over the children of every domain of `level`; `values` is one per child."""
        total: Ints = np.add.reduceat(values, self.starts[level])
        return total

    def find(self, path: Path) -> tuple[int, int] | None:
        """The leaves (first, after last) under a domain, None if there is no such domain."""
        depth = len(path)
        inside = [i for i, one in enumerate(self.paths) if one[:depth] == path]
        return (inside[0], inside[-1] + 1) if inside else None


def draw_domains(levels: tuple[str, ...], leaves: Sequence[tuple[Path, str, int]]) -> Domains:
    """The tree over leaves given as (level values, name, node column)."""
    ordered = sorted(leaves)
    paths = tuple(path for path, _, _ in ordered)
    firsts = [
        np.array(
            [i for i, path in enumerate(paths) if not i or paths[i - 1][:depth] != path[:depth]],
            dtype=np.intp,
        )
        for depth in range(1, len(levels))
    ]
    firsts.append(np.arange(len(ordered), dtype=np.intp))
    return Domains(
        levels=levels,
        columns=np.array([column for _, _, column in ordered], dtype=np.intp),
        paths=paths,
        starts=tuple(
            np.searchsorted(finer, coarse).astype(np.intp) for coarse, finer in pairwise(firsts)
        ),
        leaves=tuple(firsts),
    )
