"""Decayed chip-hours: half-life, weights, entry penalty, restarts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.fairshare import UsageLedger
from scheduler.layout import Layout, Team, UsageRules
from scheduler.model import GPU, TeamName, Usage
from scheduler.quota import QuotaTree
from tests.scheduler.builders import a_flavor, a_layout, a_queue

HOUR = 3600.0
X, Y = TeamName("x"), TeamName("y")


def a_ledger(
    half_life: float = 24 * HOUR,
    *,
    weight: float = 1.0,
    teams: tuple[Team, ...] = (),
    exact: bool = True,
) -> UsageLedger:
    layout = a_layout(
        a_queue("A", 8),
        flavors=(a_flavor(weight=weight),),
        usage=UsageRules(half_life=half_life, interval=300.0, exact=exact),
    )
    layout = Layout(flavors=layout.flavors, queues=layout.queues, usage=layout.usage, teams=teams)
    return UsageLedger(layout, QuotaTree(layout))


def hours(ledger: UsageLedger, now: float, team: TeamName = X) -> float:
    return {usage.team: usage.chip_hours for usage in ledger.report(now)}[team]


def test_short_use_is_counted_hour_by_hour() -> None:
    ledger = a_ledger(half_life=100_000 * HOUR)
    ledger.hold(X, ((0, 8),), 0.0)
    assert hours(ledger, 2 * HOUR) == pytest.approx(16.0, rel=1e-4)


def test_after_a_half_life_half_of_it_counts() -> None:
    ledger = a_ledger()
    ledger.hold(X, ((0, 8),), 0.0)
    ledger.let_go(X, ((0, 8),), HOUR)
    before = hours(ledger, HOUR)
    assert hours(ledger, HOUR + 24 * HOUR) == pytest.approx(before / 2)


def test_steady_use_settles_at_half_life_over_ln_2() -> None:
    ledger = a_ledger()
    ledger.hold(X, ((0, 4),), 0.0)
    assert hours(ledger, 10_000 * HOUR) == pytest.approx(4 * 24 / math.log(2))


def test_a_cheaper_flavor_counts_less() -> None:
    ledger = a_ledger(weight=0.5, half_life=1e6 * HOUR)
    ledger.hold(X, ((0, 8),), 0.0)
    assert hours(ledger, HOUR) == pytest.approx(4.0, rel=1e-4)


def test_a_heavier_team_weighs_less() -> None:
    ledger = a_ledger(
        teams=(Team(name=X, weight=2.0), Team(name=Y), Team(name=TeamName("z"), weight=0.0))
    )
    for team in (X, Y):
        ledger.hold(team, ((0, 8),), 0.0)
    ledger.sample(HOUR)
    assert ledger.score(X) == pytest.approx(ledger.score(Y) / 2)
    assert ledger.score(TeamName("z")) == math.inf


def test_an_admission_is_charged_at_once() -> None:
    ledger = a_ledger()
    ledger.hold(X, ((0, 8),), 0.0)
    ledger.enter(X, ((0, 8),), 0.0)
    assert ledger.score(X) == pytest.approx(8 * (1 - 0.5 ** (300 / (24 * HOUR))))
    assert ledger.score(Y) == 0.0


def test_what_storage_remembers_is_taken_over() -> None:
    ledger = a_ledger()
    ledger.restore(Usage(team=X, chip_hours=100.0, at=0.0))
    assert hours(ledger, 0.0) == pytest.approx(100.0)
    assert hours(ledger, 24 * HOUR) == pytest.approx(50.0)


def test_reporting_changes_nothing_and_sampling_keeps_the_value() -> None:
    ledger = a_ledger()
    ledger.hold(X, ((0, 8),), 0.0)
    first = ledger.report(HOUR)
    assert ledger.report(HOUR) == first
    assert ledger.sample(HOUR) == first


def test_a_sample_is_due_after_an_interval() -> None:
    ledger = a_ledger()
    assert ledger.due(0.0)
    ledger.sample(0.0)
    assert not ledger.due(299.0)
    assert ledger.due(300.0)


def test_without_rules_nobody_is_counted() -> None:
    layout = a_layout(a_queue("A", 8))
    ledger = UsageLedger(layout, QuotaTree(layout))
    ledger.hold(X, ((0, 8),), 0.0)
    ledger.enter(X, ((0, 8),), 0.0)
    ledger.let_go(X, ((0, 8),), 1.0)
    assert ledger.sample(HOUR) == ()
    assert ledger.score(X) == 0.0
    assert not ledger.due(HOUR)


def test_resources_without_a_weight_count_as_the_rules_say() -> None:
    layout = a_layout(
        a_queue("A", 8),
        usage=UsageRules(half_life=HOUR, interval=60.0, weights={}, other_weight=3.0),
    )
    ledger = UsageLedger(layout, QuotaTree(layout))
    ledger.hold(X, ((0, 1),), 0.0)
    ledger.sample(HOUR)
    assert ledger.score(X) == pytest.approx(1.5)
    assert layout.queues[0].groups[0].resources == (GPU,)


@given(st.lists(st.floats(1.0, 5000.0), min_size=1, max_size=10))
def test_sampling_more_often_gives_the_same_number(steps: list[float]) -> None:
    often, once = a_ledger(), a_ledger()
    for ledger in (often, once):
        ledger.hold(X, ((0, 8),), 0.0)
    now = 0.0
    for step in steps:
        now += step
        often.sample(now)
    assert hours(often, now) == pytest.approx(hours(once, now))
