"""Weighted dominant resource share: how much a queue or cohort borrows, as one number.

For each resource: what is used above the subtree quota, over all flavors, times 1000,
divided by the most that the parent could offer of it. The largest over the resources,
divided by the weight, is the share. A node that does not borrow has share 0; one with weight
0 that borrows stands above everything. The definition is Kueue's (`fair_sharing.go`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.layout import Layout
from scheduler.quota import QuotaTree


@dataclass(frozen=True, slots=True)
class Share:
    """A node's share. `borrowed` are the columns in which it borrows."""

    ratio: float
    weight: float
    borrowed: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, float]:
        """What shares are compared by, lower first. Two of weight 0 compare unweighted."""
        if not self.borrowed:
            return (0, 0.0)
        if self.weight == 0:
            return (1, self.ratio)
        return (0, self.ratio / self.weight)

    @property
    def value(self) -> float:
        """The share as a number, infinite for a borrower of weight 0."""
        return math.inf if self.rank[0] else self.rank[1]


class Shares:
    """The shares of all nodes of a quota tree, for any use of it."""

    def __init__(self, layout: Layout, tree: QuotaTree) -> None:
        self._tree = tree
        weights = {cohort.name: cohort.weight for cohort in layout.cohorts}
        self._weights = [queue.weight for queue in layout.queues] + [
            weights.get(name, 1.0) for name in tree.cohort_names
        ]
        resources = dict.fromkeys(resource for _, resource in tree.pairs)
        self._rows = [list(resources).index(resource) for _, resource in tree.pairs]
        self._lendable = [self._sum_potential(node, len(resources)) for node in range(tree.size)]

    def _sum_potential(self, node: int, rows: int) -> list[int]:
        """The most a node could ever offer of each resource, over all flavors."""
        lendable = [0] * rows
        for column, row in enumerate(self._rows):
            lendable[row] += self._tree.potential[node * self._tree.width + column]
        return lendable

    def of(self, usage: Sequence[int], node: int) -> Share:
        """The share of a node; a root never borrows."""
        tree = self._tree
        parent, first = tree.parent[node], node * tree.width
        if parent < 0:
            return Share(0.0, self._weights[node], ())
        over: dict[int, int] = {}
        borrowed = []
        for column, row in enumerate(self._rows):
            amount = usage[first + column] - tree.subtree[first + column]
            if amount > 0:
                over[row] = over.get(row, 0) + amount
                borrowed.append(column)
        lendable = self._lendable[parent]
        ratio = max(
            (amount * 1000.0 / lendable[row] for row, amount in over.items() if lendable[row] > 0),
            default=0.0,
        )
        return Share(ratio, self._weights[node], tuple(borrowed))
