"""The simulated nodes: what happens when, and that nothing is ever half there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from scheduler.simulation.cluster import (
    Figures,
    GangEnd,
    GangGone,
    GangHurt,
    GangReady,
    GangState,
    Happening,
    NodeChanged,
    Outage,
    SimulatedNodes,
)


def cluster(
    count: int = 3, *, start_delay: Seconds = 0.0, stop_time: Seconds = 0.0
) -> SimulatedNodes:
    nodes = [Node(name=NodeName(f"n{i}"), capacity={GPU: 8}) for i in range(count)]
    return SimulatedNodes(nodes, start_delay=start_delay, stop_time=stop_time)


def gang(
    name: str, *places: tuple[str, int], gpus: int = 8, wanted: int | None = None
) -> tuple[Workload, Admission]:
    placed = sum(pods for _, pods in places)
    workload = Workload(
        id=WorkloadId(name),
        team=TeamName("t"),
        owner="o",
        queue=QueueName("q"),
        created=0.0,
        pod_sets=(PodSet(count=wanted or placed, requests={GPU: gpus}),),
    )
    assignment = PodSetAssignment(
        name="main",
        count=placed,
        flavors={GPU: FlavorName("f")},
        nodes=tuple((NodeName(node), pods) for node, pods in places),
    )
    return workload, Admission(
        workload=workload.id, queue=workload.queue, assignments=(assignment,), at=0.0
    )


def told(happened: tuple[Happening, ...]) -> list[tuple[str, str, Seconds]]:
    """(what, of whom, when), short enough to compare."""
    short: list[tuple[str, str, Seconds]] = []
    for one in happened:
        if isinstance(one, GangReady):
            short.append(("ready", one.workload, one.at))
        elif isinstance(one, GangGone):
            short.append((one.end.value, one.workload, one.at))
        elif isinstance(one, GangHurt):
            short.append((f"hurt on {one.node}", one.workload, one.at))
        elif isinstance(one, NodeChanged):
            short.append((f"node {'up' if one.node.ready else 'down'}", one.node.name, one.at))
    return short


def test_a_gang_is_ready_after_the_delay_and_finishes_after_its_run_time() -> None:
    nodes = cluster(start_delay=5.0)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=10.0, run_for=100.0)
    assert nodes.next_at() == 15.0
    assert told(nodes.advance(200.0)) == [("ready", "a", 15.0), ("finished", "a", 115.0)]
    assert nodes.next_at() is None


def test_a_gang_without_run_time_runs_until_it_is_stopped() -> None:
    nodes = cluster(stop_time=40.0)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=0.0)
    assert told(nodes.advance(1e6)) == [("ready", "a", 0.0)]
    nodes.stop(WorkloadId("a"), "a/1", grace=30.0, at=1e6)
    assert nodes.gangs()[0].state is GangState.STOPPING
    assert told(nodes.advance(2e6)) == [("stopped", "a", 1e6 + 30.0)]


@pytest.mark.parametrize(("grace", "stop_time", "takes"), [(30.0, 5.0, 5.0), (3.0, 5.0, 3.0)])
def test_stopping_takes_the_lesser_of_grace_and_stop_time(
    grace: Seconds, stop_time: Seconds, takes: Seconds
) -> None:
    nodes = cluster(stop_time=stop_time)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=0.0)
    nodes.stop(WorkloadId("a"), "a/1", grace=grace, at=10.0)
    assert told(nodes.advance(100.0))[-1] == ("stopped", "a", 10.0 + takes)


def test_work_that_ends_within_its_grace_has_finished() -> None:
    nodes = cluster(stop_time=60.0)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=0.0, run_for=100.0)
    nodes.stop(WorkloadId("a"), "a/1", grace=60.0, at=90.0)
    assert told(nodes.advance(500.0))[-1] == ("finished", "a", 100.0)


def test_a_stop_of_another_attempt_or_of_nothing_has_no_effect() -> None:
    nodes = cluster()
    nodes.start(*gang("a", ("n0", 1)), "a/2", at=0.0)
    nodes.stop(WorkloadId("a"), "a/1", grace=0.0, at=1.0)
    nodes.stop(WorkloadId("b"), "b/1", grace=0.0, at=1.0)
    assert [one.attempt for one in nodes.gangs()] == ["a/2"]


def test_a_gang_fails_by_script() -> None:
    nodes = cluster(start_delay=1.0)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=0.0, run_for=100.0)
    nodes.fail(WorkloadId("a"), after=30.0, at=0.0)
    assert told(nodes.advance(500.0)) == [("ready", "a", 1.0), ("failed", "a", 31.0)]


def test_a_node_takes_whole_gangs_with_it_and_returns_empty() -> None:
    nodes = cluster()
    nodes.start(*gang("a", ("n0", 1), ("n1", 1)), "a/1", at=0.0)
    nodes.start(*gang("b", ("n2", 1)), "b/1", at=0.0)
    nodes.advance(0.0)
    nodes.script(Outage(NodeName("n1"), 10.0, 50.0))
    assert told(nodes.advance(10.0)) == [("lost", "a", 10.0), ("node down", "n1", 10.0)]
    assert nodes.figures() == Figures(gpus=16, used=8, stranded=0)
    assert nodes.used_on(NodeName("n0")) == {GPU: 0}
    nodes.start(*gang("c", ("n1", 1)), "c/1", at=20.0)
    assert told(nodes.advance(60.0)) == [("lost", "c", 20.0), ("node up", "n1", 50.0)]
    assert nodes.figures() == Figures(gpus=24, used=8, stranded=0)
    assert nodes.partial_gangs == 0


def test_overlapping_outages_end_with_the_last() -> None:
    nodes = cluster(1)
    nodes.script(Outage(NodeName("n0"), 10.0, 30.0))
    nodes.script(Outage(NodeName("n0"), 20.0, 40.0))
    assert told(nodes.advance(100.0)) == [("node down", "n0", 10.0), ("node up", "n0", 40.0)]


def test_at_one_instant_ends_come_first_then_returns_failures_and_starts() -> None:
    nodes = cluster(4, start_delay=10.0)
    nodes.script(Outage(NodeName("n3"), 20.0))
    nodes.script(Outage(NodeName("n2"), 5.0, 20.0))
    nodes.start(*gang("b", ("n1", 1)), "b/1", at=0.0, run_for=10.0)
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=10.0)
    nodes.advance(19.0)
    assert told(nodes.advance(20.0)) == [
        ("finished", "b", 20.0),
        ("node up", "n2", 20.0),
        ("node down", "n3", 20.0),
        ("ready", "a", 20.0),
    ]


def test_free_gpus_of_partly_used_nodes_are_stranded() -> None:
    nodes = cluster(3)
    assert nodes.figures() == Figures(gpus=24, used=0, stranded=0)
    nodes.start(*gang("a", ("n0", 3), gpus=1), "a/1", at=0.0, run_for=10.0)
    nodes.start(*gang("b", ("n1", 1), gpus=8), "b/1", at=0.0, run_for=20.0)
    assert nodes.figures() == Figures(gpus=24, used=11, stranded=5)
    nodes.advance(10.0)
    assert nodes.figures() == Figures(gpus=24, used=8, stranded=0)


def test_a_grant_of_fewer_pods_than_asked_is_counted_as_partial() -> None:
    nodes = cluster()
    nodes.start(*gang("a", ("n0", 1), wanted=2), "a/1", at=0.0)
    assert nodes.partial_gangs == 1


def test_more_on_a_node_than_it_has_is_counted_as_over_commitment() -> None:
    nodes = cluster()
    nodes.start(*gang("a", ("n0", 1), gpus=5), "a/1", at=0.0)
    assert nodes.over_commitments == 0
    nodes.start(*gang("b", ("n0", 1), gpus=4), "b/1", at=0.0)
    assert nodes.over_commitments == 1


def test_calls_that_cannot_be_meant_are_refused() -> None:
    nodes = cluster()
    nodes.start(*gang("a", ("n0", 1)), "a/1", at=5.0)
    with pytest.raises(ValueError, match="still holds"):
        nodes.start(*gang("a", ("n1", 1)), "a/2", at=6.0)
    with pytest.raises(ValueError, match="time runs forward"):
        nodes.advance(1.0)
    with pytest.raises(ValueError, match="no node x"):
        nodes.script(Outage(NodeName("x"), 10.0))
    with pytest.raises(ValueError, match="two nodes"):
        SimulatedNodes([Node(name=NodeName("n"), capacity={})] * 2)


Act = tuple[str, int, int, int]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["start", "stop", "lose", "fail"]),
        st.integers(min_value=0, max_value=5),
        st.integers(min_value=1, max_value=3),
        st.integers(min_value=0, max_value=30),
    ),
    max_size=40,
)


def play(acts: list[Act]) -> tuple[SimulatedNodes, list[Happening]]:
    """Gangs of one GPU a pod on up to three nodes, with everything that may befall them."""
    nodes = cluster(3, start_delay=3.0, stop_time=4.0)
    happened: list[Happening] = []
    now = 0.0
    for turn, (act, who, many, wait) in enumerate(acts):
        now += wait
        happened += nodes.advance(now)
        name = WorkloadId(f"w{who}")
        live = nodes.gang(name)
        if act == "start" and live is None:
            workload, admission = gang(name, *((f"n{i}", 1) for i in range(many)), gpus=1)
            nodes.start(workload, admission, f"{name}/{turn}", at=now, run_for=float(wait + 5))
        elif act == "stop" and live is not None:
            nodes.stop(name, live.attempt, grace=float(wait), at=now)
        elif act == "fail" and live is not None:
            nodes.fail(name, after=float(wait), at=now)
        elif act == "lose":
            nodes.script(Outage(NodeName(f"n{many - 1}"), now, now + wait))
        check_whole(nodes)
    happened += nodes.advance(now + 1000.0)
    return nodes, happened


def check_whole(nodes: SimulatedNodes) -> None:
    """Sums agree with what is placed; gangs are whole; nothing exceeds a node."""
    present: dict[WorkloadId, int] = {}
    for node in nodes.nodes():
        pods = nodes.pods_on(node.name)
        assert sum(pods.values()) == nodes.used_on(node.name).get(GPU, 0) <= 8
        for workload, count in pods.items():
            present[workload] = present.get(workload, 0) + count
    assert present == {one.workload.id: sum(one.pods.values()) for one in nodes.gangs()}
    assert not any(one.missing() for one in nodes.gangs())
    figures = nodes.figures()
    assert figures.gpus == sum(8 for node in nodes.nodes() if node.ready)
    assert figures.used == sum(present.values())


@settings(max_examples=80)
@given(ACTS)
def test_whatever_is_done_gangs_are_whole_and_every_attempt_ends_once(acts: list[Act]) -> None:
    nodes, happened = play(acts)
    assert nodes.partial_gangs == 0
    assert nodes.over_commitments == 0
    assert nodes.gangs() == ()
    ends = [one.attempt for one in happened if isinstance(one, GangGone)]
    assert len(ends) == len(set(ends))
    moments = [one.at for one in happened]
    assert moments == sorted(moments)
    assert play(acts)[1] == happened


def test_the_play_of_the_property_loses_and_fails_gangs() -> None:
    acts = [("start", 0, 2, 0), ("lose", 0, 1, 4), ("start", 1, 1, 20), ("fail", 1, 1, 1)]
    _, happened = play(acts)
    ended = {one.end for one in happened if isinstance(one, GangGone)}
    assert ended == {GangEnd.LOST, GangEnd.FAILED}
    assert any(isinstance(one, NodeChanged) for one in happened)
