"""What a replay is judged by, and the arithmetic behind it.

- Utilisation and fragmentation are time means from the first submission to the last end,
  over the GPUs of the nodes that were ready: GPUs held, and GPUs stranded. The GPUs of whole
  free nodes are a time mean, too: what a gang of whole nodes could have started on. So are,
  by topology level, the domains that were wholly free and the largest gang of whole nodes that
  could have started in one of them.
- The same while jobs arrive: from the first submission to the last. The time after it, in
  which the cluster empties, says little about a cluster in use.
- A wait is the time from a job's submission to its first admission; jobs that never started
  have none. Percentiles are interpolated linearly between the two nearest waits.
- GPU-hours lost are what preempted gangs had run since their last start, times their GPUs
  (nothing is taken to be saved by checkpoints). What is lost to failed nodes is told apart: a
  gang that gets other nodes goes on, one that is stopped starts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scheduler.model import Seconds
from scheduler.simulation.cluster import Figures

if TYPE_CHECKING:
    from scheduler.simulation.estimates import Accuracy

GANG_CLASSES: tuple[tuple[str, int, float], ...] = (
    ("1", 0, 1),
    ("2-7", 2, 7),
    ("8", 8, 8),
    ("9-64", 9, 64),
    ("65+", 65, float("inf")),
)
"""Name, least and most GPUs of each class of gangs, in order."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Percentiles and mean of waits in seconds; None where nobody started."""

    p50: Seconds | None
    p95: Seconds | None
    p99: Seconds | None
    n: int
    mean: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What defragmentation did: gangs moved, GPUs given whole for it, GPU-hours run again.

    The moves are among the preemptions, and what they cost among the GPU-hours lost.
    """

    moves: int
    made_whole: int
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What node failures did: to how many nodes, and to the gangs that had pods there."""

    failures: int
    repaired: int
    stopped: int
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMeans:
    """Domains of a topology level; time means of those wholly free and of the largest gang."""

    level: str
    domains: int
    whole_free: float
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a replay. `waits` has `all` and each of `GANG_CLASSES`, in order.

    What is `loaded` is so while jobs arrive. `moved` is None unless defragmentation was on,
    `mended` unless nodes failed; `levels` are those above single nodes, coarse to fine.
    """

    jobs: int
    admitted: int
    finished: int
    never_fit: int
    utilisation: float
    fragmentation: float
    whole_free: float
    waits: Mapping[str, Waits]
    preemptions: int
    gpu_hours_lost: float
    partial_gangs: int
    over_commitments: int
    decisions: int
    lasted: Seconds
    loaded_utilisation: float = 0.0
    loaded_fragmentation: float = 0.0
    moved: Moved | None = None
    mended: Mended | None = None
    levels: tuple[LevelMeans, ...] = ()
    estimates: Mapping[str, Accuracy] | None = None

    def as_json(self, *, wall_s: float, peak_rss_mb: float) -> dict[str, object]:
        """The report with the documented keys; the caller has measured time and memory."""
        shown: dict[str, object] = {
            "jobs": self.jobs,
            "admitted": self.admitted,
            "finished": self.finished,
            "never_fit": self.never_fit,
            "utilisation": round(self.utilisation, 4),
            "fragmentation": round(self.fragmentation, 4),
            "wait_s": {
                name: {
                    "mean": _cut(w.mean),
                    "p50": _cut(w.p50),
                    "p95": _cut(w.p95),
                    "p99": _cut(w.p99),
                    "n": w.n,
                }
                for name, w in self.waits.items()
            },
            "preemptions": self.preemptions,
            "gpu_hours_lost": round(self.gpu_hours_lost, 1),
            "partial_gangs": self.partial_gangs,
            "wall_s": round(wall_s, 3),
            "decisions_per_s": round(self.decisions / wall_s, 1) if wall_s > 0 else 0.0,
            "peak_rss_mb": round(peak_rss_mb, 1),
            "whole_free_gpus": round(self.whole_free, 1),
            "loaded_utilisation": round(self.loaded_utilisation, 4),
            "loaded_fragmentation": round(self.loaded_fragmentation, 4),
        }
        if self.moved is not None:
            shown["defragmentation"] = {
                "moves": self.moved.moves,
                "gpus_made_whole": self.moved.made_whole,
                "gpu_hours_spent": round(self.moved.gpu_hours, 1),
            }
        if self.mended is not None:
            shown["node_failures"] = {
                "failures": self.mended.failures,
                "gangs_repaired": self.mended.repaired,
                "gangs_stopped": self.mended.stopped,
                "gpu_hours_lost": round(self.mended.gpu_hours, 1),
            }
        if self.levels:
            shown["levels"] = {
                one.level: {
                    "domains": one.domains,
                    "whole_free": round(one.whole_free, 2),
                    "largest_gang_gpus": round(one.largest, 1),
                }
                for one in self.levels
            }
        if self.estimates is not None:
            shown["estimates"] = {name: one.as_json() for name, one in self.estimates.items()}
        return shown


@dataclass(slots=True)
class Tally:
    """Running sums of a replay; `report` turns them into figures."""

    jobs: int = 0
    admitted: int = 0
    finished: int = 0
    never_fit: int = 0
    preemptions: int = 0
    decisions: int = 0
    gpu_seconds_lost: float = 0.0
    moves: int = 0
    made_whole: int = 0
    gpu_seconds_moved: float = 0.0
    failures: int = 0
    repaired: int = 0
    stopped: int = 0
    gpu_seconds_failed: float = 0.0
    level_seconds: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    began: Seconds | None = None
    passed: Seconds | None = None
    gpu_seconds: float = 0.0
    used_seconds: float = 0.0
    stranded_seconds: float = 0.0
    whole_seconds: float = 0.0
    loaded: tuple[float, float] = (0.0, 0.0)
    waits: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name, _, _ in GANG_CLASSES}
    )

    def pass_time(self, figures: Figures, to: Seconds) -> None:
        """The cluster stood as in `figures` from the last call until `to`."""
        if self.passed is None:
            self.began = self.passed = to
            return
        held = to - self.passed
        self.gpu_seconds += figures.gpus * held
        self.used_seconds += figures.used * held
        self.stranded_seconds += figures.stranded * held
        self.whole_seconds += (figures.gpus - figures.used - figures.stranded) * held
        for one in figures.levels:
            _, whole, largest = self.level_seconds.get(one.level, (0, 0.0, 0.0))
            sums = (one.domains, whole + one.whole_free * held, largest + one.largest * held)
            self.level_seconds[one.level] = sums
        self.passed = to

    def last_submission(self) -> None:
        """Every job has been submitted: what was up to now is the time while jobs arrive."""
        self.loaded = self._shares()

    def _shares(self) -> tuple[float, float]:
        """Utilisation and fragmentation so far."""
        whole = self.gpu_seconds or 1.0
        return self.used_seconds / whole, self.stranded_seconds / whole

    def wait(self, gpus: int, seconds: Seconds) -> None:
        """A gang of `gpus` started for the first time after waiting for `seconds`."""
        self.admitted += 1
        self.waits[gang_class(gpus)].append(seconds)

    def move(self, gpus: int, ran: Seconds) -> None:
        """A gang that had run so long starts again elsewhere."""
        self.moves += 1
        self.gpu_seconds_moved += gpus * ran

    def moved(self) -> Moved:
        """What defragmentation came to so far."""
        return Moved(
            moves=self.moves,
            made_whole=self.made_whole,
            gpu_hours=self.gpu_seconds_moved / 3600.0,
        )

    def mended(self) -> Mended | None:
        """What came of failed nodes so far."""
        if not self.failures:
            return None
        return Mended(
            failures=self.failures,
            repaired=self.repaired,
            stopped=self.stopped,
            gpu_hours=self.gpu_seconds_failed / 3600.0,
        )

    def report(self, *, partial_gangs: int, over_commitments: int) -> Report:
        """The figures so far."""
        everyone = [wait for waits in self.waits.values() for wait in waits]
        utilisation, fragmentation = self._shares()
        lasted = 0.0 if self.passed is None or self.began is None else self.passed - self.began
        return Report(
            jobs=self.jobs,
            admitted=self.admitted,
            finished=self.finished,
            never_fit=self.never_fit,
            utilisation=utilisation,
            fragmentation=fragmentation,
            loaded_utilisation=self.loaded[0],
            loaded_fragmentation=self.loaded[1],
            whole_free=self.whole_seconds / (lasted or 1.0),
            waits={
                "all": _waits(everyone),
                **{name: _waits(waits) for name, waits in self.waits.items()},
            },
            preemptions=self.preemptions,
            gpu_hours_lost=self.gpu_seconds_lost / 3600.0,
            partial_gangs=partial_gangs,
            over_commitments=over_commitments,
            decisions=self.decisions,
            lasted=lasted,
            mended=self.mended(),
            levels=tuple(
                LevelMeans(
                    level=level,
                    domains=domains,
                    whole_free=whole / (lasted or 1.0),
                    largest=largest / (lasted or 1.0),
                )
                for level, (domains, whole, largest) in self.level_seconds.items()
            ),
        )


def gang_class(gpus: int) -> str:
    """The name of the class of gangs that `gpus` falls into."""
    return next(name for name, _, most in GANG_CLASSES if gpus <= most)


def _waits(seconds: list[float]) -> Waits:
    if not seconds:
        return Waits(None, None, None, 0)
    p50, p95, p99 = np.percentile(seconds, (50, 95, 99))
    return Waits(float(p50), float(p95), float(p99), len(seconds), float(np.mean(seconds)))


def _cut(seconds: Seconds | None) -> Seconds | None:
    return None if seconds is None else round(seconds, 1)
