"""Short spellings for nodes, queues and workloads, so that a test shows only what it is about."""

from __future__ import annotations

from collections.abc import Mapping

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
    ResourceGroup,
    UsageRules,
)
from scheduler.model import (
    GPU,
    Admission,
    CohortName,
    Decisions,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    Priority,
    QueueName,
    TeamName,
    Workload,
    WorkloadId,
)

H100 = FlavorName("h100")
MODEL = "gpubot.dev/model"


def a_flavor(name: str = "h100", **more: object) -> Flavor:
    """A flavor whose nodes carry its name as model."""
    return Flavor(
        **{
            "name": FlavorName(name),
            "node_labels": {MODEL: name},
            "levels": (HOSTNAME,),
            "model": name,
            **more,
        }  # type: ignore[arg-type]
    )


def a_queue(
    name: str,
    nominal: int | Mapping[str, int] = 0,
    *,
    borrowing: int | None = None,
    lending: int | None = None,
    cohort: str | None = "all",
    **more: object,
) -> Queue:
    """A queue with GPU quota of one flavor (`nominal` a number) or of several."""
    nominals = nominal if isinstance(nominal, Mapping) else {"h100": nominal}
    return Queue(
        **{
            "name": QueueName(name),
            "cohort": None if cohort is None else CohortName(cohort),
            "groups": (
                ResourceGroup(resources=(GPU,), flavors=tuple(FlavorName(f) for f in nominals)),
            ),
            "quotas": {
                (FlavorName(flavor), GPU): Limits(nominal=n, borrowing=borrowing, lending=lending)
                for flavor, n in nominals.items()
            },
            **more,
        }  # type: ignore[arg-type]
    )


def a_cohort(
    name: str, parent: str | None = None, nominal: int = 0, lending: int | None = None
) -> Cohort:
    """A cohort, with H100 quota of its own if a number is given."""
    return Cohort(
        name=CohortName(name),
        parent=None if parent is None else CohortName(parent),
        quotas={(H100, GPU): Limits(nominal=nominal, lending=lending)}
        if nominal or lending
        else {},
    )


def a_layout(
    *queues: Queue,
    cohorts: tuple[Cohort, ...] = (),
    flavors: tuple[Flavor, ...] | None = None,
    usage: UsageRules | None = None,
    target_waits: Mapping[Priority, float] | None = None,
    options: Options | None = None,
) -> Layout:
    """A layout of these queues over one flavor, unless others are given."""
    return Layout(
        flavors=(a_flavor(),) if flavors is None else flavors,
        queues=queues,
        cohorts=cohorts,
        usage=usage,
        target_waits=target_waits or {},
        options=options or Options(),
    )


def a_node(name: str, gpus: int = 8, *, model: str = "h100", **more: object) -> Node:
    """A node with GPUs and the labels of its model."""
    return Node(
        **{
            "name": NodeName(name),
            "capacity": {GPU: gpus},
            "labels": {MODEL: model, HOSTNAME: name},
            **more,
        }  # type: ignore[arg-type]
    )


def a_workload(
    id: str,  # noqa: A002 - reads as what it is at the call
    queue: str,
    pods: int = 1,
    gpus: int = 1,
    *,
    priority: int = 0,
    created: float = 0.0,
    preemptible: bool = True,
    team: str | None = None,
    overflow: tuple[str, ...] = (),
    model: str | None = None,
    min_count: int | None = None,
    **more: object,
) -> Workload:
    """`pods` pods of `gpus` GPUs for a queue."""
    selector = {} if model is None else {MODEL: model}
    return Workload(
        **{
            "id": WorkloadId(id),
            "team": TeamName(team or queue),
            "owner": "someone",
            "queue": QueueName(queue),
            "overflow": tuple(QueueName(name) for name in overflow),
            "priority": priority,
            "created": created,
            "preemptible": preemptible,
            "pod_sets": (
                PodSet(
                    count=pods, requests={GPU: gpus}, node_selector=selector, min_count=min_count
                ),
            ),
            **more,
        }  # type: ignore[arg-type]
    )


class Cluster:
    """An engine with nodes, driven in few words. Targets leave when `settle` is called."""

    def __init__(self, layout: Layout, *nodes: Node) -> None:
        self.engine = Engine(layout)
        self.now = 1000.0
        for node in nodes:
            self.engine.apply(NodeObserved(node=node))

    def submit(self, *workloads: Workload) -> None:
        """They join their queues."""
        for workload in workloads:
            self.engine.apply(Submitted(workload=workload))

    def cycle(self, later: float = 0.0) -> Decisions:
        """Let time pass, then decide."""
        self.now += later
        return self.engine.cycle(self.now)

    def start(self, *workloads: Workload, later: float = 1.0) -> None:
        """Submit and admit one after the other, each at a later time."""
        for workload in workloads:
            self.submit(workload)
            admitted = [a.workload for a in self.cycle(later).admissions]
            assert admitted == [workload.id], f"{workload.id} did not start"

    def finish(self, *ids: str) -> None:
        """Their pods are gone by themselves."""
        for one in ids:
            self.engine.apply(Finished(workload=WorkloadId(one), at=self.now))

    def evict_leaving(self) -> None:
        """Everybody who was told to stop is gone and waits again."""
        for one in self.engine.leaving():
            self.engine.apply(Evicted(workload=one, at=self.now))

    def settle(self) -> tuple[list[str], list[str]]:
        """Cycle and let targets go until nothing happens: (admitted, preempted) in order."""
        admitted: list[str] = []
        preempted: list[str] = []
        for _ in range(100):
            decisions = self.cycle()
            admitted += names(decisions.admissions)
            preempted += [p.target for p in decisions.preemptions]
            if not self.engine.leaving():
                return admitted, preempted
            self.evict_leaving()
        raise AssertionError("does not come to rest")

    def running(self) -> list[str]:
        """Ids of those who hold capacity."""
        return [workload.id for workload, _ in self.engine.running()]

    def waiting(self) -> list[str]:
        """Ids of those who wait, in the engine's order."""
        return [workload.id for workload in self.engine.pending()]

    def where(self, one: str) -> dict[str, int]:
        """Pods per node of somebody who runs."""
        admission = next(a for w, a in self.engine.running() if w.id == one)
        return {node: pods for part in admission.assignments for node, pods in part.nodes}


def names(admissions: tuple[Admission, ...]) -> list[str]:
    """Their workloads' ids, in order."""
    return [admission.workload for admission in admissions]
