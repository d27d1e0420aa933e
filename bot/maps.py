"""The map of the cluster as the desk gives it: every node, and whose its GPUs are."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsidePod:
    """A pod outside our care that holds GPUs; `where` is its namespace and name."""

    where: str
    gpus: int
    node: str


class Grouping(enum.StrEnum):
    """By whom the GPUs of a map are coloured."""

    POOL = "pool"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """One node of the map. `kind` is its flavor, `path` its (level, value) pairs above the node.

    `gpus` are all it has, `outside` those that pods hold which are not ours, `held` the others
    that are in use by owner.
    """

    name: str
    kind: str
    path: tuple[tuple[str, str], ...]
    gpus: int
    held: tuple[tuple[str, int], ...] = ()
    outside: int = 0
    ready: bool = True
    schedulable: bool = True

    @property
    def used(self) -> int:
        """GPUs that requests hold."""
        return sum(gpus for _, gpus in self.held)

    @property
    def free(self) -> int:
        """GPUs that could be given out now."""
        usable = self.ready and self.schedulable
        return max(0, self.gpus - self.outside - self.used) if usable else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapView:
    """`/gpu map`: every node with its GPUs, and the GPUs that each owner holds in all."""

    by: Grouping
    nodes: tuple[MapNode, ...]
    owners: tuple[tuple[str, int], ...]
    at: float

    @property
    def gpus(self) -> int:
        """All GPUs of the nodes shown."""
        return sum(node.gpus for node in self.nodes)

    @property
    def used(self) -> int:
        """GPUs that requests hold."""
        return sum(node.used for node in self.nodes)

    @property
    def free(self) -> int:
        """GPUs that could be given out now."""
        return sum(node.free for node in self.nodes)

    @property
    def failed(self) -> tuple[MapNode, ...]:
        """Nodes that are not ready."""
        return tuple(node for node in self.nodes if not node.ready)

    @property
    def cordoned(self) -> tuple[MapNode, ...]:
        """Nodes that are ready but take nothing new."""
        return tuple(node for node in self.nodes if node.ready and not node.schedulable)

    @property
    def whole(self) -> int:
        """Nodes that are wholly free."""
        return sum(node.free == node.gpus for node in self.nodes)

    def domains(self) -> dict[str, int]:
        """How many domains each level has, coarse to fine."""
        found: dict[str, set[tuple[str, ...]]] = {}
        for node in self.nodes:
            for depth, (level, _) in enumerate(node.path, start=1):
                place = (node.kind, *(value for _, value in node.path[:depth]))
                found.setdefault(level, set()).add(place)
        return {level: len(domains) for level, domains in found.items()}
