"""The nouns of the engine: what waits, what runs, on what, and what was decided.

Values only. Times are `Seconds` (UTC seconds since the epoch), resources are whole
numbers in the unit the resource is counted in (GPUs and pods one by one, CPU in
thousandths of a core, memory in bytes), and every collection has a documented order.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

WorkloadId = NewType("WorkloadId", str)
QueueName = NewType("QueueName", str)
CohortName = NewType("CohortName", str)
FlavorName = NewType("FlavorName", str)
PoolName = NewType("PoolName", str)
TeamName = NewType("TeamName", str)
NodeName = NewType("NodeName", str)
ResourceName = NewType("ResourceName", str)
Seconds = float

GPU = ResourceName("nvidia.com/gpu")
PODS = ResourceName("pods")


class Spend(enum.StrEnum):
    """What a person is willing to pay: `high` asks for capacity bought on demand."""

    LOW = "low"
    HIGH = "high"


class Priority(enum.StrEnum):
    """The four priority classes people may name; the policy gives each its number."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class TaintEffect(enum.StrEnum):
    """The Kubernetes taint effects; only the last two keep pods away."""

    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A mark on a node or flavor that keeps pods without a matching toleration away."""

    key: str
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """What a pod puts up with; an empty `key` tolerates all, `value` None any value."""

    key: str = ""
    value: str | None = None
    effect: TaintEffect | None = None


class TopologyMode(enum.StrEnum):
    """How strictly a pod set wants its pods in one domain of a topology level."""

    REQUIRED = "required"
    PREFERRED = "preferred"
    UNCONSTRAINED = "unconstrained"


class Operator(enum.StrEnum):
    """How a node's label is compared; the values are Kubernetes' own."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One demand on a node label, or on the node's name whatever its labels are (`of_name`)."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    of_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Groups of `size` pods that must each share a domain of `level`."""

    level: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequest:
    """Where the pods of a set must lie; `level` is a node label, None for unconstrained.

    `slices` are layers of groups that must stay together, the outermost first. Pod sets that
    name the same `group` are placed together and share their flavors.
    """

    mode: TopologyMode = TopologyMode.UNCONSTRAINED
    level: str | None = None
    slices: tuple[Slice, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods of one shape. `requests` is per pod; `min_count` allows a smaller start.

    `affinity` holds alternatives, each a list of demands on node labels that must all be met;
    without alternatives nothing is demanded.
    """

    name: str = "main"
    count: int
    requests: Mapping[ResourceName, int]
    min_count: int | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: TopologyRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapsed:
    """The standing that a workload had before its lease ran out."""

    priority: int
    preemptible: bool


class RestCause(enum.StrEnum):
    """Why somebody rests.

    LATE: its own pods; UNPLACED: the cluster had no room for them; UNMADE: it refused to make them.
    SPOILED: what it stands for was changed so that it cannot be asked for; then nothing but another
    change there ends it. LINGERS: a node that has failed keeps a pod of it: it ends with that.
    """

    LATE = "late"
    UNPLACED = "unplaced"
    UNMADE = "unmade"
    SPOILED = "spoiled"
    LINGERS = "lingers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A pause before another try: after `tries` in vain of `most` (None: of any number).

    `until` is None if it lasts until somebody changes the request.
    """

    cause: RestCause
    tries: int
    most: int | None
    until: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The engine's view of a request: a gang of pods, admitted together or not at all.

    `queue` is its home; `overflow` lists further queues, in order, that are tried when
    the home queue's own quota cannot hold it. `created` is the time that orders it and
    is kept through every preemption. `duration` is the declared lease, None if unknown.

    `queued` is since when it waits this time, None for since `created`; `raised` is how much
    of `priority` it owes to waiting. `asked_class` is the class it asked for where its team's
    budget of that was used up, so that it has a lower one.

    `replica` is 0, or for one of several replicas a number that grows with each that comes.

    `lapsed` is set while it runs on after its lease, `barred` while it waits after that; see
    `scheduler.lapse`. `rest` is set while it waits and is not to be tried; see `scheduler.rest`.
    """

    id: WorkloadId
    team: TeamName
    owner: str
    queue: QueueName
    overflow: tuple[QueueName, ...] = ()
    priority_class: Priority = Priority.MEDIUM
    priority: int = 0
    created: Seconds
    pod_sets: tuple[PodSet, ...]
    preemptible: bool = False
    duration: Seconds | None = None
    name: str = ""
    queued: Seconds | None = None
    raised: int = 0
    asked_class: Priority | None = None
    lapsed: Lapsed | None = None
    barred: bool = False
    rest: Rest | None = None
    replica: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of the whole gang."""
        return sum(p.count * p.requests.get(GPU, 0) for p in self.pod_sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine. `capacity` is what pods may use, less what pods outside our care hold.

    `outside` is what those hold: it is not ours to give, but may come free one day.
    """

    name: NodeName
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[ResourceName, int]
    outside: Mapping[ResourceName, int] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    schedulable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSetAssignment:
    """What one pod set got: its flavor per resource and its pods per node.

    `nodes` is in the order of node names and its counts sum to `count`.
    """

    name: str
    count: int
    flavors: Mapping[ResourceName, FlavorName]
    nodes: tuple[tuple[NodeName, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A whole gang's grant: queue that is charged, and one assignment per pod set, in order.

    `repairs` counts how often lost nodes were replaced in it.
    """

    workload: WorkloadId
    queue: QueueName
    assignments: tuple[PodSetAssignment, ...]
    at: Seconds
    borrowing: bool = False
    repairs: int = 0

    def gpus(self, workload: Workload) -> int:
        """GPUs that are granted: less than the workload asks for after a smaller start."""
        each = {pods.name: pods.requests.get(GPU, 0) for pods in workload.pod_sets}
        return sum(part.count * each.get(part.name, 0) for part in self.assignments)


class PreemptionRule(enum.StrEnum):
    """By which rule a target is stopped; the values are Kueue's reason names.

    Defragmentation is our own: the target starts again elsewhere at once. So is an intervention:
    a person said so.
    """

    IN_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    FAIR_SHARING = "InCohortFairSharing"
    DEFRAGMENTATION = "Defragmentation"
    INTERVENTION = "Intervention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """One target stopped for one preemptor.

    `level` is the node of the quota tree at which the rule applied: the queue itself, or
    the lowest cohort that contains both. `gpus` is what the target frees, `ran` how long
    it had run.
    """

    target: WorkloadId
    preemptor: WorkloadId
    rule: PreemptionRule
    target_queue: QueueName
    preemptor_queue: QueueName
    level: str
    gpus: int
    ran: Seconds
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A gang that lost nodes goes on: `admission` is its whole grant from now on.

    `lost` are the nodes that its pods had to leave, in name order.
    """

    workload: WorkloadId
    admission: Admission
    lost: tuple[NodeName, ...]
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A gang that lost nodes and has no others to go on with is stopped whole.

    It holds what is left of it until its pods are gone, and then waits at its old place.
    """

    workload: WorkloadId
    queue: QueueName
    lost: tuple[NodeName, ...]
    gpus: int
    ran: Seconds
    at: Seconds


class WaitReason(enum.StrEnum):
    """Why a workload waits. Exactly one is dominant; members are in order of precedence."""

    PAUSED = "paused"
    RESTING = "resting"
    MISCONFIGURED = "misconfigured"
    EXCEEDS_LIMIT = "exceeds-limit"
    NO_FLAVOR = "no-flavor"
    QUOTA = "quota"
    TOPOLOGY = "topology"
    PROTECTED = "protected"
    RESERVED = "reserved"
    WAITING_FOR_TARGETS = "waiting-for-targets"
    BEHIND = "behind"
    NOT_EVALUATED = "not-evaluated"


Figure = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The dominant reason with its numbers, as code and arguments (never a sentence)."""

    reason: WaitReason
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds capacity that a waiting workload needs, and when that ends, if known."""

    workload: WorkloadId
    team: TeamName
    queue: QueueName
    gpus: int
    ends: Seconds | None


class Basis(enum.StrEnum):
    """What an expectation rests on; members are in order of certainty."""

    DECLARED = "declared"
    HISTORY = "history"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Room that is kept for a workload that has waited long: from `at` on, on `nodes`.

    `nodes` are in name order, `domain` is the lowest topology domain that holds them all, as
    `level=value`, empty without one. `since` is when it got a reservation. `basis` is the
    least certain of the ends that `at` rests on.
    """

    workload: WorkloadId
    queue: QueueName
    at: Seconds
    nodes: tuple[NodeName, ...]
    domain: str
    gpus: int
    since: Seconds
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that can be said about a waiting workload at one moment.

    `position` counts from 1 in its queue's own order; `ahead` are the ids before it, at
    most the first ten; `holders` are the largest first, at most five; `reservation` is what is
    kept for it, if anything is.
    """

    workload: WorkloadId
    queue: QueueName
    verdict: Verdict
    position: int
    ahead: tuple[WorkloadId, ...]
    since: Seconds
    holders: tuple[Holder, ...] = ()
    reservation: Reservation | None = None


class LimitKind(enum.StrEnum):
    """Which limit makes a request impossible for good."""

    QUEUE = "queue"
    COHORT = "cohort"
    NODE = "node"
    DOMAIN = "domain"
    SLICES = "slices"
    CLUSTER = "cluster"
    NO_FLAVOR = "no-flavor"
    NO_QUEUE = "no-queue"
    BUDGET = "budget"
    LEASE = "lease"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that could never start, with the limit that was hit and its size."""

    limit: LimitKind
    where: str
    asked: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation:
    """A workload past the target wait of its priority class."""

    workload: WorkloadId
    waited: Seconds
    target_wait: Seconds
    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Decayed chip-hours of a team, as of `at` (chip-hours of the reference flavor)."""

    team: TeamName
    chip_hours: float
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Two workloads, by id, one of which has stopped the other too often: they no longer may."""

    pair: tuple[WorkloadId, WorkloadId]
    times: int
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What one cycle decided, in the order it was decided; repairs and evictions come first."""

    admissions: tuple[Admission, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    repairs: tuple[Repair, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    flips: tuple[Flip, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.admissions or self.preemptions or self.repairs or self.evictions)
