"""The cluster in numbers: what is used, free, in pieces, and whole by level."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.events import NodeObserved
from scheduler.figures import LevelFigures
from scheduler.layout import HOSTNAME, Layout, Reclaim
from scheduler.model import GPU, Node
from tests.scheduler.builders import Cluster, a_flavor, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts

RACK = "example.com/rack"


def racks(nodes: int) -> Cluster:
    """Racks of two nodes."""
    layout = a_layout(a_queue("A", 1000), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))
    return Cluster(layout, *(in_rack(i) for i in range(nodes)))


def in_rack(number: int, *, ready: bool = True) -> Node:
    """A node in its rack."""
    name = f"n{number}"
    return a_node(name, labels={**a_node(name).labels, RACK: f"r{number // 2}"}, ready=ready)


def test_free_gpus_of_a_used_node_are_stranded_and_those_of_a_free_one_are_not() -> None:
    cluster = racks(2)
    cluster.start(a_workload("a", "A", 1, 3))
    found = cluster.engine.figures()
    assert (found.gpus, found.used, found.free, found.stranded) == (16, 3, 13, 5)
    assert (found.nodes, found.whole_free_nodes) == (2, 1)
    assert found.fragmentation == 5 / 16


def test_by_level_the_wholly_free_domains_and_the_largest_gang() -> None:
    cluster = racks(4)
    cluster.start(a_workload("a", "A", 1, 1))
    (level,) = cluster.engine.figures().flavors[0].levels
    assert level == LevelFigures(level=RACK, domains=2, whole_free=1, largest=16)


def test_a_node_that_is_not_usable_counts_as_neither_used_nor_free_and_spoils_its_rack() -> None:
    cluster = racks(2)
    cluster.engine.apply(NodeObserved(node=in_rack(1, ready=False)))
    found = cluster.engine.figures()
    assert (found.gpus, found.free, found.unready_nodes) == (8, 8, 1)
    (level,) = found.flavors[0].levels
    assert level == LevelFigures(level=RACK, domains=1, whole_free=0, largest=8)


def test_a_node_that_two_flavors_share_counts_once_in_the_sums() -> None:
    flavors = (a_flavor("h100"), a_flavor("spot", node_labels=a_flavor().node_labels))
    cluster = Cluster(a_layout(a_queue("A", {"h100": 8}), flavors=flavors), a_node("n"))
    found = cluster.engine.figures()
    assert [part.gpus for part in found.flavors] == [8, 8]
    assert (found.gpus, found.nodes) == (8, 1)


def test_without_nodes_nothing_is_in_pieces() -> None:
    found = Cluster(a_layout(a_queue("A", 8))).engine.figures()
    assert (found.gpus, found.fragmentation) == (0, 0.0)


def test_who_was_told_to_stop_holds_his_gpus_until_he_is_gone() -> None:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 0))
    cluster = Cluster(layout, a_node("n"))
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    cluster.cycle()
    found = cluster.engine.figures()
    assert (found.used, found.running, found.leaving, found.pending) == (8, 1, 1, 1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.data())
def test_the_sums_are_those_of_adding_everybody_up(layout: Layout, data: st.DataObject) -> None:
    world = World(layout)
    for _ in range(data.draw(st.integers(1, 25))):
        world.now += 1.0
        world.something(data.draw)
        world.cycle()
    found, engine = world.engine.figures(), world.engine
    usable = {n.name: n.capacity[GPU] for n in engine.nodes() if n.ready and n.schedulable}
    held = dict.fromkeys(usable, 0)
    for workload, admission in engine.running():
        for pods, part in zip(workload.pod_sets, admission.assignments, strict=True):
            for node, count in part.nodes:
                if node in held:
                    held[node] += count * pods.requests[GPU]
    assert found.gpus == sum(usable.values())
    assert found.used == sum(held.values())
    assert found.free == found.gpus - found.used
    pieces = [usable[node] - used for node, used in held.items() if used]
    assert found.stranded == sum(pieces)
    assert found.pending == len(engine.pending())
    assert found.running == len(engine.running())
