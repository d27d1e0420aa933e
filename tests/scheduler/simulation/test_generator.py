"""The generator against the figures it was fitted to; seeds are fixed, bounds are wide."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.simulation.fitting import QUANTILES, Profile, fit
from scheduler.simulation.generator import WorkGenerator
from scheduler.simulation.profiles import ITP, PHILLY
from scheduler.simulation.traces import TraceJob

PROFILES = pytest.mark.parametrize("profile", [ITP, PHILLY], ids=["itp", "philly"])


def generator(profile: Profile, seed: int = 7, *, longest: float = float("inf")) -> WorkGenerator:
    tenants = [f"t{number}" for number in range(len(profile.tenants))]
    return WorkGenerator(profile, np.random.default_rng(seed), tenants=tenants, longest=longest)


def draw(profile: Profile, count: int = 30_000) -> list[TraceJob]:
    return list(islice(generator(profile).arrivals(0.0), count))


@PROFILES
def test_a_profile_is_complete(profile: Profile) -> None:
    assert len(profile.sizes) == len(profile.shares) == len(profile.durations)
    assert sum(profile.shares) == pytest.approx(1.0, abs=1e-3)
    assert sum(profile.tenants) == pytest.approx(1.0, abs=1e-3)
    assert all(len(times) == len(QUANTILES) for times in profile.durations)
    assert all(list(times) == sorted(times) for times in profile.durations)
    assert np.mean(profile.day) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("profile", "hours"), [(ITP, 20.16), (PHILLY, 11.25)])
def test_mean_gpu_hours_of_a_job_are_those_of_the_trace(profile: Profile, hours: float) -> None:
    assert generator(profile).gpu_hours_per_job == pytest.approx(hours, rel=0.05)


@PROFILES
def test_sizes_run_times_and_tenants_are_drawn_as_fitted(profile: Profile) -> None:
    jobs = draw(profile)
    counts = Counter(job.gpus for job in jobs)
    for size, share in zip(profile.sizes, profile.shares, strict=True):
        assert counts[size] / len(jobs) == pytest.approx(share, rel=0.15, abs=0.001)
    single = [job.duration for job in jobs if job.gpus == 1]
    for at in (0.25, 0.5, 0.75, 0.9):
        expected = profile.durations[0][QUANTILES.index(at)]
        assert np.quantile(single, at) == pytest.approx(expected, rel=0.06)
    tenants = Counter(job.tenant for job in jobs)
    assert tenants["t0"] / len(jobs) == pytest.approx(profile.tenants[0], rel=0.05)


@PROFILES
def test_arrivals_have_the_rate_the_bursts_and_the_day_of_the_trace(profile: Profile) -> None:
    again = fit(draw(profile))
    assert again.jobs_per_hour == pytest.approx(profile.jobs_per_hour, rel=0.15)
    # Bunches that meet within a second by chance come on top, most of all in bursts.
    assert profile.same_second <= again.same_second < profile.same_second + 0.05
    assert profile.dispersion / 2 < again.dispersion < profile.dispersion * 2
    assert np.corrcoef(again.day, profile.day)[0, 1] > 0.6


def test_a_higher_rate_means_more_jobs_not_larger_bursts() -> None:
    made = generator(ITP)
    rate = made.rate_for(10_000, 0.9)
    again = fit(list(islice(made.arrivals(0.0, jobs_per_hour=rate), 60_000)))
    assert rate * made.gpu_hours_per_job == pytest.approx(9_000)
    assert again.jobs_per_hour == pytest.approx(rate, rel=0.1)
    assert again.dispersion < ITP.dispersion * 2


def test_the_same_seed_gives_the_same_work_and_another_seed_other_work() -> None:
    assert draw(ITP, 500) == draw(ITP, 500)
    other = list(islice(generator(ITP, 8).arrivals(0.0), 500))
    assert other != draw(ITP, 500)


def test_submissions_are_in_order_and_ids_are_unique() -> None:
    jobs = draw(PHILLY, 5_000)
    assert all(a.submitted <= b.submitted for a, b in pairwise(jobs))
    assert len({job.id for job in jobs}) == 5_000


@given(gpus=st.integers(min_value=1, max_value=3000), seed=st.integers(0, 50))
def test_a_population_fills_exactly_what_it_is_given(gpus: int, seed: int) -> None:
    now = 5e6
    population = generator(ITP, seed).population(now, gpus=gpus)
    assert sum(aged.job.gpus for aged in population) == gpus
    for aged in population:
        assert aged.job.submitted == pytest.approx(now - aged.age)
        assert aged.job.duration >= 0.0


def test_long_and_large_work_is_what_a_busy_cluster_is_found_with() -> None:
    population = generator(ITP).population(0.0, gpus=20_000)
    by_size: Counter[int] = Counter()
    for aged in population:
        by_size[aged.job.gpus] += aged.job.gpus
    # GPU-time shares of the trace: 15.5 % in single GPUs, 40.6 % in whole nodes.
    assert by_size[1] / 20_000 == pytest.approx(0.17, abs=0.04)
    assert by_size[8] / 20_000 == pytest.approx(0.41, abs=0.06)


def test_run_times_can_be_cut() -> None:
    made = generator(ITP, longest=7200.0)
    assert max(job.duration for job in islice(made.arrivals(0.0), 2_000)) == 7200.0
    assert made.gpu_hours_per_job < generator(ITP).gpu_hours_per_job / 3


def test_too_few_jobs_or_no_tenants_are_refused() -> None:
    with pytest.raises(ValueError, match="100 jobs"):
        fit(draw(ITP, 99))
    with pytest.raises(ValueError, match="tenant"):
        WorkGenerator(ITP, np.random.default_rng(1), tenants=[])
