"""Free capacity of every node, and where a gang goes.

`Nodes` is what is known of the machines, in name order: capacity as one row per resource
and one column per node, so that a domain of any coarser level is a set of columns. A
`Space` is the free capacity left by one set of placements; several can stand over the same
`Nodes` (what is free now, and what will be once those who were told to stop are gone).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from scheduler.counting import Shape
from scheduler.domains import Bools, Domains, Indices, Ints, draw_domains
from scheduler.layout import HOSTNAME, Flavor
from scheduler.matching import lets_in
from scheduler.model import PODS, FlavorName, Node, NodeName, PodSet, ResourceName

Lie = tuple[tuple[NodeName, int], ...]
"""Where the pods of one pod set lie: (node, pods) in name order."""

Places = tuple[Lie, ...]
"""Where all pod sets of a gang lie, in their order."""

AMPLE = 1 << 40
"""The pod capacity of a node that does not say how many pods it takes."""

REMEMBERED = 4096
"""Pod sets about which answers are kept, by identity, at most."""


class Place(NamedTuple):
    """Where the pods of one pod set lie, and what a pod takes."""

    nodes: Lie
    shape: Shape


def _path(flavor: Flavor, node: Node) -> tuple[str, ...] | None:
    """A node's place in a flavor's topology; None if it is none of its nodes."""
    if not flavor.node_labels.items() <= node.labels.items():
        return None
    path = tuple(node.labels.get(level, "") for level in flavor.levels)
    return path if all(path) else None


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where pods may lie: the domains of a flavor, and which leaves of them (None: all).

    `columns` are the node columns of the leaves that count, in name order.
    """

    domains: Domains
    allowed: Bools | None
    columns: Indices


class Nodes:
    """The machines, as arrays in name order.

    Nodes that pods lie on but nobody has observed (yet, or any more) have a column without
    capacity. Flavors whose topology ends above single nodes (`coarse`) have a column for each
    of their lowest domains instead, a *bundle* of nodes named by flavor and level values.
    """

    def __init__(self, coarse: tuple[Flavor, ...] = ()) -> None:
        self.known: dict[NodeName, Node] = {}
        self._coarse = coarse
        self._bundles: dict[FlavorName, dict[NodeName, Node]] = {}
        self.names: list[NodeName] = []
        self.index: dict[NodeName, int] = {}
        self.rows: dict[ResourceName, int] = {PODS: 0}
        self.capacity: Ints = np.zeros((1, 0), dtype=np.int64)
        self.outside: Ints = np.zeros((1, 0), dtype=np.int64)
        self.usable: Bools = np.zeros(0, dtype=np.bool_)
        self.roomy = True
        """Whether every node takes more pods than there will ever be."""
        self.version = 0
        self._missing: set[NodeName] = set()
        self._changed = False
        self._asked: dict[tuple[int, FlavorName, bool], tuple[PodSet, Reach]] = {}
        self._shapes: dict[int, tuple[PodSet, Shape]] = {}
        self._domains: dict[tuple[FlavorName, bool], Domains] = {}
        self._reach: dict[tuple[object, ...], Reach] = {}

    def copy(self) -> Nodes:
        """The same machines, learnt of independently; arrays are never changed in place."""
        other: Nodes = copy(self)
        other.known, other.rows = self.known.copy(), self.rows.copy()
        other._missing = self._missing.copy()
        other._asked, other._shapes = self._asked.copy(), self._shapes.copy()
        other._domains, other._reach = self._domains.copy(), self._reach.copy()
        return other

    def observe(self, node: Node) -> None:
        """Learn of a node or of its change; `settle` makes it count."""
        if self.known.get(node.name) != node:
            self.known[node.name] = node
            self._changed = True

    def remove(self, name: NodeName) -> None:
        """Forget a node. Pods that still lie on it keep its column."""
        if self.known.pop(name, None) is not None:
            self._changed = True

    def need(self, name: NodeName) -> None:
        """Make sure that there is a column for a node which a placement names."""
        if name not in self.index and name not in self._missing:
            self._missing.add(name)
            self._changed = True

    def row(self, resource: ResourceName) -> int:
        """The row of a resource, made when first asked for."""
        row = self.rows.get(resource)
        if row is None:
            row = self.rows[resource] = len(self.rows)
            self._changed = True
        return row

    @property
    def changed(self) -> bool:
        """Whether something was learnt since the last `settle`."""
        return self._changed

    def settle(self, spaces: Sequence[Space]) -> None:
        """Lay the arrays out anew; `spaces` keep what is taken on each node."""
        used = [self.capacity - space.free for space in spaces]
        held = [
            name for number, name in enumerate(self.names) if any(u[:, number].any() for u in used)
        ]
        for node in self.known.values():
            for resource in (*node.capacity, *node.outside):
                self.rows.setdefault(resource, len(self.rows))
        known = {**self.known, **self._bundle()}
        names = sorted({*known, *held, *self._missing})
        index = {name: number for number, name in enumerate(names)}
        capacity = np.zeros((len(self.rows), len(names)), dtype=np.int64)
        outside = np.zeros_like(capacity)
        for name, node in known.items():
            column = index[name]
            capacity[0, column] = AMPLE
            for resource, amount in node.capacity.items():
                capacity[self.rows[resource], column] = amount
            for resource, amount in node.outside.items():
                outside[self.rows[resource], column] = amount
        old = np.array([self.index[name] for name in names if name in self.index], dtype=np.intp)
        new = np.array([index[name] for name in names if name in self.index], dtype=np.intp)
        for space, taken in zip(spaces, used, strict=True):
            free = capacity.copy()
            free[: taken.shape[0], new] -= taken[:, old]
            space.lay_out(free)
        self.names, self.index = names, index
        self.capacity, self.outside = capacity, outside
        self.usable = np.array(
            [(n := known.get(name)) is not None and n.ready and n.schedulable for name in names],
            dtype=np.bool_,
        )
        self.roomy = all(capacity[0, index[name]] >= AMPLE for name in known)
        self._missing.clear()
        self._asked.clear()
        self._domains.clear()
        self._reach.clear()
        self._changed = False
        self.version += 1

    def _bundle(self) -> dict[NodeName, Node]:
        """The lowest domains of coarse flavors, each as one machine."""
        self._bundles = {flavor.name: {} for flavor in self._coarse}
        for flavor in self._coarse:
            mine = self._bundles[flavor.name]
            for _, node in sorted(self.known.items()):
                path = _path(flavor, node)
                if path is None or not (node.ready and node.schedulable):
                    continue
                name = NodeName("/".join((flavor.name, *path)))
                labels = {**flavor.node_labels, **dict(zip(flavor.levels, path, strict=True))}
                before = mine.get(name) or Node(name=name, labels=labels, capacity={})
                total = dict(before.capacity)
                pods = node.capacity.get(PODS, AMPLE)
                for resource, amount in {**node.capacity, PODS: pods}.items():
                    total[resource] = total.get(resource, 0) + amount
                mine[name] = replace(before, capacity=total)
        return {name: node for mine in self._bundles.values() for name, node in mine.items()}

    def _of(self, flavor: Flavor) -> Mapping[NodeName, Node]:
        """The machines among which a flavor's are: nodes, or the bundles of a coarse flavor."""
        return self._bundles.get(flavor.name, self.known)

    @staticmethod
    def is_by_node(flavor: Flavor) -> bool:
        """Whether a flavor's topology names single nodes."""
        return bool(flavor.levels) and flavor.levels[-1] == HOSTNAME

    def domains(self, flavor: Flavor, *, usable_only: bool = True) -> Domains:
        """The topology of a flavor over the machines that carry all its labels."""
        found = self._domains.get((flavor.name, usable_only))
        if found is None:
            leaves = [
                (path, name, self.index[name])
                for name, node in self._of(flavor).items()
                if (not usable_only or (node.ready and node.schedulable))
                and (path := _path(flavor, node)) is not None
            ]
            found = draw_domains(flavor.levels, leaves)
            self._domains[flavor.name, usable_only] = found
        return found

    def reach(self, flavor: Flavor, pods: PodSet, *, usable_only: bool = True) -> Reach:
        """Where these pods may lie: taints, selector and affinity, looked at node by node.

        In a topology that does not name single nodes they are not looked at.
        """
        asked = self._asked.get((id(pods), flavor.name, usable_only))
        if asked is None:
            if len(self._asked) > REMEMBERED:
                self._asked.clear()
            asked = (pods, self._find_reach(flavor, pods, usable_only=usable_only))
            self._asked[id(pods), flavor.name, usable_only] = asked
        return asked[1]

    def _find_reach(self, flavor: Flavor, pods: PodSet, *, usable_only: bool) -> Reach:
        key = (
            flavor.name,
            tuple(sorted(pods.node_selector.items())),
            pods.affinity,
            pods.tolerations,
            usable_only,
        )
        found = self._reach.get(key)
        if found is None:
            domains = self.domains(flavor, usable_only=usable_only)
            columns, allowed = domains.columns, None
            if self.is_by_node(flavor):
                tolerations = (*pods.tolerations, *flavor.tolerations)
                nodes = (self.known[self.names[column]] for column in columns.tolist())
                marks = np.array([lets_in(n, pods, tolerations) for n in nodes], dtype=np.bool_)
                if not marks.all():
                    allowed, columns = marks, columns[marks]
            found = self._reach[key] = Reach(domains, allowed, np.sort(columns))
        return found

    def eligible(self, flavor: Flavor, pods: PodSet, *, usable_only: bool = True) -> Indices:
        """Columns of the nodes of a flavor that these pods may lie on, in name order."""
        return self.reach(flavor, pods, usable_only=usable_only).columns

    def held_outside(self, row: int, eligible: Indices) -> int:
        """What pods outside our care hold of one resource on these nodes."""
        return int(self.outside[row][eligible].sum()) if row < len(self.outside) else 0

    def members(self, flavor: Flavor) -> Indices:
        """Columns of all usable nodes of a flavor, whatever their taints, in name order."""
        return np.sort(self.domains(flavor).columns)

    def shape(self, pods: PodSet) -> Shape:
        """What one pod takes: its first countable resource leads, and one of `pods`."""
        known = self._shapes.get(id(pods))
        if known is not None:
            return known[1]
        if len(self._shapes) > REMEMBERED:
            self._shapes.clear()
        wanted = {self.row(name): amount for name, amount in pods.requests.items() if amount}
        wanted.setdefault(0, 1)
        shape = tuple(sorted(wanted.items(), key=lambda item: (item[0] == 0, item[0])))
        self._shapes[id(pods)] = (pods, shape)
        return shape


class Space:
    """Free capacity: row per resource, column per node. Changed in place by take and give.

    `cells` is the same memory cell by cell (`row * width + column`): single cells of an array
    are several times dearer to reach.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.lay_out(nodes.capacity.copy())

    @classmethod
    def best_case(cls, nodes: Nodes) -> Space:
        """All that the nodes have, with nobody there, not even pods outside our care."""
        space = cls(nodes)
        space.lay_out(nodes.capacity + nodes.outside)
        return space

    def copy(self, nodes: Nodes | None = None) -> Space:
        """An independent space with the same placements, over a copy of the nodes if given."""
        other = Space.__new__(Space)
        other.nodes = nodes or self.nodes
        other.lay_out(self.free.copy())
        return other

    def lay_out(self, free: Ints) -> None:
        """Take over a table of free capacity."""
        self.free: Ints = free
        self.width = free.shape[1]
        self.cells = free.reshape(-1).data

    def room(self, row: int, eligible: Indices) -> Ints:
        """What is free of one resource; nothing of one that no node has shown yet.

        Not to be changed: of all columns it is the table itself.
        """
        if row >= len(self.free):
            return np.zeros(len(eligible), dtype=np.int64)
        free: Ints = self.free[row]
        return free if len(eligible) == self.width else free.take(eligible)

    def take(self, places: tuple[Place, ...]) -> None:
        """Put pods on their nodes."""
        self._shift(places, -1)

    def give(self, places: tuple[Place, ...]) -> None:
        """The exact inverse of `take`."""
        self._shift(places, 1)

    def _shift(self, places: tuple[Place, ...], sign: int) -> None:
        index, cells, width = self.nodes.index, self.cells, self.width
        for place in places:
            for name, count in place.nodes:
                column, change = index[name], sign * count
                for row, amount in place.shape:
                    cells[row * width + column] += change * amount

    def stands(self, places: tuple[Place, ...]) -> bool:
        """Whether places already taken here are on usable nodes that are not overfull."""
        index, usable = self.nodes.index, self.nodes.usable
        return all(
            usable[index[name]] and all(self.free[row, index[name]] >= 0 for row, _ in place.shape)
            for place in places
            for name, _ in place.nodes
        )

    def holds(self, places: tuple[Place, ...]) -> bool:
        """Whether these very places are free and their nodes usable."""
        index, free, usable = self.nodes.index, self.free, self.nodes.usable
        wanted: dict[tuple[int, int], int] = {}
        for place in places:
            for name, count in place.nodes:
                column = index.get(name, -1)
                if column < 0 or not usable[column]:
                    return False
                for row, amount in place.shape:
                    wanted[row, column] = wanted.get((row, column), 0) + count * amount
        return all(free[cell] >= amount for cell, amount in wanted.items())
