"""Room for whole nodes out of pieces: who is moved, where to, and that nothing is half done."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.budgets import Grade
from scheduler.events import Evicted, Finished, NodeRemoved, Restored, Submitted
from scheduler.invariants import check_invariants
from scheduler.layout import HOSTNAME, MoveBounds, Options, Team
from scheduler.model import (
    GPU,
    Admission,
    Decisions,
    NodeName,
    PodSet,
    PodSetAssignment,
    PreemptionRule,
    Priority,
    QueueName,
    TeamName,
    TopologyMode,
    TopologyRequest,
    WorkloadId,
)
from scheduler.standing import EngineError
from tests.scheduler.builders import (
    H100,
    Cluster,
    a_flavor,
    a_layout,
    a_node,
    a_queue,
    a_workload,
    names,
)

RACK = "example.com/rack"
ON = Options(defragment=True)
IN_ONE_RACK = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)


def nodes_of_8(count: int, *, options: Options = ON, min_runtime: float = 0.0) -> Cluster:
    """Nodes n0, n1 ... in racks of two."""
    nodes = [
        a_node(f"n{i}", labels={**a_node(f"n{i}").labels, RACK: f"r{i // 2}"}) for i in range(count)
    ]
    queue = a_queue("A", 1000, min_runtime=min_runtime)
    flavor = a_flavor(levels=(RACK, HOSTNAME))
    return Cluster(a_layout(queue, flavors=(flavor,), options=options), *nodes)


def put(
    cluster: Cluster,
    name: str,
    *nodes: str,
    gpus: int,
    at: float = 900.0,
    preemptible: bool = True,
    priority: int = 0,
) -> None:
    """A gang that runs since `at` with one pod on each of these nodes."""
    workload = a_workload(
        name, "A", len(nodes), gpus, created=at, preemptible=preemptible, priority=priority
    )
    lie = PodSetAssignment(
        name="main",
        count=len(nodes),
        flavors={GPU: H100},
        nodes=tuple((NodeName(node), 1) for node in sorted(nodes)),
    )
    admission = Admission(
        workload=WorkloadId(name), queue=QueueName("A"), assignments=(lie,), at=at
    )
    cluster.engine.apply(Restored(workload=workload, admission=admission))


def want(cluster: Cluster, pods: int, topology: TopologyRequest | None = None) -> Decisions:
    """Somebody asks for whole nodes; what is decided."""
    sets = (PodSet(count=pods, requests={GPU: 8}, topology=topology),)
    cluster.submit(a_workload("whole", "A", pods, 8, created=cluster.now, pod_sets=sets))
    decisions = cluster.cycle()
    check_invariants(cluster.engine)
    return decisions


def let_go(cluster: Cluster, decisions: Decisions) -> list[str]:
    """Those who were told to stop are gone; who starts in the very next cycle."""
    for stop in decisions.preemptions:
        cluster.engine.apply(Evicted(workload=stop.target, at=cluster.now))
        check_invariants(cluster.engine)
    started = names(cluster.cycle().admissions)
    check_invariants(cluster.engine)
    return started


def test_the_cheapest_gang_is_moved_into_another_piece_and_the_node_given_whole() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "long", "n0", gpus=4, at=100.0)
    put(cluster, "fresh", "n1", gpus=4, at=990.0)
    (stop,) = (decisions := want(cluster, 1)).preemptions
    assert (stop.target, stop.preemptor) == ("fresh", "whole")
    assert (stop.rule, stop.gpus, stop.ran) == (PreemptionRule.DEFRAGMENTATION, 4, 10.0)
    assert sorted(let_go(cluster, decisions)) == ["fresh", "whole"]
    assert cluster.where("fresh") == {"n0": 1}
    assert cluster.where("whole") == {"n1": 1}


def test_nothing_moves_unless_the_policy_says_so() -> None:
    cluster = nodes_of_8(2, options=Options())
    put(cluster, "a", "n0", gpus=4)
    put(cluster, "b", "n1", gpus=4)
    assert not want(cluster, 1)


def test_nothing_moves_without_another_place_for_it() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "a", "n0", gpus=5)
    put(cluster, "b", "n1", gpus=4)
    assert not want(cluster, 1)
    assert cluster.waiting() == ["whole"]


def test_who_is_not_preemptible_stays() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "fixed", "n1", gpus=4, at=999.0, preemptible=False)
    put(cluster, "loose", "n0", gpus=4, at=100.0)
    (stop,) = want(cluster, 1).preemptions
    assert stop.target == "loose"


def test_who_has_just_started_stays_until_his_minimum_run_time_is_over() -> None:
    cluster = nodes_of_8(2, min_runtime=60.0)
    put(cluster, "a", "n0", gpus=4, at=999.0)
    put(cluster, "b", "n1", gpus=4, at=100.0)
    (stop,) = want(cluster, 1).preemptions
    assert stop.target == "b"


def test_nobody_moves_for_work_of_lower_priority() -> None:
    cluster = nodes_of_8(2)
    for name, node, priority in (("a", "n0", 0), ("b", "n1", 5)):
        put(cluster, name, node, gpus=4, at=100.0 + priority, priority=priority)
    (stop,) = want(cluster, 1).preemptions
    assert stop.target == "a"


def test_what_would_lose_too_much_is_not_moved() -> None:
    """900 s of 4 GPUs are one GPU-hour, an eighth for each GPU that is made whole."""
    for bound, moved in ((0.1249, 0), (0.1251, 1)):
        options = replace(ON, moves=MoveBounds(hours_per_gpu=bound))
        cluster = nodes_of_8(2, options=options)
        put(cluster, "a", "n0", gpus=4, at=100.0)
        put(cluster, "b", "n1", gpus=4, at=100.0)
        assert len(want(cluster, 1).preemptions) == moved


def test_no_more_are_moved_in_an_hour_than_the_policy_allows() -> None:
    cluster = nodes_of_8(4, options=replace(ON, moves=MoveBounds(per_hour=1)))
    for number in range(4):
        put(cluster, f"j{number}", f"n{number}", gpus=3, at=999.0)
    first = want(cluster, 1)
    assert len(first.preemptions) == 1
    let_go(cluster, first)
    cluster.submit(a_workload("other", "A", 1, 8, created=cluster.now))
    assert not cluster.cycle(60.0).preemptions
    cluster.submit(a_workload("news", "A", 1, 1, created=cluster.now))
    assert len(cluster.cycle(3600.0).preemptions) == 1


def test_a_set_of_moves_larger_than_what_is_left_is_not_begun() -> None:
    cluster = nodes_of_8(2, options=replace(ON, moves=MoveBounds(per_hour=1)))
    for number in range(2):
        put(cluster, f"a{number}", "n0", gpus=2, at=100.0)
        put(cluster, f"b{number}", "n1", gpus=2, at=100.0)
    assert not want(cluster, 1).preemptions


def test_a_whole_rack_is_cleared_where_that_costs_least() -> None:
    cluster = nodes_of_8(6)
    put(cluster, "a", "n0", gpus=4, at=100.0)
    put(cluster, "b", "n1", gpus=4, at=100.0)
    put(cluster, "c", "n2", gpus=4, at=900.0)
    put(cluster, "d", "n4", gpus=4, at=800.0)
    put(cluster, "e", "n5", gpus=3, at=800.0)
    decisions = want(cluster, 2, IN_ONE_RACK)
    assert [stop.target for stop in decisions.preemptions] == ["c"]
    assert sorted(let_go(cluster, decisions)) == ["c", "whole"]
    assert cluster.where("whole") == {"n2": 1, "n3": 1}


def test_a_gang_is_moved_only_once() -> None:
    cluster = nodes_of_8(3)
    put(cluster, "a", "n0", gpus=4)
    put(cluster, "b", "n1", gpus=4)
    put(cluster, "c", "n2", gpus=8, preemptible=False)
    first = want(cluster, 1)
    (stop,) = first.preemptions
    let_go(cluster, first)
    cluster.engine.apply(Finished(workload=WorkloadId("whole"), at=cluster.now))
    other = "b" if stop.target == "a" else "a"
    cluster.engine.apply(Finished(workload=WorkloadId(other), at=cluster.now))
    put(cluster, "d", "n0" if cluster.where(stop.target) == {"n1": 1} else "n1", gpus=4, at=1.0)
    again = want(cluster, 1)
    assert [s.target for s in again.preemptions] == ["d"]


def test_a_place_that_is_lost_meanwhile_sends_the_moved_back_to_their_queue() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "long", "n0", gpus=4, at=100.0)
    put(cluster, "fresh", "n1", gpus=4, at=990.0)
    decisions = want(cluster, 1)
    cluster.engine.apply(NodeRemoved(node=NodeName("n0")))
    cluster.cycle()
    let_go(cluster, decisions)
    assert "fresh" in cluster.waiting() or cluster.where("fresh") == {"n1": 1}


def test_who_finishes_instead_of_moving_frees_both_places() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "long", "n0", gpus=4, at=100.0)
    put(cluster, "fresh", "n1", gpus=4, at=990.0)
    want(cluster, 1)
    cluster.engine.apply(Finished(workload=WorkloadId("fresh"), at=cluster.now))
    assert names(cluster.cycle().admissions) == ["whole"]
    check_invariants(cluster.engine)
    assert cluster.engine.figures().free == 4


_JOBS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 7), st.booleans(), st.integers(1, 900)),
    max_size=10,
)


@settings(max_examples=80)
@given(_JOBS, st.integers(1, 3), st.booleans())
def test_whoever_is_moved_and_for_whom_all_start_at_once(
    jobs: list[tuple[int, int, bool, int]], pods: int, one_rack: bool
) -> None:
    cluster = nodes_of_8(6)
    free = [8] * 6
    for number, (node, gpus, preemptible, at) in enumerate(jobs):
        if gpus <= free[node]:
            free[node] -= gpus
            name, place = f"j{number}", f"n{node}"
            put(cluster, name, place, gpus=gpus, at=float(at), preemptible=preemptible)
    before = set(cluster.running())
    decisions = want(cluster, pods, IN_ONE_RACK if one_rack else None)
    moved = [stop.target for stop in decisions.preemptions]
    if decisions.admissions or not moved:
        assert not moved
        return
    started = let_go(cluster, decisions)
    assert sorted(started) == sorted([*moved, "whole"])
    assert set(cluster.running()) == before | {"whole"}


def test_who_is_being_moved_is_in_one_place_for_whoever_asks() -> None:
    """He runs until his pods are gone, then waits for the place that is kept for him."""
    cluster = nodes_of_8(2)
    put(cluster, "long", "n0", gpus=4, at=100.0)
    put(cluster, "fresh", "n1", gpus=4, at=990.0)
    want(cluster, 1)

    def standing() -> tuple[list[str], list[str]]:
        figures = cluster.engine.figures()
        running, waiting = cluster.running(), cluster.waiting()
        assert (figures.running, figures.pending) == (len(running), len(waiting))
        assert sum(pool.pending for pool in figures.pools) == len(waiting)
        return running, waiting

    assert standing() == (["fresh", "long"], ["whole"])
    with pytest.raises(EngineError, match="fresh does not wait"):
        cluster.engine.explain(WorkloadId("fresh"), cluster.now)
    cluster.engine.apply(Evicted(workload=WorkloadId("fresh"), at=cluster.now))
    assert standing() == (["long"], ["fresh", "whole"])
    cluster.cycle()
    assert standing() == (["fresh", "long", "whole"], [])


def test_who_is_being_moved_counts_once_in_the_budget_of_his_team() -> None:
    cluster = nodes_of_8(2)
    put(cluster, "long", "n0", gpus=4, at=100.0)
    put(cluster, "fresh", "n1", gpus=4, at=990.0)
    team = TeamName("team")
    layout = replace(
        cluster.engine.layout, teams=(Team(name=team, budgets={Priority.MEDIUM: 100}),)
    )
    engine = Cluster(layout, *cluster.engine.nodes()).engine
    for workload, admission in cluster.engine.running():
        engine.apply(Restored(workload=replace(workload, team=team), admission=admission))
    sets = (PodSet(count=1, requests={GPU: 8}),)
    whole = a_workload("whole", "A", 1, 8, created=cluster.now, pod_sets=sets)
    engine.apply(Submitted(workload=replace(whole, team=team)))
    assert len(engine.cycle(cluster.now).preemptions) == 1
    grade = engine.grade(team, Priority.MEDIUM, 1)
    assert isinstance(grade, Grade)
    assert grade.has == 4 + 4 + 8


def test_when_the_hourly_bound_has_room_again_it_is_used_without_any_news() -> None:
    cluster = nodes_of_8(4, options=replace(ON, moves=MoveBounds(per_hour=1)))
    for number in range(4):
        put(cluster, f"j{number}", f"n{number}", gpus=3, at=999.0)
    first = want(cluster, 1)
    began = cluster.now
    let_go(cluster, first)
    cluster.submit(a_workload("other", "A", 1, 8, created=cluster.now))
    assert not cluster.cycle(60.0).preemptions
    assert cluster.engine.next_alarm() == began + 3600.0
    assert not cluster.cycle(began + 3599.0 - cluster.now).preemptions
    assert len(cluster.cycle(began + 3600.0 - cluster.now).preemptions) == 1


def test_whoever_has_run_long_enough_is_moved_without_any_news() -> None:
    cluster = nodes_of_8(2, min_runtime=60.0)
    put(cluster, "a", "n0", gpus=4, at=990.0)
    put(cluster, "b", "n1", gpus=4, at=995.0)
    assert not want(cluster, 1).preemptions
    assert cluster.engine.next_alarm() == 1050.0
    assert not cluster.cycle(1049.0 - cluster.now).preemptions
    (stop,) = cluster.cycle(1050.0 - cluster.now).preemptions
    assert stop.target == "a"
