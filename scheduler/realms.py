"""Which queues can affect each other: what wakes one need not wake those of another realm."""

from __future__ import annotations

from scheduler.layout import Layout
from scheduler.quota import QuotaTree


def realms_of(layout: Layout, tree: QuotaTree) -> tuple[int, ...]:
    """Queues that can affect each other: one cohort tree, or one flavor's nodes.

    The realm of a queue is the smallest number of a queue that it is connected with.
    """
    realm = list(range(tree.queues))
    groups: dict[object, int] = {}
    placed = {flavor.name for flavor in layout.flavors if flavor.levels}
    for number, queue in enumerate(layout.queues):
        ties: list[object] = [tree.root[number]]
        if layout.options.wake_neighbours:
            ties += [f for group in queue.groups for f in group.flavors if f in placed]
        for tie in ties:
            other = groups.setdefault(tie, number)
            low, high = sorted((realm[other], realm[number]))
            realm = [low if mine == high else mine for mine in realm]
    return tuple(realm)
