"""The simulated cluster's own promises: it outlives its process, whatever is torn."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.clusters.base import EndKind, Gone, NodeSeen, Replace, Start, Stop
from bot.clusters.journal import JournalBroken, StartEntry, StopEntry, read_journal
from bot.clusters.simulated import SimulatedCluster
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    PodSetAssignment,
    QueueName,
    Seconds,
    TeamName,
    Workload,
    WorkloadId,
)
from scheduler.simulation.cluster import Outage

NODES = [Node(name=NodeName(f"n{i}"), capacity={GPU: 8}) for i in range(1, 9)]


def open_cluster(path: Path) -> SimulatedCluster:
    return SimulatedCluster(NODES, path=path, start_delay=2.0, stop_time=10.0)


def start(number: int, *, run_for: Seconds | None = 100.0, attempt: int = 1) -> Start:
    """Whole node `n<number>` for the request `R-<number>`."""
    workload = Workload(
        id=WorkloadId(f"R-{number}"),
        team=TeamName("nlp"),
        owner="U1",
        queue=QueueName("nlp"),
        created=0.0,
        pod_sets=(PodSet(count=1, requests={GPU: 8}),),
    )
    assignment = PodSetAssignment(
        name="main",
        count=1,
        flavors={GPU: FlavorName("h100")},
        nodes=((NodeName(f"n{number}"), 1),),
    )
    admission = Admission(
        workload=workload.id, queue=workload.queue, assignments=(assignment,), at=0.0
    )
    return Start(
        workload=workload, admission=admission, decision=f"{number}/{attempt}", run_for=run_for
    )


def stop(number: int, *, attempt: int = 1) -> Stop:
    return Stop(workload=WorkloadId(f"R-{number}"), decision=f"{number}/{attempt}", grace=30.0)


def held(cluster: SimulatedCluster, now: Seconds) -> dict[str, str]:
    return {seen.decision: seen.state for seen in cluster.observe(now).workloads}


def test_what_ran_goes_on_and_ends_while_nobody_looks(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        cluster.apply(start(1, run_for=100.0), 1000.0)
        cluster.apply(start(2, run_for=500.0), 1000.0)
    with open_cluster(path) as cluster:
        assert held(cluster, 1300.0) == {"2/1": "running"}
        cluster.apply(start(1, run_for=100.0), 1300.0)
        (gone,) = cluster.poll(1300.0)
        assert isinstance(gone, Gone)
        assert (gone.kind, gone.at) == (EndKind.FINISHED, 1102.0)


def test_a_stop_under_way_goes_on_through_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        cluster.apply(start(1, run_for=None), 1000.0)
        cluster.apply(stop(1), 1050.0)
    with open_cluster(path) as cluster:
        assert held(cluster, 1055.0) == {"1/1": "stopping"}
        (gone,) = cluster.poll(1100.0)
        assert isinstance(gone, Gone)
        assert (gone.kind, gone.at) == (EndKind.STOPPED, 1060.0)


def test_opening_again_and_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        cluster.apply(start(1, run_for=10.0), 1000.0)
        cluster.apply(start(2, run_for=None), 1000.0)
        cluster.apply(start(3, run_for=900.0), 1040.0)
        cluster.apply(stop(2), 1045.0)
        cluster.fail_gang(WorkloadId("R-3"), after=50.0, now=1046.0)
        cluster.fail_node(Outage(NodeName("n8"), 1047.0, 2000.0), 1046.0)
    for _ in range(3):
        with open_cluster(path) as cluster:
            observation = cluster.observe(1050.0)
            assert [node.name for node in observation.nodes if not node.ready] == ["n8"]
            assert held(cluster, 1050.0) == {"2/1": "stopping", "3/1": "running"}
            assert len(read_journal(path)) == 6
    with open_cluster(path) as cluster:
        cluster.observe(1050.0)
        events = cluster.poll(3000.0)
        assert [(e.decision, e.kind, e.at) for e in events if isinstance(e, Gone)] == [
            ("2/1", EndKind.STOPPED, 1055.0),
            ("3/1", EndKind.FAILED, 1092.0),
        ]
        assert [(e.node.ready, e.at) for e in events if isinstance(e, NodeSeen)] == [(True, 2000.0)]


def test_ended_attempts_shrink_to_one_line_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        for attempt in range(1, 30):
            cluster.apply(start(1, run_for=None, attempt=attempt), 1000.0 * attempt)
            cluster.apply(stop(1, attempt=attempt), 1000.0 * attempt + 50.0)
        cluster.poll(40_000.0)
    size = path.stat().st_size
    open_cluster(path).close()
    assert path.stat().st_size < size / 2
    with open_cluster(path) as cluster:
        cluster.apply(start(1, run_for=None, attempt=7), 50_000.0)
        assert held(cluster, 50_000.0) == {}


def test_a_journal_that_is_something_else_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        cluster.apply(start(1), 1000.0)
    path.write_bytes(path.read_bytes() + b"not ours\n" + path.read_bytes())
    with pytest.raises(JournalBroken, match="line 2"):
        open_cluster(path)


@settings(max_examples=40)
@given(cut=st.integers(min_value=0, max_value=100_000), data=st.data())
def test_a_journal_cut_anywhere_keeps_what_was_whole(
    cut: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal"
    steps = data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=6))
    with open_cluster(path) as cluster:
        for moment, number in enumerate(steps):
            action = stop(number) if f"{number}/1" in held(cluster, moment) else start(number)
            cluster.apply(action, float(moment))
    whole = path.read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    path.write_bytes(kept)
    with open_cluster(path) as cluster:
        entries = read_journal(path)
        assert len(entries) == kept.count(b"\n")
        started = {e.action.decision for e in entries if isinstance(e, StartEntry)}
        stopped = {e.action.decision for e in entries if isinstance(e, StopEntry)}
        now = held(cluster, float(len(steps)))
        assert set(now) == started
        assert {decision for decision, state in now.items() if state == "stopping"} == stopped


_CHILD = """
import itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_simulated import open_cluster, start, stop
cluster = open_cluster(Path(sys.argv[1]))
for attempt in itertools.count(1):
    now = 100.0 * attempt
    cluster.apply(start(1, run_for=None, attempt=attempt), now)
    print(attempt, flush=True)
    cluster.apply(stop(1, attempt=attempt), now + 50.0)
"""


@pytest.mark.parametrize("lines", [1, 7, 40])
def test_a_kill_loses_nothing_that_apply_has_returned_from(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "journal"
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    told = [child.stdout.readline() for _ in range(lines)]
    child.kill()
    child.wait()
    child.stdout.close()
    last = int(told[-1])
    with open_cluster(path) as cluster:
        known = {seen.decision for seen in cluster.observe(100.0 * last).workloads}
        known |= set(cluster._ends)
        assert {f"1/{attempt}" for attempt in range(1, last + 1)} <= known


def test_a_broken_gang_is_broken_after_a_restart_although_its_node_is_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_cluster(path) as cluster:
        cluster.apply(start(1), 1000.0)
        cluster.fail_node(Outage(NodeName("n1"), 1010.0, 1020.0), 1005.0)
    for _ in range(2):
        with open_cluster(path) as cluster:
            (seen,) = cluster.observe(1500.0).workloads
            assert (seen.state, seen.missing) == ("broken", ("n1",))


def test_a_repair_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    gang = start(1)
    (assignment,) = gang.admission.assignments
    moved = dataclasses.replace(assignment, nodes=((NodeName("n5"), 1),))
    admission = dataclasses.replace(gang.admission, assignments=(moved,), repairs=1)
    with open_cluster(path) as cluster:
        cluster.apply(gang, 1000.0)
        cluster.fail_node(Outage(NodeName("n1"), 1010.0), 1005.0)
        cluster.apply(
            Replace(workload=gang.workload.id, admission=admission, decision="1/1"), 1020.0
        )
    with open_cluster(path) as cluster:
        (seen,) = cluster.observe(1050.0).workloads
        assert (seen.state, seen.admission) == ("running", admission)
        assert [one.decision for one in cluster.observe(1113.9).workloads] == ["1/1"]
        assert held(cluster, 1114.0) == {}  # 100 s in all: 8 before, 92 after 2 s of starting
