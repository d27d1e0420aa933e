"""Odd nodes are named one by one, and stop nothing."""

from __future__ import annotations

from scheduler.doubts import Doubt, NodeDoubt
from scheduler.events import NodeObserved
from scheduler.layout import HOSTNAME
from scheduler.model import GPU, NodeName
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
LAYOUT = a_layout(a_queue("A", 64), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))


def labels(name: str, **more: str) -> dict[str, str]:
    return {**a_node(name).labels, **more}


def test_nodes_in_order_are_no_matter() -> None:
    nodes = [a_node(f"n{i}", labels=labels(f"n{i}", **{RACK: "r1"})) for i in range(2)]
    assert Cluster(LAYOUT, *nodes).engine.doubts() == ()


def test_a_node_without_the_label_of_a_level_is_named_with_the_label_and_takes_no_part() -> None:
    cluster = Cluster(LAYOUT, a_node("stray"), a_node("n", labels=labels("n", **{RACK: "r1"})))
    assert cluster.engine.doubts() == (
        NodeDoubt(node=NodeName("stray"), doubt=Doubt.MISSING_LABEL, what=RACK, flavor=H100),
    )
    cluster.submit(a_workload("a", "A", 1, 8), a_workload("b", "A", 1, 8, created=1.0))
    assert names(cluster.cycle().admissions) == ["a"]
    assert cluster.where("a") == {"n": 1}


def test_nodes_of_another_flavor_need_no_label() -> None:
    assert Cluster(LAYOUT, a_node("other", model="a100")).engine.doubts() == ()


def test_two_nodes_that_their_labels_do_not_tell_apart_name_each_other() -> None:
    twin = labels("n1", **{RACK: "r1"})
    cluster = Cluster(LAYOUT, a_node("n1", labels=twin), a_node("n2", labels=twin))
    assert cluster.engine.doubts() == (
        NodeDoubt(node=NodeName("n2"), doubt=Doubt.SAME_PLACE, what="n1", flavor=H100),
    )


def test_a_node_that_shrinks_below_what_runs_there_is_overfull_until_somebody_ends() -> None:
    place = labels("n", **{RACK: "r1"})
    cluster = Cluster(LAYOUT, a_node("n", labels=place))
    cluster.start(a_workload("a", "A", 1, 4), a_workload("b", "A", 1, 3))
    cluster.engine.apply(NodeObserved(node=a_node("n", gpus=5, labels=place)))
    assert cluster.engine.doubts() == (
        NodeDoubt(node=NodeName("n"), doubt=Doubt.OVERFULL, what=GPU, excess=2),
    )
    assert cluster.running() == ["a", "b"]
    cluster.finish("b")
    assert cluster.engine.doubts() == ()
