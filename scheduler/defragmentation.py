"""Makes whole nodes out of pieces: moves preemptible work that has another place right now.

A workload waits for want of nodes or a domain (its last evaluation says so) although its quota
and enough GPUs are free. Then, for each domain that it could take (or all nodes, if it needs
no one domain):

1. nodes are cleared one after the other, those first whose movable gangs lose the fewest
   GPU-hours, until the workload has a placement;
2. gangs that turn out not to stand in the way stay, the most expensive ones tried first;
3. each gang that goes gets another place: room that is free now, with everybody still there,
   that the workload and the other gangs leave free. The largest gang chooses first. Whoever
   finds none stays, and all of it is tried again without him, a few times.

Of all domains the plan that loses the fewest GPU-hours wins, then the one with the fewest
moves, then the one whose gangs come first by id. Nothing is done unless all of it can be.
A gang is moved once; who has not run for his queue's minimum run time is not moved, nor who
has a higher priority than the workload. The policy bounds how many gangs are moved in an
hour, and how many GPU-hours they may lose for each GPU of the workload.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.book import Charge
from scheduler.gangs import placed_by, solve
from scheduler.layout import Flavor
from scheduler.model import (
    GPU,
    NodeName,
    PodSet,
    PodSetAssignment,
    Preemption,
    PreemptionRule,
    Seconds,
    TopologyMode,
    WorkloadId,
)
from scheduler.nomination import Nomination, nominate
from scheduler.pending import order_key
from scheduler.standing import Claim, Running, Waiting, Word
from scheduler.state import State
from scheduler.topology import Places, Space

HOUR = 3600.0
MOVES_AT_MOST = 16
TRIES = 4
HEADS = 8  # how many of those who wait for room are looked at in one cycle


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
    def key(self) -> tuple[float, int, tuple[WorkloadId, ...]]:
        """The smallest is the best."""
        ids = tuple(sorted(move.running.workload.id for move in self.moves))
        return (self.lost, len(self.moves), ids)


class Defragmenter:
    """Remembers who was moved, and for whom there was no plan as things stood."""

    def __init__(self) -> None:
        self.moved: set[WorkloadId] = set()
        self._vain: dict[WorkloadId, tuple[int, int]] = {}
        self._times: deque[Seconds] = deque()

    def copy(self) -> Defragmenter:
        """The same memory, independent."""
        other = Defragmenter()
        other.moved, other._vain = self.moved.copy(), self._vain.copy()
        other._times = self._times.copy()
        return other

    def forget(self, workload: WorkloadId) -> None:
        """A workload is gone for good."""
        self.moved.discard(workload)
        self._vain.pop(workload, None)

    def make_room(self, state: State, now: Seconds) -> list[Preemption]:
        """Carry out the first plan there is, in the order of those who wait."""
        most = self._left(state, now)
        if not most:
            return []
        lacking = (one for one in state.waiting.values() if one.word is Word.TOPOLOGY)
        for waiting in heapq.nsmallest(HEADS, lacking, key=lambda one: order_key(one.workload)):
            wanted = waiting.workload.id
            situation = (state.future.version, most)
            if self._vain.get(wanted) == situation:
                continue
            plan = find_plan(state, waiting, now, self.moved, most=most)
            if plan is not None:
                self._vain.pop(wanted, None)
                self._times.extend(now for _ in plan.moves)
                self.moved.update(move.running.workload.id for move in plan.moves)
                return _carry_out(state, plan, now)
            self._vain[wanted] = situation
        return []

    def _left(self, state: State, now: Seconds) -> int:
        """How many gangs may be moved now, by the bounds of a cycle and of an hour."""
        while self._times and self._times[0] <= now - HOUR:
            self._times.popleft()
        left = state.layout.options.moves.per_hour - len(self._times)
        return max(0, min(MOVES_AT_MOST, left))


def find_plan(
    state: State,
    waiting: Waiting,
    now: Seconds,
    settled: Iterable[WorkloadId] = (),
    *,
    most: int = MOVES_AT_MOST,
) -> Plan | None:
    """The cheapest moves, `most` at most, that make room for a workload. Changes nothing.

    `settled` stay.
    """
    for number, shape in waiting.shapes:
        nomination = nominate(state, number, waiting, shape)
        if nomination.useful or not nomination.flavors or state.queues[number].paused:
            continue
        if not state.tree.fits(state.future.usage, number, nomination.amounts):
            continue
        flavor = placed_by(state, nomination.pod_sets[0], nomination.flavors[0])
        if flavor is None or not _enough(state, state.flavors[flavor], waiting.workload.gpus):
            continue
        priority = waiting.workload.priority
        movable = [
            running
            for running in _movable(state, frozenset(settled), now)
            if running.workload.priority <= priority
        ]
        dearest = state.layout.options.moves.hours_per_gpu * HOUR * waiting.workload.gpus
        plans = [
            plan
            for nodes in _domains(state, state.flavors[flavor], nomination.pod_sets[0])
            if (plan := _clear(state, nomination, nodes, movable, now)) is not None
            and len(plan.moves) <= most
            and plan.lost <= dearest
        ]
        if plans:
            return min(plans, key=lambda plan: plan.key)
    return None


def _enough(state: State, flavor: Flavor, gpus: int) -> bool:
    """Whether so many GPUs are free, in whatever pieces."""
    columns = state.nodes.domains(flavor).columns
    row = state.nodes.row(GPU)
    if row >= state.future.space.free.shape[0]:
        return False
    return int(np.maximum(state.future.space.free[row][columns], 0).sum()) >= gpus


def _movable(state: State, settled: frozenset[WorkloadId], now: Seconds) -> list[Running]:
    """Who may be moved, by id."""
    queues = state.layout.queues
    return [
        running
        for one, running in sorted(state.running.items())
        if running.workload.preemptible
        and not running.leaving
        and one not in settled
        and one not in state.broken
        and one not in state.claims
        and now - running.admission.at >= queues[running.charge.queue].min_runtime
    ]


def _domains(state: State, flavor: Flavor, pods: PodSet) -> list[frozenset[NodeName]]:
    """The nodes among which to clear: those of each domain of a required level, else all."""
    domains, names = state.nodes.domains(flavor), state.nodes.names
    asked = pods.topology
    nodes = [names[column] for column in domains.columns]
    if asked is None or asked.mode is not TopologyMode.REQUIRED or asked.level is None:
        return [frozenset(nodes)]
    firsts = domains.leaves[flavor.levels.index(asked.level)].tolist()
    ends = [*firsts[1:], len(nodes)]
    return [frozenset(nodes[a:b]) for a, b in zip(firsts, ends, strict=True)]


def _price(running: Running, now: Seconds) -> float:
    """GPU-seconds that a gang loses by starting again: those since its last checkpoint."""
    since = running.admission.at if running.checkpoint is None else running.checkpoint
    return max(0.0, now - since) * running.workload.gpus


def _clear(
    state: State,
    nomination: Nomination,
    nodes: frozenset[NodeName],
    movable: Sequence[Running],
    now: Seconds,
) -> Plan | None:
    """A plan that clears some of these nodes, or None."""
    for _ in range(TRIES):
        found = _try(state, nomination, nodes, movable, now)
        if found is None or isinstance(found, Plan):
            return found
        movable = [running for running in movable if running is not found]
    return None


def _try(
    state: State,
    nomination: Nomination,
    nodes: frozenset[NodeName],
    movable: Sequence[Running],
    now: Seconds,
) -> Plan | Running | None:
    """A plan, None if there is none, or who has no other place and is in its way."""
    space = state.future.space.copy()
    gone = _take_away(state, nomination, nodes, movable, space, now)
    if gone is None:
        return None
    for running in sorted(gone, key=lambda r: (-_price(r, now), r.workload.id)):
        space.take(running.charge.places)
        if solve(state, nomination.pod_sets, nomination.flavors, [space]) is None:
            space.give(running.charge.places)
        else:
            gone.remove(running)
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
    if isinstance(moves, Running):
        return moves
    lost = sum(_price(running, now) for running in gone)
    return Plan(nomination, assignments, charge, moves, lost)


def _take_away(
    state: State,
    nomination: Nomination,
    nodes: frozenset[NodeName],
    movable: Sequence[Running],
    space: Space,
    now: Seconds,
) -> list[Running] | None:
    """Clear nodes in `space` until there is a placement; who had to go, None if in vain."""
    there: dict[NodeName, list[Running]] = {}
    freed: dict[NodeName, int] = {}
    for running in movable:
        for node, gpus in _gpus_by_node(running).items():
            if node in nodes:
                there.setdefault(node, []).append(running)
                freed[node] = freed.get(node, 0) + gpus
    prices = {node: sum(_price(r, now) for r in gangs) for node, gangs in there.items()}
    gone: list[Running] = []
    for node in sorted(there, key=lambda n: (prices[n], -freed[n], n)):
        fresh = [running for running in there[node] if running not in gone]
        gone += fresh
        if len(gone) > MOVES_AT_MOST:
            return None
        for running in fresh:
            space.give(running.charge.places)
        if fresh and solve(state, nomination.pod_sets, nomination.flavors, [space]) is not None:
            return gone
    return None


def _gpus_by_node(running: Running) -> dict[NodeName, int]:
    each = {pods.name: pods.requests.get(GPU, 0) for pods in running.workload.pod_sets}
    found: dict[NodeName, int] = {}
    for assignment in running.admission.assignments:
        for node, pods in assignment.nodes:
            found[node] = found.get(node, 0) + pods * each[assignment.name]
    return found


def _resettle(state: State, gone: Sequence[Running], space: Space) -> tuple[Move, ...] | Running:
    """Other places for all, free both now and when everybody has moved; or who has none."""
    present = state.present.space.copy()
    moves = []
    for running in sorted(gone, key=lambda r: (-r.workload.gpus, r.workload.id)):
        before = running.admission.assignments
        by_name = {pods.name: pods for pods in running.workload.pod_sets}
        pod_sets = [replace(by_name[a.name], count=a.count) for a in before]
        places: Places | None = solve(
            state, pod_sets, [dict(a.flavors) for a in before], [space, present]
        )
        if places is None:
            return running
        assignments = tuple(
            replace(assignment, nodes=lie) for assignment, lie in zip(before, places, strict=True)
        )
        charge = state.charge_of(running.charge.queue, running.workload, assignments)
        for one in (space, present):
            one.take(charge.places)
        moves.append(Move(running, assignments, charge))
    return tuple(moves)


def _carry_out(state: State, plan: Plan, now: Seconds) -> list[Preemption]:
    """Tell the gangs to stop; their new places and the room they make are kept by claims."""
    nomination = plan.nomination
    wanted = nomination.waiting.workload.id
    stops = []
    for move in plan.moves:
        state.tell_to_stop(move.running, wanted)
        stops.append(_stop(state, nomination, move.running, now))
    state.future.charge(plan.charge)
    state.leave(nomination.waiting)
    state.claims[wanted] = Claim(
        waiting=nomination.waiting,
        charge=plan.charge,
        assignments=plan.assignments,
        queue=nomination.queue,
        targets={move.running.workload.id for move in plan.moves},
        borrowing=nomination.level > 0,
    )
    for move in plan.moves:
        workload = move.running.workload
        state.wait(workload)
        waiting = state.waiting[workload.id]
        state.leave(waiting)
        state.future.charge(move.charge)
        state.claims[workload.id] = Claim(
            waiting=waiting,
            charge=move.charge,
            assignments=move.assignments,
            queue=move.charge.queue,
            targets={workload.id},
            borrowing=move.running.admission.borrowing,
        )
    return stops


def _stop(state: State, nomination: Nomination, running: Running, now: Seconds) -> Preemption:
    return Preemption(
        target=running.workload.id,
        preemptor=nomination.waiting.workload.id,
        rule=PreemptionRule.DEFRAGMENTATION,
        target_queue=running.admission.queue,
        preemptor_queue=state.layout.queues[nomination.queue].name,
        level=running.admission.queue,
        gpus=running.workload.gpus,
        ran=now - running.admission.at,
        at=now,
    )
