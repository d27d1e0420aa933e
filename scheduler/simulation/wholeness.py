"""Keeps count of wholly free nodes by domain: what gangs of whole nodes could start on.

Each change of one node costs a step for each level; the domain that has most is looked for
only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.model import Node

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStanding:
    """The domains of one topology level now: all, and those in which every node is free.

    `largest` are the GPUs of whole free nodes in the domain that has most of them: the largest
    gang of whole nodes that could start there at once.
    """

    level: str
    domains: int
    whole_free: int
    largest: int


@dataclass(slots=True)
class _Domain:
    """Nodes of a domain, how many of them are wholly free, and the GPUs of those."""

    nodes: int = 0
    free: int = 0
    gpus: int = 0


class Wholeness:
    """The levels above single nodes, coarse to fine. Nodes without a label have no part."""

    def __init__(self, levels: Sequence[str]) -> None:
        self._levels = tuple(levels)
        self._domains: list[dict[Path, _Domain]] = [{} for _ in levels]
        self._whole = [0] * len(self._levels)
        self._known: tuple[LevelStanding, ...] | None = None

    def add(self, node: Node) -> None:
        """A node that is there, and not wholly free so far."""
        for number, path in enumerate(self._paths(node)):
            domain = self._domains[number].setdefault(path, _Domain())
            self._whole[number] -= domain.nodes > 0 and domain.free == domain.nodes
            domain.nodes += 1
        self._known = None

    def change(self, node: Node, gpus: int, *, free: bool) -> None:
        """All `gpus` of a node have become free together, or are so no longer."""
        sign = 1 if free else -1
        for number, path in enumerate(self._paths(node)):
            domain = self._domains[number][path]
            before = domain.free == domain.nodes
            domain.free += sign
            domain.gpus += sign * gpus
            self._whole[number] += (domain.free == domain.nodes) - before
        self._known = None

    def standing(self) -> tuple[LevelStanding, ...]:
        """The figures of each level that has domains."""
        if self._known is None:
            self._known = tuple(
                LevelStanding(
                    level=level,
                    domains=len(domains),
                    whole_free=whole,
                    largest=max(domain.gpus for domain in domains.values()),
                )
                for level, domains, whole in zip(
                    self._levels, self._domains, self._whole, strict=True
                )
                if domains
            )
        return self._known

    def _paths(self, node: Node) -> list[Path]:
        """The node's domain at each level; empty if it lacks a label."""
        if not all(level in node.labels for level in self._levels):
            return []
        values = tuple(node.labels[level] for level in self._levels)
        return [values[: number + 1] for number in range(len(values))]
