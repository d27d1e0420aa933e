"""Priority budgets: which class a request gets, and when a team has none left."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler.budgets import Grade, budgets_of, grade, standing
from scheduler.layout import Layout, Team
from scheduler.model import LimitKind, Priority, Refusal, TeamName
from tests.scheduler.builders import a_layout, a_queue, a_workload

NLP, VISION = TeamName("nlp"), TeamName("vision")
LOW, MEDIUM, HIGH = Priority.LOW, Priority.MEDIUM, Priority.HIGH


def layout(**budgets: int) -> Layout:
    named = {Priority(name): most for name, most in budgets.items()}
    return replace(a_layout(a_queue("A", 8)), teams=(Team(name=NLP, budgets=named),))


def test_what_runs_and_waits_counts_by_team_and_class() -> None:
    one = a_workload("a", "A", 2, 4, team="nlp", priority_class=HIGH)
    other = a_workload("b", "A", 1, 3, team="nlp", priority_class=LOW)
    foreign = a_workload("c", "A", 1, 8, team="vision", priority_class=HIGH)
    found = standing((one, other, foreign), NLP)
    assert found == {LOW: 3, MEDIUM: 0, HIGH: 8, Priority.CRITICAL: 0}


def test_a_team_or_class_without_a_budget_has_no_limit() -> None:
    policy = layout(high=8)
    assert budgets_of(policy, VISION) == {}
    assert grade(policy, {}, VISION, HIGH, 1000) == Grade(given=HIGH, asked=HIGH, has=0, most=None)
    free = grade(policy, {MEDIUM: 500}, NLP, MEDIUM, 1000)
    assert free == Grade(given=MEDIUM, asked=MEDIUM, has=500, most=None)


def test_a_budget_may_be_used_up_to_the_last_gpu_and_then_the_next_class_is_given() -> None:
    policy = layout(high=8, medium=4)
    assert grade(policy, {HIGH: 6}, NLP, HIGH, 2) == Grade(given=HIGH, asked=HIGH, has=6, most=8)
    assert grade(policy, {HIGH: 6}, NLP, HIGH, 3) == Grade(given=MEDIUM, asked=HIGH, has=6, most=8)
    assert grade(policy, {HIGH: 8, MEDIUM: 4}, NLP, HIGH, 1) == Grade(
        given=LOW, asked=HIGH, has=8, most=8
    )


def test_nobody_is_lifted_above_what_he_asked_for() -> None:
    assert grade(layout(low=0, medium=8), {}, NLP, LOW, 4) == Refusal(
        limit=LimitKind.BUDGET, where=NLP, asked=4, most=0
    )


def test_the_refusal_says_what_is_left_in_the_lowest_class() -> None:
    refused = grade(layout(low=10, medium=2, high=1), {LOW: 7}, NLP, HIGH, 4)
    assert refused == Refusal(limit=LimitKind.BUDGET, where=NLP, asked=4, most=3)
    over = grade(layout(low=10), {LOW: 12}, NLP, LOW, 1)
    assert isinstance(over, Refusal)
    assert over.most == 0


@given(
    st.dictionaries(st.sampled_from(Priority), st.integers(0, 20)),
    st.dictionaries(st.sampled_from(Priority), st.integers(0, 20)),
    st.sampled_from(Priority),
    st.integers(1, 20),
)
def test_what_is_given_stays_inside_its_budget_and_nothing_higher_would(
    budgets: dict[Priority, int], has: dict[Priority, int], asked: Priority, gpus: int
) -> None:
    policy = layout(**{str(name): most for name, most in budgets.items()})
    holds = [
        one
        for one in Priority
        if list(Priority).index(one) <= list(Priority).index(asked)
        and (one not in budgets or has.get(one, 0) + gpus <= budgets[one])
    ]
    found = grade(policy, has, NLP, asked, gpus)
    assert isinstance(found, Grade) == bool(holds)
    if isinstance(found, Grade):
        assert found.given == holds[-1]
