"""Clears nodes for a workload: which gangs have to go, and where each has another place.

The search of `scheduler.defragmentation` for one set of nodes; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.book import Charge
from scheduler.gangs import solve
from scheduler.model import GPU, NodeName, PodSetAssignment, Seconds, WorkloadId
from scheduler.nomination import Nomination
from scheduler.standing import Running
from scheduler.state import State
from scheduler.topology import Places, Space

MOVES_AT_MOST = 16
TRIES = 4


@dataclass(frozen=True, slots=True)
class Move:
    """One gang that goes elsewhere, and what it holds there."""

    running: Running
    assignments: tuple[PodSetAssignment, ...]
    charge: Charge


@dataclass(frozen=True, slots=True)
class Plan:
    """Who gets room where, and who goes elsewhere for it; `lost` in GPU-seconds."""

    nomination: Nomination
    assignments: tuple[PodSetAssignment, ...]
    charge: Charge
    moves: tuple[Move, ...]
    lost: float

    @property
    def nodes(self) -> set[NodeName]:
        """Where the workload goes, and those who are moved for it."""
        charges = (self.charge, *(move.charge for move in self.moves))
        return {node for one in charges for place in one.places for node, _ in place.nodes}

    @property
    def key(self) -> tuple[float, int, tuple[WorkloadId, ...]]:
        """The smallest is the best."""
        ids = tuple(sorted(move.running.workload.id for move in self.moves))
        return (self.lost, len(self.moves), ids)


@dataclass(frozen=True, slots=True, eq=False)
class Gang:
    """Somebody who could be moved: what that loses in GPU-seconds, and his GPUs by node."""

    running: Running
    price: float
    gpus: Mapping[NodeName, int]

    @property
    def id(self) -> WorkloadId:
        """The workload's."""
        return self.running.workload.id


class Ground:
    """Who could be moved at one moment, by id: worked out once for all who want room then.

    `settled` stay, and so does who has no other place even by himself. `next` is when the
    first of those joins who have not run for their queue's minimum run time, None without any.
    """

    def __init__(self, state: State, settled: Container[WorkloadId], now: Seconds) -> None:
        queues = state.layout.queues
        self._state = state
        self._known: dict[tuple[object, ...], bool] = {}
        self._gangs: list[tuple[Running, float]] = []
        self.next: Seconds | None = None
        for one, running in sorted(state.running.items()):
            if not running.workload.preemptible or running.leaving or one in settled:
                continue
            if one in state.broken or one in state.claims:
                continue
            since = running.admission.at
            least = queues[running.charge.queue].min_runtime
            if now - since < least:
                self.next = since + least if self.next is None else min(self.next, since + least)
            else:
                self._gangs.append((running, _price(running, now)))

    def below(self, priority: int, dearest: float) -> list[Gang]:
        """Those that may be moved for work of this priority, and lose no more than `dearest`."""
        return [
            Gang(running, price, _gpus_by_node(running))
            for running, price in self._gangs
            if price <= dearest
            and running.workload.priority <= priority
            and self._has_other_place(running)
        ]

    def _has_other_place(self, running: Running) -> bool:
        """Whether there is room for it now, with everybody still there."""
        kind = _kind(running)
        if kind not in self._known:
            spaces = [self._state.present.space]
            self._known[kind] = _find_place(self._state, running, spaces) is not None
        return self._known[kind]


def _kind(running: Running) -> tuple[object, ...]:
    """Gangs that fit the same places."""
    by_name = {pods.name: pods for pods in running.workload.pod_sets}
    return tuple(
        (
            assignment.count,
            frozenset(assignment.flavors.items()),
            frozenset((pods := by_name[assignment.name]).requests.items()),
            frozenset(pods.node_selector.items()),
            pods.affinity,
            pods.tolerations,
            pods.topology,
        )
        for assignment in running.admission.assignments
    )


def _find_place(state: State, running: Running, spaces: Sequence[Space]) -> Places | None:
    """Another place for a gang as it is now, with room in every one of `spaces`."""
    before = running.admission.assignments
    by_name = {pods.name: pods for pods in running.workload.pod_sets}
    pod_sets = [replace(by_name[a.name], count=a.count) for a in before]
    return solve(state, pod_sets, [dict(a.flavors) for a in before], spaces)


def _price(running: Running, now: Seconds) -> float:
    """GPU-seconds that a gang loses by starting again: those since its last checkpoint."""
    since = running.admission.at if running.checkpoint is None else running.checkpoint
    return max(0.0, now - since) * running.workload.gpus


def _gpus_by_node(running: Running) -> dict[NodeName, int]:
    each = {pods.name: pods.requests.get(GPU, 0) for pods in running.workload.pod_sets}
    found: dict[NodeName, int] = {}
    for assignment in running.admission.assignments:
        for node, pods in assignment.nodes:
            found[node] = found.get(node, 0) + pods * each[assignment.name]
    return found


class _Site:
    """Nodes to clear, with the gangs on each by id; a gang that cannot go is taken out."""

    def __init__(self, nodes: frozenset[NodeName], gangs: Sequence[Gang]) -> None:
        self.there: dict[NodeName, list[Gang]] = {}
        for gang in gangs:
            for node in gang.gpus:
                if node in nodes:
                    self.there.setdefault(node, []).append(gang)
        self._keys = {node: self._key(node) for node in self.there}

    def _key(self, node: NodeName) -> tuple[float, int, NodeName]:
        """The order of clearing: the least lost first, then the most freed, then by name."""
        gangs = self.there[node]
        return (sum(gang.price for gang in gangs), -sum(gang.gpus[node] for gang in gangs), node)

    def exclude(self, gang: Gang) -> None:
        """A gang stays whatever comes."""
        for node in gang.gpus:
            if gang in (gangs := self.there.get(node, [])):
                gangs.remove(gang)
                if gangs:
                    self._keys[node] = self._key(node)
                else:
                    del self.there[node], self._keys[node]

    def order(self) -> list[NodeName]:
        """The nodes in the order in which they are cleared."""
        return sorted(self._keys, key=self._keys.__getitem__)


def clear(
    state: State, nomination: Nomination, nodes: frozenset[NodeName], movable: Sequence[Gang]
) -> Plan | None:
    """A plan that clears some of these nodes, or None."""
    site = _Site(nodes, movable)
    for _ in range(TRIES):
        found = _try(state, nomination, site)
        if found is None or isinstance(found, Plan):
            return found
        site.exclude(found)
    return None


def _try(state: State, nomination: Nomination, site: _Site) -> Plan | Gang | None:
    """A plan, None if there is none, or who has no other place and is in its way."""
    space = state.future.space.copy()
    gone = _take_away(state, nomination, site, space)
    if gone is None:
        return None
    for gang in sorted(gone, key=lambda gang: (-gang.price, gang.id)):
        space.take(gang.running.charge.places)
        if solve(state, nomination.pod_sets, nomination.flavors, [space]) is None:
            space.give(gang.running.charge.places)
        else:
            gone.remove(gang)
    places = solve(state, nomination.pod_sets, nomination.flavors, [space])
    if places is None or not gone:
        return None
    assignments = tuple(
        PodSetAssignment(name=pods.name, count=pods.count, flavors=chosen, nodes=lie)
        for pods, chosen, lie in zip(nomination.pod_sets, nomination.flavors, places, strict=True)
    )
    workload = nomination.waiting.workload
    charge = state.charge_of(nomination.queue, workload, assignments)
    space.take(charge.places)
    moves = _resettle(state, gone, space)
    if isinstance(moves, Gang):
        return moves
    return Plan(nomination, assignments, charge, moves, sum(gang.price for gang in gone))


def _take_away(
    state: State, nomination: Nomination, site: _Site, space: Space
) -> list[Gang] | None:
    """Clear nodes in `space` until there is a placement; who had to go, None if in vain."""
    gone: list[Gang] = []
    for node in site.order():
        fresh = [gang for gang in site.there[node] if gang not in gone]
        gone += fresh
        if len(gone) > MOVES_AT_MOST:
            return None
        for gang in fresh:
            space.give(gang.running.charge.places)
        if fresh and solve(state, nomination.pod_sets, nomination.flavors, [space]) is not None:
            return gone
    return None


def _resettle(state: State, gone: Sequence[Gang], space: Space) -> tuple[Move, ...] | Gang:
    """Other places for all, free both now and when everybody has moved; or who has none."""
    present = state.present.space.copy()
    moves = []
    for gang in sorted(gone, key=lambda gang: (-gang.running.workload.gpus, gang.id)):
        running = gang.running
        places = _find_place(state, running, [space, present])
        if places is None:
            return gang
        assignments = tuple(
            replace(assignment, nodes=lie)
            for assignment, lie in zip(running.admission.assignments, places, strict=True)
        )
        charge = state.charge_of(running.charge.queue, running.workload, assignments)
        for one in (space, present):
            one.take(charge.places)
        moves.append(Move(running, assignments, charge))
    return tuple(moves)
