"""Nodes for gangs: our order and those it is compared with find a placement alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.gangs import lay_out
from scheduler.layout import HOSTNAME, Flavor, Options, Packing
from scheduler.model import GPU, FlavorName, Node, NodeName, PodSet
from scheduler.topology import Lie, Nodes, Space
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload

FLAVOR = Flavor(name=FlavorName("h100"), levels=(HOSTNAME,))


def lies(free: list[int], pods: int, each: int, packing: Packing) -> Lie | None:
    """Where `pods` pods of `each` GPUs go on nodes of 8 of which so much is free."""
    nodes = Nodes()
    for number, _ in enumerate(free):
        name = f"n{number:02d}"
        labels = {HOSTNAME: name}
        nodes.observe(Node(name=NodeName(name), labels=labels, capacity={GPU: 8}))
    space = Space(nodes)
    nodes.row(GPU)
    nodes.settle([space])
    for number, gpus in enumerate(free):
        space.free[nodes.row(GPU)][number] = gpus
    wanted = PodSet(count=pods, requests={GPU: each})
    found = lay_out(nodes, FLAVOR, [wanted], [space], Options(packing=packing))
    return None if found is None else found[0]


def test_first_fit_goes_by_name() -> None:
    assert lies([8, 3, 8], 3, 4, Packing.FIRST_FIT) == (("n00", 2), ("n02", 1))


def test_spread_goes_pod_by_pod_to_the_emptiest_node() -> None:
    assert lies([6, 8, 7], 4, 2, Packing.SPREAD) == (("n00", 1), ("n01", 2), ("n02", 1))


def test_least_free_goes_to_the_fullest_node_that_holds_all() -> None:
    assert lies([8, 5, 4], 2, 2, Packing.LEAST_FREE) == (("n02", 2),)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=8), st.integers(1, 10), st.integers(1, 8))
def test_all_find_a_placement_or_none_does(free: list[int], pods: int, each: int) -> None:
    possible = sum(gpus // each for gpus in free) >= pods
    for packing in Packing:
        found = lies(free, pods, each, packing)
        assert (found is not None) == possible
        if found is not None:
            assert sum(n for _, n in found) == pods
            assert all(n * each <= free[int(name[1:])] for name, n in found)
            assert list(found) == sorted(found)


def play(sizes: list[tuple[int, int]], packing: Packing) -> tuple[int, int]:
    """GPUs held and GPUs stranded after jobs of (pods, GPUs each) on six nodes, one by one."""
    layout = a_layout(a_queue("A", 48), options=Options(packing=packing))
    cluster = Cluster(layout, *[a_node(f"n{n}") for n in range(6)])
    for number, (pods, gpus) in enumerate(sizes):
        cluster.submit(a_workload(f"j{number:02d}", "A", pods, gpus, created=float(number)))
        cluster.cycle()
    figures = cluster.engine.figures()
    return figures.used, figures.stranded


@given(st.lists(st.sampled_from((1, 2, 4, 8)), min_size=1, max_size=25))
def test_least_free_never_strands_more_than_the_others(gpus: list[int]) -> None:
    """Pod by pod, as long as nobody ends and each size divides the larger ones.

    Otherwise it is not so (see the next test): no order is best that does not know what comes.
    """
    sizes = [(1, each) for each in gpus]
    used, stranded = play(sizes, Packing.LEAST_FREE)
    for packing in (Packing.FIRST_FIT, Packing.SPREAD):
        others_used, others_stranded = play(sizes, packing)
        assert others_used <= used
        if others_used == used:
            assert stranded <= others_stranded


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([(1, 4), (1, 5), (1, 2), (1, 3), (1, 2)], id="sizes that do not divide"),
        pytest.param([(1, 4), (3, 2), (3, 2)], id="gangs that are kept on one node"),
    ],
)
def test_first_fit_can_strand_less(sizes: list[tuple[int, int]]) -> None:
    least, first = play(sizes, Packing.LEAST_FREE), play(sizes, Packing.FIRST_FIT)
    assert least[0] == first[0]
    assert (least[1], first[1]) == (8, 0)
