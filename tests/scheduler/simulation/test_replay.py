"""Replays: a case done by hand, and what must hold for any trace on any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.layout import build_nodes
from scheduler.model import NodeName
from scheduler.simulation.cluster import Outage, SimulatedNodes
from scheduler.simulation.replay import Replay
from scheduler.simulation.report import Report, Waits
from scheduler.simulation.tenants import layout_for, tasks_for
from scheduler.simulation.traces import TraceJob, read_trace

DATA = Path(__file__).parents[2] / "data"


def job(name: str, tenant: str, submitted: float, duration: float, gpus: int) -> TraceJob:
    return TraceJob(id=name, tenant=tenant, submitted=submitted, duration=duration, gpus=gpus)


def play(
    jobs: list[TraceJob], *, nodes: int, size: int = 8, outages: tuple[Outage, ...] = ()
) -> tuple[Report, list[int]]:
    layout = layout_for(jobs, nodes=nodes, gpus_per_node=size)
    cluster = SimulatedNodes(build_nodes(layout), now=jobs[0].submitted, outages=outages)
    told: list[int] = []
    run = Replay(Engine(layout), cluster)
    return run.run(tasks_for(jobs, gpus_per_node=size), progress=told.append), told


def test_a_reclaim_by_hand() -> None:
    """Two tenants with 4 GPUs each on one node; `b` borrows and `c` takes it back.

    GPUs held: 4 (0-10), 8 (10-200: a and b, from 60 a and c, from 100 b again and c),
    4 (200-260). Half the node is stranded while 4 are held.
    """
    report, told = play(
        [job("a", "x", 0, 100, 4), job("b", "x", 10, 100, 4), job("c", "y", 60, 200, 4)], nodes=1
    )
    assert (report.jobs, report.admitted, report.finished, report.never_fit) == (3, 3, 3, 0)
    assert report.lasted == 260.0
    assert report.utilisation == (4 * 10 + 8 * 190 + 4 * 60) / (8 * 260)
    assert report.fragmentation == (4 * 10 + 4 * 60) / (8 * 260)
    assert report.preemptions == 1
    assert report.gpu_hours_lost == 4 * 50 / 3600
    assert report.decisions == 5
    assert report.waits["all"] == Waits(0.0, 0.0, 0.0, 3)
    assert told[-1] == 3


def test_a_gang_waits_until_it_can_start_whole() -> None:
    report, _ = play(
        [job("a", "x", 0, 100, 8), job("b", "x", 0, 40, 8), job("c", "x", 10, 10, 16)], nodes=2
    )
    assert report.waits["9-64"] == Waits(90.0, 90.0, 90.0, 1)
    assert report.waits["8"].n == 2
    assert report.lasted == 110.0


def test_what_can_never_start_is_counted_and_left_out() -> None:
    report, _ = play([job("a", "x", 0, 10, 9), job("b", "x", 5, 10, 8)], nodes=1)
    assert (report.jobs, report.admitted, report.finished, report.never_fit) == (2, 1, 1, 1)


def test_work_that_loses_its_node_starts_again() -> None:
    outage = Outage(NodeName("node-0001"), 50.0, 80.0)
    report, _ = play([job("a", "x", 0, 100, 8)], nodes=1, outages=(outage,))
    assert (report.admitted, report.finished) == (1, 1)
    assert report.lasted == 180.0
    assert (report.preemptions, report.gpu_hours_lost) == (0, 0.0)
    # No GPUs were there while the node was away.
    assert report.utilisation == 150 / 150


def test_what_can_no_longer_start_is_left_waiting() -> None:
    outage = Outage(NodeName("node-0001"), 50.0)
    report, _ = play([job("a", "x", 0, 100, 8)], nodes=1, outages=(outage,))
    assert (report.admitted, report.finished, report.never_fit) == (1, 0, 0)


def test_jobs_without_duration_end_at_once() -> None:
    report, _ = play([job(f"j{n}", "x", 5, 0, 8) for n in range(3)], nodes=1)
    assert (report.finished, report.lasted) == (3, 0.0)
    assert (report.utilisation, report.fragmentation) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["itp_slice.csv", "philly_slice.csv.gz"])
def test_the_slices_of_real_traces(name: str) -> None:
    with (DATA / name).open("rb") as file:
        jobs = read_trace(file, name)
    report, _ = play(jobs, nodes=8)
    assert report.jobs == report.admitted == report.finished == 400
    assert report.partial_gangs == report.over_commitments == 0
    work = sum(one.gpus * one.duration for one in jobs) / 3600
    held = report.utilisation * 64 * report.lasted / 3600
    assert held == pytest.approx(work + report.gpu_hours_lost)


JOBS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.integers(0, 60),
        st.integers(0, 80),
        st.integers(1, 20),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=120, deadline=None)
@given(JOBS, st.integers(1, 4), st.sampled_from([1, 2, 8]))
def test_any_trace_plays_to_its_end_whole_and_the_same_each_time(
    drawn: list[tuple[str, int, int, int]], nodes: int, size: int
) -> None:
    drawn.sort(key=lambda one: one[1])
    jobs = [job(f"j{n:02d}", *one) for n, one in enumerate(drawn)]
    report, _ = play(jobs, nodes=nodes, size=size)
    assert report.partial_gangs == report.over_commitments == 0
    assert report.jobs == len(jobs)
    assert report.finished == report.admitted == report.jobs - report.never_fit
    assert 0.0 <= report.utilisation <= 1.0
    assert 0.0 <= report.fragmentation <= 1.0 - report.utilisation + 1e-9
    never = [one for one in jobs if one.gpus > nodes * size]
    assert report.never_fit >= len(never)
    assert play(jobs, nodes=nodes, size=size)[0] == report
