"""The most room on nodes that reclaiming could make: who borrows, brought down to his quota.

A search for targets stops in each queue as soon as that queue uses no more than its quota.
So whatever it takes lies inside the *excess* of the queues: of each, the first of its
workloads in the order of candidates, up to where it no longer borrows anything. That does
not depend on who asks, and changes only where somebody starts or stops; kept queue by queue
and as a total, it tells in one scan of the nodes that a search would be in vain. (Where the
quota is there but pieces of nodes do not add up, searches would else go through everybody.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from scheduler.domains import Indices, Ints
from scheduler.topology import Place

if TYPE_CHECKING:
    from scheduler.standing import Running
    from scheduler.state import State


NOBODY = -math.inf
"""Nobody's priority is lower."""


class Excess:
    """The excess of the queues of one cohort tree, as of the future book.

    Only work of lower priority than `below` counts. Tables are row per resource, column per
    node, as in `topology.Space`.
    """

    def __init__(self, state: State, root: int, below: float) -> None:
        self._state = state
        self._below = below
        self._aging = any(queue.aging is not None for queue in state.layout.queues)
        self._queues = state.tree.tree_queues[root]
        self._version = (-1, -1)
        self._nodes = -1
        self._seen: dict[int, tuple[int, list[int]]] = {}
        self._of: dict[int, Ints] = {}
        self._own: dict[tuple[int, float], tuple[int, Ints]] = {}
        self._total = _table(state)
        self._most: dict[tuple[int, int, int, int, float], int] = {}

    def fork(self, state: State) -> Excess:
        """The same for a fork of its state, which need not measure what has not changed."""
        self._refresh()
        other = copy(self)
        other._take_over(state)  # noqa: SLF001 - its copy
        return other

    def _take_over(self, state: State) -> None:
        self._state, self._version, self._most = state, (-1, -1), {}
        self._seen, self._of, self._own = self._seen.copy(), self._of.copy(), self._own.copy()
        self._total = self._total.copy()

    def may_lie(
        self,
        number: int,
        shape: Sequence[tuple[int, int]],
        eligible: Indices,
        count: int,
        own: float,
    ) -> bool:
        """Whether `count` pods could lie on these nodes for a queue of this tree.

        The excess may be gone, and the queue's own work of lower priority than `own`.
        """
        self._refresh()
        for row, amount in shape:
            key = (id(eligible), row, amount, number, own)
            most = self._most.get(key)
            if most is None:
                room = self._state.future.space.room(row, eligible)
                if row < len(self._total):
                    room = room + self._total[row].take(eligible)
                    if own > NOBODY:
                        room = room + self._of_own(number, own)[row].take(eligible)
                most = self._most[key] = int(np.maximum(room // amount, 0).sum())
            if most < count:
                return False
        return True

    def _refresh(self) -> None:
        """Measure those queues again in which something changed."""
        state = self._state
        version = (state.future.version, state.nodes.version)
        if version == self._version:
            return
        self._version = version
        self._most.clear()
        if self._nodes != state.nodes.version:
            self._nodes = state.nodes.version
            self._seen.clear()
            self._of.clear()
            self._own.clear()
            self._total = _table(state)
        usage, width, turnover = state.future.usage, state.tree.width, state.turnover
        for number in self._queues:
            seen = (turnover[number], usage[number * width : (number + 1) * width])
            if self._seen.get(number) != seen:
                self._seen[number] = seen
                self._measure(number, seen[1].copy())

    def _measure(self, number: int, used: list[int]) -> None:
        """Walk the work of a queue, in the order of candidates, until it borrows no more."""
        old = self._of.pop(number, None)
        if old is not None:
            self._total -= old
        gone = tuple(self._excess(number, used))
        if gone:
            self._of[number] = new = _table(self._state)
            _add(self._state, new, gone)
            self._total += new

    def _excess(self, number: int, used: list[int]) -> Iterable[Running]:
        """Who would be taken at most, given the queue's use of each column.

        Where some are passed over or another order counts, the walk goes on: past those with
        queues to overflow to or a lease that is over, and through everybody where the policy has
        rules for whom to spare, by cost, by usage, or by how long somebody waited.
        """
        state = self._state
        first = number * state.tree.width
        quota = state.tree.subtree[first : first + state.tree.width]
        if not _exceeds(used, quota):
            return
        by_cost, by_usage = state.layout.options.by_cost, state.queues[number].by_usage
        everybody = by_usage or by_cost or state.guarded or self._aging
        for rank in state.ranks[number]:
            if rank[0] >= self._below:
                return
            running = state.running[rank[-1]]
            if running.workload.preemptible:
                yield running
                if everybody or running.workload.overflow or running.workload.lapsed is not None:
                    continue
                for column, amount in running.charge.amounts:
                    used[column] -= amount
                if not _exceeds(used, quota):
                    return

    def _of_own(self, number: int, below: float) -> Ints:
        """What a queue's own work of lower priority than `below` holds, if it may be stopped."""
        state, turnover = self._state, self._state.turnover[number]
        known = self._own.get((number, below))
        if known is None or known[0] != turnover:
            firm = state.layout.queues[number].protected_from is None
            ranks = state.ranks[number]
            mine = (state.running[rank[-1]] for rank in ranks if rank[0] < below)
            table = _table(state)
            _add(state, table, (one for one in mine if not firm or one.workload.preemptible))
            known = self._own[number, below] = (turnover, table)
        return known[1]


def _exceeds(used: Sequence[int], quota: Sequence[int]) -> bool:
    for mine, most in zip(used, quota, strict=True):  # noqa: SIM110 - asked for each workload
        if mine > most:
            return True
    return False


def _table(state: State) -> Ints:
    return np.zeros_like(state.nodes.capacity)


def _add(state: State, table: Ints, gone: Iterable[Running]) -> None:
    cells, index, width = table.reshape(-1).data, state.nodes.index, table.shape[1]
    for running in gone:
        place: Place
        for place in running.charge.places:
            for name, count in place.nodes:
                column = index[name]
                for row, amount in place.shape:
                    cells[row * width + column] += count * amount
