"""How long work is expected to run: declared, remembered, or unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.events import Evicted, RunTimesRestored
from scheduler.history import (
    ENOUGH,
    KEPT,
    LINES,
    UNKNOWN,
    Expectation,
    RunTimes,
    Sample,
    quantile,
    size_class,
)
from scheduler.model import Basis, TeamName
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload


def samples(*ran: float, team: str = "a", gpus: int = 1) -> tuple[Sample, ...]:
    return tuple(Sample(team=TeamName(team), gpus=gpus, ran=one) for one in ran)


def test_a_declared_duration_is_believed() -> None:
    history = RunTimes()
    history.restore(samples(*[10.0] * KEPT))
    found = history.expected(a_workload("w", "a", duration=3600.0))
    assert found == Expectation(3600.0, 3600.0, 3600.0, Basis.DECLARED)


def test_without_one_the_quartiles_of_such_work_count() -> None:
    history = RunTimes()
    history.restore(samples(100.0, 300.0, 200.0, 500.0, 400.0))
    assert history.expected(a_workload("w", "a")) == Expectation(200.0, 300.0, 400.0, Basis.HISTORY)


def test_too_few_of_that_size_go_by_the_team_then_by_everybody() -> None:
    history = RunTimes()
    history.restore(samples(*[50.0] * ENOUGH, team="a", gpus=8))
    history.restore(samples(*[9.0] * ENOUGH, team="b", gpus=1))
    assert history.expected(a_workload("w", "a", gpus=1)).likely == 50.0
    assert history.expected(a_workload("w", "c", gpus=1)).likely == 9.0
    assert history.expected(a_workload("w", "c", gpus=64)) == UNKNOWN


def test_who_runs_is_not_expected_to_end_before_now() -> None:
    history = RunTimes()
    history.restore(samples(*map(float, range(100, 1100, 100))))
    mine = a_workload("w", "a")
    assert history.end(mine, 0.0, 0.0).likely == 550.0
    beyond = history.end(mine, 0.0, 500.0)
    assert (beyond.low, beyond.likely, beyond.high) == (700.0, 800.0, 900.0)
    assert history.end(mine, 0.0, 900.0) == UNKNOWN


def test_a_declared_end_that_is_past_is_only_a_guess() -> None:
    history = RunTimes()
    mine = a_workload("w", "a", duration=60.0)
    assert history.end(mine, 0.0, 50.0) == Expectation(60.0, 60.0, 60.0, Basis.DECLARED)
    assert history.end(mine, 0.0, 80.0) == Expectation(80.0, 100.0, 160.0, Basis.UNKNOWN)
    history.restore(samples(*[100.0] * ENOUGH))
    assert history.end(mine, 0.0, 80.0) == Expectation(100.0, 100.0, 100.0, Basis.HISTORY)


def test_only_the_last_run_times_are_kept() -> None:
    history = RunTimes()
    history.restore(samples(*[1000.0] * KEPT))
    history.restore(samples(*[10.0] * KEPT))
    assert history.expected(a_workload("w", "a")).high == 10.0


def test_of_too_many_teams_the_first_is_forgotten() -> None:
    history = RunTimes()
    for number in range(LINES):
        history.restore(samples(*[5.0] * ENOUGH, team=f"t{number}", gpus=1 << (number % 8)))
    assert history.expected(a_workload("w", "t0", gpus=1 << 30)) == UNKNOWN
    last = a_workload("w", f"t{LINES - 1}", gpus=1 << 30)
    assert history.expected(last).basis is Basis.HISTORY


def test_a_copy_learns_by_itself() -> None:
    history = RunTimes()
    history.restore(samples(*[5.0] * ENOUGH))
    other = history.copy()
    other.restore(samples(*[500.0] * KEPT))
    assert history.expected(a_workload("w", "a")).likely == 5.0


@pytest.mark.parametrize(("gpus", "size"), [(0, 0), (1, 1), (3, 2), (4, 3), (7, 3), (8, 4)])
def test_sizes_double_from_class_to_class(gpus: int, size: int) -> None:
    assert size_class(gpus) == size


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_quantile_lies_between_the_extremes(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert ordered[0] <= quantile(ordered, share) <= ordered[-1] * (1 + 1e-12)


def test_the_engine_learns_from_those_who_finish_and_from_storage() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    for number in range(ENOUGH):
        cluster.start(a_workload(f"w{number}", "a"))
        cluster.now += 60.0
        cluster.finish(f"w{number}")
    asked = a_workload("next", "a")
    assert cluster.engine.expected(asked).likely == 60.0
    cluster.engine.apply(RunTimesRestored(samples=samples(*[900.0] * KEPT)))
    assert cluster.engine.expected(asked).likely == 900.0


def test_who_was_stopped_teaches_nothing() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    for number in range(ENOUGH):
        cluster.start(a_workload(f"w{number}", "a"))
        cluster.engine.apply(Evicted(workload=cluster.engine.running()[0][0].id, at=cluster.now))
        cluster.cycle()
    assert cluster.engine.expected(a_workload("next", "a")) == UNKNOWN
