"""Named nodes for whole gangs: each pod set in its flavor's topology, seeing those before it.

Pod sets of one group, a leader and its workers, are placed together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.book import Book
from scheduler.counting import Counts, Demand, Shape, room_of
from scheduler.layout import HOSTNAME, Flavor, Options, Packing
from scheduler.model import FlavorName, PodSet, ResourceName, TopologyMode
from scheduler.packing import place as pack
from scheduler.packing import place_as_compared
from scheduler.placement import place
from scheduler.state import State
from scheduler.topology import REMEMBERED, Lie, Nodes, Place, Places, Space

Chosen = Mapping[ResourceName, FlavorName]


def find_places(
    state: State, pod_sets: Sequence[PodSet], flavors: Sequence[Chosen], books: Sequence[Book]
) -> Places | None:
    """Named nodes for every pod set, each seeing those before it, or None."""
    return solve(state, pod_sets, flavors, [book.space for book in books])


def find_empty(
    state: State, pod_sets: tuple[PodSet, ...], flavors: Sequence[Chosen]
) -> Places | None:
    """Places on nodes without other work, worked out once as long as the nodes stay the same."""
    key = (
        tuple(id(pods) for pods in pod_sets),
        tuple(tuple(chosen.items()) for chosen in flavors),
    )
    known = state.empty.get(key)
    if known is None:
        if len(state.empty) > REMEMBERED:
            state.empty.clear()
        known = (pod_sets, solve(state, pod_sets, flavors, [Space(state.nodes)]))
        state.empty[key] = known
    return known[1]


def is_plain(pods: PodSet) -> bool:
    """Whether single nodes are all that has to be looked at for there to be a placement."""
    asked = pods.topology
    return asked is None or (
        asked.mode is TopologyMode.UNCONSTRAINED and not asked.slices and asked.group is None
    )


def solve(
    state: State, pod_sets: Sequence[PodSet], flavors: Sequence[Chosen], spaces: Sequence[Space]
) -> Places | None:
    """Places in which there is room in every one of `spaces`."""
    found: list[Lie] = [()] * len(pod_sets)
    taken: list[tuple[Place, ...]] = []
    complete = True
    for members in group(pod_sets):
        flavor = placed_by(state, pod_sets[members[0]], flavors[members[0]])
        if flavor is None:
            continue
        wanted, options = [pod_sets[i] for i in members], state.layout.options
        part = lay_out(state.nodes, state.flavors[flavor], wanted, spaces, options)
        if part is None:
            complete = False
            break
        for i, spots in zip(members, part, strict=True):
            found[i] = spots
        if len(pod_sets) > 1:
            shapes = [state.nodes.shape(pod_sets[i]) for i in members]
            taken.append(tuple(Place(s, shape) for s, shape in zip(part, shapes, strict=True)))
            for space in spaces:
                space.take(taken[-1])
    for places in taken:
        for space in spaces:
            space.give(places)
    return tuple(found) if complete else None


def group(pod_sets: Sequence[PodSet]) -> list[tuple[int, ...]]:
    """Which pod sets are placed together: workers first, then their leader."""
    groups: dict[str, list[int]] = {}
    for number, pods in enumerate(pod_sets):
        name = pods.topology.group if pods.topology is not None else None
        groups.setdefault(f"#{number}" if name is None else f"={name}", []).append(number)
    found: list[tuple[int, ...]] = []
    for members in groups.values():
        if len(members) == 2:
            workers, leader = members
            if pod_sets[leader].count > pod_sets[workers].count:
                workers, leader = leader, workers
            if pod_sets[leader].count == 1:
                found.append((workers, leader))
                continue
        found += [(number,) for number in members]
    return found


def lay_out(
    nodes: Nodes,
    flavor: Flavor,
    members: Sequence[PodSet],
    spaces: Sequence[Space],
    options: Options,
) -> list[Lie] | None:
    """Like `place_together`, as the policy's options say.

    Another packing than our own takes plain pods, and looks at no levels.
    """
    pods, spread = members[0], options.packing is Packing.SPREAD
    if options.packing is Packing.LEAST_FREE or len(members) > 1 or not is_plain(pods):
        return place_together(
            nodes, flavor, members, spaces, tight=options.tight, balanced=options.balanced
        )
    eligible = nodes.eligible(flavor, pods)
    lie = place_as_compared(spaces, eligible, nodes.shape(pods), pods.count, spread=spread)
    return None if lie is None else [lie]


def place_together(
    nodes: Nodes,
    flavor: Flavor,
    members: Sequence[PodSet],
    spaces: Sequence[Space],
    *,
    tight: bool = True,
    balanced: bool = False,
    usable_only: bool = True,
) -> list[Lie] | None:
    """Where workers lie and, if there are two members, their leader; one entry for each.

    Nodes are in the order of their level values, then of their names: pods that follow one another
    in rank are neighbours in the network. Without levels above the nodes, plain pods are packed
    by `scheduler.packing`: the same order with fewer steps.
    """
    pods = members[0]
    if len(members) == 1 and flavor.levels == (HOSTNAME,) and is_plain(pods) and pods.count:
        eligible = nodes.eligible(flavor, pods, usable_only=usable_only)
        lie = pack(spaces, eligible, nodes.shape(pods), pods.count, tight=tight)
        return None if lie is None else [lie]
    demand = demand_of(members[0], flavor, *(nodes.shape(one) for one in members))
    if demand is None:
        return None
    counts = _count(nodes, flavor, members, spaces, demand, usable_only=usable_only)
    if counts is None:
        return None if demand.count or demand.leader is not None else [()]
    placed = place(counts, tight=tight, balanced=balanced)
    if placed is None:
        return None
    columns, names = counts.domains.columns, nodes.names
    spots = [tuple((names[columns[leaf]], n) for leaf, n in placed.leaves)]
    if placed.leader is not None:
        spots.append(((names[columns[placed.leader]], 1),))
    return spots


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The domain of a required level that could take most of a pod set, and how many pods."""

    level: str
    domain: str
    pods: int


def find_largest(
    nodes: Nodes,
    flavor: Flavor,
    members: Sequence[PodSet],
    spaces: Sequence[Space],
    *,
    usable_only: bool = True,
) -> Largest | None:
    """Where a pod set that has to share one domain comes closest; None if it need not.

    Of equals, the first in the order of level values. Levels that the flavor lacks count as
    not required.
    """
    demand = demand_of(members[0], flavor, *(nodes.shape(one) for one in members))
    if demand is None or not demand.required:
        return None
    level = flavor.levels[demand.level]
    counts = _count(nodes, flavor, members, spaces, demand, usable_only=usable_only)
    if counts is None:
        return Largest(level=level, domain="", pods=0)
    slices = counts.at(demand.level).slices_beside
    best = int(slices.argmax())
    domain = "/".join(counts.domains.path(demand.level, best))
    return Largest(level=level, domain=domain, pods=int(slices[best]) * demand.slice_size)


def _count(
    nodes: Nodes,
    flavor: Flavor,
    members: Sequence[PodSet],
    spaces: Sequence[Space],
    demand: Demand,
    *,
    usable_only: bool,
) -> Counts | None:
    """Counts over the nodes that the members may use; None if the flavor has no node."""
    reach = nodes.reach(flavor, members[0], usable_only=usable_only)
    if not len(reach.domains.columns):
        return None
    leads = None
    shapes = [demand.shape]
    if demand.leader is not None:
        leads = nodes.reach(flavor, members[1], usable_only=usable_only).allowed
        shapes.append(demand.leader)
    room = room_of([space.free for space in spaces], reach.domains, shapes)
    return Counts(reach.domains, demand, room, reach.allowed, leads)


def demand_of(
    pods: PodSet, flavor: Flavor, shape: Shape, leader: Shape | None = None
) -> Demand | None:
    """What a pod set asks of a flavor's topology; None if its levels or sizes make no sense."""
    levels, lowest = flavor.levels, len(flavor.levels) - 1
    asked = pods.topology
    if asked is None or (asked.level is None and not asked.slices):
        return Demand(pods.count, shape, lowest, lowest, unconstrained=True, leader=leader)
    if asked.level is not None and asked.level not in levels:
        return None
    if any(layer.level not in levels or layer.size < 1 for layer in asked.slices):
        return None
    level = 0 if asked.level is None else levels.index(asked.level)
    slice_level, slice_size = lowest, 1
    inner: dict[int, int] = {}
    if asked.slices:
        slice_level, slice_size = levels.index(asked.slices[0].level), asked.slices[0].size
        before, size = slice_level, slice_size
        for layer in asked.slices[1:]:
            here = levels.index(layer.level)
            if here <= before or size % layer.size:
                return None
            inner.update(dict.fromkeys(range(before + 1, here + 1), layer.size))
            before, size = here, layer.size
    if level > slice_level or pods.count % slice_size:
        return None
    return Demand(
        pods.count,
        shape,
        level,
        slice_level,
        slice_size,
        inner or None,
        required=asked.level is not None and asked.mode is TopologyMode.REQUIRED,
        unconstrained=asked.level is None or asked.mode is TopologyMode.UNCONSTRAINED,
        leader=leader,
    )


def placed_by(state: State, pods: PodSet, chosen: Chosen) -> FlavorName | None:
    """The flavor whose nodes a pod set lies on: the first that has a topology."""
    names = [name for name in pods.requests if name in chosen]
    if not names and pods.topology is not None and pods.topology.group is not None:
        names = sorted(chosen)
    return next((f for name in names if state.flavors[f := chosen[name]].levels), None)
