"""The load of Kueue's own scheduler performance suite, and an engine under it.

Re-created from the suite's published parameters: cohorts of equal queues, each of which
receives small, medium and large workloads at fixed intervals. A workload ends its run time
after its admission; a preempted one is gone at once and starts again. The clock is the
caller's: the wall for a benchmark, a list of instants for a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from scheduler.engine import Engine
from scheduler.events import Evicted, Finished, NodeObserved, Submitted
from scheduler.layout import (
    HOSTNAME,
    Cohort,
    Flavor,
    Layout,
    Limits,
    Options,
    Queue,
    Reclaim,
    ResourceGroup,
    Within,
)
from scheduler.model import (
    CohortName,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    QueueName,
    ResourceName,
    Seconds,
    Slice,
    TeamName,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)

UNITS = ResourceName("cpu")
FLAVOR = FlavorName("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Workloads of one size in each queue: `count` of them, one each `every` seconds.

    Each takes `units` in all, in `pods` equal pods.
    """

    name: str
    count: int
    units: int
    runs: Seconds
    priority: int
    every: Seconds
    pods: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Racks:
    """Nodes on which a load is placed: racks of equal nodes with `units` each."""

    racks: int
    nodes: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A load. Every queue has the same quota and receives the same workloads.

    On `nodes`, a third of each kind needs one rack, a third prefers one, and a third is
    balanced over slices of 1, 2 and 4 pods by kind.
    """

    name: str
    cohorts: int
    queues: int
    kinds: tuple[Kind, ...]
    nominal: int = 20
    borrowing: int = 100
    nodes: Racks | None = None

    @property
    def limit(self) -> Seconds:
        """The time in which the work could be done at best: all of it over all quota."""
        work = sum(kind.count * kind.units * kind.runs for kind in self.kinds)
        return work / self.nominal


BASELINE = Suite(
    name="kueue-baseline",
    cohorts=5,
    queues=6,
    kinds=(
        Kind(name="small", count=350, units=1, runs=0.2, priority=50, every=0.1),
        Kind(name="medium", count=100, units=5, runs=0.5, priority=100, every=0.5),
        Kind(name="large", count=50, units=20, runs=1.0, priority=200, every=1.2),
    ),
)
LARGE = Suite(
    name="kueue-large",
    cohorts=10,
    queues=100,
    kinds=(
        Kind(name="small", count=35, units=1, runs=0.15, priority=50, every=0.06),
        Kind(name="medium", count=11, units=5, runs=0.35, priority=100, every=0.3),
        Kind(name="large", count=4, units=20, runs=0.7, priority=200, every=0.7),
    ),
)
TAS = Suite(
    name="kueue-tas",
    cohorts=5,
    queues=6,
    kinds=(
        Kind(name="small", count=350, units=1, runs=0.2, priority=50, every=0.1, pods=2),
        Kind(name="medium", count=100, units=5, runs=0.5, priority=100, every=0.5, pods=4),
        Kind(name="large", count=50, units=20, runs=1.0, priority=200, every=1.2, pods=8),
    ),
    nodes=Racks(racks=10, nodes=64, units=96),
)
SUITES = {suite.name: suite for suite in (BASELINE, LARGE, TAS)}

RACK = "rack"
SCALE = 1_000
"""Thousandths of a unit, in which pods and nodes are counted."""
_SLICES = {"small": 1, "medium": 2, "large": 4}


def layout_of(suite: Suite) -> Layout:
    """The suite's cohorts and queues."""
    limits = Limits(nominal=suite.nominal * SCALE, borrowing=suite.borrowing * SCALE)
    levels = () if suite.nodes is None else (RACK, HOSTNAME)
    return Layout(
        flavors=(Flavor(name=FLAVOR, levels=levels),),
        options=Options(balanced=suite.nodes is not None),
        cohorts=tuple(Cohort(name=CohortName(f"c{c}")) for c in range(suite.cohorts)),
        queues=tuple(
            Queue(
                name=QueueName(f"c{c}-q{q}"),
                cohort=CohortName(f"c{c}"),
                groups=(ResourceGroup(resources=(UNITS,), flavors=(FLAVOR,)),),
                quotas={(FLAVOR, UNITS): limits},
                within=Within.LOWER,
                reclaim=Reclaim.ANY,
            )
            for c in range(suite.cohorts)
            for q in range(suite.queues)
        ),
    )


def nodes_of(suite: Suite) -> tuple[Node, ...]:
    """The suite's nodes, none where it is about quota alone."""
    racks = suite.nodes
    if racks is None:
        return ()
    return tuple(
        Node(
            name=NodeName(f"r{rack}-n{number:02d}"),
            labels={RACK: f"r{rack}", HOSTNAME: f"r{rack}-n{number:02d}"},
            capacity={UNITS: racks.units * SCALE},
        )
        for rack in range(racks.racks)
        for number in range(racks.nodes)
    )


@dataclass(slots=True)
class Measures:
    """What a play came to. `waits` are times to the first admission, by kind."""

    wall: Seconds = 0.0
    inside: Seconds = 0.0
    preemptions: int = 0
    busy: float = 0.0
    waits: dict[str, list[Seconds]] = field(default_factory=dict)


@dataclass(slots=True, order=True)
class Due:
    """Something that happens at an instant: an arrival, or the end of a run."""

    at: Seconds
    id: WorkloadId
    run: int
    kind: Kind = field(compare=False)
    queue: QueueName = field(compare=False)


class Play:
    """An engine under a suite's load. `timer` measures what is spent inside the engine."""

    def __init__(self, suite: Suite, timer: Callable[[], Seconds]) -> None:
        self.suite = suite
        self.measures = Measures(waits={kind.name: [] for kind in suite.kinds})
        self._engine = Engine(layout_of(suite))
        for node in nodes_of(suite):
            self._engine.apply(NodeObserved(node=node))
        self._timer = timer
        self._runs: dict[WorkloadId, int] = {}
        self._known: dict[WorkloadId, Due] = {}
        self._held = 0
        self._seen: Seconds = 0.0
        self._due = [
            Due(
                number * kind.every,
                WorkloadId(f"{queue.name}-{kind.name}-{number}"),
                0,
                kind,
                queue.name,
            )
            for queue in self._engine.layout.queues
            for kind in suite.kinds
            for number in range(kind.count)
        ]
        heapify(self._due)
        self._left = len(self._due)

    @property
    def done(self) -> bool:
        """Whether every workload has run to its end."""
        return self._left == 0

    @property
    def next(self) -> Seconds:
        """When something happens by itself next."""
        return self._due[0].at

    def advance(self, now: Seconds) -> None:
        """Let everything happen that is due, and let the engine decide."""
        self.measures.busy += self._held * (now - self._seen)
        self._seen = self.measures.wall = now
        before = self._timer()
        while self._due and self._due[0].at <= now:
            self._happen(heappop(self._due), now)
        while decisions := self._engine.cycle(now):
            for admission in decisions.admissions:
                self._start(admission.workload, now)
            for preemption in decisions.preemptions:
                self._stop(preemption.target)
                self._engine.apply(Evicted(workload=preemption.target, at=now))
                self.measures.preemptions += 1
        self.measures.inside += self._timer() - before

    def _happen(self, due: Due, now: Seconds) -> None:
        if due.run == 0:
            self._known[due.id] = due
            self._engine.apply(Submitted(workload=_workload(self.suite, due)))
        elif self._runs.get(due.id) == due.run:
            self._stop(due.id)
            self._engine.apply(Finished(workload=due.id, at=now))
            self._left -= 1

    def _start(self, workload: WorkloadId, now: Seconds) -> None:
        due = self._known[workload]
        run = abs(self._runs.get(workload, 0)) + 1
        if run == 1:
            self.measures.waits[due.kind.name].append(now - due.at)
        self._runs[workload] = run
        self._held += due.kind.units
        heappush(self._due, Due(now + due.kind.runs, workload, run, due.kind, due.queue))

    def _stop(self, workload: WorkloadId) -> None:
        """A run is over; its number is kept, negative, so that its end counts no more."""
        self._runs[workload] = -self._runs[workload]
        self._held -= self._known[workload].kind.units


def _workload(suite: Suite, due: Due) -> Workload:
    kind = due.kind
    pods = PodSet(
        count=kind.pods,
        requests={UNITS: kind.units * SCALE // kind.pods},
        topology=None if suite.nodes is None else _wish(due),
    )
    return Workload(
        id=due.id,
        team=TeamName("suite"),
        owner="suite",
        queue=due.queue,
        priority=kind.priority,
        created=due.at,
        pod_sets=(pods,),
        preemptible=True,
    )


def _wish(due: Due) -> TopologyRequest:
    """One rack needed, preferred, or balanced in slices, in turn."""
    turn = int(due.id.rsplit("-", 1)[1]) % 3
    mode = TopologyMode.PREFERRED if turn else TopologyMode.REQUIRED
    slices = (Slice(level=HOSTNAME, size=_SLICES[due.kind.name]),) if turn == 2 else ()
    return TopologyRequest(mode=mode, level=RACK, slices=slices)
