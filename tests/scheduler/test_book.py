"""Trials on the running totals leave no trace, and the checker sees what is broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.book import Book, Charge
from scheduler.invariants import BrokenInvariantError, check_invariants
from scheduler.layout import Reclaim
from scheduler.model import NodeName, WorkloadId
from scheduler.quota import QuotaTree
from scheduler.state import State
from scheduler.topology import Nodes, Place
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload


def a_book() -> Book:
    nodes = Nodes()
    for name in ("n1", "n2", "n3"):
        nodes.observe(a_node(name))
    book = Book(QuotaTree(a_layout(a_queue("A", 8, lending=2), a_queue("B", 4))), nodes)
    nodes.settle([book.space])
    return book


charges = st.builds(
    lambda queue, node, gpus: Charge(
        queue, ((0, gpus),), (Place(((NodeName(f"n{node}"), 1),), ((1, gpus), (0, 1))),)
    ),
    st.integers(0, 1),
    st.integers(1, 3),
    st.integers(1, 4),
)


@given(
    held=st.lists(charges, max_size=6), tried=st.lists(charges, max_size=8), inner=st.integers(0, 8)
)
def test_a_trial_leaves_no_trace(held: list[Charge], tried: list[Charge], inner: int) -> None:
    book = a_book()
    for charge in held:
        book.charge(charge)
    before = (book.usage.copy(), book.space.free.copy(), book.version)
    mark = book.checkpoint()
    for charge in held[::2]:
        book.discharge(charge)
    nested = book.checkpoint()
    for charge in tried[:inner]:
        book.charge(charge)
    book.rollback(nested)
    for charge in tried[inner:]:
        book.charge(charge)
    book.rollback(mark)
    assert book.usage == before[0]
    assert np.array_equal(book.space.free, before[1])
    assert book.version == before[2]


def test_a_copy_goes_its_own_way() -> None:
    book = a_book()
    other = book.copy()
    other.charge(Charge(0, ((0, 2),), ()))
    assert book.usage != other.usage


def test_a_charge_fits_where_quota_and_its_very_nodes_are_free() -> None:
    book = a_book()
    charge = Charge(0, ((0, 6),), (Place(((NodeName("n1"), 1),), ((1, 6), (0, 1))),))
    assert book.fits(charge)
    book.charge(charge)
    assert not book.fits(charge)
    elsewhere = Charge(0, ((0, 6),), (Place(((NodeName("n2"), 1),), ((1, 6), (0, 1))),))
    assert book.fits(elsewhere)
    unknown = Charge(0, ((0, 1),), (Place(((NodeName("n9"), 1),), ((1, 1), (0, 1))),))
    assert not book.fits(unknown)


def a_busy_cluster() -> Cluster:
    layout = a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B", 8))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("b1", "B", 1, 8), a_workload("b2", "B", 1, 4))
    cluster.submit(a_workload("a", "A", 1, 8), a_workload("w", "B", 1, 8))
    cluster.cycle()
    check_invariants(cluster.engine)
    return cluster


def lose_use(state: State) -> None:
    state.present.usage[0] -= 1


def lose_room(state: State) -> None:
    state.future.space.free[1, 0] += 1


def take_twice(state: State) -> None:
    state.present.space.take(state.running[WorkloadId("b1")].charge.places)


def forget_a_target(state: State) -> None:
    state.leaving.clear()


def forget_who_waits(state: State) -> None:
    state.waiting.clear()


def miscount(state: State) -> None:
    state.gpus[1] += 1


def disorder(state: State) -> None:
    state.ranks[1].append((0, 0.0, 0, WorkloadId("ghost")))


def run_and_wait(state: State) -> None:
    state.waiting[WorkloadId("b1")] = state.waiting[WorkloadId("w")]


BREAKS = (
    lose_use,
    lose_room,
    take_twice,
    forget_a_target,
    forget_who_waits,
    miscount,
    disorder,
    run_and_wait,
)


@pytest.mark.parametrize("damage", BREAKS, ids=lambda damage: damage.__name__)
def test_the_checker_sees_what_is_broken(damage: Callable[[State], None]) -> None:
    cluster = a_busy_cluster()
    damage(cluster.engine._state)
    with pytest.raises(BrokenInvariantError):
        check_invariants(cluster.engine)


def test_no_two_contents_have_one_version() -> None:
    """What is remembered by version must never be taken for another book's, or a trial's."""
    book = a_book()
    one, other = (Charge(0, ((0, gpus),), ()) for gpus in (1, 2))
    fork = book.copy()
    assert fork.version == book.version
    mark = book.checkpoint()
    book.charge(one)
    seen = {book.version}
    book.rollback(mark)
    assert book.version == fork.version
    book.charge(other)
    fork.charge(one)
    seen |= {book.version, fork.version}
    assert len(seen) == 3
