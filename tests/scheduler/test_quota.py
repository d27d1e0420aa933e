"""Quota arithmetic of the cohort tree: nominal, borrowing, lending, levels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.quota import QuotaTree
from tests.scheduler.builders import a_cohort, a_layout, a_queue


def tree_of(*queues: object, cohorts: tuple[object, ...] = ()) -> QuotaTree:
    return QuotaTree(a_layout(*queues, cohorts=cohorts))  # type: ignore[arg-type]


def room(tree: QuotaTree, usage: list[int], queue: int = 0) -> int:
    return tree.available(usage, queue, 0)


def test_a_lone_queue_has_its_nominal_quota() -> None:
    tree = tree_of(a_queue("A", 8, cohort=None))
    usage = tree.empty()
    tree.charge(usage, 0, ((0, 3),))
    assert room(tree, usage) == 5


def test_queues_of_a_cohort_lend_each_other_what_is_idle() -> None:
    tree = tree_of(a_queue("A", 8), a_queue("B", 8))
    usage = tree.empty()
    tree.charge(usage, 1, ((0, 5),))
    assert room(tree, usage) == 11


def test_a_borrowing_limit_caps_what_a_queue_takes() -> None:
    tree = tree_of(a_queue("A", 8, borrowing=2), a_queue("B", 8))
    usage = tree.empty()
    tree.charge(usage, 0, ((0, 4),))
    assert room(tree, usage) == 6
    assert tree.potential[0] == 10


def test_a_lending_limit_keeps_quota_for_its_owner() -> None:
    tree = tree_of(a_queue("A", 8), a_queue("B", 8, lending=3))
    usage = tree.empty()
    assert room(tree, usage, 0) == 11
    tree.charge(usage, 0, ((0, 11),))
    assert room(tree, usage, 1) == 5


def test_use_inside_the_kept_part_is_not_charged_above() -> None:
    tree = tree_of(a_queue("A", 0), a_queue("B", 8, lending=3))
    usage = tree.empty()
    tree.charge(usage, 1, ((0, 4),))
    assert room(tree, usage, 0) == 3
    tree.charge(usage, 1, ((0, 2),))
    assert room(tree, usage, 0) == 2


def test_a_cohort_brings_quota_of_its_own() -> None:
    tree = tree_of(a_queue("A", 4), cohorts=(a_cohort("all", nominal=10),))
    assert room(tree, tree.empty()) == 14


def test_a_cohort_that_is_only_named_exists_without_quota() -> None:
    tree = tree_of(a_queue("A", 4, cohort="elsewhere"))
    assert room(tree, tree.empty()) == 4


def test_quota_lowered_below_use_leaves_less_than_nothing() -> None:
    tree = tree_of(a_queue("A", 4, cohort=None))
    usage = tree.empty()
    tree.charge(usage, 0, ((0, 6),))
    assert room(tree, usage) == -2


def nested() -> QuotaTree:
    """root(0){ A(4), team{ B(4), C(0) } }."""
    return tree_of(
        a_queue("A", 4, cohort="root"),
        a_queue("B", 4, cohort="team"),
        a_queue("C", 0, cohort="team"),
        cohorts=(a_cohort("team", "root"), a_cohort("root")),
    )


def test_the_borrowing_level_is_the_height_of_the_cohort_that_covers_it() -> None:
    tree = nested()
    usage = tree.empty()
    assert tree.borrow_level(usage, 1, 0, 4) == (0, True)
    assert tree.borrow_level(usage, 2, 0, 4) == (1, True)
    assert tree.borrow_level(usage, 2, 0, 5) == (2, False)


def test_a_cohort_of_queues_has_height_one_and_its_parent_two() -> None:
    tree = nested()
    assert [tree.height[tree.names.index(name)] for name in ("A", "team", "root")] == [0, 1, 2]


def test_the_binding_node_is_the_one_that_runs_out() -> None:
    tree = tree_of(a_queue("A", 4, borrowing=2), a_queue("B", 4))
    usage = tree.empty()
    assert tree.binding(usage, 0, 0, 7) == (tree.names.index("A"), 6)
    tree.charge(usage, 1, ((0, 6),))
    assert tree.binding(usage, 0, 0, 3) == (tree.names.index("all"), 2)
    assert tree.binding(usage, 0, 0, 7) == (tree.names.index("A"), 6)
    with pytest.raises(ValueError, match="no limit is below 2"):
        tree.binding(usage, 0, 0, 2)


queues = st.tuples(
    st.integers(0, 10),
    st.one_of(st.none(), st.integers(0, 10)),
    st.one_of(st.none(), st.integers(0, 10)),
)


@given(
    shapes=st.lists(queues, min_size=3, max_size=3),
    moves=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=20),
    order=st.randoms(use_true_random=False),
)
def test_discharging_in_any_order_leaves_nothing_behind(
    shapes: list[tuple[int, int | None, int | None]],
    moves: list[tuple[int, int]],
    order: object,
) -> None:
    tree = tree_of(
        *[
            a_queue(
                f"q{number}",
                nominal,
                borrowing=borrowing,
                lending=lending,
                cohort=("a", "a", "b")[number],
            )
            for number, (nominal, borrowing, lending) in enumerate(shapes)
        ],
        cohorts=(a_cohort("a", "b", 3, lending=2), a_cohort("b")),
    )
    usage = tree.empty()
    for queue, amount in moves:
        tree.charge(usage, queue, ((0, amount),))
    assert usage == tree.recompute((queue, ((0, amount),)) for queue, amount in sorted(moves))
    order.shuffle(moves)  # type: ignore[attr-defined]
    for queue, amount in moves:
        tree.discharge(usage, queue, ((0, amount),))
    assert usage == tree.empty()


@given(
    nominal=st.integers(0, 9),
    borrowing=st.integers(0, 9),
    lending=st.integers(0, 9),
    other=st.integers(0, 9),
)
def test_what_is_available_on_an_empty_cluster_is_the_most_one_can_ever_get(
    nominal: int, borrowing: int, lending: int, other: int
) -> None:
    tree = tree_of(a_queue("A", nominal, borrowing=borrowing), a_queue("B", other, lending=lending))
    usage = tree.empty()
    assert room(tree, usage) == tree.potential[0]
    tree.charge(usage, 0, ((0, tree.potential[0]),))
    assert room(tree, usage) == 0
