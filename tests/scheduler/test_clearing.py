"""Which gangs could be moved at all, and the cheapest way to clear nodes with them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.clearing import Ground, Plan, clear
from scheduler.events import Checkpointed, Restored
from scheduler.model import GPU, Admission, NodeName, PodSetAssignment, QueueName, WorkloadId
from scheduler.nomination import nominate
from tests.scheduler.builders import H100, Cluster, a_layout, a_node, a_queue, a_workload

FREELY = 1e12
"""More GPU-seconds than anybody has run."""


def pieces(*gangs: tuple[str, int, float], nodes: int = 3, min_runtime: float = 0.0) -> Cluster:
    """Gangs g0, g1 ... of one pod: on which node, with how many GPUs, since when."""
    layout = a_layout(a_queue("A", 1000, min_runtime=min_runtime))
    cluster = Cluster(layout, *(a_node(f"n{i}") for i in range(nodes)))
    for number, (node, gpus, at) in enumerate(gangs):
        lie = PodSetAssignment(
            name="main", count=1, flavors={GPU: H100}, nodes=((NodeName(node), 1),)
        )
        name = f"g{number}"
        admission = Admission(
            workload=WorkloadId(name), queue=QueueName("A"), assignments=(lie,), at=at
        )
        workload = a_workload(name, "A", 1, gpus, created=at, priority=number % 2)
        cluster.engine.apply(Restored(workload=workload, admission=admission))
    cluster.cycle()
    return cluster


def ground(cluster: Cluster, *settled: str) -> Ground:
    ids = frozenset(WorkloadId(one) for one in settled)
    return Ground(cluster.engine._state, ids, cluster.now)


def movable(cluster: Cluster, priority: int = 9, dearest: float = FREELY) -> list[str]:
    return [gang.id for gang in ground(cluster).below(priority, dearest)]


def test_who_has_no_other_place_even_by_himself_is_not_thought_of() -> None:
    assert movable(pieces(("n0", 5, 0.0), ("n1", 4, 0.0), ("n2", 8, 0.0))) == ["g1"]


def test_only_up_to_the_priority_of_whom_it_is_for() -> None:
    cluster = pieces(("n0", 4, 0.0), ("n1", 4, 0.0))
    assert movable(cluster, priority=0) == ["g0"]
    assert movable(cluster, priority=1) == ["g0", "g1"]


def test_who_alone_would_lose_more_than_all_may_stays() -> None:
    cluster = pieces(("n0", 4, 900.0), ("n1", 4, 0.0))
    assert movable(cluster, dearest=4 * 100.0) == ["g0"]
    cluster.engine.apply(Checkpointed(workload=WorkloadId("g1"), at=950.0))
    assert movable(cluster, dearest=4 * 100.0) == ["g0", "g1"]


def test_who_was_moved_before_stays() -> None:
    cluster = pieces(("n0", 4, 0.0), ("n1", 4, 0.0))
    assert [gang.id for gang in ground(cluster, "g0").below(9, FREELY)] == ["g1"]


def test_it_says_when_the_next_has_run_for_his_minimum_run_time() -> None:
    cluster = pieces(("n0", 4, 0.0), ("n1", 4, 980.0), ("n2", 4, 990.0), min_runtime=60.0)
    found = ground(cluster)
    assert [gang.id for gang in found.below(9, FREELY)] == ["g0"]
    assert found.next == 1040.0
    assert ground(pieces(("n0", 4, 0.0))).next is None


def plan_for(cluster: Cluster, pods: int, gpus: int) -> Plan | None:
    """How to make room on any nodes for a gang that waits."""
    state = cluster.engine._state
    cluster.submit(a_workload("whole", "A", pods, gpus, created=1000.0, priority=9))
    ((number, shape),) = state.waiting[WorkloadId("whole")].shapes
    nomination = nominate(state, number, state.waiting[WorkloadId("whole")], shape)
    nodes = frozenset(node.name for node in cluster.engine.nodes())
    return clear(state, nomination, nodes, ground(cluster).below(9, FREELY))


def test_the_node_on_which_least_is_lost_is_cleared() -> None:
    plan = plan_for(pieces(("n0", 3, 0.0), ("n1", 3, 900.0), ("n2", 3, 500.0)), 1, 8)
    assert plan is not None
    assert [move.running.workload.id for move in plan.moves] == ["g1"]
    assert plan.lost == 3 * 100.0
    assert plan.assignments[0].nodes == (("n1", 1),)


def test_gangs_that_are_not_in_the_way_after_all_stay() -> None:
    """Clearing n0 takes both, but the larger one suffices for four GPUs more."""
    plan = plan_for(
        pieces(("n0", 4, 990.0), ("n0", 2, 990.0), ("n1", 4, 0.0), ("n2", 8, 0.0)), 1, 6
    )
    assert plan is not None
    assert [move.running.workload.id for move in plan.moves] == ["g0"]


def test_two_that_would_need_the_same_other_place_are_not_both_moved() -> None:
    here = (("n0", 3, 990.0), ("n0", 3, 990.0), ("n1", 5, 0.0))
    assert plan_for(pieces(*here, ("n2", 7, 0.0)), 1, 6) is None
    plan = plan_for(pieces(*here, ("n2", 5, 0.0)), 1, 6)
    assert plan is not None
    assert sorted(move.assignments[0].nodes[0][0] for move in plan.moves) == ["n1", "n2"]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 7), st.integers(0, 999)), max_size=7),
    st.integers(1, 2),
)
def test_a_plan_gives_everybody_a_place_at_once(
    drawn: list[tuple[int, int, int]], pods: int
) -> None:
    free, gangs = [8, 8, 8], []
    for node, gpus, at in drawn:
        if free[node] >= gpus:
            free[node] -= gpus
            gangs.append((f"n{node}", gpus, float(at)))
    cluster = pieces(*gangs)
    plan = plan_for(cluster, pods, 8)
    if plan is None:
        return
    held = dict.fromkeys(("n0", "n1", "n2"), 0)
    going = {move.running.workload.id for move in plan.moves}
    for number, (name, gpus, _) in enumerate(gangs):
        held[name] += 0 if f"g{number}" in going else gpus
    before = {f"n{i}": gpus for i, gpus in enumerate(free)}
    for move in plan.moves:
        ((other, _),) = move.assignments[0].nodes
        held[other] += move.running.workload.gpus
        before[other] -= move.running.workload.gpus
    assert all(gpus >= 0 for gpus in before.values()), "each other place is free already now"
    for place, count in plan.assignments[0].nodes:
        held[place] += 8 * count
    assert all(gpus <= 8 for gpus in held.values())
