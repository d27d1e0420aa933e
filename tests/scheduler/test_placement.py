"""Placement in domains, against a placer that tries everything on small clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.counting import Counts, Demand, room_of
from scheduler.domains import Domains, draw_domains
from scheduler.gangs import demand_of, find_largest, place_together
from scheduler.layout import HOSTNAME, Flavor
from scheduler.model import (
    GPU,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    Slice,
    TopologyMode,
    TopologyRequest,
)
from scheduler.placement import Placed, place
from scheduler.topology import Nodes, Place, Space

BLOCK, RACK = "example.com/block", "example.com/rack"
FLAVOR = Flavor(name=FlavorName("h100"), levels=(BLOCK, RACK, HOSTNAME))
Racks = list[list[int]]
"""Free GPUs of each host, by rack; racks 0 and 1 make the first block, and so on in pairs."""

racks = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=4)


def world(free: Racks) -> tuple[Nodes, Space]:
    nodes = Nodes()
    for rack, hosts in enumerate(free):
        for host, gpus in enumerate(hosts):
            name = f"b{rack // 2}-r{rack}-n{host}"
            labels = {BLOCK: f"b{rack // 2}", RACK: f"r{rack}", HOSTNAME: name}
            nodes.observe(Node(name=NodeName(name), labels=labels, capacity={GPU: gpus}))
    space = Space(nodes)
    nodes.settle([space])
    return nodes, space


def asking(
    count: int,
    gpus: int,
    mode: TopologyMode = TopologyMode.UNCONSTRAINED,
    level: str | None = None,
    *slices: Slice,
) -> PodSet:
    wish = TopologyRequest(mode=mode, level=level, slices=slices)
    return PodSet(count=count, requests={GPU: gpus}, topology=wish)


def put(free: Racks, pods: PodSet, *, tight: bool = False) -> dict[str, int] | None:
    nodes, space = world(free)
    found = place_together(nodes, FLAVOR, [pods], [space], tight=tight)
    return None if found is None else dict(found[0])


def parts(free: Racks, level: str | None) -> list[list[int]]:
    """Free GPUs of the hosts in each domain of a level; all hosts for None."""
    if level == HOSTNAME:
        return [[gpus] for hosts in free for gpus in hosts]
    if level == RACK:
        return free
    if level == BLOCK:
        return [[g for hosts in free[i : i + 2] for g in hosts] for i in range(0, len(free), 2)]
    return [[gpus for hosts in free for gpus in hosts]]


def exists(free: Racks, count: int, gpus: int, level: str | None) -> bool:
    """Whether any way to spread the pods over the hosts of one domain works, by trying all."""
    return any(
        any(
            sum(spread) == count for spread in product(*(range(host // gpus + 1) for host in hosts))
        )
        for hosts in parts(free, level)
    )


def check_whole(free: Racks, found: dict[str, int], count: int, gpus: int) -> None:
    assert sum(found.values()) == count
    for name, pods in found.items():
        _, rack, host = name.split("-")
        assert pods >= 1
        assert pods * gpus <= free[int(rack[1:])][int(host[1:])]


@pytest.mark.parametrize("wish", [None, TopologyRequest(mode=TopologyMode.PREFERRED, level=RACK)])
def test_nodes_are_in_the_order_of_the_network_not_of_their_names(
    wish: TopologyRequest | None,
) -> None:
    nodes = Nodes()
    for name, block, rack in (
        ("n1", "a", "2"),
        ("n2", "b", "1"),
        ("n3", "a", "1"),
        ("n4", "a", "2"),
    ):
        labels = {BLOCK: block, RACK: rack, HOSTNAME: name}
        nodes.observe(Node(name=NodeName(name), labels=labels, capacity={GPU: 4}))
    space = Space(nodes)
    nodes.settle([space])
    (lie,) = place_together(
        nodes, FLAVOR, [PodSet(count=7, requests={GPU: 2}, topology=wish)], [space]
    ) or [()]
    in_order = ["n3", "n1", "n4", "n2"]
    assert [name for name, _ in lie] == in_order


@given(
    free=racks,
    count=st.integers(1, 6),
    gpus=st.integers(1, 4),
    level=st.sampled_from([BLOCK, RACK, HOSTNAME]),
)
def test_a_required_placement_is_found_exactly_when_there_is_one(
    free: Racks, count: int, gpus: int, level: str
) -> None:
    found = put(free, asking(count, gpus, TopologyMode.REQUIRED, level))
    assert (found is not None) == exists(free, count, gpus, level)
    if found is not None:
        check_whole(free, found, count, gpus)
        depth = {BLOCK: 1, RACK: 2, HOSTNAME: 3}[level]
        assert len({tuple(name.split("-")[:depth]) for name in found}) == 1


@given(
    free=racks,
    count=st.integers(1, 6),
    gpus=st.integers(1, 4),
    mode=st.sampled_from([TopologyMode.UNCONSTRAINED, TopologyMode.PREFERRED]),
    tight=st.booleans(),
)
def test_whenever_the_pods_fit_somewhere_they_are_placed(
    free: Racks, count: int, gpus: int, mode: TopologyMode, tight: bool
) -> None:
    level = RACK if mode is TopologyMode.PREFERRED else None
    found = put(free, asking(count, gpus, mode, level), tight=tight)
    assert (found is not None) == exists(free, count, gpus, None)
    if found is not None:
        check_whole(free, found, count, gpus)


@given(free=racks, count=st.integers(1, 6), gpus=st.integers(1, 4))
def test_preferred_stays_in_the_finest_domain_that_holds_everything(
    free: Racks, count: int, gpus: int
) -> None:
    found = put(free, asking(count, gpus, TopologyMode.PREFERRED, RACK))
    if found is None:
        return
    used_racks = {name.split("-")[1] for name in found}
    used_blocks = {name.split("-")[0] for name in found}
    assert (len(used_racks) == 1) or not exists(free, count, gpus, RACK)
    assert (len(used_blocks) == 1) or not exists(free, count, gpus, BLOCK)


@given(free=racks, slices=st.integers(1, 3), size=st.integers(1, 3), gpus=st.integers(1, 2))
def test_every_slice_lies_in_one_rack(free: Racks, slices: int, size: int, gpus: int) -> None:
    wish = asking(
        slices * size, gpus, TopologyMode.UNCONSTRAINED, None, Slice(level=RACK, size=size)
    )
    found = put(free, wish)
    room = sum(sum(host // gpus for host in hosts) // size for hosts in free)
    assert (found is not None) == (room >= slices)
    if found is not None:
        check_whole(free, found, slices * size, gpus)
        by_rack: dict[str, int] = {}
        for name, pods in found.items():
            rack = name.split("-")[1]
            by_rack[rack] = by_rack.get(rack, 0) + pods
        assert all(pods % size == 0 for pods in by_rack.values())


def test_inner_layers_hold_whole_multiples_at_every_level() -> None:
    layers = (Slice(level=BLOCK, size=4), Slice(level=HOSTNAME, size=2))
    wish = asking(4, 1, TopologyMode.REQUIRED, BLOCK, *layers)
    assert put([[3, 1], [1]], wish) is None
    assert put([[3, 1], [3]], wish) == {"b0-r0-n0": 2, "b0-r1-n0": 2}


@given(
    free=racks,
    workers=st.integers(1, 5),
    gpus=st.integers(1, 3),
    leader=st.integers(0, 3),
    level=st.sampled_from([BLOCK, RACK]),
)
def test_a_leader_lies_in_the_domain_of_its_workers(
    free: Racks, workers: int, gpus: int, leader: int, level: str
) -> None:
    nodes, space = world(free)
    crew = asking(workers, gpus, TopologyMode.REQUIRED, level)
    head = asking(1, leader, TopologyMode.REQUIRED, level)
    found = place_together(nodes, FLAVOR, [crew, head], [space])
    if found is None:
        return
    names = [name for spots in found for name, _ in spots]
    depth = {BLOCK: 1, RACK: 2}[level]
    assert len({tuple(name.split("-")[:depth]) for name in names}) == 1
    space.take(tuple(Place(s, nodes.shape(p)) for s, p in zip(found, (crew, head), strict=True)))
    assert (space.free >= 0).all()


def stranded(free: list[int], each: int) -> int:
    """Free GPUs on nodes that are neither whole nor able to take one more pod of this size."""
    return sum(gpus for gpus in free if 0 < gpus < each)


@given(
    free=st.lists(st.integers(0, 8), min_size=1, max_size=6),
    gpus=st.integers(1, 4),
)
def test_least_free_never_breaks_more_nodes_open_than_first_fit(free: list[int], gpus: int) -> None:
    """One pod, same input: a full node that first-fit leaves whole is left whole here too."""
    found = put([free], asking(1, gpus), tight=True)
    first = next((at for at, room in enumerate(free) if room >= gpus), None)
    assert (found is None) == (first is None)
    if found is None or first is None:
        return
    mine, other = free.copy(), free.copy()
    mine[int(next(iter(found)).rsplit("n", 1)[1])] -= gpus
    other[first] -= gpus
    assert mine.count(8) >= other.count(8)
    assert max(mine) >= max(other)


def test_one_pod_goes_to_the_tightest_rack_among_equal_hosts() -> None:
    assert put([[2, 4], [2, 1]], asking(1, 2), tight=True) == {"b0-r1-n0": 1}
    assert put([[2, 4], [2, 1]], asking(1, 2)) == {"b0-r0-n0": 1}


@pytest.mark.parametrize(
    "wish",
    [
        asking(4, 1, TopologyMode.REQUIRED, "example.com/row"),
        asking(4, 1, TopologyMode.UNCONSTRAINED, None, Slice(level="example.com/row", size=2)),
        asking(5, 1, TopologyMode.UNCONSTRAINED, None, Slice(level=RACK, size=2)),
        asking(4, 1, TopologyMode.REQUIRED, HOSTNAME, Slice(level=RACK, size=2)),
        asking(
            4,
            1,
            TopologyMode.REQUIRED,
            BLOCK,
            Slice(level=RACK, size=4),
            Slice(level=BLOCK, size=2),
        ),
        asking(
            4,
            1,
            TopologyMode.REQUIRED,
            BLOCK,
            Slice(level=RACK, size=4),
            Slice(level=HOSTNAME, size=3),
        ),
    ],
    ids=[
        "unknown level",
        "unknown slice level",
        "slices that do not divide the pods",
        "slices above the required level",
        "layers not from coarse to fine",
        "layers that do not divide",
    ],
)
def test_wishes_that_make_no_sense_have_no_placement(wish: PodSet) -> None:
    nodes, space = world([[4, 4], [4, 4]])
    assert demand_of(wish, FLAVOR, nodes.shape(wish)) is None
    assert place_together(nodes, FLAVOR, [wish], [space]) is None


def test_nodes_without_the_label_of_a_level_do_not_exist() -> None:
    nodes, space = world([[1]])
    name = NodeName("bare")
    nodes.observe(Node(name=name, labels={HOSTNAME: name}, capacity={GPU: 8}))
    nodes.settle([space])
    assert place_together(nodes, FLAVOR, [asking(1, 2)], [space]) is None


def test_the_domain_that_comes_closest_is_named() -> None:
    nodes, space = world([[2, 1], [4], [3, 2]])
    wish = asking(6, 1, TopologyMode.REQUIRED, RACK)
    found = find_largest(nodes, FLAVOR, [wish], [space])
    assert found is not None
    assert (found.level, found.domain, found.pods) == (RACK, "b1/r2", 5)
    assert find_largest(nodes, FLAVOR, [asking(6, 1)], [space]) is None


@pytest.fixture
def tree() -> Domains:
    paths = [("b1", "r2", "x"), ("b0", "r1", "y"), ("b0", "r0", "z"), ("b0", "r1", "w")]
    return draw_domains((BLOCK, RACK, HOSTNAME), [(p, p[-1], at) for at, p in enumerate(paths)])


def test_domains_are_slices_in_the_order_of_their_values(tree: Domains) -> None:
    assert [path[-1] for path in tree.paths] == ["z", "w", "y", "x"]
    assert tree.columns.tolist() == [2, 3, 1, 0]
    assert [tree.size(level) for level in range(3)] == [2, 3, 4]
    assert [tree.path(1, rack) for rack in range(3)] == [("b0", "r0"), ("b0", "r1"), ("b1", "r2")]
    assert tree.children(0, [0]).tolist() == [0, 1]
    assert tree.children(1, [2, 1]).tolist() == [1, 2, 3]
    assert tree.sums(1, np.array([1, 2, 4, 8])).tolist() == [1, 6, 8]
    assert [tree.holder(0, leaf) for leaf in range(4)] == [0, 0, 0, 1]


def test_no_pods_need_no_room(tree: Domains) -> None:
    shape = ((0, 1),)
    room = room_of([np.zeros((1, 4), dtype=np.int64)], tree, [shape])
    assert place(Counts(tree, Demand(0, shape, 2, 2), room)) == Placed(())
    assert place(Counts(tree, Demand(1, shape, 2, 2), room)) is None
