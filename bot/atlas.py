"""The cluster node by node, as plain values: what a map of it is drawn from.

Nodes and grants are taken from the engine in one look; everything here happens after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bot.maps import Grouping, MapNode, MapView
from bot.terms import Terms, level_word
from scheduler.layout import HOSTNAME, Flavor
from scheduler.model import GPU, Admission, Node, Seconds, Workload

Grants = Sequence[tuple[Workload, Admission]]


def map_view(
    nodes: Iterable[Node], running: Grants, terms: Terms, by: Grouping, now: Seconds
) -> MapView:
    """Every node with GPUs, in the order of its place; who holds how many of them."""
    names = _owners(terms, by)
    held = _held(running, terms, by)
    drawn = [_draw(node, terms, held.get(node.name, Counter()), names) for node in nodes]
    kinds = {str(flavor.name): number for number, flavor in enumerate(terms.layout.flavors)}
    drawn = sorted((node for node in drawn if node.gpus), key=lambda node: _place(node, kinds))
    total = Counter[str]()
    for node in drawn:
        total.update(dict(node.held))
    known = [name for name in names if total[name]]
    others = sorted(set(total) - set(known))
    return MapView(
        by=by,
        nodes=tuple(drawn),
        owners=tuple((name, total[name]) for name in (*known, *others)),
        at=now,
    )


def _owners(terms: Terms, by: Grouping) -> list[str]:
    if by is Grouping.TEAM:
        return [str(team) for team in terms.teams]
    return [str(pool.name) for pool in terms.layout.pools]


def _held(running: Grants, terms: Terms, by: Grouping) -> dict[str, Counter[str]]:
    """GPUs by node and owner."""
    held: dict[str, Counter[str]] = {}
    for workload, admission in running:
        owner = str(workload.team) if by is Grouping.TEAM else terms.pool(admission.queue)
        each = {pods.name: pods.requests.get(GPU, 0) for pods in workload.pod_sets}
        for assignment in admission.assignments:
            for node, pods in assignment.nodes:
                held.setdefault(node, Counter())[owner] += pods * each[assignment.name]
    return held


def _draw(node: Node, terms: Terms, held: Counter[str], names: Sequence[str]) -> MapNode:
    flavor = next((f for f in terms.layout.flavors if _is_of(node, f)), None)
    order = {name: number for number, name in enumerate(names)}
    owners = sorted(held, key=lambda name: (order.get(name, len(order)), name))
    outside = node.outside.get(GPU, 0)
    return MapNode(
        name=node.name,
        kind=str(flavor.name) if flavor is not None else "",
        path=() if flavor is None else _path(node, flavor),
        gpus=node.capacity.get(GPU, 0) + outside,
        held=tuple((name, held[name]) for name in owners if held[name]),
        outside=outside,
        ready=node.ready,
        schedulable=node.schedulable,
    )


def _is_of(node: Node, flavor: Flavor) -> bool:
    return flavor.node_labels.items() <= node.labels.items()


def _path(node: Node, flavor: Flavor) -> tuple[tuple[str, str], ...]:
    """Its place above single nodes; empty if a level's label is missing."""
    levels = [label for label in flavor.levels if label != HOSTNAME]
    path = tuple((level_word(label), node.labels.get(label, "")) for label in levels)
    return path if all(value for _, value in path) else ()


def _place(node: MapNode, kinds: Mapping[str, int]) -> tuple[int, str, tuple[str, ...], str]:
    """Nodes of one kind, in the policy's order, then of one domain, side by side."""
    number = kinds.get(node.kind, len(kinds))
    return (number, node.kind, tuple(value for _, value in node.path), node.name)
