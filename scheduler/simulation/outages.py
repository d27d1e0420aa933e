"""Makes up node failures for a replay, the same ones each time."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from scheduler.model import NodeName, Seconds
from scheduler.simulation.gangs import Outage

DAY: Seconds = 86_400.0
_GOLDEN = 0.618


def spread_outages(
    nodes: Sequence[NodeName], count: int, *, first: Seconds, last: Seconds, lasting: Seconds = DAY
) -> tuple[Outage, ...]:
    """`count` failures evenly spread from `first` to `last`, each `lasting` so long.

    The nodes take turns in golden-section steps, so that one failure says little about where
    the next will be. Raises ValueError without nodes.
    """
    if not nodes:
        raise ValueError("there are no nodes that could fail")
    step = max(1, round(len(nodes) * _GOLDEN))
    while gcd(step, len(nodes)) > 1:
        step += 1
    return tuple(
        Outage(
            node=nodes[number * step % len(nodes)],
            at=(at := first + (last - first) * (number + 1) / (count + 1)),
            until=at + lasting,
        )
        for number in range(count)
    )
