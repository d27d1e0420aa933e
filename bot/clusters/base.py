"""The port between the control loop and a cluster.

The loop asks `observe` once at start (a full, consistent list), then `poll` for what has
happened since; it hands decisions to `apply`, which must be idempotent: the same action
twice has the effect of one. Only `bot.control` calls these.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.clusters.flaws import Flaw
from scheduler.model import (
    GPU,
    Admission,
    Node,
    NodeName,
    PodSet,
    PodSetAssignment,
    ResourceName,
    Seconds,
    Workload,
    WorkloadId,
)
from storage.records import ObjectRef, Recipe


class ClusterUnreachable(Exception):
    """The cluster could not be asked or told; nothing may be decided on stale knowledge."""


class PodsState(enum.StrEnum):
    """What the pods of a gang, taken together, are doing.

    BROKEN: some were lost, and the others wait for a `Replace` or a `Stop`.
    """

    STARTING = "starting"
    RUNNING = "running"
    BROKEN = "broken"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A gang that holds capacity now.

    `admission` is the one last carried out; `missing` are the nodes on which pods of it were
    lost, in name order, and only of a BROKEN gang.
    """

    workload: WorkloadId
    state: PodsState
    admission: Admission
    decision: str
    missing: tuple[NodeName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """An object that tells of a decision of a bot with another store, whose identity is `bot`.

    It is nothing of ours, and is left alone: `gpus` is what its pods hold, outside our care.
    """

    ref: ObjectRef
    bot: str
    decision: str
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A full list: every node, and every gang of ours that holds capacity, by name / id.

    `objects` are the uids of the objects that people made and requests stand for; None where
    a cluster has no such thing. `foreign` are those that another bot let start, or did once.
    """

    nodes: tuple[Node, ...]
    workloads: tuple[Observed, ...]
    at: Seconds
    objects: frozenset[str] | None = None
    foreign: tuple[Foreign, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """All pods of the gang are ready."""

    workload: WorkloadId
    decision: str
    at: Seconds


class EndKind(enum.StrEnum):
    """How a gang came to have no pods any more.

    LATE: not all of its pods were ready in time although all had their nodes; UNPLACED: not in
    time because some of them did not get onto theirs; UNMADE: because some were not even made.
    LEFT: it lost its label and runs on in nobody's care.
    """

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    LATE = "late"
    UNPLACED = "unplaced"
    UNMADE = "unmade"
    LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The last pod of the gang is gone; what it held is free. LOST: its node failed."""

    workload: WorkloadId
    decision: str
    kind: EndKind
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """A node is new or changed."""

    node: Node
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGone:
    """A node no longer exists."""

    name: str
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailed:
    """Every pod on a node is gone for good, or has to go: it is `leaving`, but there for a while.

    Its NodeSeen (which takes nothing) or NodeGone is told too.
    """

    name: NodeName
    at: Seconds
    leaving: bool = False


class Evidence(enum.StrEnum):
    """How much it says against a node that a gang was not ready in time because of pods there.

    DOUBTFUL: that may as well be its own fault. CERTAIN: the node itself says so.
    """

    DOUBTFUL = "doubtful"
    LIKELY = "likely"
    CERTAIN = "certain"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSlow:
    """A gang was not ready in time because of its pods on a node."""

    node: NodeName
    workload: WorkloadId
    at: Seconds
    evidence: Evidence = Evidence.LIKELY


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A gang was not ready in time, for the reason that its end will have, and is stopped.

    Told before its end: what its controller puts in its place may come earlier than that.
    """

    workload: WorkloadId
    decision: str
    kind: EndKind
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsLost:
    """A gang lost its pods on one node, and nothing else; it is BROKEN from now on.

    What is not `mendable` is stopped whole when it is to go on elsewhere.
    """

    workload: WorkloadId
    decision: str
    node: NodeName
    at: Seconds
    mendable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPod:
    """A pod as somebody asks about it. `request` is whose it is, None for one outside our care.

    `requests` is what it holds of `node`; `keeper` the kind and name of the object that controls
    it; `owner` the person that its maker names; `runs` whether it holds a node and goes on, and
    `since` is from when on it has run there, as its node says.
    """

    ref: ObjectRef
    node: NodeName | None
    requests: Mapping[ResourceName, int]
    runs: bool
    request: str | None = None
    keeper: tuple[str, str] | None = None
    owner: str | None = None
    since: Seconds | None = None

    @property
    def gpus(self) -> int:
        """GPUs that it holds or asks for."""
        return self.requests.get(GPU, 0)

    @property
    def where(self) -> str:
        """As people write it."""
        return f"{self.ref.namespace}/{self.ref.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """GPUs of a node that a hold has no pods on were taken by pods (`by`) outside the bot; once.

    `vacant`: the hold has no pods on the node; `bare`: nor anywhere. `seen` is how the node is.
    """

    workload: WorkloadId
    decision: str
    node: NodeName
    by: tuple[SeenPod, ...]
    vacant: bool
    bare: bool
    seen: Node
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """Pods of a running gang are done for good: what is left of each pod set of its grant."""

    workload: WorkloadId
    decision: str
    left: tuple[PodSetAssignment, ...]
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A running gang has saved its progress at `saved`: a stop loses only what comes after."""

    workload: WorkloadId
    decision: str
    saved: Seconds
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSaved:
    """What an object says of the time at which it saved its progress cannot be; told once.

    `ahead` is by how many seconds that lies ahead; None where it is no time at all.
    """

    ref: ObjectRef
    value: str
    ahead: Seconds | None
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlaced:
    """Pods that were let go found no place where they were granted one; told as it is given up.

    `rules` are those of theirs that no grant looks at. `said` is what the scheduler says. `larger`
    is a resource of which they ask for more than was granted, with both amounts.
    """

    ref: ObjectRef
    rules: tuple[str, ...]
    said: str
    at: Seconds
    larger: tuple[ResourceName, int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgrown:
    """A running object was made larger than it was granted: its further pods wait. Told once."""

    ref: ObjectRef
    granted: int
    pods: int
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An object that somebody made in the cluster waits to be let in; told again when it changes.

    `marks` are its labels and annotations of ours, without the prefix, as they were written.
    `leaving` are the uids of other replicas of its family that are being deleted. What has a
    `flaw` cannot start as it is.
    """

    ref: ObjectRef
    marks: Mapping[str, str]
    pod_sets: tuple[PodSet, ...]
    created: Seconds
    at: Seconds
    leaving: frozenset[str] = frozenset()
    flaw: Flaw | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwanted:
    """An object of people's is no more, or no longer waits for us."""

    uid: str
    at: Seconds


ClusterEvent = (
    Started
    | Gone
    | NodeSeen
    | NodeGone
    | NodeFailed
    | NodeSlow
    | GivenUp
    | PodsLost
    | Taken
    | Shrunk
    | Saved
    | NotSaved
    | NotPlaced
    | Outgrown
    | Wanted
    | Unwanted
)


OF_GANGS = (Started, Gone, GivenUp, PodsLost, Taken, Shrunk, Saved)
"""Those of the events that are about an attempt of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Let the gang run where the admission says. `decision` is unique per attempt.

    `run_for` is how long a simulated gang will run by itself, None if until it is stopped.
    `ref` is the object that starts. `recipe` is what the cluster makes for it. Without either
    it is a hold: its owner's pods are let in. `kept` is what a gang that runs has not given back
    (`Shrunk`), None where that is all: a cluster that was not there cannot know.
    """

    workload: Workload
    admission: Admission
    decision: str
    run_for: Seconds | None = None
    recipe: Recipe | None = None
    ref: ObjectRef | None = None
    kept: tuple[PodSetAssignment, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Take the gang's pods away, all of them, after `grace` seconds at the most.

    `begun` is the Start that it takes back, for a cluster that was not there when it was told.
    """

    workload: WorkloadId
    decision: str
    grace: Seconds
    begun: Start | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Put the pods that a BROKEN gang lacks of `admission` on its nodes; leave the others be.

    `decision` is that of the Start. `admission.repairs` tells one repair from another: one
    that is not newer than what the gang has, or is of a gang that is gone, does nothing.
    Pods that cannot be put on their node are lost (PodsLost).
    """

    workload: WorkloadId
    admission: Admission
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """Close a node to new pods, or open it again; what runs there goes on.

    Nothing happens to a node that does not exist. Told by NodeSeen when it is done.
    """

    node: NodeName
    closed: bool


Action = Start | Stop | Replace | Cordon


class RemarkReason(enum.StrEnum):
    """What a remark is about, in the form that Kubernetes gives to an Event's reason."""

    REFUSED = "Refused"
    ADMITTED = "Admitted"
    PREEMPTED = "Preempted"
    REQUEUED = "Requeued"
    IGNORED = "Ignored"
    UNPLACED = "Unplaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something to be said on an object itself, to those who look at it in the cluster.

    `state` tells this saying from others about the object: the same is said once. `note` makes
    the sentence when it is written, which is after everything that is due has been done.
    """

    ref: ObjectRef
    reason: RemarkReason
    state: str
    warning: bool
    note: Callable[[], str]


class Cluster(Protocol):
    """What the control loop needs of a cluster."""

    def hear(self, on_news: Callable[[], None]) -> None:
        """Have something called, from any thread, when there may be something to poll."""
        ...

    def close(self) -> None:
        """Let go of what it holds open."""
        ...

    def find_pod(self, namespace: str, name: str) -> SeenPod | None:
        """A pod, whoever's it is, as it was last heard of. From any thread."""
        ...

    def outside(self, nodes: Iterable[NodeName]) -> tuple[SeenPod, ...] | None:
        """The GPU pods on some nodes that no request stands for, by namespace and name.

        None where there can be none. From any thread.
        """
        ...

    def observe(self, now: Seconds) -> Observation:
        """List everything. Raises ClusterUnreachable."""
        ...

    def poll(self, now: Seconds) -> tuple[ClusterEvent, ...]:
        """What happened since the last call, in order. Raises ClusterUnreachable."""
        ...

    def apply(self, action: Action, now: Seconds) -> None:
        """Carry out one decision, idempotently. Raises ClusterUnreachable."""
        ...

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        """Carry out several, in order, idempotently.

        Raises ClusterUnreachable, after which any of them may or may not have been done.
        """
        ...

    def remark(self, remarks: Sequence[Remark]) -> None:
        """Say something on objects, if that can be: nobody waits for it, and it may be lost."""
        ...
