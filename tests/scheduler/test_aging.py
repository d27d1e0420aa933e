"""Bounded aging: steps of waiting, and what a workload owes to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import aging
from scheduler.layout import Aging
from tests.scheduler.builders import a_workload

RULE = Aging(after=100.0, every=50.0, step=5, most=12)


@pytest.mark.parametrize(
    ("waited", "raised", "following"),
    [(0, 0, 100.0), (99, 0, 100.0), (100, 5, 150.0), (149, 5, 150.0), (150, 10, 200.0)],
)
def test_the_first_step_comes_after_a_while_and_then_one_every_so_often(
    waited: float, raised: int, following: float
) -> None:
    assert aging.raise_of(RULE, 0.0, waited) == raised
    assert aging.next_raise(RULE, 0.0, waited) == following


def test_there_is_no_step_beyond_the_limit() -> None:
    assert aging.raise_of(RULE, 0.0, 200.0) == 12, "the third step is cut"
    assert aging.next_raise(RULE, 0.0, 200.0) is None
    assert aging.raise_of(RULE, 0.0, 1e9) == 12


def test_what_is_owed_to_waiting_is_replaced_and_not_added_up() -> None:
    once = aging.raised(a_workload("w", "A", priority=100), 5)
    assert (once.priority, once.raised) == (105, 5)
    twice = aging.raised(once, 10)
    assert (twice.priority, twice.raised) == (110, 10)


def test_who_is_requeued_starts_waiting_anew_at_his_own_priority() -> None:
    raised = aging.raised(a_workload("w", "A", priority=100, created=10.0), 10)
    again = aging.requeued(RULE, raised, 500.0)
    assert (again.priority, again.raised, again.created) == (100, 0, 10.0)
    assert aging.since(again) == 500.0
    unruled = aging.requeued(None, raised, 500.0)
    assert (unruled.priority, unruled.raised) == (raised.priority, 10), "no rule, nothing taken"
    assert aging.since(unruled) == 500.0


def test_who_is_restored_has_what_he_had_when_he_started() -> None:
    workload = a_workload("w", "A", priority=100, created=10.0)
    assert aging.started(RULE, workload, 10.0 + 160.0).priority == 110
    assert aging.started(None, workload, 1e6) is workload


@given(
    st.floats(0, 1e6), st.floats(1, 1e5), st.floats(1, 1e5), st.integers(1, 50), st.floats(0, 1e7)
)
def test_the_next_step_is_the_first_moment_at_which_more_is_added(
    after: float, every: float, start: float, step: int, waited: float
) -> None:
    rule = Aging(after=after, every=every, step=step, most=10 * step)
    now = start + waited
    at = aging.next_raise(rule, start, now)
    has = aging.raise_of(rule, start, now)
    assert 0 <= has <= rule.most
    if at is None:
        assert has == rule.most
    else:
        assert at > now
        assert aging.raise_of(rule, start, at) == has + step
