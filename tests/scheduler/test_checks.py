"""What can never start is refused at once, with the limit that it hits and its size."""

from __future__ import annotations

import pytest

from scheduler.layout import HOSTNAME
from scheduler.model import GPU, LimitKind, PodSet, Slice, TopologyMode, TopologyRequest
from tests.scheduler.builders import Cluster, a_flavor, a_layout, a_node, a_queue, a_workload

RACK = "example.com/rack"


def two_racks() -> Cluster:
    """Two nodes of 8 in r1, one in r2."""
    layout = a_layout(a_queue("A", 64), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))
    labels = {name: {**a_node(name).labels, RACK: rack} for name, rack in RACKS.items()}
    return Cluster(layout, *[a_node(name, labels=labels[name]) for name in RACKS])


RACKS = {"n1": "r1", "n2": "r1", "n3": "r2"}


def asking(*pod_sets: PodSet) -> tuple[LimitKind, str, int, int] | None:
    refusal = two_racks().engine.check(a_workload("w", "A", pod_sets=pod_sets))
    if refusal is None:
        return None
    return (refusal.limit, refusal.where, refusal.asked, refusal.most)


def pods(
    count: int,
    gpus: int,
    level: str | None = None,
    *slices: Slice,
    name: str = "main",
    least: int | None = None,
) -> PodSet:
    mode = TopologyMode.UNCONSTRAINED if level is None else TopologyMode.REQUIRED
    wish = TopologyRequest(mode=mode, level=level, slices=slices)
    return PodSet(name=name, count=count, requests={GPU: gpus}, topology=wish, min_count=least)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (pods(2, 8, RACK), None),
        (pods(3, 8), None),
        (pods(3, 8, RACK), (LimitKind.DOMAIN, "rack", 24, 16)),
        (pods(2, 8, HOSTNAME), (LimitKind.DOMAIN, "hostname", 16, 8)),
        (pods(3, 8, RACK, least=2), None),
        (pods(1, 9, RACK), (LimitKind.NODE, "h100", 9, 8)),
        (pods(4, 8), (LimitKind.CLUSTER, "h100", 32, 24)),
        (pods(1, 8, "example.com/row"), (LimitKind.NO_FLAVOR, "A", 8, 0)),
    ],
    ids=[
        "a rack holds it",
        "all racks hold it",
        "no rack holds it",
        "no node holds it",
        "the least that it would take fits",
        "no node holds one pod",
        "all nodes together are too few",
        "no such level",
    ],
)
def test_a_topology_that_could_never_be(
    wish: PodSet, expected: tuple[LimitKind, str, int, int] | None
) -> None:
    assert asking(wish) == expected


def test_slices_that_do_not_divide_are_never_placed() -> None:
    by_two = Slice(level=HOSTNAME, size=2)
    assert asking(pods(3, 1, RACK, by_two)) == (LimitKind.SLICES, "hostname", 3, 2)
    assert asking(pods(4, 1, RACK, by_two)) is None


def test_parts_of_one_job_see_each_other() -> None:
    """E25: each part fits by itself, but there is no room for both."""
    crew = pods(2, 8, RACK, name="workers")
    assert asking(crew, pods(1, 4, name="leader")) is None
    assert asking(crew, pods(2, 8, name="more")) == (LimitKind.CLUSTER, "h100", 32, 24)
