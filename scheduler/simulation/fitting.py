"""Fits the generator's parameters to a trace.

What is kept of a trace, and how:

- gang sizes: the share of jobs of each size;
- run times: for each size the quantiles at `QUANTILES`, between which the logarithm of the
  run time is taken as linear (a trace's run times have several humps, which no single
  log-normal follows);
- arrivals: the mean number of jobs an hour; the 24 factors of the day, as the mean of each
  hour of the day over the mean of all; the dispersion (variance over mean) of the hourly
  counts once the day's factors are divided out; and the share of jobs that arrive at the
  same second as the one before them;
- tenants: each one's share of the jobs, the largest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.simulation.traces import TraceJob

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
_HOUR = 3600.0
_FEWEST = 10
"""A size with fewer jobs than this tells nothing about its run times and is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The parameters of a workload; units are GPUs, seconds and jobs an hour.

    `sizes[i]` has the share `shares[i]` and the run-time quantiles `durations[i]`.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    durations: tuple[tuple[float, ...], ...]
    jobs_per_hour: float
    day: tuple[float, ...]
    dispersion: float
    same_second: float
    tenants: tuple[float, ...]


def fit(jobs: Sequence[TraceJob]) -> Profile:
    """Fit a profile to jobs in order of submission. Raises ValueError for fewer than 100."""
    if len(jobs) < 100:
        raise ValueError("a fit needs 100 jobs or more")
    counts = Counter(job.gpus for job in jobs)
    sizes = tuple(sorted(size for size, count in counts.items() if count >= _FEWEST))
    kept = sum(counts[size] for size in sizes)
    tenants = sorted(Counter(job.tenant for job in jobs).values(), reverse=True)
    times = np.array([job.submitted for job in jobs])
    per_hour, day, dispersion = _arrivals(times)
    return Profile(
        sizes=sizes,
        shares=tuple(round(counts[size] / kept, 5) for size in sizes),
        durations=tuple(_durations(jobs, size) for size in sizes),
        jobs_per_hour=round(per_hour, 2),
        day=tuple(round(float(factor), 2) for factor in day),
        dispersion=round(dispersion, 1),
        same_second=round(float(np.mean(np.diff(times) == 0)), 3),
        tenants=tuple(round(count / len(jobs), 4) for count in tenants),
    )


def _durations(jobs: Sequence[TraceJob], size: int) -> tuple[float, ...]:
    values = [max(job.duration, 1.0) for job in jobs if job.gpus == size]
    return tuple(float(round(value)) for value in np.quantile(values, QUANTILES))


def _arrivals(
    times: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], float]:
    """Jobs an hour, the day's factors (mean 1), and the dispersion of hourly counts.

    A trace may have stragglers long before the bulk (Philly has): the window is cut to
    what lies between the 0.5 % and the 99.5 % quantile.
    """
    low, high = np.quantile(times, (0.005, 0.995))
    inside = times[(times >= low) & (times <= high)]
    first = int(low // _HOUR)
    hours = (inside // _HOUR).astype(np.int64) - first
    counts = np.bincount(hours).astype(float)
    of_day = (np.arange(len(counts)) + first) % 24
    mean = float(counts.mean())
    sums = np.bincount(of_day, weights=counts, minlength=24)
    seen = np.maximum(np.bincount(of_day, minlength=24), 1)
    day = sums / seen / mean
    day = np.maximum(day / day.mean(), 0.05)
    level = counts / day[of_day]
    return mean, day, float(level.var() / level.mean())
