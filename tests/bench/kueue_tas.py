"""The topology load of Kueue's scheduler performance suite, decided by our engine.

Usage: `python tests/bench/kueue_tas.py [--share 1.0]`

640 nodes of 96 units in 10 racks of 64; 5 cohorts of 6 queues, each with nominal 20 and a
borrowing limit of 100; each queue gets 350 small (2 pods of 0.5, 200 ms, priority 50, one
each 100 ms), 100 medium (4 of 1.25, 500 ms, priority 100, each 500 ms) and 50 large (8 of
2.5, 1 s, priority 200, each 1.2 s) workloads: a third each with one rack required, a rack
preferred, and slices of 1, 2 and 4 in a preferred rack. Whoever is preempted starts again.

The clock is virtual but honest: it moves to the next arrival or end, and by the time that
each decision takes. Printed: when all work is done, the CPU of the decisions, and how the
classes waited. Kueue's published mean is 401 s; the work alone needs 66 s. Targets: less than
82 s, and less than 10 s of CPU.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduler.engine import Engine
from scheduler.events import Evicted, Finished, NodeObserved, Submitted
from scheduler.layout import (
    HOSTNAME,
    Cohort,
    Flavor,
    Layout,
    Limits,
    Queue,
    Reclaim,
    ResourceGroup,
    Within,
)
from scheduler.model import (
    CohortName,
    Decisions,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    QueueName,
    ResourceName,
    Slice,
    TeamName,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)

CPU = ResourceName("cpu")
RACK = "example.com/rack"
FLAVOR = Flavor(name=FlavorName("tas"), levels=(RACK, HOSTNAME))
UNIT = 1_000
COHORTS, QUEUES = 5, 6


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of workloads; times in seconds, `each` in thousandths of a unit."""

    name: str
    count: int
    pods: int
    each: int
    runs: float
    interval: float
    priority: int


KINDS = (
    Kind("small", 350, 2, 500, 0.2, 0.1, 50),
    Kind("medium", 100, 4, 1_250, 0.5, 0.5, 100),
    Kind("large", 50, 8, 2_500, 1.0, 1.2, 200),
)


@dataclass(slots=True)
class Run:
    """The load while it runs. `ends` are (time, attempt, workload)."""

    engine: Engine
    now: float = 0.0
    cpu: float = 0.0
    ends: list[tuple[float, int, WorkloadId]] = field(default_factory=list)
    attempts: dict[WorkloadId, int] = field(default_factory=dict)
    kinds: dict[WorkloadId, Kind] = field(default_factory=dict)
    waits: dict[str, dict[WorkloadId, float]] = field(default_factory=dict)
    preemptions: int = 0
    started: int = 0


def main() -> int:
    """Play the load and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--share", type=float, default=1.0, help="part of the workloads")
    args = parser.parse_args()
    run = Run(engine=a_cluster())
    total = play(run, args.share)
    work = sum(kind.pods * kind.each * kind.runs * int(kind.count * args.share) for kind in KINDS)
    least = work / (20 * UNIT)
    show(f"{total} workloads done after {run.now:.1f} s; the work alone needs {least:.1f} s")
    show(f"decisions: {run.cpu:.1f} s of CPU, {run.preemptions} preemptions")
    for name, waits in run.waits.items():
        show(f"{name}: admitted after {statistics.mean(waits.values()):.2f} s in the mean")
    return 0


def a_cluster() -> Engine:
    """The engine with its nodes."""
    quota = {(FLAVOR.name, CPU): Limits(nominal=20 * UNIT, borrowing=100 * UNIT)}
    queues = tuple(
        Queue(
            name=QueueName(f"c{cohort}-q{number}"),
            cohort=CohortName(f"c{cohort}"),
            groups=(ResourceGroup(resources=(CPU,), flavors=(FLAVOR.name,)),),
            quotas=quota,
            reclaim=Reclaim.ANY,
            within=Within.LOWER,
        )
        for cohort in range(COHORTS)
        for number in range(QUEUES)
    )
    cohorts = tuple(Cohort(name=CohortName(f"c{number}")) for number in range(COHORTS))
    engine = Engine(Layout(flavors=(FLAVOR,), queues=queues, cohorts=cohorts))
    for number in range(640):
        name = f"n{number:03d}"
        labels = {RACK: f"r{number // 64:02d}", HOSTNAME: name}
        node = Node(name=NodeName(name), labels=labels, capacity={CPU: 96 * UNIT})
        engine.apply(NodeObserved(node=node))
    return engine


def wishes(kind: Kind) -> Iterator[TopologyRequest]:
    """What the workloads of a class ask of the topology, in turn."""
    preferred = TopologyRequest(mode=TopologyMode.PREFERRED, level=RACK)
    size = {"small": 1, "medium": 2, "large": 4}[kind.name]
    sliced = TopologyRequest(
        mode=TopologyMode.PREFERRED, level=RACK, slices=(Slice(level=HOSTNAME, size=size),)
    )
    while True:
        yield TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)
        yield preferred
        yield sliced


def arrivals(run: Run, share: float) -> list[Workload]:
    """All workloads, by the time at which they are created."""
    found = []
    for queue in (f"c{c}-q{q}" for c in range(COHORTS) for q in range(QUEUES)):
        for kind in KINDS:
            for number, wish in zip(range(int(kind.count * share)), wishes(kind), strict=False):
                name = WorkloadId(f"{queue}-{kind.name}-{number:03d}")
                run.kinds[name] = kind
                pods = PodSet(count=kind.pods, requests={CPU: kind.each}, topology=wish)
                found.append(
                    Workload(
                        id=name,
                        team=TeamName(queue),
                        owner="bench",
                        queue=QueueName(queue),
                        priority=kind.priority,
                        created=number * kind.interval,
                        pod_sets=(pods,),
                        preemptible=True,
                    )
                )
    return sorted(found, key=lambda workload: (workload.created, workload.id))


def play(run: Run, share: float) -> int:
    """From event to event until all work is done. Returns how many workloads there were."""
    coming = arrivals(run, share)
    total, at = len(coming), 0
    while at < total or run.ends:
        moments = [coming[at].created] if at < total else []
        moments += [run.ends[0][0]] if run.ends else []
        run.now = max(run.now, min(moments))
        start = time.perf_counter()
        while at < total and coming[at].created <= run.now:
            run.engine.apply(Submitted(workload=coming[at]))
            at += 1
        while run.ends and run.ends[0][0] <= run.now:
            _, attempt, workload = heapq.heappop(run.ends)
            if run.attempts.get(workload) == attempt:
                del run.attempts[workload]
                run.engine.apply(Finished(workload=workload, at=run.now))
        decided = decide(run)
        spent = time.perf_counter() - start
        run.cpu += spent
        run.now += spent
        note(run, decided)
    return total


def decide(run: Run) -> list[Decisions]:
    """Cycles until nothing more happens; who is told to stop is gone at once."""
    decided = []
    while decisions := run.engine.cycle(run.now):
        decided.append(decisions)
        for preemption in decisions.preemptions:
            run.engine.apply(Evicted(workload=preemption.target, at=run.now))
    return decided


def note(run: Run, decided: list[Decisions]) -> None:
    """Start what was admitted, and forget the attempts of who was stopped."""
    for decisions in decided:
        for preemption in decisions.preemptions:
            run.attempts.pop(preemption.target, None)
            run.preemptions += 1
        for admission in decisions.admissions:
            kind = run.kinds[admission.workload]
            run.started += 1
            run.attempts[admission.workload] = run.started
            heapq.heappush(run.ends, (run.now + kind.runs, run.started, admission.workload))
            number = int(admission.workload.rsplit("-", 1)[1])
            run.waits.setdefault(kind.name, {}).setdefault(
                admission.workload, run.now - number * kind.interval
            )


def show(line: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    raise SystemExit(main())
