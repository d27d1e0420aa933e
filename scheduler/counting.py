"""How many pods and slices of one demand every domain could hold.

Counted at the leaves and summed upwards, level by level, only as far as asked for. The
rules are those of Kueue's topology-aware scheduling (`tas_flavor_snapshot.go`):

- a slice is a group of pods that must share a domain of the slice level; below it, inner
  layers let a child count in whole multiples of their size only;
- beside a leader, a leaf holds what is left of its room; upwards, the leader costs what it
  costs in the child where that is least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.domains import Bools, Domains, Ints

Shape = tuple[tuple[int, int], ...]
"""What one pod takes, as (row, amount) pairs; the first row is the one packing looks at."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one pod set, with its leader if it has one, asks of a topology.

    Levels are numbers, 0 the coarsest. `inner` gives levels below the slice level the size
    of the layer that counts there. `count` is in pods, a multiple of `slice_size`.
    """

    count: int
    shape: Shape
    level: int
    slice_level: int
    slice_size: int = 1
    inner: Mapping[int, int] | None = None
    required: bool = False
    unconstrained: bool = False
    leader: Shape | None = None

    @property
    def needed(self) -> int:
        """Slices to place."""
        return self.count // self.slice_size


@dataclass(frozen=True, slots=True)
class Level:
    """Counts of all domains of one level: pods and slices, alone and beside the leader.

    Without a leader the latter are the same arrays and `leads` is None.
    """

    pods: Ints
    slices: Ints
    pods_beside: Ints
    slices_beside: Ints
    leads: Bools | None


def count_pods(room: Mapping[int, Ints], shape: Shape) -> Ints:
    """How many pods of a shape each leaf holds."""
    (row, amount), *more = shape
    pods: Ints = room[row] // amount if amount > 1 else room[row].copy()
    for row, amount in more:
        np.minimum(pods, room[row] // amount if amount > 1 else room[row], out=pods)
    return np.maximum(pods, 0, out=pods)


class Counts:
    """The counts of one demand, level by level, each worked out when first asked for.

    `room` is the free capacity of the leaves by row; `allowed` and `leader_allowed` mark the
    leaves that the pods and the leader may lie on, None for all. `lead_room` is the free
    capacity of the resource that packing looks at.
    """

    def __init__(
        self,
        domains: Domains,
        demand: Demand,
        room: Mapping[int, Ints],
        allowed: Bools | None = None,
        leader_allowed: Bools | None = None,
    ) -> None:
        self.domains = domains
        self.demand = demand
        self.lead_room = room[demand.shape[0][0]]
        self._levels: dict[int, Level] = {
            domains.lowest: self._leaves(room, allowed, leader_allowed)
        }

    def at(self, level: int) -> Level:
        """The counts of a level."""
        found = self._levels.get(level)
        if found is None:
            found = self._levels[level] = self._above(level, self.at(level + 1))
        return found

    def _leaves(
        self, room: Mapping[int, Ints], allowed: Bools | None, leader_allowed: Bools | None
    ) -> Level:
        demand = self.demand
        pods = count_pods(room, demand.shape)
        if allowed is not None:
            pods[~allowed] = 0
        if demand.leader is None:
            slices = self._slices(self.domains.lowest, pods)
            return Level(pods, slices, pods, slices, None)
        leads = np.ones(len(pods), dtype=np.bool_) if leader_allowed is None else leader_allowed
        rest = dict(room)
        for row, amount in demand.leader:
            leads = leads & (room[row] >= amount)
            rest[row] = rest[row] - amount
        beside = count_pods(rest, demand.shape)
        if allowed is not None:
            beside[~allowed] = 0
        beside = np.where(leads, beside, pods)
        slices = self._slices(self.domains.lowest, pods)
        return Level(pods, slices, beside, self._slices(self.domains.lowest, beside), leads)

    def _slices(self, level: int, pods: Ints) -> Ints:
        """Slices of the slice level; finer levels have none, and what is given stands for them."""
        size = self.demand.slice_size
        return pods if level > self.demand.slice_level or size == 1 else pods // size

    def _above(self, level: int, child: Level) -> Level:
        domains, demand = self.domains, self.demand
        inner = (demand.inner or {}).get(level + 1, 1)
        whole = child.pods if inner == 1 else child.pods // inner * inner
        pods = domains.sums(level, whole)
        if level >= demand.slice_level:
            slices = self._slices(level, pods)
        elif child.slices is child.pods:
            slices = pods
        else:
            slices = domains.sums(level, child.slices)
        if child.leads is None:
            return Level(pods, slices, pods, slices, None)
        beside = child.pods_beside if inner == 1 else child.pods_beside // inner * inner
        leads: Bools = np.logical_or.reduceat(child.leads, domains.starts[level])
        pods_beside = self._less(level, child.leads, leads, pods, whole - beside)
        if level >= demand.slice_level:
            slices_beside = self._slices(level, pods_beside)
        else:
            cost = child.slices - child.slices_beside
            slices_beside = self._less(level, child.leads, leads, slices, cost)
        return Level(pods, slices, pods_beside, slices_beside, leads)

    def _less(self, level: int, child_leads: Bools, leads: Bools, total: Ints, cost: Ints) -> Ints:
        """`total` less the smallest cost among children that can hold the leader, 0 without."""
        most = np.iinfo(np.int64).max
        least = np.minimum.reduceat(np.where(child_leads, cost, most), self.domains.starts[level])
        return np.where(leads, total - np.where(leads, least, 0), 0)


def room_of(free: Sequence[Ints], domains: Domains, shapes: Sequence[Shape]) -> dict[int, Ints]:
    """Free capacity of the leaves by row, the least of several views; rows of `shapes` only.

    A row that no node has anything of yet counts 0.
    """
    room: dict[int, Ints] = {}
    for shape in shapes:
        for row, _ in shape:
            if row in room:
                continue
            if row >= len(free[0]):
                room[row] = np.zeros(len(domains.columns), dtype=np.int64)
                continue
            least = free[0][row].take(domains.columns)
            for view in free[1:]:
                np.minimum(least, view[row].take(domains.columns), out=least)
            room[row] = least
    return room
