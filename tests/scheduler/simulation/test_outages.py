"""Made-up node failures: spread in time and over the nodes, and always the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model import NodeName
from scheduler.simulation.outages import DAY, spread_outages


def names(count: int) -> list[NodeName]:
    return [NodeName(f"n{number:03d}") for number in range(count)]


def test_failures_come_at_equal_distances_and_last_a_day() -> None:
    found = spread_outages(names(10), 3, first=100.0, last=500.0)
    assert [one.at for one in found] == [200.0, 300.0, 400.0]
    assert [one.until for one in found] == [one.at + DAY for one in found]


@given(st.integers(1, 300))
def test_every_node_fails_once_before_any_fails_again(count: int) -> None:
    found = spread_outages(names(count), 2 * count, first=0.0, last=1.0)
    assert sorted(one.node for one in found[:count]) == names(count)
    assert [one.node for one in found[:count]] == [one.node for one in found[count:]]


def test_neighbours_do_not_fail_one_after_the_other() -> None:
    found = spread_outages(names(100), 20, first=0.0, last=1.0)
    numbers = [int(one.node[1:]) for one in found]
    assert all(abs(a - b) > 10 for a, b in itertools.pairwise(numbers))


def test_without_nodes_none_can_fail() -> None:
    with pytest.raises(ValueError, match="no nodes"):
        spread_outages([], 1, first=0.0, last=1.0)
