"""What a period came to: sums over the ledger that a hand can check."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.asks import Period
from bot.control.sweeps import StarvationCheck, sample_usage
from bot.reports import (
    Guess,
    Waits,
    accounts,
    all_waits,
    count_ends,
    curve,
    handed_over,
    judge,
    mean,
    most,
)
from bot.views import RefusalCode, Refused
from scheduler.model import TeamName
from storage.accounts import Gauge, Grant, Outcome
from storage.records import Estimate, Source
from tests.bot.house import ADA, BEN, House

HOUR = 3600.0
SINCE = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
UNTIL = SINCE + dt.timedelta(days=7)


def after(hours: float) -> dt.datetime:
    return SINCE + dt.timedelta(hours=hours)


def grant(request: str = "R-1001", **changes: Any) -> Grant:
    values: dict[str, Any] = {
        "decision": f"{request}/1",
        "request": request,
        "source": Source.CHAT,
        "owner": "U1",
        "team": "nlp",
        "pool": "team",
        "queue": "team-nlp",
        "flavor": "reserved-h100",
        "spend": "low",
        "gpus": 8,
        "waited": 60.0,
        "begun": SINCE,
        "ended": after(2),
        "outcome": Outcome.FINISHED,
    }
    return Grant(**(values | changes))


def test_hours_are_charged_by_name_and_against_the_quota() -> None:
    grants = (
        grant(),
        grant("R-1002", team="vision", gpus=16, begun=after(1), ended=after(4)),
        grant("R-1003", begun=after(-10), ended=after(1)),  # only its last hour falls into it
    )
    nlp, speech, vision = accounts(
        grants, lambda one: one.team, SINCE, UNTIL, {"nlp": 16, "speech": 4, "vision": 0}
    )
    assert (nlp.gpu_hours, vision.gpu_hours, speech.gpu_hours) == (24.0, 48.0, 0.0)
    assert nlp.share == pytest.approx(1 / 3)
    assert vision.share == pytest.approx(2 / 3)
    assert (nlp.entitled, speech.entitled) == (16 * 168.0, 4 * 168.0)
    assert nlp.waits.starts == 1  # the other one started before


def test_names_without_a_quota_come_last_by_name() -> None:
    grants = (grant(team="zeta"), grant("R-1002", team="alpha"))
    found = accounts(grants, lambda one: one.team, SINCE, UNTIL, {"nlp": 1})
    assert [one.name for one in found] == ["nlp", "alpha", "zeta"]


def test_preemptions_count_once_each_in_the_period_they_happened() -> None:
    grants = (
        grant(outcome=Outcome.PREEMPTED),
        grant("R-1002", outcome=Outcome.PREEMPTED, begun=after(-5), ended=after(-1)),
        grant("R-1003", outcome=Outcome.LOST),
    )
    (team,) = accounts(grants, lambda one: one.team, SINCE, UNTIL)
    assert team.preempted == 1
    assert count_ends(grants, Outcome.PREEMPTED, SINCE, UNTIL) == 1
    assert count_ends(grants, Outcome.LOST, SINCE, UNTIL) == 1


def test_nobody_waited_for_what_was_handed_over() -> None:
    first = grant(outcome=Outcome.GIVEN, waited=300.0)
    rest = dataclasses.replace(
        first, owner="U2", begun=after(2), ended=after(3), outcome=Outcome.FINISHED, waited=0.0
    )
    assert handed_over((first, rest)) == {rest}
    assert all_waits((first, rest), SINCE, UNTIL) == Waits(
        starts=1, p50=300.0, p95=300.0, longest=300.0
    )


@pytest.mark.parametrize(
    ("waited", "expected"),
    [
        ([], (0, 0.0, 0.0, 0.0)),
        ([5.0], (1, 5.0, 5.0, 5.0)),
        ([1.0, 2.0], (2, 1.0, 2.0, 2.0)),
        ([float(n) for n in range(100, 0, -1)], (100, 50.0, 95.0, 100.0)),
    ],
)
def test_percentiles_are_by_the_nearest_rank(
    waited: list[float], expected: tuple[int, float, float, float]
) -> None:
    found = Waits.of(waited)
    assert (found.starts, found.p50, found.p95, found.longest) == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["nlp", "vision", "bio"]),
            st.integers(1, 64),
            st.floats(-100, 200),
            st.floats(0.01, 50),
        ),
        max_size=20,
    )
)
def test_the_parts_make_the_whole(parts: list[tuple[str, int, float, float]]) -> None:
    grants = [
        grant(f"R-{n}", team=team, gpus=gpus, begun=after(begun), ended=after(begun + length))
        for n, (team, gpus, begun, length) in enumerate(parts)
    ]
    found = accounts(grants, lambda one: one.team, SINCE, UNTIL)
    whole = sum(one.hours(SINCE, UNTIL) for one in grants)
    assert sum(one.gpu_hours for one in found) == pytest.approx(whole)
    assert sum(one.share for one in found) == pytest.approx(1.0 if whole else 0.0)
    assert list(most(found, 2)) == sorted(found, key=lambda a: (-a.gpu_hours, a.name))[:2]


def gauge(minutes: float, used: int, gpus: int = 64) -> Gauge:
    return Gauge(
        at=SINCE + dt.timedelta(minutes=minutes),
        gpus=gpus,
        used=used,
        stranded=4,
        nodes=8,
        whole_free_nodes=1,
        running=1,
        pending=0,
        pending_gpus=0,
    )


def test_a_curve_is_thinned_and_has_gaps_where_nobody_looked() -> None:
    day = [gauge(5 * n, 32) for n in range(1000)]
    assert len(curve(day)) == 334
    broken = curve([gauge(0, 32), gauge(5, 48), gauge(120, 64), gauge(125, 0, gpus=0)])
    assert [point.used for point in broken] == [0.5, 0.75, 1.0]
    assert [point.joined for point in broken] == [True, True, False]
    assert mean([gauge(0, 32), gauge(5, 64)], lambda one: one.used) == 0.75
    assert mean([], lambda one: one.used) is None


def estimate(request: str, likely: float | None, high: float | None, started: float) -> Estimate:
    return Estimate(
        request=request,
        pool="team",
        at=SINCE,
        low=SINCE,
        likely=None if likely is None else after(likely),
        high=None if high is None else after(high),
        basis="declared",
        started=after(started),
    )


def test_estimates_are_judged_by_what_happened() -> None:
    found = judge(
        (
            estimate("R-1", likely=2, high=3, started=4),  # two hours late, half of its wait
            estimate("R-2", likely=3, high=4, started=2),  # an hour early
            estimate("R-3", likely=1, high=2, started=1),
            estimate("R-4", likely=None, high=None, started=9),  # no time was told
        )
    )
    assert found == Guess(count=3, error=HOUR, relative=3 / 7, late=1)
    short = judge((estimate("R-1", likely=0.05, high=0.1, started=0.1),))
    assert short is not None
    assert short.relative is None, "six minutes: no share says anything"
    assert judge((estimate("R-4", likely=None, high=None, started=9),)) is None


def test_the_desk_reports_what_ran(house: House) -> None:
    one = house.ask(gpus=8)
    house.ask(BEN, gpus=4)
    house.step()
    house.control.propose(sample_usage)
    house.step(HOUR)
    house.desk.release(ADA.id, one, key=house.key())
    house.step()
    house.step(5)
    report = house.desk.report(Period.DAY)
    assert not isinstance(report, Refused)
    hours = {team.name: team.gpu_hours for team in report.teams}
    assert hours == pytest.approx({"nlp": 8 * (HOUR + 5) / HOUR, "vision": 4 * (HOUR + 5) / HOUR})
    assert report.gpu_hours == pytest.approx(sum(hours.values()))
    assert [person.name for person in report.people] == [ADA.id, BEN.id]
    known = (report.until - report.since) / HOUR
    assert known == pytest.approx((HOUR + 5) / HOUR), "nothing is known of what was before"
    entitled = {team.name: team.entitled / known for team in report.teams}
    assert entitled == {team: house.control.terms.team_nominal(TeamName(team)) for team in entitled}
    assert report.utilisation == pytest.approx(12 / 64)
    assert report.fragmentation == pytest.approx(4 / 64)
    assert {pool.name: pool.waits.starts for pool in report.pools}["team"] == 2
    own = house.desk.report(Period.DAY, "NLP")
    assert not isinstance(own, Refused)
    assert [team.name for team in own.teams] == ["nlp"]
    assert own.gpu_hours == pytest.approx(hours["nlp"])


def test_a_team_that_does_not_exist_is_named_with_the_nearest(house: House) -> None:
    for found in (house.desk.report(Period.WEEK, "visoin"), house.desk.fair(ADA.id, "visoin")):
        assert isinstance(found, Refused)
        assert (found.code, found.near) == (RefusalCode.UNKNOWN_TEAM, ("vision",))


def test_who_used_least_comes_first_and_who_borrows_is_named(house: House) -> None:
    house.ask(gpus=8)
    house.ask(BEN, gpus=32, preemptible=True)
    house.step()
    house.step(HOUR)
    house.control.propose(sample_usage)
    fair = house.desk.fair(ADA.id)
    assert not isinstance(fair, Refused)
    assert [(share.team, share.used) for share in fair.teams] == [("nlp", 8), ("vision", 32)]
    assert fair.mine == ADA.teams
    (borrower,) = fair.borrowers
    assert (borrower.queue, borrower.used, borrower.nominal) == ("opportunistic", 32, 0)
    assert borrower.share == pytest.approx(32 * 1000 / 64)


def test_a_starvation_is_counted_in_its_period(house: House) -> None:
    house.ask(gpus=32)  # all of the shared queue
    house.step()
    waits = house.ask(BEN, gpus=32)
    house.step()
    house.step(13 * HOUR)  # medium priority is to start within twelve
    house.control.propose(StarvationCheck(house.control.terms))
    assert house.request(waits).starving_since is not None
    house.clock.advance(1.0)
    report = house.desk.report(Period.DAY)
    assert not isinstance(report, Refused)
    assert report.starvations == 1
    house.clock.advance(2 * 24 * HOUR)
    later = house.desk.report(Period.DAY)
    assert not isinstance(later, Refused)
    assert later.starvations == 0
