"""What happens to gangs and to the engine when nodes change under them."""

from __future__ import annotations

import pytest

from scheduler.events import Evicted, NodeLost, NodeObserved, NodeRemoved
from scheduler.invariants import check_invariants
from scheduler.layout import HOSTNAME, Layout
from scheduler.model import (
    GPU,
    Decisions,
    NodeName,
    PodSet,
    Slice,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)
from tests.scheduler.builders import Cluster, a_flavor, a_layout, a_node, a_queue, a_workload

RACK = "example.com/rack"


def racks(*sizes: int, per_node: int = 8) -> Cluster:
    """Racks r0, r1 ... of nodes r0-n0, r0-n1 ... each."""
    nodes = []
    for rack, size in enumerate(sizes):
        for number in range(size):
            node = a_node(f"r{rack}-n{number}", per_node)
            labels = {**node.labels, RACK: f"r{rack}"}
            nodes.append(a_node(f"r{rack}-n{number}", per_node, labels=labels))
    return Cluster(layout(), *nodes)


def layout() -> Layout:
    flavor = a_flavor(levels=(RACK, HOSTNAME))
    return a_layout(a_queue("A", 1000), flavors=(flavor,))


def gang(
    name: str, pods: int, gpus: int, wish: TopologyRequest | None = None, **more: object
) -> Workload:
    sets = (PodSet(count=pods, requests={GPU: gpus}, topology=wish),)
    return a_workload(name, "A", pods, gpus, pod_sets=sets, **more)  # type: ignore[arg-type]


def lose(cluster: Cluster, *names: str) -> Decisions:
    for name in names:
        cluster.engine.apply(NodeRemoved(node=NodeName(name)))
        cluster.engine.apply(NodeLost(node=NodeName(name)))
    decisions = cluster.cycle()
    check_invariants(cluster.engine)
    return decisions


IN_ONE_RACK = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)


def test_several_lost_nodes_are_replaced_together_and_nothing_else_moves() -> None:
    cluster = racks(5)
    cluster.start(gang("g", 3, 8, IN_ONE_RACK))
    before = cluster.where("g")
    decisions = lose(cluster, "r0-n0", "r0-n2")
    (repair,) = decisions.repairs
    assert repair.lost == ("r0-n0", "r0-n2")
    assert cluster.where("g") == {"r0-n1": before["r0-n1"], "r0-n3": 1, "r0-n4": 1}


def test_the_more_important_gang_is_repaired_first() -> None:
    cluster = racks(4)
    cluster.start(gang("low", 1, 8), gang("high", 1, 8, priority=9), gang("other", 1, 8))
    decisions = lose(cluster, "r0-n0", "r0-n1")
    assert [r.workload for r in decisions.repairs] == ["high"]
    assert [e.workload for e in decisions.evictions] == ["low"]
    assert cluster.where("high") == {"r0-n3": 1}


def test_an_incomplete_slice_is_completed_in_its_own_rack() -> None:
    wish = TopologyRequest(slices=(Slice(level=RACK, size=2),))
    cluster = racks(3, 3)
    cluster.start(gang("g", 4, 8, wish))
    assert set(cluster.where("g")) == {"r0-n0", "r0-n1", "r1-n0", "r1-n1"}
    assert not lose(cluster, "r1-n1").evictions
    assert set(cluster.where("g")) == {"r0-n0", "r0-n1", "r1-n0", "r1-n2"}


def test_without_room_in_the_slices_rack_the_whole_gang_is_evicted() -> None:
    wish = TopologyRequest(slices=(Slice(level=RACK, size=2),))
    cluster = racks(3, 2)
    cluster.start(gang("g", 4, 8, wish))
    decisions = lose(cluster, "r1-n1")
    (eviction,) = decisions.evictions
    assert (eviction.workload, eviction.gpus, eviction.lost) == ("g", 32, ("r1-n1",))
    assert cluster.engine.leaving() == ("g",)


def test_a_leader_and_its_workers_stay_in_one_rack() -> None:
    wish = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK, group="g")
    sets = (
        PodSet(name="leader", count=1, requests={GPU: 2}, topology=wish),
        PodSet(name="workers", count=2, requests={GPU: 8}, topology=wish),
    )
    cluster = racks(2, 4)
    cluster.start(a_workload("g", "A", pod_sets=sets))
    lead = cluster.where("g")
    assert {name.split("-")[0] for name in lead} == {"r1"}
    lost = next(iter(dict(cluster.engine.running()[0][1].assignments[0].nodes)))
    decisions = lose(cluster, lost)
    assert [r.workload for r in decisions.repairs] == ["g"]
    assert {name.split("-")[0] for name in cluster.where("g")} == {"r1"}


def test_who_was_told_to_stop_is_not_repaired() -> None:
    cluster = racks(3)
    cluster.start(gang("g", 3, 8))
    assert [e.workload for e in lose(cluster, "r0-n0").evictions] == ["g"]
    assert cluster.engine.leaving() == ("g",)
    assert not lose(cluster, "r0-n1")


def test_an_evicted_gang_waits_at_its_old_place() -> None:
    cluster = racks(2)
    cluster.start(gang("g", 2, 8, created=1.0))
    cluster.submit(gang("later", 2, 8, created=2.0))
    assert lose(cluster, "r0-n1").evictions
    cluster.engine.apply(Evicted(workload=WorkloadId("g"), at=cluster.now))
    assert cluster.waiting() == ["g", "later"]


def test_a_gang_that_ends_before_it_is_repaired_is_forgotten() -> None:
    cluster = racks(2)
    cluster.start(gang("g", 1, 8))
    cluster.engine.apply(NodeLost(node=NodeName("r0-n0")))
    cluster.finish("g")
    assert not cluster.cycle()


@pytest.mark.parametrize("node", ["r0-n1", "nobody-knows-it"])
def test_losing_a_node_without_pods_changes_nothing(node: str) -> None:
    cluster = racks(2)
    cluster.start(gang("g", 1, 8))
    cluster.engine.apply(NodeLost(node=NodeName(node)))
    assert not cluster.cycle()
    assert cluster.where("g") == {"r0-n0": 1}


def test_a_node_that_shrinks_below_what_it_holds_takes_nobody_new() -> None:
    cluster = racks(2)
    cluster.start(gang("a", 1, 8))
    node = a_node("r0-n0", 4, labels={**a_node("r0-n0").labels, RACK: "r0"})
    cluster.engine.apply(NodeObserved(node=node))
    cluster.submit(gang("b", 1, 4), gang("c", 1, 8))
    assert [a.workload for a in cluster.cycle().admissions] == ["b"]
    assert cluster.where("b") == {"r0-n1": 1}
    assert cluster.running() == ["a", "b"]
    cluster.finish("a", "b")
    assert [a.workload for a in cluster.cycle().admissions] == ["c"]


def test_a_node_that_changes_its_rack_counts_in_the_new_one() -> None:
    cluster = racks(1, 1)
    cluster.submit(gang("g", 2, 8, IN_ONE_RACK))
    assert not cluster.cycle()
    node = a_node("r1-n0", labels={**a_node("r1-n0").labels, RACK: "r0"})
    cluster.engine.apply(NodeObserved(node=node))
    assert [a.workload for a in cluster.cycle().admissions] == ["g"]


def test_odd_nodes_are_named_one_by_one() -> None:
    cluster = racks(2)
    cluster.start(gang("a", 1, 8))
    assert cluster.engine.doubts() == ()
    labels = {**a_node("r0-n0").labels, RACK: "r0"}
    cluster.engine.apply(NodeObserved(node=a_node("r0-n0", 5, labels=labels)))
    cluster.engine.apply(NodeObserved(node=a_node("bare")))
    cluster.engine.apply(NodeObserved(node=a_node("twin", labels=labels)))
    cluster.engine.apply(NodeObserved(node=a_node("other", model="a100")))
    found = [(d.node, d.doubt.value, d.what, d.excess) for d in cluster.engine.doubts()]
    assert found == [
        ("bare", "missing-label", RACK, 0),
        ("r0-n0", "overfull", "nvidia.com/gpu", 3),
        ("twin", "same-place", "r0-n0", 0),
    ]
    cluster.submit(gang("b", 1, 8))
    assert [a.workload for a in cluster.cycle().admissions] == ["b"]
