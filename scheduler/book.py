"""Running totals of what is held: quota in the cohort tree and room on the nodes.

A `Book` can be tried on and undone: `rollback` puts it back as it was at its `checkpoint`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.domains import Ints
from scheduler.quota import Amounts, QuotaTree
from scheduler.topology import Nodes, Place, Space


class Charge(NamedTuple):
    """All that one gang holds: quota of a queue (by number) and places on nodes."""

    queue: int
    amounts: Amounts
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A book as it stood at a checkpoint."""

    usage: list[int]
    free: Ints
    version: int


class Book:
    """Quota use and free room under one view of who is there.

    `version` stands for the content: of a book and its copies, no two different contents
    have the same one.
    """

    def __init__(self, tree: QuotaTree, nodes: Nodes) -> None:
        self.tree = tree
        self.usage = tree.empty()
        self.space = Space(nodes)
        self.version = 0
        self._versions: Iterator[int] = itertools.count(1)

    def fork(self, nodes: Nodes, versions: Iterator[int]) -> Book:
        """A book that shares nothing, over a copy of the nodes; its versions are from there."""
        other: Book = Book.__new__(Book)
        other.tree, other.usage, other.version = self.tree, self.usage.copy(), self.version
        other.space, other._versions = self.space.copy(nodes), versions
        return other

    def new_versions(self) -> Iterator[int]:
        """Versions for books that are forked, none of which this book or its copies ever had."""
        return itertools.count(next(self._versions))

    def copy(self) -> Book:
        """An independent book with the same charges."""
        other = Book(self.tree, self.space.nodes)
        other.usage = self.usage.copy()
        other.space = self.space.copy()
        other.version, other._versions = self.version, self._versions
        return other

    def charge(self, charge: Charge) -> None:
        """A gang takes what it was granted."""
        self.tree.charge(self.usage, charge.queue, charge.amounts)
        self.space.take(charge.places)
        self.version = next(self._versions)

    def discharge(self, charge: Charge) -> None:
        """A gang gives back what it held."""
        self.tree.discharge(self.usage, charge.queue, charge.amounts)
        self.space.give(charge.places)
        self.version = next(self._versions)

    def recount(self, tree: QuotaTree, charges: Iterable[Charge]) -> None:
        """Count the use of quota anew: the quotas have changed, the places have not."""
        self.tree = tree
        self.usage[:] = tree.recompute((charge.queue, charge.amounts) for charge in charges)
        self.version = next(self._versions)

    def checkpoint(self) -> Mark:
        """Begin a trial; trials nest. Copying both tables is cheaper than a journal."""
        return Mark(self.usage.copy(), self.space.free.copy(), self.version)

    def rollback(self, mark: Mark) -> None:
        """End a trial: everything is as it was at its checkpoint."""
        self.usage[:] = mark.usage
        self.space.free[:] = mark.free
        self.version = mark.version

    def fits(self, charge: Charge) -> bool:
        """Whether quota and the very places of `charge` are free."""
        return self.tree.fits(self.usage, charge.queue, charge.amounts) and self.space.holds(
            charge.places
        )
