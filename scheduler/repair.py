"""A gang that lost a node: other nodes for those pods, inside the placement that it has.

As Kueue's node replacement: pods that must share a domain stay in the domain of those that
are left; an incomplete slice is completed where it lies; everything else may go anywhere. A
preferred domain is tried first. Nothing that still runs is moved.

Gangs are repaired in this order, each seeing those before it:
1. priority, higher first;
2. start, earlier first;
3. the workload id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from scheduler.book import Charge
from scheduler.counting import Counts, room_of
from scheduler.domains import Path
from scheduler.gangs import demand_of, placed_by
from scheduler.layout import Flavor
from scheduler.model import (
    Admission,
    Eviction,
    NodeName,
    PodSet,
    PodSetAssignment,
    Repair,
    Seconds,
    Slice,
    TopologyMode,
)
from scheduler.placement import place
from scheduler.standing import Running
from scheduler.state import State
from scheduler.topology import Lie, Place, Space


def repair_gangs(state: State, now: Seconds) -> tuple[list[Repair], list[Eviction]]:
    """Give every gang that lost nodes others, or tell it to stop."""
    repairs: list[Repair] = []
    evictions: list[Eviction] = []
    broken = [(state.running[one], lost) for one, lost in state.broken.items()]
    state.broken.clear()
    for running, gone in sorted(broken, key=lambda pair: _order(pair[0])):
        lost = tuple(sorted(gone))
        mended = None if running.leaving else _mend(state, running, lost)
        if mended is not None:
            admission, charge = mended
            state.move(running, admission, charge)
            repairs.append(
                Repair(workload=running.workload.id, admission=admission, lost=lost, at=now)
            )
        elif not running.leaving:
            state.tell_to_stop(running, None)
            evictions.append(_eviction(running, lost, now))
    return repairs, evictions


def _order(running: Running) -> tuple[int, Seconds, str]:
    return (-running.workload.priority, running.admission.at, running.workload.id)


def _eviction(running: Running, lost: tuple[NodeName, ...], now: Seconds) -> Eviction:
    return Eviction(
        workload=running.workload.id,
        queue=running.admission.queue,
        lost=lost,
        gpus=running.gpus,
        ran=now - running.admission.at,
        at=now,
    )


def _mend(
    state: State, running: Running, lost: Sequence[NodeName]
) -> tuple[Admission, Charge] | None:
    """The grant with other nodes in place of the lost ones; the books stay as they are."""
    assignments = list(running.admission.assignments)
    spaces = [book.space.copy() for book in state.books]
    by_name = {pods.name: pods for pods in running.workload.pod_sets}
    for space in spaces:
        space.give(running.charge.places)
    for number, assignment in enumerate(assignments):
        assignments[number] = _without(assignment, lost)
    for assignment in assignments:
        _put(state, spaces, by_name[assignment.name], assignment.nodes)
    for number, before in enumerate(running.admission.assignments):
        pods = by_name[before.name]
        for node, count in before.nodes:
            if node not in lost:
                continue
            near = _kept(running, assignments, number)
            spots = _replace(state, pods, before, count, assignments[number].nodes, near, spaces)
            if spots is None:
                return None
            _put(state, spaces, pods, spots)
            assignments[number] = _with(state, pods, assignments[number], spots)
    grant = running.admission
    admission = replace(grant, assignments=tuple(assignments), repairs=grant.repairs + 1)
    return admission, state.charge_of(running.charge.queue, running.workload, assignments)


def _put(state: State, spaces: Sequence[Space], pods: PodSet, spots: Lie) -> None:
    for space in spaces:
        space.take((Place(spots, state.nodes.shape(pods)),))


def _without(assignment: PodSetAssignment, lost: Sequence[NodeName]) -> PodSetAssignment:
    kept = tuple((node, count) for node, count in assignment.nodes if node not in lost)
    return replace(assignment, nodes=kept)


def _with(state: State, pods: PodSet, assignment: PodSetAssignment, spots: Lie) -> PodSetAssignment:
    """More pods, in the order of a placement; several on one node count together."""
    total = dict(assignment.nodes)
    for node, count in spots:
        total[node] = total.get(node, 0) + count
    name = placed_by(state, pods, assignment.flavors)
    flavor = None if name is None else state.flavors[name]

    def order(spot: tuple[NodeName, int]) -> tuple[Path, NodeName]:
        at = () if flavor is None else _path(state, flavor, spot[0], flavor.levels[-1])
        return at, spot[0]

    return replace(assignment, nodes=tuple(sorted(total.items(), key=order)))


def _kept(
    running: Running, assignments: Sequence[PodSetAssignment], number: int
) -> tuple[NodeName, ...]:
    """Nodes on which pods are left with which those of a pod set share their domain."""
    sets = running.workload.pod_sets
    mine = sets[number].topology
    group = mine.group if mine is not None else None
    return tuple(
        node
        for pods, assignment in zip(sets, assignments, strict=True)
        if pods is sets[number]
        or (group is not None and pods.topology is not None and pods.topology.group == group)
        for node, _ in assignment.nodes
    )


def _replace(
    state: State,
    pods: PodSet,
    before: PodSetAssignment,
    count: int,
    left: Lie,
    near: tuple[NodeName, ...],
    spaces: Sequence[Space],
) -> Lie | None:
    """Nodes for `count` pods that lost theirs; `left` is where the others of the set are."""
    name = placed_by(state, pods, before.flavors)
    if name is None:
        return None
    flavor = state.flavors[name]
    for wanted, inside in _attempts(state, flavor, replace(pods, count=count), left, near):
        spots = _search(state, flavor, wanted, inside, spaces)
        if spots is not None:
            return spots
    return None


def _attempts(
    state: State, flavor: Flavor, pods: PodSet, left: Lie, near: tuple[NodeName, ...]
) -> Iterator[tuple[PodSet, Path]]:
    """What to look for, and in which domain (the empty path is all of them), in order."""
    asked = pods.topology
    if asked is None:
        yield pods, ()
        return
    if asked.slices and pods.count % asked.slices[0].size:
        fitting = [one for one in asked.slices if pods.count % one.size == 0]
        broken = next(one for one in reversed(asked.slices) if pods.count % one.size)
        wanted = replace(pods, topology=replace(asked, slices=tuple(fitting), group=None))
        for path in _incomplete(state, flavor, broken, pods.count, left):
            yield wanted, path
        return
    if asked.level is not None and near:
        path = _path(state, flavor, near[0], asked.level)
        if path:
            yield pods, path
        if asked.mode is TopologyMode.REQUIRED:
            return
    yield pods, ()


def _path(state: State, flavor: Flavor, node: NodeName, level: str) -> Path:
    """The domain of a level in which a node lies, by its labels; empty if it has none."""
    known = state.nodes.known.get(node)
    levels = flavor.levels[: flavor.levels.index(level) + 1] if level in flavor.levels else ()
    if known is None or not all(one in known.labels for one in levels):
        return ()
    return tuple(known.labels[one] for one in levels)


def _incomplete(
    state: State, flavor: Flavor, layer: Slice, missing: int, left: Lie
) -> Iterator[Path]:
    """Domains in which the missing pods complete a slice, in order."""
    held: dict[Path, int] = {}
    for node, count in left:
        path = _path(state, flavor, node, layer.level)
        held[path] = held.get(path, 0) + count
    for path, count in sorted(held.items()):
        if path and (count + missing) % layer.size == 0:
            yield path


def _search(
    state: State, flavor: Flavor, pods: PodSet, inside: Path, spaces: Sequence[Space]
) -> Lie | None:
    nodes = state.nodes
    shape = nodes.shape(pods)
    demand = demand_of(pods, flavor, shape)
    reach = nodes.reach(flavor, pods)
    span = reach.domains.find(inside)
    if demand is None or span is None:
        return None
    allowed = np.zeros(len(reach.domains.columns), dtype=np.bool_)
    allowed[span[0] : span[1]] = True
    if reach.allowed is not None:
        allowed &= reach.allowed
    room = room_of([space.free for space in spaces], reach.domains, [shape])
    counts = Counts(reach.domains, demand, room, allowed)
    placed = place(counts, tight=state.layout.options.tight)
    if placed is None:
        return None
    columns = reach.domains.columns
    return tuple(sorted((nodes.names[columns[leaf]], count) for leaf, count in placed.leaves))
