"""What is odd about the nodes of a policy, in lines for the terminal and the log.

That is quota beyond them, and nodes whose labels or capacity do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler.doubts import Doubt, NodeDoubt
from scheduler.engine import Engine
from scheduler.events import NodeObserved
from scheduler.guarantees import Hollow, find_hollow
from scheduler.layout import Layout, build_nodes
from scheduler.model import Node


def hollow_as_described(layout: Layout) -> tuple[Hollow, ...]:
    """What the nodes described in the policy cannot hold; nothing if it describes none."""
    nodes = build_nodes(layout)
    return find_hollow(layout, _engine_of(layout, nodes).figures()) if nodes else ()


def doubts_as_described(layout: Layout) -> tuple[NodeDoubt, ...]:
    """What is odd about the nodes described in the policy, by node."""
    return _engine_of(layout, build_nodes(layout)).doubts()


def _engine_of(layout: Layout, nodes: Iterable[Node]) -> Engine:
    engine = Engine(layout)
    for node in nodes:
        engine.apply(NodeObserved(node=node))
    return engine


def say_doubts(found: Sequence[NodeDoubt], most: int = 20) -> tuple[str, ...]:
    """A line for each oddity, and one for how many are left out."""
    lines = [_DOUBTS[one.doubt].format(one=one) for one in found[:most]]
    left = len(found) - most
    return (*lines, *([f"{left:,} more oddities of nodes"] if left > 0 else ()))


_DOUBTS = {
    Doubt.MISSING_LABEL: "node {one.node} of {one.flavor} lacks the label {one.what}: nothing is"
    " placed on it",
    Doubt.SAME_PLACE: "nodes {one.what} and {one.node} of {one.flavor} have the same labels at"
    " every level and cannot be told apart",
    Doubt.OVERFULL: "node {one.node} has {one.excess:,} {one.what} less than its pods hold",
}


def say_hollow(found: Iterable[Hollow]) -> tuple[str, ...]:
    """A line for each flavor that is promised beyond its nodes."""
    return tuple(
        f"quota for {one.promised:,} GPUs of {one.flavor} is promised, but its {one.nodes:,} usable"
        f" nodes have {one.gpus:,}: {one.gap:,} of them are not there; lower the nominal quotas or"
        " add nodes"
        for one in found
    )
