"""What a policy promises beyond its nodes, in a line for the terminal and the log."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.engine import Engine
from scheduler.events import NodeObserved
from scheduler.guarantees import Hollow, find_hollow
from scheduler.layout import Layout, build_nodes


def hollow_as_described(layout: Layout) -> tuple[Hollow, ...]:
    """What the nodes described in the policy cannot hold; nothing if it describes none."""
    nodes = build_nodes(layout)
    if not nodes:
        return ()
    engine = Engine(layout)
    for node in nodes:
        engine.apply(NodeObserved(node=node))
    return find_hollow(layout, engine.figures())


def say_hollow(found: Iterable[Hollow]) -> tuple[str, ...]:
    """A line for each flavor that is promised beyond its nodes."""
    return tuple(
        f"quota for {one.promised:,} GPUs of {one.flavor} is promised, but its {one.nodes:,} usable"
        f" nodes have {one.gpus:,}: {one.gap:,} of them are not there; lower the nominal quotas or"
        " add nodes"
        for one in found
    )
