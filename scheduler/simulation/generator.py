"""Makes work that looks like that of a real cluster.

Parameters (`profiles.py`) are fitted to two public traces by `fitting.py`. The model:

- jobs come in bunches that share a second, a size and a tenant; a bunch has a geometric
  number of jobs whose mean follows from the share of same-second arrivals in the trace;
- bunches come as a Poisson process whose hourly rate is the mean, times the factor of the
  hour of the day, times a gamma-distributed level, so that the hourly counts have the
  trace's dispersion (a negative binomial);
- run times are drawn from the fitted quantiles of their size, log-linear between them.

A higher rate stands for more tenants of the same kind, not for larger bursts: the
dispersion stays as fitted. Randomness comes in as a `numpy.random.Generator` that the caller has
seeded; the same seed gives the same jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.model import Seconds
from scheduler.simulation.fitting import QUANTILES, Profile
from scheduler.simulation.traces import TraceJob

_HOUR = 3600.0
_GRID = 4096
"""Points at which a run-time distribution is evaluated for means and length bias."""


@dataclass(frozen=True, slots=True)
class AgedJob:
    """A job that is already running: it started `age` seconds ago; `duration` is the rest."""

    job: TraceJob
    age: Seconds


class WorkGenerator:
    """Draws jobs from a profile for given tenants.

    `tenants` get the profile's job shares in order (the last shares again and again if
    there are more tenants than shares). Run times are cut at `longest` seconds.
    """

    def __init__(
        self,
        profile: Profile,
        rng: np.random.Generator,
        *,
        tenants: Sequence[str],
        longest: Seconds = float("inf"),
    ) -> None:
        if not tenants:
            raise ValueError("at least one tenant is needed")
        self._profile = profile
        self._rng = rng
        self._tenants = tuple(tenants)
        self._shares = np.asarray(profile.shares) / sum(profile.shares)
        last = len(profile.tenants) - 1
        weights = np.array([profile.tenants[min(i, last)] for i in range(len(tenants))])
        weights = np.maximum(weights, 1e-3)
        self._weights = weights / weights.sum()
        self._longest = longest
        points = (np.arange(_GRID) + 0.5) / _GRID
        self._run_times = np.array([self._quantile(i, points) for i in range(len(profile.sizes))])
        self._number = 0

    @property
    def gpu_hours_per_job(self) -> float:
        """Mean GPU-hours of a job, from the fitted distributions."""
        sizes = np.asarray(self._profile.sizes)
        return float((self._shares * sizes * self._run_times.mean(axis=1)).sum() / _HOUR)

    def rate_for(self, gpus: int, utilisation: float) -> float:
        """Jobs an hour that keep `gpus` GPUs at a mean `utilisation` (0 to 1)."""
        return gpus * utilisation / self.gpu_hours_per_job

    def arrivals(self, start: Seconds, *, jobs_per_hour: float | None = None) -> Iterator[TraceJob]:
        """Jobs without end, in order of submission from `start` on.

        Hours of the day are those of the trace, seconds of the day being `start` modulo
        86,400. The rate is the profile's own unless given.
        """
        rate = self._profile.jobs_per_hour if jobs_per_hour is None else jobs_per_hour
        bunch = 1.0 / (1.0 - self._profile.same_second)
        dispersion = max((self._profile.dispersion - (bunch - 1.0)) / bunch, 1.0001)
        mean = rate / bunch
        shape = mean / (dispersion - 1.0)
        hour_starts = start
        while True:
            factor = self._profile.day[int(hour_starts % 86_400.0 // _HOUR)]
            level = self._rng.gamma(shape) / shape
            count = int(self._rng.poisson(mean * factor * level))
            for offset in np.sort(self._rng.uniform(0.0, _HOUR, count)):
                yield from self._bunch(float(hour_starts + np.floor(offset)), bunch)
            hour_starts += _HOUR

    def population(self, now: Seconds, *, gpus: int) -> tuple[AgedJob, ...]:
        """What a cluster that has been in use for long is running: about `gpus` GPUs of it.

        Of a size, what runs at one moment is drawn in proportion to share times run time
        (long jobs are over-represented), and its age is uniform within its run time. Jobs
        are drawn until the next one would go past `gpus`; smaller ones then fill the rest.
        In order of start, ties by id.
        """
        sizes = np.asarray(self._profile.sizes)
        weights = self._shares * self._run_times.mean(axis=1)
        aged: list[AgedJob] = []
        room = gpus
        while room >= int(sizes.min()):
            fits = np.where(sizes <= room, weights, 0.0)
            kind = int(self._rng.choice(len(sizes), p=fits / fits.sum()))
            times = self._run_times[kind]
            run_time = float(times[self._rng.choice(_GRID, p=times / times.sum())])
            age = float(self._rng.uniform(0.0, run_time))
            tenant = self._draw_tenant()
            job = self._job(tenant, now - age, run_time - age, int(sizes[kind]))
            aged.append(AgedJob(job, age))
            room -= job.gpus
        return tuple(sorted(aged, key=lambda one: (one.job.submitted, one.job.id)))

    def _bunch(self, at: Seconds, mean_size: float) -> Iterator[TraceJob]:
        kind = int(self._rng.choice(len(self._shares), p=self._shares))
        tenant = self._draw_tenant()
        for point in self._rng.uniform(0.0, 1.0, int(self._rng.geometric(1.0 / mean_size))):
            run_time = float(self._quantile(kind, np.array([point]))[0])
            yield self._job(tenant, at, run_time, self._profile.sizes[kind])

    def _draw_tenant(self) -> str:
        return self._tenants[int(self._rng.choice(len(self._tenants), p=self._weights))]

    def _job(self, tenant: str, at: Seconds, duration: Seconds, gpus: int) -> TraceJob:
        self._number += 1
        return TraceJob(
            id=f"G{self._number:07d}", tenant=tenant, submitted=at, duration=duration, gpus=gpus
        )

    def _quantile(self, kind: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
        logs = np.log(np.asarray(self._profile.durations[kind]))
        run_times: NDArray[np.float64] = np.exp(np.interp(points, QUANTILES, logs))
        return np.minimum(run_times, self._longest)
