"""What is odd about the nodes, named one by one; none of it stops the engine."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scheduler.model import FlavorName, NodeName, ResourceName
from scheduler.state import State


class Doubt(enum.StrEnum):
    """Kinds of oddities.

    missing-label: a node of a flavor lacks the label of a topology level, and takes no part.
    same-place: another node has the same values in every level, so neither can be told apart
    by its labels. overfull: pods hold more than the node has (any more); they stay.
    """

    MISSING_LABEL = "missing-label"
    SAME_PLACE = "same-place"
    OVERFULL = "overfull"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NodeDoubt:
    """One oddity. `what` is the label, the other node, or the resource; `excess` for overfull."""

    node: NodeName
    doubt: Doubt
    what: str
    flavor: FlavorName | None = None
    excess: int = 0


def find_doubts(state: State) -> tuple[NodeDoubt, ...]:
    """Everything odd, by node, kind and label."""
    return tuple(sorted({*_of_labels(state), *_of_places(state), *_of_capacity(state)}))


def _of_labels(state: State) -> list[NodeDoubt]:
    return [
        NodeDoubt(node=name, doubt=Doubt.MISSING_LABEL, what=level, flavor=flavor.name)
        for flavor in state.layout.flavors
        for name, node in state.nodes.known.items()
        if flavor.node_labels.items() <= node.labels.items()
        for level in flavor.levels
        if not node.labels.get(level)
    ]


def _of_places(state: State) -> list[NodeDoubt]:
    found = []
    for flavor in state.layout.flavors:
        seen: dict[tuple[str, ...], NodeName] = {}
        if not state.nodes.is_by_node(flavor):
            continue
        domains = state.nodes.domains(flavor, usable_only=False)
        for path, column in zip(domains.paths, domains.columns.tolist(), strict=True):
            name = state.nodes.names[column]
            first = seen.setdefault(path, name)
            if first != name:
                found.append(
                    NodeDoubt(node=name, doubt=Doubt.SAME_PLACE, what=first, flavor=flavor.name)
                )
    return found


def _of_capacity(state: State) -> list[NodeDoubt]:
    nodes, free = state.nodes, state.present.space.free
    resources: dict[int, ResourceName] = {row: name for name, row in nodes.rows.items()}
    return [
        NodeDoubt(
            node=nodes.names[column],
            doubt=Doubt.OVERFULL,
            what=resources[row],
            excess=-int(free[row, column]),
        )
        for row, column in zip(*(part.tolist() for part in (free < 0).nonzero()), strict=True)
        if nodes.names[column] in nodes.known
    ]
