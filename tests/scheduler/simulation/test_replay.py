"""Replays: a case done by hand, and what must hold for any trace on any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.layout import build_nodes
from scheduler.model import NodeName, TopologyMode, TopologyRequest
from scheduler.simulation.cluster import Outage, SimulatedNodes
from scheduler.simulation.replay import Replay
from scheduler.simulation.report import Mended, Report, Waits
from scheduler.simulation.tenants import RACK, Racks, layout_for, tasks_for
from scheduler.simulation.traces import TraceJob, read_trace

DATA = Path(__file__).parents[2] / "data"


def job(name: str, tenant: str, submitted: float, duration: float, gpus: int) -> TraceJob:
    return TraceJob(id=name, tenant=tenant, submitted=submitted, duration=duration, gpus=gpus)


def play(
    jobs: list[TraceJob],
    *,
    nodes: int,
    size: int = 8,
    outages: tuple[Outage, ...] = (),
    mendable: bool = False,
    racks: Racks | None = None,
) -> tuple[Report, list[int]]:
    layout = layout_for(jobs, nodes=nodes, gpus_per_node=size, racks=racks)
    cluster = SimulatedNodes(
        build_nodes(layout),
        now=jobs[0].submitted,
        outages=outages,
        mendable=mendable,
        levels=layout.flavors[0].levels[:-1],
    )
    told: list[int] = []
    run = Replay(Engine(layout), cluster)
    return run.run(tasks_for(jobs, gpus_per_node=size, racks=racks), progress=told.append), told


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
    assert report.waits["all"] == Waits(0.0, 0.0, 0.0, 3, 0.0)
    assert told[-1] == 3


def test_a_gang_waits_until_it_can_start_whole() -> None:
    report, _ = play(
        [job("a", "x", 0, 100, 8), job("b", "x", 0, 40, 8), job("c", "x", 10, 10, 16)], nodes=2
    )
    assert report.waits["9-64"] == Waits(90.0, 90.0, 90.0, 1, 90.0)
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


@settings(max_examples=60)
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


OUTAGES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 120), st.integers(1, 90)), max_size=6
)


@settings(max_examples=80)
@given(JOBS, OUTAGES, st.integers(2, 4), st.booleans())
def test_nobody_is_lost_or_forgotten_when_nodes_fail_and_return(
    drawn: list[tuple[str, int, int, int]],
    failures: list[tuple[int, int, int]],
    nodes: int,
    mendable: bool,
) -> None:
    drawn.sort(key=lambda one: one[1])
    jobs = [job(f"j{n:02d}", *one) for n, one in enumerate(drawn)]
    outages = tuple(
        Outage(NodeName(f"node-{1 + which % nodes:04d}"), at, at + lasting)
        for which, at, lasting in failures
    )
    report, _ = play(jobs, nodes=nodes, size=2, outages=outages, mendable=mendable)
    assert report.partial_gangs == report.over_commitments == 0
    assert report.finished == report.admitted
    possible = [one for one in jobs if one.gpus <= nodes * 2]
    assert report.finished <= len(possible)


def test_a_gang_that_is_given_another_node_goes_on_where_it_was() -> None:
    outage = Outage(NodeName("node-0001"), 50.0, 80.0)
    jobs = [job("a", "x", 0, 100, 16)]
    report, _ = play(jobs, nodes=3, outages=(outage,), mendable=True)
    assert report.lasted == 100.0
    assert report.mended == Mended(failures=1, repaired=1, stopped=0, gpu_hours=0.0)
    assert (report.preemptions, report.gpu_hours_lost) == (0, 0.0)


def test_a_gang_for_which_there_is_no_other_node_starts_again_and_its_work_is_told_apart() -> None:
    outage = Outage(NodeName("node-0001"), 50.0, 80.0)
    jobs = [job("a", "x", 0, 100, 16)]
    report, _ = play(jobs, nodes=2, outages=(outage,), mendable=True)
    assert report.lasted == 180.0
    assert report.mended == Mended(failures=1, repaired=0, stopped=1, gpu_hours=16 * 50 / 3600)
    assert (report.preemptions, report.gpu_hours_lost) == (0, 0.0)


def test_by_level_the_time_means_of_free_domains_and_of_the_largest_gang() -> None:
    """Four nodes in two racks. 8 GPUs are held for 60 s, then 24 for 40 s.

    One rack is wholly free until 60 and none after; it could take 16 GPUs, then 8.
    """
    racks = Racks(nodes=2)
    report, _ = play([job("a", "x", 0, 100, 8), job("b", "x", 60, 40, 16)], nodes=4, racks=racks)
    (rack,) = report.levels
    assert (rack.level, rack.domains) == (RACK, 2)
    assert rack.whole_free == pytest.approx(1 * 60 / 100)
    assert rack.largest == pytest.approx((16 * 60 + 8 * 40) / 100)
    shown = report.as_json(wall_s=1.0, peak_rss_mb=1.0)["levels"]
    assert shown == {RACK: {"domains": 2, "whole_free": 0.6, "largest_gang_gpus": 12.8}}


def test_gangs_of_several_nodes_prefer_one_rack() -> None:
    racks = Racks(nodes=2, racks=2)
    tasks = list(
        tasks_for([job("a", "x", 0, 1, 8), job("b", "x", 0, 1, 16)], gpus_per_node=8, racks=racks)
    )
    single, several = (task.workload.pod_sets[0].topology for task in tasks)
    assert single is None
    assert several == TopologyRequest(mode=TopologyMode.PREFERRED, level=RACK)


def test_who_starts_and_is_stopped_at_one_moment_is_stopped() -> None:
    """Tenants `x` and `y` have a node each; `y` borrows, and `x`, next in turn, takes it back.

    Five starts (one of them again), one stop, and `x1`, which needs both nodes, at the end.
    """
    jobs = [
        job("x1", "x", 0, 10, 16),
        job("x2", "x", 0, 10, 8),
        job("y1", "y", 0, 15, 8),
        job("y2", "y", 0, 15, 8),
    ]
    report, _ = play(jobs, nodes=2)
    assert (report.finished, report.preemptions, report.decisions) == (4, 1, 6)
    assert report.waits["8"].p99 == 0.0
    assert report.lasted == 35.0
