"""The most that could come free for a queue: a cheap bound that saves hopeless searches.

Whatever the exact rules of preemption, a workload can at best get what is free plus what
*soft* work holds: work that somebody could be allowed to stop. The bound looks at soft
work by priority and queue, as running totals, and at the nodes with all of it gone. A
request beyond the bound need not be nominated, and its shape may stay parked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.excess import NOBODY
from scheduler.lapse import LAPSED
from scheduler.layout import Flavor, Queue, Reclaim, Within
from scheduler.model import PodSet
from scheduler.pending import Shape
from scheduler.quota import Amounts
from scheduler.topology import Space

if TYPE_CHECKING:
    from scheduler.standing import Running
    from scheduler.state import State

ANYBODY = math.inf


class Outlook:
    """Totals of soft work, and what follows from them at one version of the future book."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._totals: dict[float, dict[int, dict[int, int]]] = {}
        self._held = Space(state.nodes)
        self._held_at = -1
        self._version = (-1, -1)
        self._bare: dict[tuple[int, float], list[int]] = {}
        self._most: dict[tuple[int, tuple[float, float], int], int] = {}
        self._rooms: dict[tuple[int, bool, int, int], int] = {}

    def copy(self, state: State) -> Outlook:
        """The same totals for a copy of the state."""
        other = Outlook(state)
        other._totals = {
            level: {number: held.copy() for number, held in queues.items()}
            for level, queues in self._totals.items()
        }
        other._held, other._held_at = self._held.copy(state.nodes), self._held_at
        return other

    # -- running totals --------------------------------------------------------------

    def add(self, running: Running) -> None:
        """Somebody starts."""
        self._count(running, 1)

    def remove(self, running: Running) -> None:
        """Somebody ends or was told to stop."""
        self._count(running, -1)

    def forget(self) -> None:
        """Somebody became soft without a change of the books: what followed is void."""
        self._version = (-1, -1)

    def _count(self, running: Running, sign: int) -> None:
        number = running.charge.queue
        if not self._is_soft(running):
            return
        of_queue = self._totals.setdefault(running.workload.priority, {}).setdefault(number, {})
        for column, amount in running.charge.amounts:
            of_queue[column] = of_queue.get(column, 0) + sign * amount
        if self._held_at == self._state.nodes.version:
            if sign > 0:
                self._held.give(running.charge.places)
            else:
                self._held.take(running.charge.places)

    def _is_soft(self, running: Running) -> bool:
        queue = self._state.layout.queues[running.charge.queue]
        return running.workload.preemptible or queue.protected_from is not None

    def soft_of(self, number: int, below: float) -> Amounts:
        """What soft work of a queue holds of quota, of lower priority than `below`."""
        held: dict[int, int] = {}
        for level, queues in self._totals.items():
            if level < below:
                for column, amount in queues.get(number, {}).items():
                    held[column] = held.get(column, 0) + amount
        return tuple(held.items())

    # -- the bound -------------------------------------------------------------------

    def may_have(self, number: int, priority: int, amounts: Amounts) -> bool:
        """Whether quota could ever suffice with the right work gone."""
        self._refresh()
        bounds = limits(self._state.layout.queues[number], priority)
        for column, amount in amounts:
            key = (number, bounds, column)
            most = self._most.get(key)
            if most is None:
                usage = self._without(number, bounds)
                most = self._most[key] = self._state.tree.available(usage, number, column)
            if most < amount:
                return False
        return True

    def without(self, number: int, priority: int) -> Sequence[int]:
        """Use of quota without all that a workload of this queue could at best have stopped."""
        self._refresh()
        return self._without(number, limits(self._state.layout.queues[number], priority))

    def _without(self, number: int, bounds: tuple[float, float]) -> Sequence[int]:
        """Use of quota without all that this queue could at best have stopped."""
        state = self._state
        own, others = bounds
        if own == NOBODY == others:
            return state.future.usage
        bare = self._bare_usage(state.tree.root[number], others)
        mine = [
            (held, level < own)
            for level, queues in self._totals.items()
            if (level < own) != (level < others) and (held := queues.get(number))
        ]
        if not mine:
            return bare
        usage = list(bare)
        for held, gone in mine:
            amounts = tuple(held.items())
            if gone:
                state.tree.discharge(usage, number, amounts)
            else:
                state.tree.charge(usage, number, amounts)
        return usage

    def _bare_usage(self, root: int, below: float) -> list[int]:
        """Use of one tree without soft work of lower priority than `below`."""
        found = self._bare.get((root, below))
        if found is None:
            tree = self._state.tree
            found = self._state.future.usage.copy()
            for level, queues in self._totals.items():
                if level < below:
                    for number, held in queues.items():
                        if tree.root[number] == root:
                            tree.discharge(found, number, tuple(held.items()))
            self._bare[root, below] = found
        return found

    def may_lie(self, number: int, priority: int, pods: PodSet, flavor: Flavor) -> bool:
        """Whether the nodes of a flavor could hold the pods with all soft work gone."""
        if not flavor.levels:
            return True
        movable = limits(self._state.layout.queues[number], priority) != (NOBODY, NOBODY)
        return self._fits(pods, flavor, movable=movable)

    def has_room(self, pods: PodSet, flavor: Flavor) -> bool:
        """Whether the nodes of a flavor could hold the pods as they are: without it, never."""
        return not flavor.levels or self._fits(pods, flavor, movable=False)

    def room(self, pods: PodSet, flavor: Flavor) -> float:
        """How many such pods the nodes of a flavor hold as they are, by the scarcest resource."""
        if not flavor.levels:
            return math.inf
        self._refresh()
        nodes, space = self._state.nodes, self._state.future.space
        eligible = nodes.eligible(flavor, pods)
        return min(
            int(np.maximum(space.room(row, eligible) // amount, 0).sum())
            for row, amount in nodes.shape(pods)
            if row or not nodes.roomy
        )

    def _fits(self, pods: PodSet, flavor: Flavor, *, movable: bool) -> bool:
        self._refresh()
        nodes = self._state.nodes
        eligible = nodes.eligible(flavor, pods)
        for row, amount in nodes.shape(pods):
            key = (id(eligible), movable, row, amount)
            room = self._rooms.get(key)
            if room is None:
                free = self._state.future.space.room(row, eligible)
                if movable:
                    free = free + self._soft_room().room(row, eligible)
                room = self._rooms[key] = int(np.maximum(free // amount, 0).sum())
            if room < pods.count:
                return False
        return True

    def worth_trying(self, number: int, shape: Shape) -> bool:
        """Whether a parked shape could have a chance now."""
        flavors, only = self._state.flavors, shape.only
        if only is not None:
            pods, flavor = shape.whole[0], flavors[only.flavor]
            return self.may_have(number, shape.priority, only.amounts) and self.may_lie(
                number, shape.priority, pods, flavor
            )
        return all(
            any(
                self.may_have(number, shape.priority, option.amounts)
                and self.may_lie(number, shape.priority, pods, flavors[option.flavor])
                for option in options
            )
            for pods, groups in zip(shape.pod_sets, shape.menu.groups, strict=True)
            for options in groups
        )

    def _soft_room(self) -> Space:
        """What soft work holds on the nodes: row per resource, column per node."""
        nodes = self._state.nodes
        if self._held_at != nodes.version:
            self._held = Space(nodes)
            self._held.free[:] = 0
            self._held_at = nodes.version
            for running in self._state.running.values():
                if not running.leaving and self._is_soft(running):
                    self._held.give(running.charge.places)
        return self._held

    def _refresh(self) -> None:
        """Forget what was derived from an older version of the books."""
        version = (self._state.future.version, self._state.nodes.version)
        if version != self._version:
            self._version = version
            self._bare.clear()
            self._most.clear()
            self._rooms.clear()


def limits(queue: Queue, priority: int) -> tuple[float, float]:
    """Below which priority a workload may stop others: in its own queue, and elsewhere."""
    own = others = NOBODY
    allowed = queue.within_from is None or priority >= queue.within_from
    if queue.within is not Within.NEVER and allowed:
        own = priority if queue.within is Within.LOWER else priority + 1
    if queue.lapses:
        own = max(own, LAPSED + 1)
    if queue.reclaim is Reclaim.ANY:
        others = ANYBODY
    elif queue.reclaim is Reclaim.LOWER:
        others = priority
    return own, others
