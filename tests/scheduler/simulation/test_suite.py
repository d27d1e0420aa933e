"""Kueue's load, played on a clock that jumps from event to event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.simulation.suite import BASELINE, LARGE, TAS, Kind, Play, Suite


def play(suite: Suite) -> Play:
    one = Play(suite, lambda: 0.0)
    while not one.done:
        one.advance(one.next)
    return one


def smaller(suite: Suite, cohorts: int, queues: int) -> Suite:
    return replace(suite, cohorts=cohorts, queues=queues)


def test_the_limits_are_the_published_ones() -> None:
    assert BASELINE.limit == pytest.approx(66.0)
    assert LARGE.limit == pytest.approx(4.025)
    assert sum(kind.count for kind in BASELINE.kinds) * 30 == 15_000
    assert sum(kind.count for kind in LARGE.kinds) * 1_000 == 50_000


def test_with_no_latency_the_baseline_takes_its_known_time() -> None:
    """75.5 s is the floor with these preemption rules: preempted work is done again."""
    one = play(smaller(BASELINE, 1, 6))
    assert one.measures.wall == pytest.approx(75.5, abs=1.0)
    assert sorted(one.measures.waits) == ["large", "medium", "small"]
    assert len(one.measures.waits["small"]) == 350 * 6


def test_with_no_latency_the_large_load_takes_its_known_time() -> None:
    assert play(smaller(LARGE, 1, 20)).measures.wall == pytest.approx(4.1, abs=0.1)


def test_with_no_latency_the_topology_load_takes_its_known_time() -> None:
    """Nodes are never short there, so the floor is that of the same work without them."""
    assert TAS.limit == pytest.approx(66.0)
    one = play(smaller(TAS, 1, 6))
    assert one.measures.wall == pytest.approx(75.5, abs=1.0)
    assert len(one.measures.waits["large"]) == 50 * 6


def test_whoever_is_preempted_starts_again() -> None:
    small = Kind(name="small", count=3, units=20, runs=10.0, priority=1, every=1.0)
    large = Kind(name="large", count=1, units=20, runs=1.0, priority=2, every=1.0)
    suite = Suite(name="two", cohorts=1, queues=1, kinds=(small, large))
    one = play(suite)
    assert one.measures.preemptions == 0  # the large one comes at once and goes first
    assert one.measures.wall == 31.0
    late = replace(suite, kinds=(replace(small, count=1), replace(large, count=2, every=5.0)))
    one = play(late)
    assert one.measures.preemptions == 1  # after four of ten seconds; they are done again
    assert one.measures.wall == 16.0
    assert one.measures.busy == 16.0 * 20
