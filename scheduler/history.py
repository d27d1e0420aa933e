"""How long work ran: what to expect of work that is running or waits, by its team and size.

A declared duration is believed. Without one, the run times of the team's last workloads of
that size class count; with too few of those, the team's of any size, then everybody's of
that size. The quartiles are the range.

Sizes are in classes of GPUs, doubling: 0, 1, 2-3, 4-7, 8-15 and so on. Of each team and class
the last `KEPT` run times are kept, of at most `LINES` teams and classes: the one that was fed
least recently is forgotten first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.model import Basis, Seconds, TeamName, Workload

KEPT = 64
LINES = 4096
ENOUGH = 5
"""So many run times are worth an expectation."""

EVERYBODY = TeamName("")
ANY_SIZE = -1

Key = tuple[TeamName, int]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A length or a time, as a range: the quartiles of what it rests on.

    All three are None where nothing is known; with a guess, `basis` is UNKNOWN all the same.
    """

    low: Seconds | None
    likely: Seconds | None
    high: Seconds | None
    basis: Basis


UNKNOWN = Expectation(None, None, None, Basis.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One workload that ran to its end."""

    team: TeamName
    gpus: int
    ran: Seconds


class RunTimes:
    """The run times that are remembered. A copy is cheap: lines are never changed in place."""

    def __init__(self) -> None:
        self.closed = False
        """Whether nothing more is to be learnt: in play, ends are only expected."""
        self._lines: dict[Key, tuple[Seconds, ...]] = {}
        self._sorted: dict[Key, tuple[Seconds, ...]] = {}

    def copy(self) -> RunTimes:
        """Independent memory of the same run times."""
        other = RunTimes()
        other._lines, other._sorted = self._lines.copy(), self._sorted.copy()
        other.closed = self.closed
        return other

    def learn(self, sample: Sample) -> None:
        """A workload has ended."""
        if sample.ran < 0 or self.closed:
            return
        size = size_class(sample.gpus)
        for key in ((sample.team, size), (sample.team, ANY_SIZE), (EVERYBODY, size)):
            line = self._lines.pop(key, ())  # what is put back goes to the end
            ordered = list(self._sorted.get(key, ()))
            if len(line) == KEPT:
                del ordered[bisect_left(ordered, line[0])]
                line = line[1:]
            insort(ordered, sample.ran)
            self._lines[key] = (*line, sample.ran)
            self._sorted[key] = tuple(ordered)
        while len(self._lines) > LINES:
            oldest = next(iter(self._lines))
            del self._lines[oldest], self._sorted[oldest]

    def restore(self, samples: Iterable[Sample]) -> None:
        """Learn of many, the earliest end first."""
        for sample in samples:
            self.learn(sample)

    def expected(self, workload: Workload) -> Expectation:
        """How long it will run from its start."""
        if workload.duration is not None:
            return _certain(workload.duration)
        return self._quartiles(workload, 0.0)

    def end(self, workload: Workload, started: Seconds, now: Seconds) -> Expectation:
        """When somebody who started then and still runs will end; never before `now`.

        Run times that it has already outlived say nothing of it. One that has outlived its
        duration and all others may end at once, is likely to run over for as long as it
        already has, and may run for as long again as it ran.
        """
        ran, declared = max(0.0, now - started), workload.duration
        if declared is not None and ran <= declared:
            return _certain(started + declared)
        found = self._quartiles(workload, ran)
        if found.low is None or found.likely is None or found.high is None:
            if declared is None:
                return UNKNOWN
            return Expectation(now, now + ran - declared, now + ran, Basis.UNKNOWN)
        low, likely, high = (max(now, started + x) for x in (found.low, found.likely, found.high))
        return Expectation(low, likely, high, found.basis)

    def _quartiles(self, workload: Workload, beyond: Seconds) -> Expectation:
        """Of those run times that are longer than `beyond`."""
        size = size_class(workload.gpus)
        for key in ((workload.team, size), (workload.team, ANY_SIZE), (EVERYBODY, size)):
            ordered = self._sorted.get(key, ())
            if beyond > 0:
                ordered = ordered[bisect_right(ordered, beyond) :]
            if len(ordered) >= ENOUGH:
                low, likely, high = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
                return Expectation(low, likely, high, Basis.HISTORY)
        return UNKNOWN


def size_class(gpus: int) -> int:
    """The class of a number of GPUs: the length of its binary form."""
    return max(0, gpus).bit_length()


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two nearest of at least one value in ascending order."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def _certain(length: Seconds) -> Expectation:
    return Expectation(length, length, length, Basis.DECLARED)
