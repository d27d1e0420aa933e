"""Named nodes for all pod sets of a gang, each seeing those before it.

Pod sets without a wish for a topology go to the fullest nodes that hold them
(`scheduler.topology.place`); the others are placed in domains (`scheduler.domains`). A leader
and its workers are placed together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler.book import Book
from scheduler.domains import Ask, Flags, find_domains
from scheduler.layout import HOSTNAME, Flavor
from scheduler.model import (
    FlavorName,
    PodSet,
    ResourceName,
    TopologyMode,
    TopologyRequest,
)
from scheduler.packing import place, room
from scheduler.state import State
from scheduler.topology import REMEMBERED, Lie, Place, Places, Space

Chosen = Mapping[ResourceName, FlavorName]

_ANYWHERE = TopologyRequest()


def find_places(
    state: State,
    pod_sets: Sequence[PodSet],
    flavors: Sequence[Chosen],
    books: Sequence[Book],
) -> Places | None:
    """Named nodes for every pod set, or None if there is no room in one of the books."""
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


def solve(
    state: State,
    pod_sets: Sequence[PodSet],
    flavors: Sequence[Chosen],
    spaces: Sequence[Space],
) -> Places | None:
    """Places in which there is room in every one of `spaces`."""
    found: dict[int, Lie] = {}
    taken: list[tuple[Place, ...]] = []
    fits = True
    for number, pods in enumerate(pod_sets):
        if number in found:
            continue
        together = _together(pod_sets, number)
        flavor = placed_by(state, pods, flavors[number])
        if flavor is None:
            found.update(dict.fromkeys(together, ()))
            continue
        lies = _place(state, [pod_sets[i] for i in together], state.flavors[flavor], spaces)
        if lies is None:
            fits = False
            break
        found.update(zip(together, lies, strict=True))
        if len(pod_sets) > len(together):
            taken.append(
                tuple(Place(found[i], state.nodes.shape(pod_sets[i])) for i in together if found[i])
            )
            for space in spaces:
                space.take(taken[-1])
    for places in taken:
        for space in spaces:
            space.give(places)
    return tuple(found[number] for number in range(len(pod_sets))) if fits else None


def placed_by(state: State, pods: PodSet, chosen: Chosen) -> FlavorName | None:
    """The flavor whose nodes a pod set lies on: the first that has a topology."""
    names = [name for name in pods.requests if name in chosen]
    if not names and pods.topology is not None and pods.topology.group is not None:
        names = sorted(chosen)
    return next((f for name in names if state.flavors[f := chosen[name]].levels), None)


def _together(pod_sets: Sequence[PodSet], number: int) -> list[int]:
    """The pod sets that are placed with this one, itself among them, in order."""
    group = _wish(pod_sets[number]).group
    if group is None:
        return [number]
    return [i for i, pods in enumerate(pod_sets) if _wish(pods).group == group]


def _wish(pods: PodSet) -> TopologyRequest:
    return pods.topology or _ANYWHERE


def _place(
    state: State, pod_sets: Sequence[PodSet], flavor: Flavor, spaces: Sequence[Space]
) -> Sequence[Lie] | None:
    """Where pod sets that belong together go: one, or a leader and its workers."""
    leader = min(pod_sets, key=lambda pods: pods.count) if len(pod_sets) > 1 else None
    workers = next(pods for pods in pod_sets if pods is not leader)
    shape = state.nodes.shape(workers)
    if leader is None and is_plain(state, workers, flavor):
        eligible = state.nodes.eligible(flavor, workers)
        tight = state.layout.options.tight
        nodes = place(spaces, eligible, shape, workers.count, tight=tight)
        return None if nodes is None else [nodes]
    levels = state.nodes.levels(flavor)
    open_to = _open_to(state, flavor, workers)
    pods = np.where(open_to, room(spaces, shape, levels.columns), 0)
    beside, seats = pods, np.zeros(len(pods), dtype=np.bool_)
    if leader is not None:
        first = state.nodes.shape(leader)
        seats = _open_to(state, flavor, leader) & (room(spaces, first, levels.columns) > 0)
        left = room(spaces, shape, levels.columns, less=first)
        beside = np.where(seats & open_to, left, pods)
    found = find_domains(levels, _ask(workers, flavor, leader), pods, beside, seats)
    if found is None:
        return None
    names, columns = state.nodes.names, levels.columns
    lie = tuple(sorted((names[columns[leaf]], count) for leaf, count in found[0].items()))
    if leader is None or found[1] is None:
        return [lie]
    seat = ((names[columns[found[1]]], leader.count),)
    return [seat if one is leader else lie for one in pod_sets]


def is_plain(state: State, pods: PodSet, flavor: Flavor) -> bool:
    """Whether single nodes are all that has to be looked at."""
    wish = _wish(pods)
    if wish.mode is not TopologyMode.UNCONSTRAINED or wish.slices:
        return False
    return flavor.levels == (HOSTNAME,) or (
        state.layout.options.tight and flavor.levels[-1] == HOSTNAME
    )


def _open_to(state: State, flavor: Flavor, pods: PodSet) -> Flags:
    """Which of a flavor's lowest domains a pod set may use at all."""
    may = np.zeros(len(state.nodes.names), dtype=np.bool_)
    may[state.nodes.eligible(flavor, pods)] = True
    found: Flags = may[state.nodes.levels(flavor).columns]
    return found


def _ask(pods: PodSet, flavor: Flavor, leader: PodSet | None) -> Ask:
    """A pod set's wish in numbers of levels."""
    wish, lowest = _wish(pods), len(flavor.levels) - 1
    slices = [(flavor.levels.index(one.level), one.size) for one in wish.slices]
    slice_level, size = slices[0] if slices else (lowest, 1)
    if wish.level is not None:
        level = min(flavor.levels.index(wish.level), slice_level)
    else:
        level = 0 if slices else lowest
    inner: dict[int, int] = {}
    above = slice_level
    for at, each in slices[1:]:
        inner.update(dict.fromkeys(range(above + 1, at + 1), each))
        above = at
    return Ask(
        count=pods.count,
        mode=wish.mode,
        level=level,
        size=size,
        slice_level=slice_level,
        inner=inner,
        leader=leader is not None,
    )
