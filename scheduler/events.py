"""Everything that can happen to the engine, as frozen values.

`Engine.apply` takes one of these at a time; nothing else changes the engine except
`Engine.cycle`. A list of events is therefore a complete, replayable history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.byhand import UNTOLD, Order
from scheduler.history import Sample
from scheduler.layout import FlavorResource
from scheduler.model import (
    Admission,
    Node,
    NodeName,
    PodSetAssignment,
    QueueName,
    ResourceName,
    Rest,
    Seconds,
    TeamName,
    Usage,
    Workload,
    WorkloadId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A workload joins its queue."""

    workload: Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A workload that already ran (or was leaving) when the engine was rebuilt.

    `checkpoint` is when it last saved its progress, None if that is not known.
    """

    workload: Workload
    admission: Admission
    leaving: bool = False
    checkpoint: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """A waiting workload is no longer wanted."""

    workload: WorkloadId
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A running workload's pods are all gone, by themselves or because it was released."""

    workload: WorkloadId
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """The pods of a preempted (or lost) workload are gone; it is requeued at its old place.

    With `own_failure` it goes to the back instead: `created` becomes `at`. With `rest` it is not
    tried before that is over.
    """

    workload: WorkloadId
    at: Seconds
    own_failure: bool = False
    rest: Rest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """A running workload was told to stop for its own sake: nobody is to preempt it again."""

    workload: WorkloadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprotected:
    """A running workload outlived its lease: it has no standing left; see `scheduler.lapse`."""

    workload: WorkloadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended:
    """A workload that waits or runs is another from now on; see `scheduler.amendment`.

    `workload` has the id of the one it takes the place of.
    """

    workload: Workload
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed:
    """A running workload has saved its progress: stopping it loses only what comes after."""

    workload: WorkloadId
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What is alive of a running workload: of each pod set of its grant, pods and their nodes.

    Pods that have finished give their capacity back; those that start again take it again,
    whether or not there is room for them.
    """

    workload: WorkloadId
    alive: tuple[PodSetAssignment, ...]
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObserved:
    """A node is new or changed (capacity, labels, taints, readiness, cordon)."""

    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRemoved:
    """A node no longer exists."""

    node: NodeName


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost:
    """The pods on a node are gone for good: it failed, or was drained.

    The gangs that had pods there are repaired, or evicted whole, before anything new is
    admitted. That the node is unusable, or gone, is another event. With `workload` only that
    gang lost its pods there.
    """

    node: NodeName
    workload: WorkloadId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePaused:
    """A queue admits nothing until it is resumed.

    `by`, `reason` and `until` are told to those who wait; the engine does not resume by itself.
    """

    queue: QueueName
    by: str = ""
    reason: str = ""
    until: Seconds | None = None

    @property
    def order(self) -> Order:
        """Who paused it, why, and until when."""
        return Order(by=self.by, reason=self.reason, until=self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueResumed:
    """A paused queue admits again."""

    queue: QueueName


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChanged:
    """A queue has other nominal quota than the policy says; with nothing named, the policy's.

    `orders` say who wanted which of it.
    """

    queue: QueueName
    nominal: Mapping[FlavorResource, int]
    orders: Mapping[FlavorResource, Order] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """A workload counts with `by` more priority than its own; with 0 as without."""

    workload: WorkloadId
    by: int
    order: Order = UNTOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCordoned:
    """Nothing new is placed on a node, whatever is observed of it; what runs there goes on."""

    node: NodeName
    order: Order = UNTOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUncordoned:
    """A node counts as it is observed again."""

    node: NodeName


@dataclass(frozen=True, slots=True, kw_only=True)
class Displaced:
    """Running workloads were told to stop by hand: for one that waits, or for nobody.

    What they free is kept for the preemptor. Without one they wait again at the back of
    their queues.
    """

    targets: tuple[WorkloadId, ...]
    preemptor: WorkloadId | None
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A workload that was told to stop does not go: nobody is to wait for its room any more."""

    workload: WorkloadId


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRestored:
    """Decayed usage read back from storage at start."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumptionRestored:
    """What a team was charged with, by resource in base units, as of `at`."""

    team: TeamName
    amounts: Mapping[ResourceName, float]
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimesRestored:
    """How long work ran, read back from storage at start: the earliest end first."""

    samples: tuple[Sample, ...]


Event = (
    Submitted
    | Restored
    | Withdrawn
    | Finished
    | Evicted
    | Leaving
    | Unprotected
    | Amended
    | Checkpointed
    | Counted
    | NodeObserved
    | NodeRemoved
    | NodeLost
    | QueuePaused
    | QueueResumed
    | QuotaChanged
    | Boosted
    | NodeCordoned
    | NodeUncordoned
    | Displaced
    | Stuck
    | UsageRestored
    | ConsumptionRestored
    | RunTimesRestored
)
