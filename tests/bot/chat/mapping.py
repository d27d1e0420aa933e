"""A small map to draw."""

from __future__ import annotations

from bot import maps
from tests.bot.chat.saying import NOW


def map_node(number: int, *held: tuple[str, int], **more: bool) -> maps.MapNode:
    """A node of 8 GPUs, four of them to a rack and eight to a block."""
    block, rack = (number - 1) // 8 + 1, (number - 1) // 4 + 1
    path = (("block", f"h100-block-{block:03d}"), ("rack", f"h100-rack-{rack:03d}"))
    return maps.MapNode(
        name=f"h100-{number:04d}", kind="reserved-h100", path=path, gpus=8, held=held, **more
    )


MAP = maps.MapView(
    by=maps.Grouping.POOL,
    nodes=(
        *(map_node(number, ("team", 8)) for number in range(1, 7)),
        map_node(7, ("team", 2), ("opportunistic", 3)),
        map_node(8, ("opportunistic", 8), ready=False),
        *(map_node(number) for number in range(9, 16)),
        map_node(16, schedulable=False),
        maps.MapNode(name="spot-a100-0001", kind="spot-a100", path=(), gpus=8, outside=1),
    ),
    owners=(("team", 50), ("opportunistic", 11)),
    at=NOW,
)
