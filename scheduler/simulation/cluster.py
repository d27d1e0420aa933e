"""A cluster in memory: nodes, gangs, and a heap of what will happen when.

Time is an argument and only moves forward. Nothing is random: pods take `start_delay`
to be ready, run for as long as they were told, fail and lose their nodes by script, and
take `stop_time` (or the grace given, if that is less) to stop. The same calls in the same
order give the same happenings.

Happenings at the same instant come in this order, so that what frees room is seen before
what takes it: gangs end, nodes return, nodes fail, gangs become ready; within a kind by
name, then by the order in which they were foreseen.

When a node fails, the gangs on it are lost whole, at the same instant; or, where the
cluster is `mendable`, they lose their pods there and stand still until `mend` gives them
others or they are stopped. Two counters watch the engine: `partial_gangs` (gangs that were
started or mended with some but not all of their pods) and `over_commitments` (pods put on
a node that has no room for them). Both must stay 0.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from scheduler.model import (
    GPU,
    PODS,
    Admission,
    Node,
    NodeName,
    ResourceName,
    Seconds,
    Workload,
    WorkloadId,
)
from scheduler.simulation.gangs import (
    Figures,
    Gang,
    GangEnd,
    GangGone,
    GangHurt,
    GangReady,
    GangState,
    Happening,
    NodeChanged,
    NodeFailed,
    Outage,
)
from scheduler.simulation.wholeness import Wholeness

__all__ = [
    "Figures",
    "Gang",
    "GangEnd",
    "GangGone",
    "GangHurt",
    "GangReady",
    "GangState",
    "Happening",
    "NodeChanged",
    "NodeFailed",
    "Outage",
    "SimulatedNodes",
]


@dataclass(slots=True)
class _Machine:
    """A node with what is placed on it: pods by workload, and the sum by resource."""

    node: Node
    gpus: int
    free_gpus: int
    pods: dict[WorkloadId, int]
    used: dict[ResourceName, int]
    failures: int = 0
    """How many outages are open at once; the node is ready at 0."""

    @property
    def stranded(self) -> int:
        return self.free_gpus if self.free_gpus < self.gpus else 0

    @property
    def whole(self) -> bool:
        return self.free_gpus == self.gpus > 0 and self.node.ready


class _Rank(enum.IntEnum):
    """The order of happenings at one instant."""

    GANG_ENDS = 0
    NODE_RETURNS = 1
    NODE_FAILS = 2
    GANG_READY = 3


_Foreseen = tuple[Seconds, int, str, int, str, GangEnd | None]
"""(at, rank, workload or node, sequence, attempt, end): compared as far as the sequence."""


class SimulatedNodes:
    """The pure discrete-event cluster. Raises ValueError on calls that cannot be meant.

    `levels` are the labels above single nodes, coarse to fine, by which figures are kept.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        *,
        start_delay: Seconds = 0.0,
        stop_time: Seconds = 0.0,
        outages: Iterable[Outage] = (),
        now: Seconds = 0.0,
        mendable: bool = False,
        levels: Sequence[str] = (),
    ) -> None:
        self.now = now
        self._wholeness = Wholeness(levels)
        self._mendable = mendable
        self.partial_gangs = 0
        self.over_commitments = 0
        self._start_delay = start_delay
        self._stop_time = stop_time
        self._machines: dict[NodeName, _Machine] = {}
        self._gangs: dict[WorkloadId, Gang] = {}
        self._foreseen: list[_Foreseen] = []
        self._sequence = 0
        self._happened: list[Happening] = []
        self._gpus = self._used = self._stranded = 0
        for node in sorted(nodes, key=lambda node: node.name):
            self._add(node)
        for outage in outages:
            self.script(outage)

    # ---- what is there

    def nodes(self) -> tuple[Node, ...]:
        """Every node as it is now, by name."""
        return tuple(self._machines[name].node for name in sorted(self._machines))

    def gangs(self) -> tuple[Gang, ...]:
        """Every gang that holds capacity, by workload id."""
        return tuple(self._gangs[workload] for workload in sorted(self._gangs))

    def gang(self, workload: WorkloadId) -> Gang | None:
        """The gang of this workload, if it holds capacity."""
        return self._gangs.get(workload)

    def figures(self) -> Figures:
        """GPU totals now; kept as running sums."""
        standing = self._wholeness.standing()
        return Figures(self._gpus, self._used, self._stranded, standing)

    def pods_on(self, node: NodeName) -> Mapping[WorkloadId, int]:
        """How many pods of which workload lie on a node."""
        return dict(self._machines[node].pods)

    def used_on(self, node: NodeName) -> Mapping[ResourceName, int]:
        """What the pods on a node hold, by resource."""
        return dict(self._machines[node].used)

    def next_at(self) -> Seconds | None:
        """When the next foreseen thing happens; None if nothing ever will by itself."""
        if self._happened:
            return self.now
        return self._foreseen[0][0] if self._foreseen else None

    # ---- what is done to it

    def start(
        self,
        workload: Workload,
        admission: Admission,
        attempt: str,
        *,
        at: Seconds,
        run_for: Seconds | None = None,
    ) -> None:
        """Place a whole gang. On a node that is not ready or unknown it is lost at once.

        Raises ValueError when an earlier attempt of the workload still holds capacity.
        """
        self._move_to(at)
        if workload.id in self._gangs:
            raise ValueError(f"{workload.id} still holds capacity")
        gang = Gang(
            workload=workload,
            admission=admission,
            attempt=attempt,
            state=GangState.STARTING,
            run_for=run_for,
            started=self.now,
        )
        self._gangs[workload.id] = gang
        if not self._can_place(gang):
            self._end(gang, GangEnd.LOST)
            return
        self._place(gang)
        self._get_ready(gang)

    def mend(
        self, workload: WorkloadId, admission: Admission, attempt: str, *, at: Seconds
    ) -> None:
        """Give a gang the pods that it lacks of `admission`; those it has go on untouched.

        Does nothing to a gang that is gone or stopping, or whose admission is as new. On a
        node that is not ready the pods are lost at once.
        """
        self._move_to(at)
        gang = self._gangs.get(workload)
        if (
            gang is None
            or gang.attempt != attempt
            or gang.state is GangState.STOPPING
            or admission.repairs <= gang.admission.repairs
        ):
            return
        if _pods_of(admission) != _pods_of(gang.admission):
            self.partial_gangs += 1
        gang.admission = admission
        self._pause(gang)
        if self._settle(gang):
            gang.state = GangState.STARTING
            self._get_ready(gang)

    def stop(self, workload: WorkloadId, attempt: str, *, grace: Seconds, at: Seconds) -> None:
        """Take a gang's pods away within `grace`; no effect on a gang that is gone.

        A second stop may shorten what is left of the first, never lengthen it.
        """
        self._move_to(at)
        gang = self._gangs.get(workload)
        if gang is None or gang.attempt != attempt:
            return
        due = self.now + min(grace, self._stop_time)
        if gang.stops_at is not None and gang.stops_at <= due:
            return
        gang.state = GangState.STOPPING
        gang.stops_at = due
        if due <= self.now or not gang.pods:
            self._end(gang, GangEnd.STOPPED)
        else:
            self._foresee(due, _Rank.GANG_ENDS, workload, attempt, GangEnd.STOPPED)

    def fail(self, workload: WorkloadId, *, after: Seconds, at: Seconds) -> None:
        """Script a gang to fail once it has been ready for `after` seconds."""
        self._move_to(at)
        gang = self._gangs[workload]
        gang.fails_after = after
        if gang.ready_at is not None:
            due = max(self.now, gang.ready_at + after - gang.worked)
            self._foresee(due, _Rank.GANG_ENDS, workload, gang.attempt, GangEnd.FAILED)

    def cordon(self, name: NodeName, *, closed: bool, at: Seconds) -> None:
        """Close a node to what is new, or open it again. Raises ValueError for an unknown node."""
        self._move_to(at)
        machine = self._machines.get(name)
        if machine is None:
            raise ValueError(f"no node {name}")
        if machine.node.schedulable is closed:
            self._change(machine, replace(machine.node, schedulable=not closed))

    def script(self, outage: Outage) -> None:
        """Script a node's failure and return. Raises ValueError for an unknown node."""
        if outage.node not in self._machines:
            raise ValueError(f"no node {outage.node}")
        self._foresee(max(outage.at, self.now), _Rank.NODE_FAILS, outage.node, "")
        if outage.until is not None:
            back = max(outage.until, outage.at, self.now)
            self._foresee(back, _Rank.NODE_RETURNS, outage.node, "")

    def advance(self, now: Seconds) -> tuple[Happening, ...]:
        """Let time pass to `now` and tell what happened since the last call, in order."""
        self._move_to(now)
        happened, self._happened = self._happened, []
        return tuple(happened)

    # ---- how it works

    def _add(self, node: Node) -> None:
        if node.name in self._machines:
            raise ValueError(f"two nodes named {node.name}")
        gpus = node.capacity.get(GPU, 0)
        machine = self._machines[node.name] = _Machine(node, gpus, gpus, {}, {})
        self._wholeness.add(node)
        if node.ready:
            self._gpus += gpus
        self._note_wholeness(machine, before=False)

    def _note_wholeness(self, machine: _Machine, *, before: bool) -> None:
        """A machine changed, and may be wholly free now or no longer."""
        if machine.whole != before:
            self._wholeness.change(machine.node, machine.gpus, free=not before)

    def _foresee(
        self, at: Seconds, rank: _Rank, name: str, attempt: str, end: GangEnd | None = None
    ) -> None:
        self._sequence += 1
        heappush(self._foreseen, (at, int(rank), name, self._sequence, attempt, end))

    def _move_to(self, now: Seconds) -> None:
        if now < self.now:
            raise ValueError(f"time runs forward: {now} is before {self.now}")
        foreseen = self._foreseen
        while foreseen and foreseen[0][0] <= now:
            at, rank, name, number, attempt, end = heappop(foreseen)
            self.now = at
            if rank == _Rank.NODE_FAILS:
                self._fail_node(NodeName(name))
            elif rank == _Rank.NODE_RETURNS:
                self._return_node(NodeName(name))
            else:
                gang = self._gangs.get(WorkloadId(name))
                due = gang is not None and (number > gang.void or end is GangEnd.STOPPED)
                if gang is not None and gang.attempt == attempt and due:
                    self._gang_happens(gang, end)
        self.now = now
        if len(foreseen) > 64 + 4 * (len(self._gangs) + len(self._machines)):
            self._forget_void()

    def _gang_happens(self, gang: Gang, end: GangEnd | None) -> None:
        if end is not None:
            self._end(gang, end)
        elif gang.state is GangState.STARTING:
            self._ready(gang)

    def _forget_void(self) -> None:
        """Drop what was foreseen for attempts that ended otherwise (it would be skipped)."""
        self._foreseen = [
            entry
            for entry in self._foreseen
            if not entry[4]
            or (
                (gang := self._gangs.get(WorkloadId(entry[2]))) is not None
                and gang.attempt == entry[4]
            )
        ]
        heapify(self._foreseen)

    def _can_place(self, gang: Gang) -> bool:
        machines = self._machines
        return all(
            name in machines and machines[name].node.ready
            for assignment in gang.admission.assignments
            for name, _ in assignment.nodes
        )

    def _get_ready(self, gang: Gang) -> None:
        if self._start_delay > 0:
            due = self.now + self._start_delay
            self._foresee(due, _Rank.GANG_READY, gang.workload.id, gang.attempt)
        else:
            self._ready(gang)

    def _place(self, gang: Gang) -> None:
        least = sum(
            pod_set.count if pod_set.min_count is None else pod_set.min_count
            for pod_set in gang.workload.pod_sets
        )
        self._settle(gang)
        if len(gang.admission.assignments) < len(gang.workload.pod_sets) or (
            sum(gang.pods.values()) < least
        ):
            self.partial_gangs += 1

    def _settle(self, gang: Gang) -> bool:
        """Have just the pods of the admission there; False if some cannot be, and are told."""
        wanted = {
            (a.name, node): count for a in gang.admission.assignments for node, count in a.nodes
        }
        for place in sorted(gang.pods.keys() | wanted.keys()):
            more = wanted.get(place, 0) - gang.pods.get(place, 0)
            machine = self._machines.get(place[1])
            if more > 0 and (machine is None or not machine.node.ready):
                hurt = GangHurt(gang.workload.id, gang.attempt, place[1], self.now)
                self._happened.append(hurt)
                gang.state = GangState.BROKEN
            elif more and machine is not None:
                self._add_pods(gang, place, more)
        return not gang.missing()

    def _add_pods(self, gang: Gang, place: tuple[str, NodeName], count: int) -> None:
        """Put pods of a pod set on a node, or with a negative count take them off."""
        requests = next(p.requests for p in gang.workload.pod_sets if p.name == place[0])
        self._hold(self._machines[place[1]], gang.workload.id, requests, count)
        gang.pods[place] = gang.pods.get(place, 0) + count
        if not gang.pods[place]:
            del gang.pods[place]

    def _pause(self, gang: Gang) -> None:
        """Work stands still; what was foreseen of it does not happen."""
        if gang.ready_at is not None:
            gang.worked += self.now - gang.ready_at
            gang.ready_at = None
        gang.void = self._sequence

    def _hurt(self, gang: Gang, name: NodeName) -> None:
        """The pods of a gang on a node are gone, and the others wait for new ones."""
        for place in sorted(place for place in gang.pods if place[1] == name):
            self._add_pods(gang, place, -gang.pods[place])
        if gang.state is GangState.STOPPING:
            if not gang.pods:
                self._end(gang, GangEnd.STOPPED)
            return
        self._pause(gang)
        gang.state = GangState.BROKEN
        self._happened.append(GangHurt(gang.workload.id, gang.attempt, name, self.now))

    def _hold(
        self,
        machine: _Machine,
        workload: WorkloadId,
        requests: Mapping[ResourceName, int],
        count: int,
    ) -> None:
        """Put `count` pods on a machine, or with a negative count take them off."""
        machine.pods[workload] = machine.pods.get(workload, 0) + count
        if not machine.pods[workload]:
            del machine.pods[workload]
        used, capacity = machine.used, machine.node.capacity
        over = False
        for resource, each in requests.items():
            used[resource] = used.get(resource, 0) + each * count
            over |= used[resource] > capacity.get(resource, 0)
        if PODS in capacity and PODS not in requests:
            used[PODS] = used.get(PODS, 0) + count
            over |= used[PODS] > capacity[PODS]
        if over and count > 0:
            self.over_commitments += 1
        gpus = requests.get(GPU, 0) * count
        whole = machine.whole
        if machine.node.ready:
            self._stranded -= machine.stranded
            self._used += gpus
        machine.free_gpus -= gpus
        if machine.node.ready:
            self._stranded += machine.stranded
        self._note_wholeness(machine, before=whole)

    def _ready(self, gang: Gang) -> None:
        gang.state = GangState.RUNNING
        gang.ready_at = self.now
        workload, attempt = gang.workload.id, gang.attempt
        self._happened.append(GangReady(workload, attempt, self.now))
        run_for, fails_after = gang.run_for, gang.fails_after
        if fails_after is not None and (run_for is None or fails_after < run_for):
            due = self.now + max(0.0, fails_after - gang.worked)
            self._foresee(due, _Rank.GANG_ENDS, workload, attempt, GangEnd.FAILED)
        elif run_for is not None:
            due = self.now + max(0.0, run_for - gang.worked)
            self._foresee(due, _Rank.GANG_ENDS, workload, attempt, GangEnd.FINISHED)

    def _end(self, gang: Gang, end: GangEnd) -> None:
        """Take all pods away and tell it."""
        workload = gang.workload.id
        for place, count in sorted(gang.pods.items()):
            self._add_pods(gang, place, -count)
        del self._gangs[workload]
        ran = gang.worked + (0.0 if gang.ready_at is None else self.now - gang.ready_at)
        self._happened.append(GangGone(workload, gang.attempt, end, ran, self.now))

    def _fail_node(self, name: NodeName) -> None:
        machine = self._machines[name]
        machine.failures += 1
        if machine.failures > 1 or not machine.node.ready:
            return
        for workload in sorted(machine.pods):
            if self._mendable:
                self._hurt(self._gangs[workload], name)
            else:
                self._end(self._gangs[workload], GangEnd.LOST)
        self._gpus -= machine.gpus
        self._change(machine, replace(machine.node, ready=False))
        self._happened.append(NodeFailed(name, self.now))

    def _return_node(self, name: NodeName) -> None:
        machine = self._machines[name]
        machine.failures -= 1
        if machine.failures or machine.node.ready:
            return
        self._gpus += machine.gpus
        self._change(machine, replace(machine.node, ready=True))

    def _change(self, machine: _Machine, node: Node) -> None:
        whole = machine.whole
        machine.node = node
        self._note_wholeness(machine, before=whole)
        self._happened.append(NodeChanged(machine.node, self.now))


def _pods_of(admission: Admission) -> dict[str, int]:
    """How many pods each pod set has been granted places for."""
    return {a.name: sum(count for _, count in a.nodes) for a in admission.assignments}
