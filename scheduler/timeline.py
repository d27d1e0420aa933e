"""What would happen from here on: a copy of the engine played forward through expected ends.

Of everybody who runs, and of everybody who starts on the way, the end is expected as
`scheduler.history` says; those who are told to stop are gone after the grace of their pool.
Nobody else arrives. Work without any known end stays for ever.

With few who run and wait, a cycle is run at every moment. Else only if somebody simply fits
(`scheduler.ripeness`), and for those who would have others stopped once in a *span*: spans
grow with the time since the beginning, so that the far future costs less than the near one
and is known as exactly as its distance deserves.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from scheduler.byhand import Ending, Hand
from scheduler.endings import endings, frees, undo
from scheduler.events import Evicted, Finished, Submitted, Withdrawn
from scheduler.history import Expectation
from scheduler.model import Admission, Basis, QueueName, Seconds, Workload, WorkloadId

if TYPE_CHECKING:
    from scheduler.engine import Engine
    from scheduler.ripeness import Watch
    from scheduler.standing import Waiting
    from scheduler.state import State

SMALL = 300
"""So few who run and wait are played moment by moment."""

TOGETHER = 100
"""So many of those who end at the same time leave in one moment, the others in the next: else
one moment, which is never left half played, could cost more than any effort allows."""

_Due = tuple[Seconds, WorkloadId, int, bool]
"""(at, who, which of its runs, whether it waits again): compared as far as the run."""


class Quarter(enum.Enum):
    """Which of the expected ends happen: all early ones, all likely ones, or all late ones."""

    LOW = "low"
    LIKELY = "likely"
    HIGH = "high"

    def of(self, expected: Expectation) -> Seconds | None:
        """The time meant."""
        match self:
            case Quarter.LOW:
                return expected.low
            case Quarter.LIKELY:
                return expected.likely
            case Quarter.HIGH:
                return expected.high


@dataclass(frozen=True, slots=True)
class Departure:
    """When somebody who runs is expected to be gone, and whether it waits again then."""

    workload: WorkloadId
    at: Expectation
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain:
    """How long a span is: `least` seconds, or `growth` of what has passed, if that is more."""

    least: Seconds
    growth: float

    def span(self, passed: Seconds) -> Seconds:
        """How long nobody is stopped for somebody who does not simply fit."""
        return max(self.least, self.growth * passed)


MOMENTS = Grain(least=0.0, growth=0.0)
"""Moment by moment."""


@dataclass(frozen=True, slots=True)
class Start:
    """When somebody starts: after one time and not after another; the same, where exact."""

    after: Seconds
    by: Seconds
    hinge: Ending | None = None
    """What was set by hand and had to end before."""

    @property
    def likely(self) -> Seconds:
        """The middle."""
        return self.after + (self.by - self.after) / 2


@dataclass(slots=True)
class Spent:
    """The work that playing has cost: moments, cycles run in them, starts and stops.

    `ends` are those beyond the first in each moment.
    `toil` is what the engine has done in those cycles and in looks between them: most cycles
    cost next to nothing, and some a search through everybody for each of a hundred heads.
    """

    moments: int = 0
    cycles: int = 0
    starts: int = 0
    stops: int = 0
    ends: int = 0
    toil: int = 0

    @property
    def work(self) -> int:
        """As one number, in about the work of one moment without a cycle (0.15 ms).

        The weights are measured: a candidate of a search costs the fifteenth part of one.
        """
        weighed = self.moments + self.ends + 3 * self.cycles + 3 * self.starts + 5 * self.stops
        return weighed + self.toil // 15


@dataclass(slots=True, eq=False)
class Timeline:
    """A fork of an engine, its clock, and what is due. `started` has all starts so far.

    `fresh` are those of the last moment, in which a cycle was run if it is `decided`;
    `endless` counts those who run and are not expected to end, and `vague` says that some end
    was no single time, so that other quarters differ. Whoever has `known` departures at the
    beginning gives them: a brief fork would have to copy everybody to find them.
    """

    engine: Engine
    now: Seconds
    grain: Grain
    quarter: Quarter = Quarter.LIKELY
    known: tuple[Departure, ...] | None = None
    began: Seconds = field(init=False)
    started: dict[WorkloadId, Start] = field(init=False, default_factory=dict)
    fresh: tuple[WorkloadId, ...] = field(init=False, default=())
    decided: bool = field(init=False, default=True)
    _after: Seconds = field(init=False)
    _decided_at: Seconds = field(init=False)
    _watch: Watch = field(init=False)
    endless: int = field(init=False, default=0)
    vague: bool = field(init=False, default=False)
    spent: Spent = field(init=False, default_factory=Spent)
    _due: list[_Due] = field(init=False, default_factory=list)
    _run: dict[WorkloadId, int] = field(init=False, default_factory=dict)
    _runs: int = field(init=False, default=0)
    _toil: int = field(init=False)
    _guesses: dict[WorkloadId, Basis] = field(init=False, default_factory=dict)
    _guessed: dict[Basis, Seconds] = field(init=False, default_factory=dict)
    _graces: dict[QueueName, Seconds] = field(init=False, default_factory=dict)
    _endings: tuple[Ending, ...] = field(init=False)
    _ended: tuple[Ending, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.began = self._after = self._decided_at = self.now
        self._toil = self.engine.toil
        layout = self.engine.layout
        graces = {pool.name: pool.grace for pool in layout.pools}
        self._graces = {queue.name: graces.get(queue.pool, 0.0) for queue in layout.queues}
        for one in self.departures() if self.known is None else self.known:
            self._expect(one.workload, one.at, again=one.again, later=False)
        heapify(self._due)
        if len(self._due) + self.endless + self.engine.figures().pending <= SMALL:
            self.grain = MOMENTS
        self._endings = endings(self.engine.in_force())
        self._watch = self.engine.watch()
        self.decide()

    def branch(self, grain: Grain | None = None) -> Timeline:
        """Another that goes on from here, with another grain if not small.

        It is good as long as this one is not played on.
        """
        other: Timeline = Timeline.__new__(Timeline)
        for name in (
            "now",
            "known",
            "grain",
            "quarter",
            "began",
            "_after",
            "_decided_at",
            "decided",
            "fresh",
            "endless",
            "vague",
            "_runs",
            "_toil",
            "_endings",
            "_ended",
        ):
            setattr(other, name, getattr(self, name))
        if grain is not None and self.grain is not MOMENTS:
            other.grain = grain
        other.engine, other._graces = self.engine.fork(brief=True), self._graces
        other.started, other._due = self.started.copy(), self._due.copy()
        other._run, other._guesses = self._run.copy(), self._guesses.copy()
        other._guessed = self._guessed.copy()
        other.spent = replace(self.spent)
        other._watch = other.engine.watch()
        return other

    def departures(self) -> tuple[Departure, ...]:
        """When everybody who runs is expected to be gone, as of now."""
        return self.engine.departures(self.now, self._graces)

    def account(self) -> None:
        """Put down what the engine has done up to here."""
        self.spent.toil = self.engine.toil - self._toil

    def put_back(self, starts: Iterable[WorkloadId]) -> None:
        """Starts of this moment did not happen: they wait again, at their old places."""
        for one in starts:
            del self._run[one], self.started[one]
            self.engine.apply(Evicted(workload=one, at=self.now))

    def withdraw(self, workload: WorkloadId) -> None:
        """It does not wait any more, if it did."""
        if self.engine.workload(workload) is not None:
            self.engine.apply(Withdrawn(workload=workload, at=self.now))

    def submit(self, *workloads: Workload) -> None:
        """They join now, and it is decided at once."""
        self._after = self.now
        for workload in workloads:
            self.engine.apply(Submitted(workload=workload))
        self.decide()

    def basis_at(self, at: Seconds) -> Basis:
        """The least certain of the ends up to then."""
        bases = (basis for basis in (Basis.UNKNOWN, Basis.HISTORY) if basis in self._guessed)
        return next((basis for basis in bases if self._guessed[basis] <= at), Basis.DECLARED)

    def fits(self, probe: Waiting) -> bool:
        """Whether one that does not wait simply fits now."""
        return self._watch.fits(probe)

    def next_at(self) -> Seconds | None:
        """When something happens next, None if nothing ever does."""
        alarm = self.engine.next_alarm()
        ends = self._due[0][0] if self._due else None
        lifted = self._endings[0].at if self._endings else None
        times = [max(self.now, at) for at in (alarm, ends, lifted) if at is not None]
        return min(times, default=None)

    def step(self) -> bool:
        """Let the next thing happen; False if nothing ever does."""
        at = self.next_at()
        if at is None:
            return False
        self.spent.moments += 1
        self.now = at
        left = TOGETHER
        while self._due and self._due[0][0] <= at and left:
            due, workload, run, again = heappop(self._due)
            if self._run.get(workload) == run:
                self._leave(workload, max(due, at), again=again)
                left -= 1
        self.spent.ends += max(0, TOGETHER - left - 1)
        alarm = self.engine.next_alarm()
        ripe = self._lift(at) or self.grain is MOMENTS or (alarm is not None and alarm <= at)
        ripe = ripe or self._watch.ripe()
        late = at - self._decided_at >= self.grain.span(at - self.began)
        self.fresh, self.decided = (), False
        if ripe or late:
            self._after = at if ripe else self._decided_at
            self.decide()
        return True

    def _lift(self, at: Seconds) -> bool:
        """End what was set by hand until then, as far as it is in force; whether any was."""
        over = tuple(ending for ending in self._endings if ending.at <= at)
        self._endings = self._endings[len(over) :]
        for ending in over:
            in_force = self.engine.in_force()
            undone = undo(in_force, ending.held)
            if undone and frees(in_force, ending.held):
                self._ended = (ending, *self._ended)
            for event in undone:
                self.engine.apply(event)
        return bool(over)

    def _hinge(self, admission: Admission, workload: Workload) -> Ending | None:
        """What that was set by hand had to end before somebody could start: the latest of it."""
        queues = (workload.queue, *workload.overflow)
        nodes = {name for part in admission.assignments for name, _ in part.nodes}
        places = {Hand.PAUSE: queues, Hand.QUOTA: queues, Hand.DRAIN: nodes}
        its_own = (e for e in self._ended if e.held.where in places.get(e.held.hand, ()))
        just_now = (e for e in self._ended if e.at >= self._after)
        return next(its_own, None) or next(just_now, None)

    def _leave(self, workload: WorkloadId, at: Seconds, *, again: bool) -> None:
        del self._run[workload]
        if (basis := self._guesses.pop(workload, None)) is not None:
            self._guessed.setdefault(basis, at)
        if again:
            self.engine.apply(Evicted(workload=workload, at=at))
        else:
            self.engine.apply(Finished(workload=workload, at=at))

    def decide(self) -> None:
        """One cycle, and what follows from it: who has just started may be told to stop, too."""
        decisions = self.engine.cycle(self.now)
        for admission in decisions.admissions:
            one = admission.workload
            workload = self.engine.workload(one)
            assert workload is not None  # noqa: S101 - it has just started
            hinge = self._hinge(admission, workload) if self._ended else None
            start = Start(self._after, self.now, hinge)
            self._expect(one, self._end(start, workload))
            self.started.setdefault(one, start)
        stops = [(stop.target, stop.target_queue) for stop in decisions.preemptions]
        stops += [(stop.workload, stop.queue) for stop in decisions.evictions]
        for one, queue in stops:
            self._expect(one, sure(self.now + self._graces[queue]), again=True)
        self.fresh = tuple(admission.workload for admission in decisions.admissions)
        self.spent.cycles += 1
        self.spent.starts += len(self.fresh)
        self.spent.stops += len(stops)
        self.account()
        self.decided, self._decided_at = True, self.now
        self._watch.note(started=bool(decisions))

    def _end(self, start: Start, workload: Workload) -> Expectation:
        length = self.engine.expected(workload)
        if length.low is None or length.likely is None or length.high is None:
            return length
        ends = (start.likely + one for one in (length.low, length.likely, length.high))
        low, likely, high = (max(end, self.now) for end in ends)
        return Expectation(low, likely, high, length.basis)

    def _expect(
        self, workload: WorkloadId, at: Expectation, *, again: bool = False, later: bool = True
    ) -> None:
        """Set when somebody will be gone; what was set before does not count any more."""
        self._runs += 1
        run = self._run[workload] = self._runs
        due = self.quarter.of(at)
        self.vague |= at.low != at.high
        if due is None:
            self.endless += 1
            return
        if at.basis is not Basis.DECLARED:
            self._guesses[workload] = at.basis
        entry = (due, workload, run, again)
        if later:
            heappush(self._due, entry)
        else:
            self._due.append(entry)


def departures(
    state: State, now: Seconds, graces: Mapping[QueueName, Seconds]
) -> tuple[Departure, ...]:
    """When everybody who runs is expected to be gone, by id."""
    history = state.history
    return tuple(
        Departure(
            one,
            sure(now + graces[running.admission.queue]),
            again=running.preemptor is not None,
        )
        if running.leaving
        else Departure(one, history.end(running.workload, running.admission.at, now))
        for one, running in sorted(state.running.items())
    )


def sure(at: Seconds) -> Expectation:
    return Expectation(at, at, at, Basis.DECLARED)
