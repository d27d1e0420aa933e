"""Lost nodes are replaced inside the placement, or the gang stops whole; brute force agrees."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.events import NodeLost, NodeObserved
from scheduler.invariants import check_invariants
from scheduler.layout import HOSTNAME
from scheduler.model import (
    GPU,
    Decisions,
    Node,
    NodeName,
    PodSet,
    TopologyMode,
    TopologyRequest,
    WorkloadId,
)
from tests.scheduler.builders import Cluster, a_flavor, a_layout, a_node, a_queue, a_workload

RACK = "example.com/rack"
RACKS, PER_RACK = 3, 3
NODES = [f"n{i}" for i in range(RACKS * PER_RACK)]


def a_place(name: str, *, ready: bool = True) -> Node:
    """Racks of three nodes with two GPUs each."""
    labels = {**a_node(name).labels, RACK: rack_of(name)}
    return a_node(name, 2, labels=labels, ready=ready)


def rack_of(node: str) -> str:
    return f"r{int(node[1:]) // PER_RACK}"


def cluster_of() -> Cluster:
    layout = a_layout(a_queue("A", 1000), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))
    return Cluster(layout, *map(a_place, NODES))


def gang(pods: int, gpus: int, mode: TopologyMode | None) -> PodSet:
    asked = None if mode is None else TopologyRequest(mode=mode, level=RACK)
    return PodSet(count=pods, requests={GPU: gpus}, topology=asked)


def fail(cluster: Cluster, node: str) -> Decisions:
    """A node is gone with all pods on it; what is decided at once."""
    cluster.engine.apply(NodeObserved(node=a_place(node, ready=False)))
    cluster.engine.apply(NodeLost(node=NodeName(node)))
    decisions = cluster.cycle()
    check_invariants(cluster.engine)
    return decisions


_GANGS = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.integers(1, 2),
        st.sampled_from([None, TopologyMode.REQUIRED, TopologyMode.PREFERRED]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=50)
@given(_GANGS, st.sampled_from(NODES))
def test_whoever_lost_pods_has_them_elsewhere_or_stops_and_nobody_else_is_touched(
    gangs: list[tuple[int, int, TopologyMode | None]], lost: str
) -> None:
    cluster = cluster_of()
    for number, (pods, gpus, mode) in enumerate(gangs):
        name = f"g{number}"
        sets = (gang(pods, gpus, mode),)
        cluster.submit(a_workload(name, "A", pods, gpus, created=float(number), pod_sets=sets))
    cluster.cycle()
    before = {one: cluster.where(one) for one in cluster.running()}
    hurt = {one for one, where in before.items() if lost in where}
    decisions = fail(cluster, lost)
    repaired = {repair.workload for repair in decisions.repairs}
    evicted = {eviction.workload for eviction in decisions.evictions}
    assert repaired | evicted == hurt
    assert not repaired & evicted
    for one, was in before.items():
        after = cluster.where(one)
        if one not in hurt:
            assert after == was
        elif one in repaired:
            kept = {node: n for node, n in was.items() if node != lost}
            assert lost not in after
            assert sum(after.values()) == sum(was.values())
            assert all(after.get(node, 0) >= n for node, n in kept.items())
            if gangs[int(one[1:])][2] is TopologyMode.REQUIRED and kept:
                assert {rack_of(node) for node in after} == {rack_of(node) for node in kept}


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 2), min_size=len(NODES), max_size=len(NODES)),
    st.sampled_from([None, TopologyMode.REQUIRED]),
    st.integers(2, 3),
)
def test_a_gang_is_repaired_just_where_a_node_for_its_pod_exists(
    others: list[int], mode: TopologyMode | None, pods: int
) -> None:
    """One pod a node: it can go on if the rack (or any, if it need not share) has a free node."""
    cluster = cluster_of()
    sets = (gang(pods, 2, mode),)
    cluster.submit(a_workload("mine", "A", pods, 2, pod_sets=sets))
    cluster.cycle()
    mine = cluster.where("mine")
    for node, gpus in zip(NODES, others, strict=True):
        if gpus and node not in mine:
            here = PodSet(count=1, requests={GPU: gpus}, node_selector={HOSTNAME: node})
            cluster.submit(a_workload(f"on-{node}", "A", 1, gpus, created=1.0, pod_sets=(here,)))
    cluster.cycle()
    lost = min(mine)
    free = {
        node
        for node in NODES
        if node not in mine and not cluster.engine.holds(WorkloadId(f"on-{node}"))
    }
    left = {rack_of(node) for node in mine if node != lost}
    assume(left)
    near = free if mode is None else {node for node in free if rack_of(node) in left}
    decisions = fail(cluster, lost)
    assert bool(decisions.repairs) == bool(near)
    assert bool(decisions.evictions) != bool(near)


def test_a_grant_counts_how_often_it_was_repaired() -> None:
    cluster = cluster_of()
    cluster.start(a_workload("a", "A", 1, 2))
    for times in (1, 2):
        (node,) = cluster.where("a")
        (repair,) = fail(cluster, node).repairs
        assert repair.lost == (node,)
        assert repair.admission.repairs == times


def test_a_node_in_place_of_another_comes_where_the_network_has_it() -> None:
    """Pods that follow one another in rank are neighbours, also when all of them come anew."""
    racks = {"b": "r0", "c": "r0", "a": "r1", "z": "r0"}

    def place(name: str, *, ready: bool = True) -> Node:
        labels = {**a_node(name).labels, RACK: racks[name]}
        return a_node(name, 2, labels=labels, ready=ready)

    layout = a_layout(a_queue("A", 1000), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))
    cluster = Cluster(layout, *map(place, "abc"))
    cluster.start(a_workload("mine", "A", 3, 2))
    assert list(cluster.where("mine")) == ["b", "c", "a"]
    cluster.engine.apply(NodeObserved(node=place("z")))
    cluster.engine.apply(NodeObserved(node=place("c", ready=False)))
    cluster.engine.apply(NodeLost(node=NodeName("c")))
    assert cluster.cycle().repairs
    assert list(cluster.where("mine")) == ["b", "z", "a"]
