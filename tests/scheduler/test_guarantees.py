"""Guarantees that the nodes cannot hold are named by flavor."""

from __future__ import annotations

from scheduler.guarantees import Hollow, find_hollow
from scheduler.layout import Layout
from scheduler.model import FlavorName
from tests.scheduler.builders import H100, Cluster, a_cohort, a_flavor, a_layout, a_node, a_queue


def hollow(layout: Layout, *models: str) -> tuple[Hollow, ...]:
    nodes = [a_node(f"n{i}", model=model) for i, model in enumerate(models)]
    return find_hollow(layout, Cluster(layout, *nodes).engine.figures())


def test_quota_that_the_nodes_hold_is_no_matter() -> None:
    assert hollow(a_layout(a_queue("A", 8), a_queue("B", 8)), "h100", "h100") == ()


def test_queues_and_cohorts_promise_together() -> None:
    layout = a_layout(a_queue("A", 8), a_queue("B", 4), cohorts=(a_cohort("all", nominal=10),))
    (found,) = hollow(layout, "h100")
    assert found == Hollow(flavor=H100, promised=22, nodes=1, gpus=8)
    assert found.gap == 14


def test_each_flavor_is_looked_at_by_itself() -> None:
    a100 = FlavorName("a100")
    layout = a_layout(
        a_queue("A", {"h100": 8, "a100": 9}), flavors=(a_flavor("h100"), a_flavor("a100"))
    )
    assert hollow(layout, "h100", "h100", "a100") == (
        Hollow(flavor=a100, promised=9, nodes=1, gpus=8),
    )


def test_nodes_that_are_not_usable_hold_nothing() -> None:
    layout = a_layout(a_queue("A", 8))
    figures = Cluster(layout, a_node("n0", ready=False)).engine.figures()
    assert find_hollow(layout, figures) == (Hollow(flavor=H100, promised=8, nodes=0, gpus=0),)
