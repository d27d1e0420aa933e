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
A gang is moved once. Not moved is who has not run for his queue's minimum run time, has a
higher priority than the workload, has no other place even if he alone moved, or would lose
more by himself than all may. Room that is kept for somebody else (`scheduler.reserved`) is not
taken, nor moved to, for work that has to leave it. The policy bounds how many gangs are moved
in an hour, and how many GPU-hours they may lose for each GPU of the workload.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

import numpy as np

from scheduler.clearing import MOVES_AT_MOST, Ground, Plan, clear
from scheduler.gangs import placed_by
from scheduler.layout import Flavor
from scheduler.model import (
    GPU,
    NodeName,
    PodSet,
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

HOUR = 3600.0
HEADS = 8  # how many of those who wait for room are looked at in one cycle


Kind = tuple[object, ...]
"""Waiting workloads for which the same search would be made."""


class Defragmenter:
    """Remembers who was moved, and for what kind of work there was no plan as things stood.

    A new engine knows nothing of this: after a restart as many may be moved at once as in a new
    hour, and who was moved before may be moved once more.

    Whoever waited in vain is looked at again when the books have changed, when more may be
    moved, or when a gang has run for its queue's minimum run time.
    """

    def __init__(self) -> None:
        self.moved: set[WorkloadId] = set()
        self._vain: set[Kind] = set()
        self._vain_at = (-1, -1)
        self._vain_until = math.inf
        self._times: deque[Seconds] = deque()

    def copy(self) -> Defragmenter:
        """The same memory, independent."""
        other = Defragmenter()
        other.moved, other._vain = self.moved.copy(), self._vain.copy()
        other._vain_at, other._vain_until = self._vain_at, self._vain_until
        other._times = self._times.copy()
        return other

    def forget(self, workload: WorkloadId) -> None:
        """A workload is gone for good."""
        self.moved.discard(workload)

    def make_room(self, state: State, now: Seconds) -> list[Preemption]:
        """Carry out the first plan there is, in the order of those who wait."""
        lacking = [one for one in state.waiting.values() if one.word is Word.TOPOLOGY]
        if not lacking:
            return []
        realm = state.realm[lacking[0].shapes[0][0]]
        most = self._left(state, now)
        if not most:
            if self._times:
                state.alarms.for_realm(realm, self._times[0] + HOUR)
            return []
        situation = (state.future.version, most)
        if situation != self._vain_at or now >= self._vain_until:
            self._vain_at, self._vain_until = situation, math.inf
            self._vain.clear()
        ground: Ground | None = None
        for waiting in heapq.nsmallest(HEADS, lacking, key=lambda one: order_key(one.workload)):
            kind = _kind(waiting)
            if kind in self._vain:
                continue
            ground = ground or Ground(state, self.moved, now)
            plan = find_plan(state, waiting, ground, most=most)
            if plan is not None:
                self._times.extend(now for _ in plan.moves)
                self.moved.update(move.running.workload.id for move in plan.moves)
                return _carry_out(state, plan, now)
            self._vain.add(kind)
        if ground is not None and ground.next is not None:
            self._vain_until = ground.next
            state.alarms.for_realm(realm, ground.next)
        return []

    def _left(self, state: State, now: Seconds) -> int:
        """How many gangs may be moved now, by the bounds of a cycle and of an hour."""
        while self._times and self._times[0] <= now - HOUR:
            self._times.popleft()
        left = state.layout.options.moves.per_hour - len(self._times)
        return max(0, min(MOVES_AT_MOST, left))


def find_plan(state: State, waiting: Waiting, ground: Ground, *, most: int) -> Plan | None:
    """The cheapest moves, `most` at most, that make room for a workload. Changes nothing."""
    for number, shape in waiting.shapes:
        nomination = nominate(state, number, waiting, shape)
        if nomination.useful or not nomination.flavors or state.queues[number].paused:
            continue
        if not state.tree.fits(state.future.usage, number, nomination.amounts):
            continue
        flavor = placed_by(state, nomination.pod_sets[0], nomination.flavors[0])
        if flavor is None or not _enough(state, state.flavors[flavor], waiting.workload.gpus):
            continue
        dearest = state.layout.options.moves.hours_per_gpu * HOUR * waiting.workload.gpus
        movable = ground.below(waiting.workload.priority, dearest)
        reserved = state.reservations.kept_from(number, waiting, nomination.level)
        kept = {node for one in reserved for node in one.told.nodes}
        plans = [
            plan
            for nodes in _domains(state, state.flavors[flavor], nomination.pod_sets[0])
            if (plan := clear(state, nomination, nodes, movable)) is not None
            and len(plan.moves) <= most
            and plan.lost <= dearest
            and kept.isdisjoint(plan.nodes)
        ]
        if plans:
            return min(plans, key=lambda plan: plan.key)
    return None


def _kind(waiting: Waiting) -> Kind:
    """Work of one shape is alike, unless its search for flavors goes on elsewhere."""
    scan = waiting.scan
    start = scan.start if scan is not None and any(map(any, scan.start)) else ()
    return (*((number, shape.key) for number, shape in waiting.shapes), start)


def _enough(state: State, flavor: Flavor, gpus: int) -> bool:
    """Whether so many GPUs are free, in whatever pieces."""
    columns = state.nodes.domains(flavor).columns
    row = state.nodes.row(GPU)
    if row >= state.future.space.free.shape[0]:
        return False
    return int(np.maximum(state.future.space.free[row][columns], 0).sum()) >= gpus


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


def _carry_out(state: State, plan: Plan, now: Seconds) -> list[Preemption]:
    """Tell the gangs to stop; their new places and the room they make are kept by claims."""
    nomination = plan.nomination
    wanted = nomination.waiting.workload.id
    stops = []
    for move in plan.moves:
        state.tell_to_stop(move.running, wanted)
        stops.append(_stop(state, nomination, move.running, now))
    state.leave(nomination.waiting)
    state.promise(
        Claim(
            waiting=nomination.waiting,
            charge=plan.charge,
            assignments=plan.assignments,
            queue=nomination.queue,
            targets={move.running.workload.id for move in plan.moves},
            borrowing=nomination.level > 0,
        )
    )
    for move in plan.moves:
        workload = move.running.workload
        state.wait(workload)
        waiting = state.waiting[workload.id]
        state.leave(waiting)
        state.promise(
            Claim(
                waiting=waiting,
                charge=move.charge,
                assignments=move.assignments,
                queue=move.charge.queue,
                targets={workload.id},
                borrowing=move.running.admission.borrowing,
            )
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
        gpus=running.gpus,
        ran=now - running.admission.at,
        at=now,
    )
