"""How good forecasts are: made when a job is submitted, compared with when it starts.

Of the jobs that do not start at once, every so many-th is asked about. The error is the
difference between the likely start and the first start, without its sign. It is told in
seconds, and as a share of how long the job waited from its submission; both are medians over
the jobs for which a start was foretold and that did start. `inside` is the share of starts
that lie inside the range that was told.

Jobs that come later are unknown to a forecast. Those that overtake are counted: an error with
nobody overtaking is one of the forecast itself (`undisturbed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler.engine import Engine
from scheduler.forecast import Forecast
from scheduler.model import Seconds, Workload, WorkloadId
from scheduler.simulation.report import GANG_CLASSES, gang_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors of one class of jobs; None where there is nothing to compare.

    `asked` are all that were asked about, `silent` those for which no start was foretold.
    """

    asked: int
    silent: int
    error: Seconds | None = None
    share: float | None = None
    wait: Seconds | None = None
    inside: float | None = None
    undisturbed: float | None = None

    def as_json(self) -> dict[str, object]:
        """With the documented keys."""
        return {
            "asked": self.asked,
            "no_start_foretold": self.silent,
            "median_error_s": _cut(self.error, 1),
            "median_error_of_wait": _cut(self.share, 4),
            "median_wait_s": _cut(self.wait, 1),
            "inside_the_range": _cut(self.inside, 4),
            "median_error_of_wait_if_not_overtaken": _cut(self.undisturbed, 4),
        }


@dataclass(slots=True)
class _Asked:
    """A forecast, and what became of it."""

    gpus: int
    at: Seconds
    number: int
    told: Forecast
    started: Seconds | None = None
    overtaken: bool = False


@dataclass(slots=True)
class Estimates:
    """Asks about every `every`-th job that has to wait, and keeps what came of it."""

    every: int
    _waited: int = 0
    _submitted: int = 0
    _fresh: list[WorkloadId] = field(default_factory=list)
    _numbers: dict[WorkloadId, int] = field(default_factory=dict)
    _asked: list[_Asked] = field(default_factory=list)
    _open: dict[WorkloadId, _Asked] = field(default_factory=dict)

    def submitted(self, workload: Workload) -> None:
        """A job has joined its queue."""
        self._submitted += 1
        self._numbers[workload.id] = self._submitted
        self._fresh.append(workload.id)

    def decided(self, engine: Engine, now: Seconds) -> None:
        """All that was to be decided at this moment is: ask about those who are left waiting."""
        for one in self._fresh:
            workload = engine.workload(one)
            if workload is None or engine.holds(one):
                continue
            self._waited += 1
            if self._waited % self.every == 0:
                told = engine.forecast(one, now)
                asked = _Asked(workload.gpus, now, self._submitted, told)
                self._open[one] = asked
                self._asked.append(asked)
        self._fresh.clear()

    def started(self, workload: WorkloadId, now: Seconds) -> None:
        """A job has started for the first time."""
        number = self._numbers.pop(workload, 0)
        asked = self._open.pop(workload, None)
        if asked is not None:
            asked.started = now
        for one in self._open.values():
            one.overtaken |= number > one.number

    def accuracy(self) -> Mapping[str, Accuracy]:
        """Of all, and by class of gangs, in order."""
        everybody = self._asked
        classes = {name: [a for a in everybody if gang_class(a.gpus) == name]
                   for name, _, _ in GANG_CLASSES}  # fmt: skip
        return {name: _measure(mine) for name, mine in {"all": everybody, **classes}.items()}


def _measure(asked: list[_Asked]) -> Accuracy:
    silent = sum(one.told.likely is None for one in asked)
    known = [
        (one, abs(one.told.likely - one.started), one.started - one.at)
        for one in asked
        if one.told.likely is not None and one.started is not None
    ]
    if not known:
        return Accuracy(asked=len(asked), silent=silent)
    calm = [error / wait for one, error, wait in known if wait > 0 and not one.overtaken]
    return Accuracy(
        asked=len(asked),
        silent=silent,
        error=float(np.median([error for _, error, _ in known])),
        share=float(np.median([error / max(wait, 1.0) for _, error, wait in known])),
        wait=float(np.median([wait for _, _, wait in known])),
        inside=sum(_is_inside(one) for one, _, _ in known) / len(known),
        undisturbed=float(np.median(calm)) if calm else None,
    )


def _cut(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _is_inside(one: _Asked) -> bool:
    """Whether the start lies in the range, to the second."""
    told, started = one.told, one.started
    if started is None or told.low is None:
        return False
    return told.low - 1.0 <= started and (told.high is None or started <= told.high + 1.0)
