"""Balanced placement: equal parts in as few domains as suffice."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.balance import _smallest_set
from scheduler.gangs import place_together
from scheduler.layout import HOSTNAME
from scheduler.model import PodSet, Slice, TopologyMode
from tests.scheduler.test_placement import BLOCK, FLAVOR, RACK, Racks, asking, racks, world

PREFERRED = TopologyMode.PREFERRED


def put(free: Racks, pods: PodSet) -> dict[str, int] | None:
    nodes, space = world(free)
    found = place_together(nodes, FLAVOR, [pods], [space], balanced=True)
    return None if found is None else dict(found[0])


def by_rack(found: dict[str, int]) -> list[int]:
    total: dict[str, int] = {}
    for name, pods in found.items():
        rack = name.split("-")[1]
        total[rack] = total.get(rack, 0) + pods
    return sorted(total.values())


@pytest.mark.parametrize(
    ("free", "pods", "expected"),
    [
        ([[4, 4]], asking(6, 1, PREFERRED, HOSTNAME), {"b0-r0-n0": 3, "b0-r0-n1": 3}),
        ([[4, 2]], asking(5, 1, PREFERRED, HOSTNAME), {"b0-r0-n0": 3, "b0-r0-n1": 2}),
        ([[4, 4], [2]], asking(4, 1, PREFERRED, HOSTNAME), {"b0-r0-n0": 4}),
        ([[4, 4], [4, 4]], asking(6, 1, PREFERRED, RACK), {"b0-r0-n0": 3, "b0-r0-n1": 3}),
        (
            [[4, 4], [4, 4]],
            asking(8, 1, PREFERRED, BLOCK, Slice(level=RACK, size=2)),
            {"b0-r0-n0": 4, "b0-r0-n1": 4},
        ),
    ],
    ids=["halves", "as equal as can be", "one is enough", "hosts of one rack", "slices of racks"],
)
def test_parts_are_equal(free: Racks, pods: PodSet, expected: dict[str, int]) -> None:
    assert put(free, pods) == expected


def test_the_usual_way_fills_one_domain_first() -> None:
    nodes, space = world([[4, 4]])
    wish = asking(6, 1, PREFERRED, HOSTNAME)
    (usual,) = place_together(nodes, FLAVOR, [wish], [space]) or [()]
    assert dict(usual) == {"b0-r0-n0": 4, "b0-r0-n1": 2}


@given(free=racks, count=st.integers(1, 6), gpus=st.integers(1, 3), size=st.integers(1, 2))
def test_balancing_never_costs_a_placement(free: Racks, count: int, gpus: int, size: int) -> None:
    wish = asking(count * size, gpus, PREFERRED, RACK, Slice(level=HOSTNAME, size=size))
    nodes, space = world(free)
    usual = place_together(nodes, FLAVOR, [wish], [space])
    found = put(free, wish)
    assert (found is None) == (usual is None)
    if found is not None:
        assert sum(found.values()) == count * size
        for name, pods in found.items():
            _, rack, host = name.split("-")
            assert pods % size == 0
            assert 0 < pods * gpus <= free[int(rack[1:])][int(host[1:])]


@given(slices=st.lists(st.integers(0, 6), min_size=1, max_size=7), needed=st.integers(1, 20))
def test_the_smallest_set_is_what_trying_all_finds(slices: list[int], needed: int) -> None:
    found = _smallest_set(np.array(slices, dtype=np.int64), needed).tolist()
    sets = [
        one
        for number in range(1, len(slices) + 1)
        for one in combinations(range(len(slices)), number)
        if sum(slices[i] for i in one) >= needed
    ]
    if not sets:
        assert found == []
        return
    best = min((len(one), sum(slices[i] for i in one)) for one in sets)
    assert (len(found), sum(slices[i] for i in found)) == best
