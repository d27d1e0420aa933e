"""Placement on named nodes: which node first, what counts, and that trials leave no trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.gangs import place_together
from scheduler.layout import HOSTNAME
from scheduler.matching import tolerates
from scheduler.model import (
    GPU,
    PODS,
    NodeName,
    PodSet,
    ResourceName,
    Taint,
    TaintEffect,
    Toleration,
)
from scheduler.packing import shortfall
from scheduler.topology import AMPLE, Nodes, Place, Space
from tests.scheduler.builders import MODEL, a_flavor, a_node

CPU = ResourceName("cpu")


def world(*nodes: object) -> tuple[Nodes, Space]:
    known = Nodes()
    for node in nodes:
        known.observe(node)  # type: ignore[arg-type]
    space = Space(known)
    known.settle([space])
    return known, space


def put(known: Nodes, space: Space, pods: PodSet) -> tuple[tuple[str, int], ...] | None:
    found = find(known, (space,), pods)
    if found is not None:
        space.take((Place(found, known.shape(pods)),))
    return found


def find(
    known: Nodes, spaces: tuple[Space, ...], pods: PodSet
) -> tuple[tuple[NodeName, int], ...] | None:
    found = place_together(known, a_flavor(), [pods], spaces)
    return None if found is None else found[0]


def gpus(count: int, each: int, **more: object) -> PodSet:
    return PodSet(count=count, requests={GPU: each}, **more)  # type: ignore[arg-type]


def test_the_fullest_node_that_fits_comes_first() -> None:
    known, space = world(a_node("n1"), a_node("n2", 5), a_node("n3", 3))
    assert put(known, space, gpus(1, 4)) == (("n2", 1),)
    assert put(known, space, gpus(1, 4)) == (("n1", 1),)


def test_equal_nodes_go_by_name() -> None:
    known, space = world(a_node("b"), a_node("a"), a_node("c"))
    assert put(known, space, gpus(1, 2)) == (("a", 1),)


def test_a_gang_prefers_one_node_that_holds_all_of_it() -> None:
    known, space = world(a_node("n1", 2), a_node("n2", 2), a_node("n3", 4))
    assert put(known, space, gpus(2, 2)) == (("n3", 2),)


def test_otherwise_it_fills_those_with_least_room_first() -> None:
    known, space = world(a_node("n1", 4), a_node("n2", 2), a_node("n3", 4))
    assert put(known, space, gpus(3, 2)) == (("n1", 2), ("n2", 1))


def test_whole_node_pods_take_whole_free_nodes_only() -> None:
    known, space = world(a_node("n1"), a_node("n2"), a_node("n3"))
    assert put(known, space, gpus(1, 1)) == (("n1", 1),)
    assert put(known, space, gpus(2, 8)) == (("n2", 1), ("n3", 1))
    assert put(known, space, gpus(1, 8)) is None


def test_a_gang_that_does_not_fit_whole_gets_nothing() -> None:
    known, space = world(a_node("n1"), a_node("n2"))
    before = space.free.copy()
    assert put(known, space, gpus(3, 8)) is None
    assert np.array_equal(space.free, before)


@pytest.mark.parametrize(
    "broken",
    [
        a_node("n1", ready=False),
        a_node("n1", schedulable=False),
        a_node("n1", taints=(Taint(key="maintenance"),)),
        a_node("n1", model="a100"),
    ],
    ids=["not ready", "cordoned", "tainted", "another model"],
)
def test_nodes_that_do_not_count(broken: object) -> None:
    known, space = world(broken, a_node("n2", 4))
    assert put(known, space, gpus(1, 8)) is None


def test_a_toleration_opens_a_tainted_node() -> None:
    known, space = world(a_node("n1", taints=(Taint(key="spot", value="true"),)))
    tolerant = gpus(1, 8, tolerations=(Toleration(key="spot"),))
    assert put(known, space, tolerant) == (("n1", 1),)


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        (Toleration(key="a"), Taint(key="a", value="x"), True),
        (Toleration(key="a", value="x"), Taint(key="a", value="x"), True),
        (Toleration(key="a", value="y"), Taint(key="a", value="x"), False),
        (Toleration(key="b"), Taint(key="a"), False),
        (Toleration(), Taint(key="a", value="x"), True),
        (Toleration(key="a", effect=TaintEffect.NO_EXECUTE), Taint(key="a"), False),
        (Toleration(key="b"), Taint(key="a", effect=TaintEffect.PREFER_NO_SCHEDULE), True),
    ],
)
def test_tolerations_follow_kubernetes(
    toleration: Toleration, taint: Taint, expected: bool
) -> None:
    assert tolerates((toleration,), taint) is expected


def test_a_node_selector_narrows_the_choice() -> None:
    known, space = world(a_node("n1"), a_node("n2"))
    assert put(known, space, gpus(1, 1, node_selector={HOSTNAME: "n2"})) == (("n2", 1),)


def test_every_resource_counts_pods_included() -> None:
    small = a_node("n1", capacity={GPU: 8, CPU: 8000, PODS: 1})
    large = a_node("n2", capacity={GPU: 8, CPU: 4000, PODS: 10})
    known, space = world(small, large)
    one = PodSet(count=1, requests={GPU: 1, CPU: 5000})
    assert put(known, space, one) == (("n1", 1),)
    assert put(known, space, one) is None
    assert put(known, space, gpus(2, 1)) == (("n2", 2),)


def test_a_resource_that_no_node_has_fits_nowhere() -> None:
    known, space = world(a_node("n1"))
    odd = PodSet(count=1, requests={GPU: 1, ResourceName("example.com/fpga"): 1})
    known.shape(odd)
    known.settle([space])
    assert put(known, space, odd) is None


def test_two_views_both_need_room() -> None:
    known, now = world(a_node("n1"), a_node("n2"))
    later = now.copy()
    shape = known.shape(gpus(1, 8))
    now.take((Place(((NodeName("n1"), 1),), shape),))
    later.take((Place(((NodeName("n2"), 1),), shape),))
    assert find(known, (now,), gpus(1, 8)) == (("n2", 1),)
    assert find(known, (later,), gpus(1, 8)) == (("n1", 1),)
    assert find(known, (now, later), gpus(1, 8)) is None


def test_what_is_taken_survives_new_and_removed_nodes() -> None:
    known, space = world(a_node("n2"))
    put(known, space, gpus(1, 5))
    known.observe(a_node("n1"))
    known.observe(a_node("n3", 16))
    known.settle([space])
    row = known.rows[GPU]
    assert [int(space.free[row, known.index[NodeName(n)]]) for n in ("n1", "n2", "n3")] == [
        8,
        3,
        16,
    ]
    known.remove(NodeName("n2"))
    known.settle([space])
    assert int(space.free[row, known.index[NodeName("n2")]]) == -5
    known.observe(a_node("n2"))
    known.settle([space])
    assert int(space.free[row, known.index[NodeName("n2")]]) == 3


def test_a_removed_empty_node_is_forgotten() -> None:
    known, space = world(a_node("n1"), a_node("n2"))
    known.remove(NodeName("n1"))
    known.settle([space])
    assert known.names == ["n2"]


def test_observing_the_same_node_again_changes_nothing() -> None:
    known, _ = world(a_node("n1"))
    known.observe(a_node("n1"))
    assert not known.changed


def test_a_node_without_a_pod_limit_has_ample_room_for_pods() -> None:
    _, space = world(a_node("n1"))
    assert int(space.free[0, 0]) == AMPLE


def test_a_shortfall_says_what_there_is() -> None:
    known, space = world(a_node("n1", 3, outside={GPU: 5}), a_node("n2", 2))
    pods = gpus(2, 4)
    short = shortfall((space,), known.eligible(a_flavor(), pods), known.shape(pods))
    assert (short.pods, short.nodes, short.free, short.largest, short.outside) == (0, 2, 5, 3, 5)


def test_no_eligible_node_is_a_shortfall_of_everything() -> None:
    known, space = world(a_node("n1", model="a100"))
    pods = gpus(1, 1)
    eligible = known.eligible(a_flavor(), pods)
    assert find(known, (space,), pods) is None
    assert shortfall((space,), eligible, known.shape(pods)).nodes == 0


@given(
    free=st.lists(st.integers(0, 8), min_size=1, max_size=6),
    count=st.integers(1, 12),
    each=st.integers(1, 8),
)
def test_a_placement_exists_exactly_when_the_pods_fit(
    free: list[int], count: int, each: int
) -> None:
    known, space = world(*[a_node(f"n{number}", amount) for number, amount in enumerate(free)])
    found = put(known, space, gpus(count, each))
    assert (found is not None) == (sum(amount // each for amount in free) >= count)
    if found is not None:
        assert sum(pods for _, pods in found) == count
        assert [name for name, _ in found] == sorted({name for name, _ in found})
        assert (space.free >= 0).all()


@given(free=st.lists(st.integers(0, 8), min_size=1, max_size=6), each=st.integers(1, 8))
def test_one_pod_never_breaks_a_whole_node_needlessly(free: list[int], each: int) -> None:
    known, space = world(*[a_node(f"n{number}", amount) for number, amount in enumerate(free)])
    found = put(known, space, gpus(1, each))
    if found is not None:
        taken = free[int(found[0][0][1:])]
        assert taken == min(amount for amount in free if amount >= each)


def test_labels_of_the_flavor_decide_membership() -> None:
    known, _ = world(a_node("n1"), a_node("n2", model="a100"), a_node("n3", ready=False))
    assert [known.names[column] for column in known.members(a_flavor())] == ["n1"]
    assert [
        known.names[c] for c in known.members(a_flavor("a100", node_labels={MODEL: "a100"}))
    ] == ["n2"]
