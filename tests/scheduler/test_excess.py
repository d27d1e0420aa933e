"""The bound on what reclaiming could free: never below what a search for targets finds."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.excess import NOBODY
from scheduler.layout import Layout, Reclaim
from scheduler.nomination import Outcome, nominate
from scheduler.outlook import limits
from tests.scheduler.builders import H100, Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts


def lies(cluster: Cluster, queue: int, pods: int, gpus: int, own: float = NOBODY) -> bool:
    """Whether pods could lie for a queue with all the excess gone."""
    state = cluster.engine._state
    flavor = state.flavors[H100]
    wanted = a_workload("w", "A", pods, gpus).pod_sets[0]
    eligible, shape = state.nodes.eligible(flavor, wanted), state.nodes.shape(wanted)
    return state.excess(queue, math.inf).may_lie(queue, shape, eligible, pods, own)


def borrowed(nodes: int = 2) -> Cluster:
    """A has a node's quota and so has B, but B's first has both nodes but for four GPUs."""
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 8))
    return Cluster(layout, *(a_node(f"n{i}") for i in range(nodes)))


def test_only_what_is_beyond_the_quota_of_its_queue_could_be_freed() -> None:
    cluster = borrowed()
    cluster.start(a_workload("b1", "B", 1, 8), a_workload("b2", "B", 1, 6))
    assert lies(cluster, 0, 1, 8), "b2, the later, is what B borrows"
    assert not lies(cluster, 0, 2, 8)


def test_who_borrows_nothing_has_no_excess() -> None:
    cluster = borrowed()
    cluster.start(a_workload("a", "A", 1, 8), a_workload("b", "B", 1, 8))
    assert not lies(cluster, 0, 1, 1)
    assert lies(cluster, 0, 1, 8, own=math.inf), "but the queue's own work may be stopped"


def test_it_follows_who_starts_and_who_ends() -> None:
    cluster = borrowed()
    cluster.start(a_workload("b1", "B", 1, 8))
    assert lies(cluster, 0, 1, 8)
    assert not lies(cluster, 0, 2, 8)
    cluster.finish("b1")
    assert lies(cluster, 0, 2, 8)


def test_what_is_not_preemptible_is_no_excess() -> None:
    cluster = borrowed()
    cluster.start(*(a_workload(f"b{i}", "B", 1, 8, preemptible=False) for i in range(2)))
    assert not lies(cluster, 0, 1, 1)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.data())
def test_whoever_finds_targets_was_not_ruled_out(layout: Layout, data: st.DataObject) -> None:
    world = World(layout)
    state = world.engine._state
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += 1.0
        world.something(data.draw)
        state.settle()
        for waiting in list(state.waiting.values()):
            for number, shape in waiting.shapes:
                found = nominate(state, number, waiting, shape)
                if found.outcome is not Outcome.PREEMPT or len(found.pod_sets) > 1:
                    continue
                pods = found.pod_sets[0]
                eligible = state.nodes.eligible(state.flavors[H100], pods)
                own, others = limits(layout.queues[number], waiting.workload.priority)
                bound = state.excess(number, others)
                assert bound.may_lie(number, state.nodes.shape(pods), eligible, pods.count, own)
        world.cycle()
