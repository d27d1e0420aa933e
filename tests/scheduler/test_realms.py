"""Realms: the queues between which room can pass, by quota or by nodes."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler.layout import Flavor, Queue
from scheduler.quota import QuotaTree
from scheduler.realms import realms_of
from tests.scheduler.builders import a_flavor, a_layout, a_queue

NODES, NO_NODES = a_flavor(), a_flavor(levels=())


def realms(*queues: Queue, flavor: Flavor, wake: bool = True) -> tuple[int, ...]:
    """The realm of each queue, all of which have quota of one flavor."""
    layout = a_layout(*queues, flavors=(flavor,))
    options = dataclasses.replace(layout.options, wake_neighbours=wake)
    layout = dataclasses.replace(layout, options=options)
    return realms_of(layout, QuotaTree(layout))


def alone(name: str) -> Queue:
    return a_queue(name, 8, cohort=None)


def test_queues_without_quota_or_nodes_in_common_affect_nobody() -> None:
    assert realms(alone("a"), alone("b"), flavor=NO_NODES) == (0, 1)


def test_a_cohort_is_one_realm_named_by_its_first_queue() -> None:
    queues = (alone("a"), a_queue("b", 8, cohort="c"), alone("d"), a_queue("e", 8, cohort="c"))
    assert realms(*queues, flavor=NO_NODES) == (0, 1, 2, 1)


@pytest.mark.parametrize(("wake", "found"), [(True, (0, 0)), (False, (0, 1))])
def test_queues_on_the_same_nodes_are_one_where_neighbours_are_woken(
    wake: bool, found: tuple[int, ...]
) -> None:
    assert realms(alone("a"), alone("b"), flavor=NODES, wake=wake) == found


def test_two_realms_become_one_by_a_queue_that_is_of_both() -> None:
    """The last shares quota with the first, and nodes with the second."""
    first = a_queue("a", {}, cohort="c")  # of no flavor: nothing but the cohort joins it
    last = a_queue("d", 8, cohort="c")
    assert realms(first, alone("b"), flavor=NODES) == (0, 1)
    assert realms(first, alone("b"), last, flavor=NODES) == (0, 0, 0)
