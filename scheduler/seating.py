"""Whether a gang has a placement while candidates for preemption come and go.

A search for targets asks this after each one it takes or puts back. Counting once how many
pods each node could take, and then looking only at the nodes where something changed, makes
the answer for a gang of one plain pod set a comparison of two numbers. For other gangs the
counts rule placements out, and `find_places` has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.counting import Shape
from scheduler.domains import Indices, Ints
from scheduler.gangs import Chosen, find_places, is_plain, placed_by
from scheduler.model import PodSet
from scheduler.packing import room
from scheduler.state import State
from scheduler.topology import Place, Space


class Seating:
    """The nodes of one gang in the future book. `exact`: the counts alone decide."""

    def __init__(self, state: State, pod_sets: Sequence[PodSet], flavors: Sequence[Chosen]) -> None:
        self._state = state
        self._pod_sets = pod_sets
        self._flavors = flavors
        self._asked: list[tuple[Indices, Shape, int]] = []
        self.exact = True
        for pods, chosen in zip(pod_sets, flavors, strict=True):
            name = placed_by(state, pods, chosen)
            if name is not None:
                flavor = state.flavors[name]
                shape, eligible = state.nodes.shape(pods), state.nodes.eligible(flavor, pods)
                self.exact = self.exact and not self._asked and is_plain(pods)
                self._asked.append((eligible, shape, pods.count))
        self._counts: tuple[Counts, ...] = ()

    def count(self) -> None:
        """Count anew, in the book as it stands."""
        space = self._state.future.space
        self._counts = tuple(Counts(space, *asked) for asked in self._asked)

    def look(self, places: tuple[Place, ...]) -> None:
        """Something was taken from or given back to the nodes of these places."""
        for counts in self._counts:
            counts.look(places)

    def suffices(self) -> bool:
        """Whether the gang has a placement; the counts must be those of the book."""
        for counts in self._counts:
            if counts.pods < counts.wanted:
                return False
        return self.exact or self._found()

    def _found(self) -> bool:
        books = (self._state.future,)
        return find_places(self._state, self._pod_sets, self._flavors, books) is not None


class Counts:
    """How many pods of one set each node could take (-1: none of its nodes), and in all."""

    __slots__ = ("_by_column", "_shape", "_space", "pods", "wanted")

    def __init__(self, space: Space, eligible: Indices, shape: Shape, wanted: int) -> None:
        found = room([space], shape, eligible)
        by_column: Ints = np.full(len(space.nodes.names), -1, dtype=np.int64)
        by_column[eligible] = found
        self._by_column = by_column.data
        self._shape = shape
        self._space = space
        self.pods = int(found.sum())
        self.wanted = wanted

    def look(self, places: tuple[Place, ...]) -> None:
        """Count the nodes of some places again."""
        space, by_column = self._space, self._by_column
        index, cells, width = space.nodes.index, space.cells, space.width
        for place in places:
            for name, _ in place.nodes:
                column = index[name]
                before = by_column[column]
                if before < 0:
                    continue
                now = self.wanted
                for row, amount in self._shape:
                    most = cells[row * width + column] // amount
                    now = min(now, most)
                now = max(now, 0)
                by_column[column] = now
                self.pods += now - before
