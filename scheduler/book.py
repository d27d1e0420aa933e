"""Running totals of what is held: quota in the cohort tree and room on the nodes.

A `Book` can be tried on and undone: between `checkpoint` and `rollback` every charge is
remembered, and undoing applies the exact inverses in reverse order.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.quota import Amounts, QuotaTree
from scheduler.topology import Nodes, Place, Space


@dataclass(frozen=True, slots=True)
class Charge:
    """All that one gang holds: quota of a queue (by number) and places on nodes."""

    queue: int
    amounts: Amounts
    places: tuple[Place, ...]


class Book:
    """Quota use and free room under one view of who is there. `version` grows with each change."""

    def __init__(self, tree: QuotaTree, nodes: Nodes) -> None:
        self.tree = tree
        self.usage = tree.empty()
        self.space = Space(nodes)
        self.version = 0
        self._journal: list[tuple[bool, Charge]] = []
        self._open = 0

    def copy(self) -> Book:
        """An independent book with the same charges."""
        other = Book(self.tree, self.space.nodes)
        other.usage = self.usage.copy()
        other.space = self.space.copy()
        other.version = self.version
        return other

    def charge(self, charge: Charge) -> None:
        """A gang takes what it was granted."""
        self.tree.charge(self.usage, charge.queue, charge.amounts)
        self.space.take(charge.places)
        self.version += 1
        if self._open:
            self._journal.append((True, charge))

    def discharge(self, charge: Charge) -> None:
        """A gang gives back what it held."""
        self.tree.discharge(self.usage, charge.queue, charge.amounts)
        self.space.give(charge.places)
        self.version += 1
        if self._open:
            self._journal.append((False, charge))

    def checkpoint(self) -> int:
        """Begin a trial; trials nest. Returns the mark for `rollback`."""
        self._open += 1
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        """End the innermost trial and undo everything since its mark."""
        version = self.version - (len(self._journal) - mark)
        while len(self._journal) > mark:
            charged, charge = self._journal.pop()
            if charged:
                self.tree.discharge(self.usage, charge.queue, charge.amounts)
                self.space.give(charge.places)
            else:
                self.tree.charge(self.usage, charge.queue, charge.amounts)
                self.space.take(charge.places)
        self._open -= 1
        self.version = version

    def fits(self, charge: Charge) -> bool:
        """Whether quota and the very places of `charge` are free."""
        return self.tree.fits(self.usage, charge.queue, charge.amounts) and self.space.holds(
            charge.places
        )
