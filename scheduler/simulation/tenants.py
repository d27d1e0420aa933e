"""Turns the jobs of a trace into tasks for the engine, and makes a policy for them.

A trace knows tenants and sizes, nothing of queues. `layout_for` makes the policy that
stands for "each tenant has its own": one guaranteed queue a tenant, all in one cohort. Its
nominal quota is the tenant's part of the cluster in proportion to its GPU-time (every
tenant at least one GPU while there are enough). A queue lends what is idle, borrows without
limit, and takes back what is its own by stopping work that borrows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil

from scheduler.layout import (
    HOSTNAME,
    Cohort,
    Flavor,
    Layout,
    Limits,
    NodeGroup,
    Queue,
    Reclaim,
    ResourceGroup,
    Team,
)
from scheduler.model import (
    GPU,
    CohortName,
    FlavorName,
    PodSet,
    PoolName,
    Priority,
    QueueName,
    Refusal,
    Spend,
    TeamName,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)
from scheduler.policy import Policy, with_teams
from scheduler.routing import DEFAULT_NODE_SIZE, Ask, Uneven, route, split_gpus
from scheduler.simulation.replay import Task
from scheduler.simulation.traces import TraceJob

_FLAVOR = FlavorName("gpu")
_COHORT = CohortName("trace")
_POOL = PoolName("trace")
_NO_QUEUE = QueueName("")

BLOCK, RACK = "gpubot.dev/block", "gpubot.dev/rack"
"""Labels of the levels that a made-up cluster has."""

KEPT_BY_TEAMS = 0.25
"""Part of its guarantee that a policy's own team keeps beside the tenants of a trace."""

USED_OF_GUARANTEES = 0.8
"""Part of what is guaranteed that a trace's guaranteed jobs take on average."""


@dataclass(frozen=True, slots=True)
class Racks:
    """How equal nodes stand: `nodes` in a rack, `racks` in a block (None: no blocks)."""

    nodes: int
    racks: int | None = None

    @property
    def spans(self) -> tuple[tuple[str, int], ...]:
        """Nodes in a domain of each level, coarse to fine."""
        rack = (RACK, self.nodes)
        return (rack,) if self.racks is None else ((BLOCK, self.nodes * self.racks), rack)


def layout_for(
    jobs: Sequence[TraceJob], *, nodes: int, gpus_per_node: int, racks: Racks | None = None
) -> Layout:
    """The policy made for a trace on `nodes` equal nodes. Raises ValueError without jobs."""
    if not jobs:
        raise ValueError("a policy cannot be made for no jobs")
    spans = racks.spans if racks else ()
    capacity = {GPU: gpus_per_node}
    demand: dict[str, float] = {}
    for job in jobs:
        demand[job.tenant] = demand.get(job.tenant, 0.0) + job.gpus * job.duration
    quotas = apportion(demand, nodes * gpus_per_node)
    return Layout(
        flavors=(Flavor(name=_FLAVOR, levels=(*(level for level, _ in spans), HOSTNAME)),),
        cohorts=(Cohort(name=_COHORT),),
        queues=tuple(_queue(tenant, quota) for tenant, quota in quotas.items()),
        teams=tuple(Team(name=TeamName(tenant)) for tenant in quotas),
        node_groups=(NodeGroup(name="node", count=nodes, capacity=capacity, levels=spans),),
    )


def apportion(demand: dict[str, float], gpus: int) -> dict[str, int]:
    """Whole GPUs for each tenant in proportion to demand, in all `gpus`, by tenant name.

    One GPU each first (to the largest, when there are fewer GPUs than tenants), the rest by
    largest remainder; ties by name.
    """
    by_need = sorted(demand, key=lambda tenant: (-demand[tenant], tenant))
    quotas = {tenant: int(place < gpus) for place, tenant in enumerate(by_need)}
    rest = gpus - sum(quotas.values())
    whole = sum(demand.values())
    exact = {
        tenant: rest * demand[tenant] / whole if whole else rest / len(demand) for tenant in by_need
    }
    for tenant in by_need:
        quotas[tenant] += int(exact[tenant])
    left = gpus - sum(quotas.values())
    by_remainder = sorted(by_need, key=lambda tenant: (int(exact[tenant]) - exact[tenant], tenant))
    for tenant in by_remainder[:left]:
        quotas[tenant] += 1
    return {tenant: quotas[tenant] for tenant in sorted(quotas)}


def tasks_for(
    jobs: Iterable[TraceJob], *, gpus_per_node: int, racks: Racks | None = None
) -> Iterator[Task]:
    """Tasks for a policy made by `layout_for`: each job in its tenant's queue.

    All are preemptible, which only matters while their queue borrows. With racks, a gang of
    several nodes prefers to lie in one.
    """
    near = TopologyRequest(mode=TopologyMode.PREFERRED, level=RACK) if racks else None
    for job in jobs:
        yield Task(
            Workload(
                id=WorkloadId(job.id),
                team=TeamName(job.tenant),
                owner=job.tenant,
                queue=QueueName(job.tenant),
                created=job.submitted,
                pod_sets=pods_for(
                    job.gpus, gpus_per_node, near if job.gpus > gpus_per_node else None
                ),
                preemptible=True,
            ),
            job.duration,
        )


def tenant_policy(policy: Policy, jobs: Iterable[TraceJob]) -> Policy:
    """The same policy with the trace's tenants as its teams, unless they all are already.

    The team pool's GPUs are then divided evenly among them.
    """
    tenants = sorted({job.tenant for job in jobs})
    if all(tenant in policy.teams for tenant in tenants):
        return policy
    return with_teams(policy, tenants, keep=False)


def sized_policy(policy: Policy, jobs: Sequence[TraceJob], *, node_gpus: int) -> Policy:
    """The same policy with the trace's tenants as teams beside its own.

    Its own teams keep a part of what they were guaranteed, in proportion. The rest goes to
    the tenants by the GPU-time of their single-node jobs, which is what a team's guarantee
    is for.
    """
    demand = {job.tenant: 0.0 for job in jobs}
    for job in jobs:
        if job.gpus <= node_gpus:
            demand[job.tenant] += job.gpus * job.duration
    own = {name: part for name, part in policy.teams.items() if name not in demand}
    kept = {name: int(part.gpus * KEPT_BY_TEAMS) for name, part in own.items()}
    total = sum(part.gpus for part in policy.teams.values())
    gpus = kept | apportion(demand, total - sum(kept.values()))
    teams = with_teams(policy, demand).teams
    parts = {n: part.model_copy(update={"gpus": gpus[n]}) for n, part in teams.items()}
    return policy.model_copy(update={"teams": parts})


def guarded_part(layout: Layout, jobs: Sequence[TraceJob], *, gpus: int, node_gpus: int) -> float:
    """Which part of a trace's jobs can ask for guaranteed GPUs without waiting for each other.

    `gpus` is what the jobs keep in use on average. What single-node jobs are guaranteed by
    their teams' queues and those they overflow to is compared with what they would take; a
    reserve is left, because demand comes in waves. From 0.05 to 1.
    """
    single = sum(job.gpus * job.duration for job in jobs if job.gpus <= node_gpus)
    whole = sum(job.gpus * job.duration for job in jobs)
    if not single:
        return 1.0
    queues: set[QueueName] = set()
    for tenant in sorted({job.tenant for job in jobs}):
        found = route(layout, _plain_ask(TeamName(tenant), pods=1, gpus_per_pod=1))
        if not isinstance(found, Refusal):
            queues.update((found.queue, *found.overflow))
    held = sum(
        limits.nominal
        for queue in layout.queues
        if queue.name in queues
        for (_, resource), limits in queue.quotas.items()
        if resource == GPU
    )
    return min(1.0, max(0.05, USED_OF_GUARANTEES * held / (gpus * single / whole)))


def _plain_ask(team: TeamName, *, pods: int, gpus_per_pod: int) -> Ask:
    """A trace knows no labels: low spend, not preemptible, medium priority."""
    return Ask(
        team=team,
        spend=Spend.LOW,
        preemptible=False,
        priority=Priority.MEDIUM,
        pods=pods,
        gpus_per_pod=gpus_per_pod,
    )


def routed_tasks(jobs: Iterable[TraceJob], layout: Layout) -> Iterator[Task]:
    """Tasks for a policy of its own: each job goes where the policy's rules send it.

    A trace knows no labels: all jobs ask with low spend, not preemptible, medium priority.
    What no rule takes names no queue, and never fits.
    """
    per_node = max((group.capacity.get(GPU, 0) for group in layout.node_groups), default=0)
    for job in jobs:
        pod_sets = pods_for(job.gpus, per_node or DEFAULT_NODE_SIZE)
        ask = _plain_ask(
            TeamName(job.tenant),
            pods=pod_sets[0].count,
            gpus_per_pod=pod_sets[0].requests[GPU],
        )
        found = route(layout, ask)
        routed = None if isinstance(found, Refusal) else found
        yield Task(
            Workload(
                id=WorkloadId(job.id),
                team=ask.team,
                owner=job.tenant,
                queue=routed.queue if routed else _NO_QUEUE,
                overflow=routed.overflow if routed else (),
                priority_class=ask.priority,
                priority=routed.priority if routed else 0,
                created=job.submitted,
                pod_sets=pod_sets,
            ),
            job.duration,
        )


def declaring(tasks: Iterable[Task], factor: float) -> Iterator[Task]:
    """The same tasks, each of which says how long it will run: its run time times `factor`."""
    for task in tasks:
        yield replace(task, workload=replace(task.workload, duration=task.run_for * factor))


@cache
def pods_for(
    gpus: int, gpus_per_node: int, near: TopologyRequest | None = None
) -> tuple[PodSet, ...]:
    """Equal pods as routing splits them: 8 is one, 32 four whole nodes, 12 two of 6.

    A number that cannot be split evenly becomes pods of one GPU.
    """
    split = split_gpus(gpus, gpus_per_node)
    if isinstance(split, Uneven):
        split = split.even or (gpus, 1)
    count, each = split
    return (PodSet(count=count, requests={GPU: each}, topology=near),)


def _queue(tenant: str, quota: int) -> Queue:
    return Queue(
        name=QueueName(tenant),
        pool=_POOL,
        cohort=_COHORT,
        groups=(ResourceGroup(resources=(GPU,), flavors=(_FLAVOR,)),),
        quotas={(_FLAVOR, GPU): Limits(nominal=quota)},
        reclaim=Reclaim.ANY,
        team=TeamName(tenant),
    )


def nodes_for(jobs: Sequence[TraceJob], *, gpus_per_node: int, busy: float = 0.8) -> int:
    """As many nodes as keep busy at `busy` while jobs arrive, and hold the largest gang."""
    span = max(jobs[-1].submitted - jobs[0].submitted, 1.0)
    demand = sum(job.gpus * min(job.duration, span) for job in jobs) / span
    largest = max(job.gpus for job in jobs)
    return max(ceil(demand / busy / gpus_per_node), ceil(largest / gpus_per_node))


def at_load(jobs: Sequence[TraceJob], *, gpus: int, load: float) -> list[TraceJob]:
    """The jobs submitted faster or slower, so that the mean demand is `load` of `gpus`.

    Mean demand is the GPU-time of all jobs over the time from the first submission to the
    last; run times stay. Raises ValueError for jobs that are all submitted at once.
    """
    first = jobs[0].submitted
    span = jobs[-1].submitted - first
    if span <= 0:
        raise ValueError("jobs that are all submitted at once have no load")
    pace = sum(job.gpus * job.duration for job in jobs) / (load * gpus) / span
    return [replace(job, submitted=first + (job.submitted - first) * pace) for job in jobs]


def resized(layout: Layout, *, nodes: int | None, gpus_per_node: int | None) -> Layout:
    """The same policy with its largest group of nodes of another number or size."""
    if not layout.node_groups or (nodes is None and gpus_per_node is None):
        return layout
    largest = max(layout.node_groups, key=lambda group: group.count)
    capacity = dict(largest.capacity)
    if gpus_per_node is not None:
        capacity[GPU] = gpus_per_node
    fresh = replace(largest, count=nodes or largest.count, capacity=capacity)
    groups = tuple(fresh if group is largest else group for group in layout.node_groups)
    return replace(layout, node_groups=groups)
