"""What the control loop relies on, whichever cluster it drives."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import pytest

from bot.clusters.base import (
    Cluster,
    ClusterUnreachable,
    Cordon,
    EndKind,
    Gone,
    NodeFailed,
    NodeSeen,
    PodsLost,
    PodsState,
    Replace,
    Start,
    Started,
    Stop,
)
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    QueueName,
    Seconds,
    TeamName,
    Workload,
    WorkloadId,
)

LONG = 10_000.0
GRACE = 30.0


class Rig(Protocol):
    """As in conftest.py: a cluster of four nodes of 8 GPUs, `n1` … `n4`."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def now(self) -> Seconds: ...

    def wait(self, seconds: Seconds) -> None: ...

    def lose_node(self, name: str) -> None: ...

    def cut_off(self, *, unreachable: bool) -> None: ...


def start(
    name: str, decision: str, *places: tuple[str, int], run_for: Seconds | None = LONG
) -> Start:
    """Start a gang of whole-node pods on `places` (node, pods)."""
    count = sum(pods for _, pods in places)
    workload = Workload(
        id=WorkloadId(name),
        team=TeamName("nlp"),
        owner="U1",
        queue=QueueName("nlp"),
        created=0.0,
        pod_sets=(PodSet(count=count, requests={GPU: 8}),),
    )
    assignment = PodSetAssignment(
        name="main",
        count=count,
        flavors={GPU: FlavorName("h100")},
        nodes=tuple((NodeName(node), pods) for node, pods in places),
    )
    admission = Admission(
        workload=workload.id, queue=workload.queue, assignments=(assignment,), at=0.0
    )
    return Start(workload=workload, admission=admission, decision=decision, run_for=run_for)


def stop(name: str, decision: str) -> Stop:
    return Stop(workload=WorkloadId(name), decision=decision, grace=GRACE)


def holding(rig: Rig) -> list[tuple[str, str]]:
    return [(o.workload, o.decision) for o in rig.cluster.observe(rig.now).workloads]


def ends(rig: Rig) -> list[tuple[str, str, EndKind]]:
    return [
        (event.workload, event.decision, event.kind)
        for event in rig.cluster.poll(rig.now)
        if isinstance(event, Gone)
    ]


def test_observe_lists_nodes_by_name_and_gangs_by_id(rig: Rig) -> None:
    rig.cluster.apply(start("R-2", "d2", ("n2", 1)), rig.now)
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), ("n3", 1)), rig.now)
    observation = rig.cluster.observe(rig.now)
    assert [node.name for node in observation.nodes] == ["n1", "n2", "n3", "n4"]
    assert [seen.workload for seen in observation.workloads] == ["R-1", "R-2"]
    assert observation.workloads[0].admission.assignments[0].nodes == (("n1", 1), ("n3", 1))


def test_a_gang_starts_runs_and_finishes(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=100.0), rig.now)
    assert rig.cluster.observe(rig.now).workloads[0].state is PodsState.STARTING
    rig.wait(60.0)
    (event,) = rig.cluster.poll(rig.now)
    assert isinstance(event, Started)
    assert (event.workload, event.decision) == ("R-1", "d1")
    assert rig.cluster.observe(rig.now).workloads[0].state is PodsState.RUNNING
    rig.wait(100.0)
    assert ends(rig) == [("R-1", "d1", EndKind.FINISHED)]
    assert holding(rig) == []


def test_the_same_start_twice_runs_once(rig: Rig) -> None:
    for _ in range(2):
        rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=50.0), rig.now)
    assert holding(rig) == [("R-1", "d1")]
    rig.wait(100.0)
    assert ends(rig) == [("R-1", "d1", EndKind.FINISHED)]


def test_a_start_that_is_over_tells_its_end_again_and_does_not_run(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=50.0), rig.now)
    rig.wait(100.0)
    assert holding(rig) == []
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=50.0), rig.now)
    assert holding(rig) == []
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=50.0), rig.now)
    assert ends(rig) == [("R-1", "d1", EndKind.FINISHED)]


def test_a_stop_takes_every_pod_within_its_grace(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), ("n2", 1)), rig.now)
    rig.wait(60.0)
    rig.cluster.poll(rig.now)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    assert rig.cluster.observe(rig.now).workloads[0].state is PodsState.STOPPING
    rig.wait(GRACE)
    assert ends(rig) == [("R-1", "d1", EndKind.STOPPED)]
    assert holding(rig) == []


def test_the_same_stop_twice_ends_once(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1)), rig.now)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    rig.wait(GRACE / 2)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    rig.wait(GRACE / 2)
    assert ends(rig) == [("R-1", "d1", EndKind.STOPPED)]


def test_a_stop_of_an_earlier_attempt_leaves_the_present_one_alone(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1)), rig.now)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    rig.wait(GRACE)
    rig.cluster.poll(rig.now)
    rig.cluster.apply(start("R-1", "d2", ("n2", 1)), rig.now)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    rig.wait(GRACE)
    assert holding(rig) == [("R-1", "d2")]


def test_a_stop_that_overtakes_its_start_keeps_it_from_coming(rig: Rig) -> None:
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    assert ends(rig) == [("R-1", "d1", EndKind.STOPPED)]
    rig.cluster.apply(start("R-1", "d1", ("n1", 1)), rig.now)
    assert holding(rig) == []


def news(rig: Rig) -> list[tuple[str, ...]]:
    """What `poll` tells, short enough to compare."""
    short: list[tuple[str, ...]] = []
    for event in rig.cluster.poll(rig.now):
        match event:
            case NodeSeen():
                short.append(("node", event.node.name, "ready" if event.node.ready else "down"))
            case NodeFailed():
                short.append(("failed", event.name))
            case PodsLost():
                short.append(("hurt", event.decision, event.node))
            case Started():
                short.append(("started", event.decision))
            case Gone():
                short.append((event.kind, event.decision))
            case _:
                short.append((type(event).__name__,))
    return short


def broken(rig: Rig) -> Start:
    """R-1 on n1 and n2, of which n2 has failed; R-2 on n3. Nothing is left to be told."""
    gang = start("R-1", "d1", ("n1", 1), ("n2", 1), run_for=100.0)
    rig.cluster.apply(gang, rig.now)
    rig.cluster.apply(start("R-2", "d2", ("n3", 1)), rig.now)
    rig.wait(60.0)
    rig.cluster.poll(rig.now)
    rig.lose_node("n2")
    rig.wait(1.0)
    told = news(rig)
    assert sorted(told) == [("failed", "n2"), ("hurt", "d1", "n2"), ("node", "n2", "down")]
    return gang


def repair(gang: Start, number: int, *places: tuple[str, int]) -> Replace:
    (assignment,) = gang.admission.assignments
    nodes = tuple((NodeName(node), pods) for node, pods in places)
    admission = dataclasses.replace(
        gang.admission,
        assignments=(dataclasses.replace(assignment, nodes=nodes),),
        repairs=number,
    )
    return Replace(workload=gang.workload.id, admission=admission, decision=gang.decision)


def test_a_gang_that_lost_a_node_is_broken_and_keeps_the_rest(rig: Rig) -> None:
    broken(rig)
    first, second = rig.cluster.observe(rig.now).workloads
    assert (first.state, first.missing) == (PodsState.BROKEN, ("n2",))
    assert (second.decision, second.missing) == ("d2", ())


def test_a_broken_gang_waits_for_its_new_pods_then_runs_what_was_left(rig: Rig) -> None:
    gang = broken(rig)
    rig.wait(500.0)
    assert news(rig) == []
    mend = repair(gang, 1, ("n1", 1), ("n4", 1))
    rig.cluster.apply(mend, rig.now)
    rig.wait(30.0)
    assert news(rig) == [("started", "d1")]
    seen = rig.cluster.observe(rig.now).workloads[0]
    assert (seen.state, seen.missing, seen.admission) == (PodsState.RUNNING, (), mend.admission)
    rig.wait(100.0)
    assert news(rig) == [("finished", "d1")]


def test_the_same_repair_twice_or_an_older_one_changes_nothing(rig: Rig) -> None:
    gang = broken(rig)
    newer, older = repair(gang, 2, ("n1", 1), ("n4", 1)), repair(gang, 1, ("n1", 1), ("n3", 1))
    rig.cluster.apply_all([newer, newer, older], rig.now)
    rig.wait(30.0)
    rig.cluster.apply(newer, rig.now)
    assert news(rig) == [("started", "d1")]
    assert rig.cluster.observe(rig.now).workloads[0].admission == newer.admission


def test_a_repair_on_a_node_that_is_down_is_told_as_lost_pods(rig: Rig) -> None:
    gang = broken(rig)
    rig.lose_node("n4")
    rig.wait(1.0)
    rig.cluster.poll(rig.now)
    rig.cluster.apply(repair(gang, 1, ("n1", 1), ("n4", 1)), rig.now)
    assert news(rig) == [("hurt", "d1", "n4")]
    seen = rig.cluster.observe(rig.now).workloads[0]
    assert (seen.state, seen.missing) == (PodsState.BROKEN, ("n4",))


def test_a_repair_of_what_is_gone_or_never_came_does_not_bring_it(rig: Rig) -> None:
    gang = broken(rig)
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    rig.wait(GRACE)
    assert ends(rig) == [("R-1", "d1", EndKind.STOPPED)]
    rig.cluster.apply(repair(gang, 1, ("n1", 1), ("n4", 1)), rig.now)
    rig.cluster.apply(repair(start("R-3", "d3", ("n1", 1)), 1, ("n4", 1)), rig.now)
    assert holding(rig) == [("R-2", "d2")]


def test_a_broken_gang_without_any_pod_left_stops_at_once(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n2", 1)), rig.now)
    rig.lose_node("n2")
    rig.wait(1.0)
    assert ends(rig) == []
    assert rig.cluster.observe(rig.now).workloads[0].state is PodsState.BROKEN
    rig.cluster.apply(stop("R-1", "d1"), rig.now)
    assert ends(rig) == [("R-1", "d1", EndKind.STOPPED)]


def test_a_start_on_a_node_that_has_gone_is_lost(rig: Rig) -> None:
    rig.lose_node("n2")
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), ("n2", 1)), rig.now)
    assert ends(rig) == [("R-1", "d1", EndKind.LOST)]


def test_poll_tells_each_thing_once(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=10.0), rig.now)
    rig.wait(100.0)
    assert len(rig.cluster.poll(rig.now)) == 2
    assert rig.cluster.poll(rig.now) == ()


def test_an_unreachable_cluster_refuses_everything_and_goes_on(rig: Rig) -> None:
    rig.cluster.apply(start("R-1", "d1", ("n1", 1), run_for=50.0), rig.now)
    rig.cut_off(unreachable=True)
    with pytest.raises(ClusterUnreachable):
        rig.cluster.observe(rig.now)
    with pytest.raises(ClusterUnreachable):
        rig.cluster.apply(start("R-2", "d2", ("n2", 1)), rig.now)
    rig.wait(100.0)
    with pytest.raises(ClusterUnreachable):
        rig.cluster.poll(rig.now)
    rig.cut_off(unreachable=False)
    assert ends(rig) == [("R-1", "d1", EndKind.FINISHED)]
    assert holding(rig) == []


def test_several_actions_at_once_are_as_one_by_one(rig: Rig) -> None:
    first, second = start("R-1", "R-1/1", ("n1", 1)), start("R-2", "R-2/1", ("n2", 1))
    rig.cluster.apply_all([first, second, first], rig.now)
    running = {observed.decision for observed in rig.cluster.observe(rig.now).workloads}
    assert running == {"R-1/1", "R-2/1"}


def test_a_node_is_closed_and_opened_again_and_what_runs_there_goes_on(rig: Rig) -> None:
    rig.cluster.observe(rig.now)
    rig.cluster.apply(start("a", "a/1", ("n1", 8)), rig.now)
    rig.wait(LONG / 10)
    rig.cluster.poll(rig.now)
    for closed in (True, False):
        for _ in range(2):  # the same order again has no further effect
            rig.cluster.apply(Cordon(node=NodeName("n1"), closed=closed), rig.now)
        seen = [event.node for event in rig.cluster.poll(rig.now) if isinstance(event, NodeSeen)]
        assert [(node.name, node.schedulable) for node in seen] == [("n1", not closed)]
        observed = rig.cluster.observe(rig.now)
        assert [one.workload for one in observed.workloads] == ["a"]
        node = next(node for node in observed.nodes if node.name == "n1")
        assert node.schedulable is not closed


def test_an_order_about_a_node_that_does_not_exist_does_nothing(rig: Rig) -> None:
    rig.cluster.observe(rig.now)
    rig.cluster.apply(Cordon(node=NodeName("n99"), closed=True), rig.now)
    assert rig.cluster.poll(rig.now) == ()
