"""The compiled policy: what the engine knows about quota, order and capacity, as plain values.

`scheduler.policy` compiles the policy file into a `Layout`; a reader of Kueue manifests
produces the same. The engine reads nothing else. Enum values are Kueue's own words, so
that a layout can be written back as manifests. Quantities are whole numbers of the
resource's base unit; `None` stands for "no limit".
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from scheduler.model import (
    GPU,
    CohortName,
    FlavorName,
    Node,
    NodeName,
    PoolName,
    Priority,
    QueueName,
    ResourceName,
    Seconds,
    Spend,
    Taint,
    TeamName,
    Toleration,
)
from scheduler.rest import Readiness

FlavorResource = tuple[FlavorName, ResourceName]

HOSTNAME = "kubernetes.io/hostname"
MODEL_LABEL = "gpubot.dev/model"
PROVISION_LABEL = "gpubot.dev/provision"

NO_POOL = PoolName("")


class Strategy(enum.StrEnum):
    """Whether a queue's head that does not fit holds back those behind it."""

    BEST_EFFORT = "BestEffortFIFO"
    STRICT = "StrictFIFO"


class Order(enum.StrEnum):
    """What comes first in a queue's order, before priority, age and id."""

    PRIORITY = "priority"
    USAGE = "usage"


class Within(enum.StrEnum):
    """Whom a workload may stop in its own queue."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    LOWER_OR_NEWER = "LowerOrNewerEqualPriority"


class Reclaim(enum.StrEnum):
    """Whom a workload inside its queue's quota may stop in queues that borrow."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    ANY = "Any"


class Search(enum.StrEnum):
    """Whether the flavor search may stop at a flavor that borrows or preempts."""

    MAY_STOP = "MayStopSearch"
    TRY_NEXT = "TryNextFlavor"


class Preference(enum.StrEnum):
    """What the flavor search would rather do when no flavor simply fits."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aging:
    """How waiting raises a workload's priority, in steps and never by more than `most`.

    The first step comes `after` so much waiting, one more `every` so often. With `hold`, a
    workload that was raised and finds no room holds back those behind it in its queue.
    """

    after: Seconds
    every: Seconds
    step: int
    most: int
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRules:
    """When work of a queue that waits gets a reservation; see `scheduler.backfill`.

    Work of `least` GPUs or more that has waited `after` gets one while fewer than `most` stand
    among all queues that can affect each other. One that has not led to a start within
    `patience` is given up; None is no limit.
    """

    after: Seconds
    least: int = 1
    most: int = 1
    patience: Seconds | None = None


class AfterLease(enum.StrEnum):
    """What happens to a workload whose lease has run out."""

    RELEASE = "release"
    UNPROTECT = "unprotect"


class Size(enum.StrEnum):
    """Whether a gang lies on one node or on several; routing depends on it."""

    SINGLE = "single"
    MULTI = "multi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Quota of one resource of one flavor at one node of the cohort tree."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Resources that are always taken from one and the same flavor, tried in order."""

    resources: tuple[ResourceName, ...]
    flavors: tuple[FlavorName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """A kind of capacity: the nodes that carry `node_labels`.

    `levels` are the node labels of its topology from coarse to fine, the last one naming
    single nodes; without levels the flavor has quota only and no placement.
    `weight` is what a chip-hour of it counts, 1.0 for the reference GPU.
    """

    name: FlavorName
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    levels: tuple[str, ...] = ()
    model: str = ""
    provision: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fungibility:
    """When the search for a flavor stops, and what it prefers."""

    when_can_borrow: Search = Search.MAY_STOP
    when_can_preempt: Search = Search.TRY_NEXT
    preference: Preference = Preference.BORROWING_OVER_PREEMPTION


@dataclass(frozen=True, slots=True, kw_only=True)
class BorrowWithin:
    """Preempting while borrowing: targets of lower priority, up to `max_priority`."""

    max_priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """An inner node of the quota tree."""

    name: CohortName
    parent: CohortName | None = None
    quotas: Mapping[FlavorResource, Limits] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A leaf of the quota tree, with its order and its preemption policy.

    Beyond Kueue: `within_from` is the least priority that may stop others in this queue,
    `protected_from` the least priority before which even non-preemptible work of this
    queue is not safe (None: always safe), and `strict_per_flavor` makes a strict head hold
    back only those behind it that could use the same flavors. Work that runs here is no target
    before it has run for `min_runtime`, or `min_runtime_own` where somebody of the same queue
    asks; `aging` raises those who wait long; `fair_users` alternates between the users of a team;
    `backfill` keeps room for those who wait long (None: off). With `lapses`, work whose lease has
    run out may be stopped by all who wait here (`scheduler.lapse`).
    """

    name: QueueName
    pool: PoolName = NO_POOL
    cohort: CohortName | None = None
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Limits] = field(default_factory=dict)
    strategy: Strategy = Strategy.BEST_EFFORT
    order: Order = Order.PRIORITY
    within: Within = Within.NEVER
    reclaim: Reclaim = Reclaim.NEVER
    borrow_within: BorrowWithin | None = None
    fungibility: Fungibility = Fungibility()
    weight: float = 1.0
    team: TeamName | None = None
    within_from: int | None = None
    protected_from: int | None = None
    strict_per_flavor: bool = False
    min_runtime: Seconds = 0.0
    min_runtime_own: Seconds = 0.0
    aging: Aging | None = None
    fair_users: bool = False
    backfill: BackfillRules | None = None
    lapses: bool = False


class AfterIdle(enum.StrEnum):
    """What follows when nobody answers for idle GPUs."""

    RELEASE = "release"
    TELL = "tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleRule:
    """When the owner of idle GPUs is asked. A GPU is idle below a share of its time (0 to 1).

    All seconds: idle for `after`, the question is open for `answer`, and a "keep" holds for
    `keep`. The engine does not look at it.
    """

    below: float
    after: Seconds
    answer: Seconds
    keep: Seconds
    then: AfterIdle


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One of the families of queues that people see, with its rules about time."""

    name: PoolName
    lease_default: Seconds
    lease_max: Seconds
    grace: Seconds
    after_lease: AfterLease
    idle: IdleRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """An account that is charged; a larger `weight` makes the same use count less.

    `budgets` are the most GPUs that it may have in a priority class, running and waiting;
    a class that is not named has no limit. `monthly_gpu_hours` is what it plans to use in a
    calendar month; the engine does not hold it to that, people are told.
    """

    name: TeamName
    weight: float = 1.0
    budgets: Mapping[Priority, int] = field(default_factory=dict)
    monthly_gpu_hours: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A door to a queue inside a namespace, as Kueue has it.

    Work that comes through it is charged to `team`. A larger `weight` makes the same use
    count less; 0 comes last.
    """

    name: str
    namespace: str
    queue: QueueName
    weight: float = 1.0

    @property
    def team(self) -> TeamName:
        """Who is charged."""
        return TeamName(f"{self.namespace}/{self.name}")


class FairStrategy(enum.StrEnum):
    """When fair sharing may stop a workload of another queue, by the two queues' shares."""

    FINAL = "LessThanOrEqualToFinalShare"
    INITIAL = "LessThanInitialShare"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRules:
    """How chip-hours are remembered: half-life, sampling interval, weight per resource.

    Resources that `weights` does not name count `other_weight`. With `exact`, use is
    integrated at each start and end as well as at the samples.
    """

    half_life: Seconds
    interval: Seconds
    weights: Mapping[ResourceName, float] = field(default_factory=lambda: {GPU: 1.0})
    other_weight: float = 0.0
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One routing rule: the first whose conditions hold decides.

    None means "any". `{team}` in a queue's name stands for the requester's team.
    `priorities` are the numbers of the classes in that lane.
    """

    queue: str
    overflow: tuple[str, ...] = ()
    spend: Spend | None = None
    preemptible: bool | None = None
    size: Size | None = None
    classes: tuple[Priority, ...] | None = None
    priorities: Mapping[Priority, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """Nodes of one shape of the described cluster, named `<name>-0001` and so on.

    `levels` gives each coarser topology label the number of nodes in one of its domains.
    """

    name: str
    count: int
    capacity: Mapping[ResourceName, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()


class Packing(enum.StrEnum):
    """Which nodes pods without a demand on the topology are given.

    The first is the engine's own; the others are there to be compared with. least-free: the
    fullest nodes that hold the gang. first-fit: by name. spread: pod by pod the node of which
    the least is used, as Kubernetes' own scheduler scores by default (LeastAllocated).
    """

    LEAST_FREE = "least-free"
    FIRST_FIT = "first-fit"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveBounds:
    """How much defragmentation may move; see `scheduler.defragmentation`.

    `per_hour` are gangs; what is moved for a workload may lose `hours_per_gpu` GPU-hours for
    each of its GPUs.
    """

    per_hour: int = 60
    hours_per_gpu: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionBounds:
    """How many may be stopped for others in one cycle and in one hour; None is no limit."""

    per_cycle: int | None = None
    per_hour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What goes beyond Kueue's defaults, each off where Kueue is to be matched.

    claims: freed capacity is held for the preemptor, and nothing starts that fits only
    once targets have left. ignore_uncovered: a resource that a queue has no quota for is
    not counted, instead of making the workload impossible. tight: among nodes that hold
    equally many pods, the one with the least free capacity comes first. wake_neighbours:
    freed capacity also wakes queues of other cohort trees that share the nodes.

    These are off by default. balanced: what prefers a topology level is shared out in equal
    parts. packing: see `Packing`. defragment: see `scheduler.defragmentation`; moves: how much
    it may move. by_cost: among targets of equal priority, the one that would lose the fewest
    GPU-hours since its last checkpoint comes first. flips_at_most: once one of two workloads
    has stopped the other so often, neither stops the other again; None is no limit. evictions:
    see `scheduler.brake`.
    """

    claims: bool = True
    ignore_uncovered: bool = True
    tight: bool = True
    wake_neighbours: bool = True
    balanced: bool = False
    packing: Packing = Packing.LEAST_FREE
    defragment: bool = False
    moves: MoveBounds = MoveBounds()
    by_cost: bool = False
    flips_at_most: int | None = None
    evictions: EvictionBounds = EvictionBounds()


_Named = TypeVar("_Named", Flavor, Queue, Pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Everything the engine is configured with. Tuples are in the policy's own order.

    `fair_sharing` turns preemption by share on and lists its strategies; None is off.
    """

    flavors: tuple[Flavor, ...]
    queues: tuple[Queue, ...]
    cohorts: tuple[Cohort, ...] = ()
    pools: tuple[Pool, ...] = ()
    teams: tuple[Team, ...] = ()
    rules: tuple[Rule, ...] = ()
    priorities: Mapping[Priority, int] = field(default_factory=dict)
    target_waits: Mapping[Priority, Seconds] = field(default_factory=dict)
    usage: UsageRules | None = None
    fair_sharing: tuple[FairStrategy, ...] | None = None
    local_queues: tuple[LocalQueue, ...] = ()
    node_groups: tuple[NodeGroup, ...] = ()
    options: Options = Options()
    readiness: Readiness = field(default_factory=Readiness)

    def flavor(self, name: FlavorName) -> Flavor:
        """Raises KeyError for a name that no flavor has."""
        return _named(self.flavors, name)

    def queue(self, name: QueueName) -> Queue:
        """Raises KeyError for a name that no queue has."""
        return _named(self.queues, name)

    def pool(self, name: PoolName) -> Pool:
        """Raises KeyError for a name that no pool has."""
        return _named(self.pools, name)

    def models(self) -> tuple[str, ...]:
        """GPU models that some flavor offers, in the order of the flavors."""
        return tuple(dict.fromkeys(f.model for f in self.flavors if f.model))


def _named(things: tuple[_Named, ...], name: str) -> _Named:
    """The thing of that name. Raises KeyError."""
    for thing in things:
        if thing.name == name:
            return thing
    raise KeyError(name)


def build_nodes(layout: Layout) -> tuple[Node, ...]:
    """The nodes of the described cluster, in name order."""
    nodes = [
        Node(
            name=NodeName(f"{group.name}-{number:04d}"),
            labels={
                **group.labels,
                **{
                    label: f"{group.name}-{label.rsplit('/', 1)[-1]}-{(number - 1) // span + 1:03d}"
                    for label, span in group.levels
                },
                HOSTNAME: f"{group.name}-{number:04d}",
            },
            capacity=group.capacity,
            taints=group.taints,
        )
        for group in layout.node_groups
        for number in range(1, group.count + 1)
    ]
    return tuple(sorted(nodes, key=lambda node: node.name))
