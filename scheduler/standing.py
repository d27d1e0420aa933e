"""Who the engine has to do with: those who run, those who wait, and those with a claim."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from scheduler.book import Charge
from scheduler.flavors import Tried
from scheduler.lapse import started
from scheduler.model import Admission, PodSetAssignment, Seconds, Workload, WorkloadId
from scheduler.pending import Shape

Rank = tuple[int, float, int, WorkloadId]


class EngineError(Exception):
    """An event that contradicts what the engine knows. A programming error; nothing changed."""


@dataclass(slots=True, eq=False)
class Running:
    """A workload that holds capacity. `preemptor` is set once it was told to stop.

    `checkpoint` is when it last saved its progress, None if that is not known. `stuck` says that
    it was told to stop and does not go, so that nobody waits for its room any more. `alive` is what
    it has not given back of its admission, None for all of it; `gpus` are those that it holds.
    """

    workload: Workload
    admission: Admission
    charge: Charge
    columns: frozenset[int]
    gpus: int
    preemptor: WorkloadId | None = None
    leaving: bool = False
    checkpoint: Seconds | None = None
    stuck: bool = False
    alive: tuple[PodSetAssignment, ...] | None = None

    @property
    def held(self) -> Admission:
        """Its grant, less what it has given back."""
        if self.alive is None:
            return self.admission
        return replace(self.admission, assignments=self.alive)

    def hold(self, alive: tuple[PodSetAssignment, ...] | None) -> int:
        """It holds so much of its grant from now on; by how many GPUs that is more."""
        before, self.alive = self.gpus, alive
        self.gpus = self.held.gpus(self.workload)
        return self.gpus - before

    @property
    def expected(self) -> bool:
        """Whether the future counts it as there."""
        return not self.leaving or self.stuck

    @property
    def rank(self) -> Rank:
        """Order among targets: lower priority first, later start first, newer replica first, id."""
        workload = self.workload
        return (workload.priority, -self.admission.at, -workload.replica, workload.id)


class Word(enum.StrEnum):
    """What the last evaluation of a waiting workload came to."""

    NONE = "not-evaluated"
    QUOTA = "quota"
    EXCEEDS = "exceeds-quota"
    FLAVOR = "flavor"
    TOPOLOGY = "topology"
    RESERVED = "reserved"
    PREEMPTING = "preempting"
    PREEMPTED = "preempted"
    SKIPPED = "skipped"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Scan:
    """Where a search for flavors stopped: the start of the next, in which pass and queue.

    It counts in the very next pass, and later as long as nothing was released in the queue.
    """

    start: Tried
    queue: int
    turn: int
    releases: int


@dataclass(slots=True, eq=False)
class Waiting:
    """A workload that waits. `shapes` are where it stands, home first, by queue number.

    `word` is what its last evaluation came to, `scan` where its search for flavors goes on,
    `lasts` how long it is taken to run.
    """

    workload: Workload
    shapes: tuple[tuple[int, Shape], ...]
    evaluated: bool = False
    word: Word = Word.NONE
    scan: Scan | None = None
    lasts: Seconds = math.inf


@dataclass(slots=True, eq=False)
class Claim:
    """Capacity promised to a preemptor until its targets are gone and it has started.

    `eager`: somebody is gone for whom nobody waited any more, so that it may start on his room.
    """

    waiting: Waiting
    charge: Charge
    assignments: tuple[PodSetAssignment, ...]
    queue: int
    targets: set[WorkloadId]
    borrowing: bool
    eager: bool = False


def running_of(workload: Workload, admission: Admission, charge: Charge) -> Running:
    """The record of somebody who starts."""
    gpus = admission.gpus(workload)
    return Running(started(workload), admission, charge, columns_of(charge), gpus)


def columns_of(charge: Charge) -> frozenset[int]:
    """The columns of the quota tables in which something is held."""
    return frozenset(column for column, amount in charge.amounts if amount)
