"""What there is in a simulated cluster and what happens to it, as plain values."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from scheduler.model import Admission, Node, NodeName, Seconds, Workload, WorkloadId
from scheduler.simulation.wholeness import LevelStanding


class GangState(enum.StrEnum):
    """What the pods of a gang that holds capacity are doing."""

    STARTING = "starting"
    RUNNING = "running"
    BROKEN = "broken"
    """Some pods were lost with their node; the others stand still until it is mended."""
    STOPPING = "stopping"


class GangEnd(enum.StrEnum):
    """Why a gang has no pods any more."""

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class GangReady:
    """All pods of the gang are ready."""

    workload: WorkloadId
    attempt: str
    at: Seconds


@dataclass(frozen=True, slots=True)
class GangGone:
    """The last pod is gone. `ran` is how long the gang was ready, 0 if it never was."""

    workload: WorkloadId
    attempt: str
    end: GangEnd
    ran: Seconds
    at: Seconds


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node returned, failed, or was changed."""

    node: Node
    at: Seconds


@dataclass(frozen=True, slots=True)
class GangHurt:
    """The pods of a gang on one node are gone; the gang waits to be mended or stopped."""

    workload: WorkloadId
    attempt: str
    node: NodeName
    at: Seconds


@dataclass(frozen=True, slots=True)
class NodeFailed:
    """A node failed, and the pods on it are gone."""

    node: NodeName
    at: Seconds


Happening = GangReady | GangGone | GangHurt | NodeChanged | NodeFailed


@dataclass(frozen=True, slots=True)
class Outage:
    """A node fails at `at` and returns at `until` (None: never)."""

    node: NodeName
    at: Seconds
    until: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """GPUs of the ready nodes now: all, held by pods, and free but stranded; and by level."""

    gpus: int
    used: int
    stranded: int
    levels: tuple[LevelStanding, ...] = ()


@dataclass(slots=True)
class Gang:
    """A gang that holds capacity. `ends` is None while it runs until it is stopped."""

    workload: Workload
    admission: Admission
    attempt: str
    state: GangState
    run_for: Seconds | None
    started: Seconds
    pods: dict[tuple[str, NodeName], int] = field(default_factory=dict)
    """The pods that are there, by pod set and node."""
    ready_at: Seconds | None = None
    worked: Seconds = 0.0
    """How long it was ready before it was last broken."""
    fails_after: Seconds | None = None
    stops_at: Seconds | None = None
    """When the stop asked for is done; None while nobody asked."""
    void: int = 0
    """What was foreseen for it up to this number will not happen, but for its stop."""

    def missing(self) -> tuple[NodeName, ...]:
        """Nodes on which pods of the admission are not there, in name order."""
        return tuple(
            sorted(
                {
                    node
                    for assignment in self.admission.assignments
                    for node, count in assignment.nodes
                    if self.pods.get((assignment.name, node), 0) < count
                }
            )
        )
