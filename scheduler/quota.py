"""The cohort tree: what each queue may still take, given what everybody uses.

The arithmetic is Kueue's (`resource_node.go` and the fit rules of its flavor assigner). Of
each node, *subtree* quota is its nominal quota plus what its children lend; *kept* is the
part of that which a lending limit keeps for the node itself. Use is charged to a queue and
what exceeds its kept part to its parent, and so on up.

`QuotaTree` is the immutable shape; use lives in a flat list of whole numbers
(`node * width + column`, one column per flavor-resource), so that a copy is cheap.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from scheduler.layout import FlavorResource, Layout, Limits
from scheduler.model import CohortName, QueueName

UNLIMITED = 1 << 62
"""Stands for "no borrowing limit": larger than any quota, still an exact integer."""

Amounts = tuple[tuple[int, int], ...]
"""(column, amount) pairs in column order."""

_NO_LIMITS = Limits()


class QuotaTree:
    """The shape of the quota tree. Queues are nodes 0..n-1 in layout order, cohorts follow."""

    def __init__(self, layout: Layout) -> None:
        columns: dict[FlavorResource, int] = {}
        for quotas in [q.quotas for q in layout.queues] + [c.quotas for c in layout.cohorts]:
            for pair in quotas:
                columns.setdefault(pair, len(columns))
        self.columns: Mapping[FlavorResource, int] = columns
        self.pairs: tuple[FlavorResource, ...] = tuple(columns)
        self.width = len(columns)
        cohorts = _every_cohort(layout)
        self.queue_index: Mapping[QueueName, int] = {
            queue.name: number for number, queue in enumerate(layout.queues)
        }
        first = len(layout.queues)
        cohort_index = {name: first + number for number, name in enumerate(cohorts)}
        self.names: tuple[str, ...] = (*self.queue_index, *cohort_index)
        self.cohort_names: tuple[CohortName, ...] = tuple(cohorts)
        parents = [queue.cohort for queue in layout.queues] + list(cohorts.values())
        self.parent: tuple[int, ...] = tuple(
            -1 if parent is None else cohort_index[parent] for parent in parents
        )
        self.size = len(self.names)
        self.queues = first
        self.children: tuple[tuple[int, ...], ...] = tuple(
            tuple(node for node in range(self.size) if self.parent[node] == parent)
            for parent in range(self.size)
        )
        self.path: tuple[tuple[int, ...], ...] = tuple(
            self._ancestors(node) for node in range(self.size)
        )
        self.root: tuple[int, ...] = tuple(
            path[-1] if path else node for node, path in enumerate(self.path)
        )
        self.tree_queues: Mapping[int, tuple[int, ...]] = {
            root: tuple(q for q in range(first) if self.root[q] == root)
            for root in sorted(set(self.root))
        }
        self.height: tuple[int, ...] = tuple(self._height(node) for node in range(self.size))
        self.measure(layout)

    def measured(self, layout: Layout) -> QuotaTree:
        """The same shape with the quotas of another layout; use has to be counted anew."""
        other = copy.copy(self)
        other.measure(layout)
        return other

    def measure(self, layout: Layout) -> None:
        """Fill in the quotas of a layout of this shape."""
        given = {cohort.name: cohort.quotas for cohort in layout.cohorts}
        queues = [queue.quotas for queue in layout.queues]
        self._measure(queues + [given.get(name, {}) for name in self.cohort_names])

    def _ancestors(self, node: int) -> tuple[int, ...]:
        path = []
        while (node := self.parent[node]) >= 0:
            path.append(node)
        return tuple(path)

    def _height(self, node: int) -> int:
        if node < self.queues:
            return 0
        return max((1 + self._height(child) for child in self.children[node]), default=0)

    def _measure(self, quotas: Sequence[Mapping[FlavorResource, Limits]]) -> None:
        """Fill in nominal, subtree, kept, borrowing and potential, leaves before parents."""
        cells = self.size * self.width
        self.nominal = [0] * cells
        self.subtree = [0] * cells
        self.kept = [0] * cells
        self.borrowing = [UNLIMITED] * cells
        self.potential = [0] * cells
        for node in sorted(range(self.size), key=lambda n: (self.height[n], n)):
            for column, pair in enumerate(self.pairs):
                limits = quotas[node].get(pair, _NO_LIMITS)
                cell = node * self.width + column
                lent = sum(
                    self.subtree[child * self.width + column]
                    - self.kept[child * self.width + column]
                    for child in self.children[node]
                )
                self.nominal[cell] = limits.nominal
                self.subtree[cell] = limits.nominal + lent
                if limits.lending is not None:
                    self.kept[cell] = max(0, self.subtree[cell] - limits.lending)
                if limits.borrowing is not None:
                    self.borrowing[cell] = limits.borrowing
        for node in sorted(range(self.size), key=lambda n: (len(self.path[n]), n)):
            for column in range(self.width):
                self._measure_potential(node, column)

    def _measure_potential(self, node: int, column: int) -> None:
        """The most this node could ever get: its own plus borrowable, limits respected."""
        cell = node * self.width + column
        parent = self.parent[node]
        if parent < 0:
            self.potential[cell] = self.subtree[cell]
            return
        most = self.kept[cell] + self.potential[parent * self.width + column]
        self.potential[cell] = min(most, self.subtree[cell] + self.borrowing[cell])

    def available(self, usage: Sequence[int], node: int, column: int) -> int:
        """What `node` could take now; negative where quota was lowered below use."""
        cell = node * self.width + column
        parent = self.parent[node]
        if parent < 0:
            return self.subtree[cell] - usage[cell]
        used, kept = usage[cell], self.kept[cell]
        above = self.available(usage, parent, column)
        if self.borrowing[cell] != UNLIMITED:
            over = used - kept if used > kept else 0
            above = min(above, self.subtree[cell] - kept - over + self.borrowing[cell])
        return above + (kept - used if used < kept else 0)

    def local(self, usage: Sequence[int], node: int, column: int) -> int:
        """The unused part of what the node keeps for itself."""
        cell = node * self.width + column
        return max(0, self.kept[cell] - usage[cell])

    def exceeds(self, usage: Sequence[int], node: int, column: int, amount: int = 0) -> bool:
        """Whether the node would use more than its subtree quota with `amount` added."""
        cell = node * self.width + column
        return usage[cell] + amount > self.subtree[cell]

    def borrow_level(
        self, usage: Sequence[int], node: int, column: int, amount: int
    ) -> tuple[int, bool]:
        """How far up `amount` has to be borrowed, and whether that is below the root.

        0 inside the own quota, else the height of the lowest ancestor inside whose quota the
        request would lie. The flag says whether reclaiming could cover it in the hierarchy.
        """
        if self.parent[node] < 0:
            return 0, False
        if not self.exceeds(usage, node, column, amount):
            return 0, True
        rest = amount - self.local(usage, node, column)
        for ancestor in self.path[node]:
            if not self.exceeds(usage, ancestor, column, rest):
                return self.height[ancestor], self.parent[ancestor] >= 0
            rest -= self.local(usage, ancestor, column)
        return self.height[self.root[node]], False

    def binding(self, usage: Sequence[int], queue: int, column: int, asked: int) -> tuple[int, int]:
        """The first node from the queue upwards whose limit is below `asked`, and its room.

        A node with a borrowing limit has what it may still take from above, the root what
        is left of everything; both count what the queue and the nodes between keep for
        themselves. There is such a node whenever `asked` is more than `available`; the
        queue's own limit comes first, because room higher up would not help it.
        """
        below = 0
        for node in (queue, *self.path[queue]):
            cell = node * self.width + column
            own = self.local(usage, node, column)
            if self.parent[node] < 0:
                room = self.subtree[cell] - usage[cell] + below
            elif self.borrowing[cell] != UNLIMITED:
                over = max(0, usage[cell] - self.kept[cell])
                room = self.subtree[cell] - self.kept[cell] - over + self.borrowing[cell]
                room += own + below
            else:
                room = UNLIMITED
            if room < asked:
                return node, room
            below += own
        raise ValueError(f"no limit is below {asked}")

    def charge(self, usage: list[int], node: int, amounts: Amounts) -> None:
        """Add use at a queue and bubble up what exceeds each node's kept part."""
        for column, amount in amounts:
            at, rest = node, amount
            while at >= 0 and rest > 0:
                cell = at * self.width + column
                spare = self.kept[cell] - usage[cell]
                usage[cell] += rest
                if spare > 0:
                    rest -= spare
                at = self.parent[at]

    def discharge(self, usage: list[int], node: int, amounts: Amounts) -> None:
        """The exact inverse of `charge`."""
        for column, amount in amounts:
            at, rest = node, amount
            while at >= 0 and rest > 0:
                cell = at * self.width + column
                over = usage[cell] - self.kept[cell]
                usage[cell] -= rest
                rest = min(rest, over)
                at = self.parent[at]

    def fits(self, usage: Sequence[int], node: int, amounts: Amounts) -> bool:
        """Whether every amount is available now."""
        return all(self.available(usage, node, column) >= amount for column, amount in amounts)

    def empty(self) -> list[int]:
        """The use of a cluster where nothing runs."""
        return [0] * (self.size * self.width)

    def recompute(self, charges: Iterable[tuple[int, Amounts]]) -> list[int]:
        """Use from scratch, for checking the running totals."""
        usage = self.empty()
        for node, amounts in charges:
            self.charge(usage, node, amounts)
        return usage


def _every_cohort(layout: Layout) -> dict[CohortName, CohortName | None]:
    """Cohort -> parent, declared ones first; a cohort that is only named has no quota."""
    cohorts: dict[CohortName, CohortName | None] = {c.name: c.parent for c in layout.cohorts}
    for parent in list(cohorts.values()):
        if parent is not None:
            cohorts.setdefault(parent, None)
    for queue in layout.queues:
        if queue.cohort is not None:
            cohorts.setdefault(queue.cohort, None)
    return cohorts
