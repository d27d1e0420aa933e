"""Whether what people set by hand is why somebody waits: who set it, why, and until when.

Figures by what it is (`hand`): quota: set_queue, set_to, set_from · drain: nodes_drained, drained
(the first of them). Both with by, because and until, as far as they are known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scheduler.byhand import UNTOLD, Hand, Held
from scheduler.domains import Indices
from scheduler.gangs import Largest, find_largest
from scheduler.layout import Flavor, FlavorResource
from scheduler.model import Figure, FlavorName, NodeName, PodSet
from scheduler.packing import room
from scheduler.state import State
from scheduler.topology import Space


def blame_quota(
    state: State, node: int, pair: FlavorResource, *, short: int, barred: bool
) -> Mapping[str, Figure]:
    """The quota at or below a node of the tree that was lowered by most, if that is what is short.

    `short` is how much is missing there; with `barred` nothing else can be the reason.
    """
    tree, in_force = state.tree, state.overrides
    lowered = []
    for queue, nominal in in_force.quotas.items():
        number = tree.queue_index[queue]
        if pair not in nominal or not (number == node or node in tree.path[number]):
            continue
        by = in_force.policy[queue][pair].nominal - nominal[pair]
        if by > 0:
            lowered.append((-by, queue))
    if not lowered or (not barred and short + sum(by for by, _ in lowered) > 0):
        return {}
    _, queue = min(lowered)
    order = in_force.orders.get(Held(Hand.QUOTA, queue, *pair), UNTOLD)
    return {
        "hand": Hand.QUOTA.value,
        "set_queue": queue,
        "set_to": in_force.quotas[queue][pair],
        "set_from": in_force.policy[queue][pair].nominal,
        **order.figures,
    }


def blame_drains(
    state: State, spaces: list[Space], pods: PodSet, flavor: FlavorName, *, room_now: int
) -> Mapping[str, Figure]:
    """The drained nodes on which the rest of a pod set would have room, if it would.

    Where one domain has to hold it all, only if no other node of the flavor is out of use.
    """
    nodes, kind = state.nodes, state.flavors[flavor]
    drained = _drained(state)
    if not drained:
        return {}
    possible = nodes.eligible(kind, pods, usable_only=False)
    columns: Indices = np.array([c for c in possible if nodes.names[c] in drained], dtype=np.int64)
    if not len(columns):
        return {}
    rooms = room(spaces, nodes.shape(pods), columns)
    within = find_largest(nodes, kind, [pods], spaces, usable_only=False)
    helping = sorted(nodes.names[c] for c in columns[rooms > 0])
    if within is not None:
        others = len(possible) - len(nodes.eligible(kind, pods)) - len(columns)
        enough = within.pods >= pods.count and not others
        helping = [name for name in helping if _lies_in(state, name, kind, within)]
    else:
        enough = room_now + int(rooms.sum()) >= pods.count
    if not enough or not helping:
        return {}
    order = state.overrides.orders.get(Held(Hand.DRAIN, helping[0]), UNTOLD)
    return {
        "hand": Hand.DRAIN.value,
        "drained": helping[0],
        "nodes_drained": len(helping),
        **order.figures,
    }


def _lies_in(state: State, name: NodeName, flavor: Flavor, domain: Largest) -> bool:
    labels = state.nodes.known[name].labels
    levels = flavor.levels[: flavor.levels.index(domain.level) + 1]
    return "/".join(labels.get(level, "") for level in levels) == domain.domain


def _drained(state: State) -> frozenset[NodeName]:
    """Nodes that an order keeps from taking anything; the cluster calls them closed for it, too."""
    cordons = state.overrides.cordons.items()
    return frozenset(name for name, node in cordons if node is not None and node.ready)
