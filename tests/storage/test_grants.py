"""The usage ledger and the samples of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from storage.accounts import Gauge, Grant, Outcome
from storage.records import Source
from storage.store import Store
from tests.storage.samples import AT, later

HOUR = 3600.0


def grant(decision: str, **changes: Any) -> Grant:
    values: dict[str, Any] = {
        "decision": decision,
        "request": decision.partition("/")[0],
        "source": Source.CHAT,
        "owner": "U1",
        "team": "nlp",
        "pool": "team",
        "queue": "team-nlp",
        "flavor": "reserved-h100",
        "spend": "low",
        "gpus": 8,
        "waited": 60.0,
        "begun": AT,
    }
    return Grant(**(values | changes))


def gauge(seconds: float, used: int) -> Gauge:
    return Gauge(
        at=later(seconds),
        gpus=64,
        used=used,
        stranded=3,
        nodes=8,
        whole_free_nodes=2,
        running=4,
        pending=5,
        pending_gpus=40,
    )


def test_a_grant_is_closed_once(store: Store) -> None:
    with store.write() as work:
        work.grants.open(grant("R-1001/1"))
        work.grants.close({"R-1001/1": (later(HOUR), Outcome.PREEMPTED)})
        work.grants.close({"R-1001/1": (later(9 * HOUR), Outcome.FINISHED)})
        work.grants.close({"R-1002/1": (later(HOUR), Outcome.FINISHED)})
    with store.read() as view:
        (kept,) = view.grants.during(AT, later(10 * HOUR))
        assert kept == grant("R-1001/1", ended=later(HOUR), outcome=Outcome.PREEMPTED)
        assert view.grants.last_end("R-1001") == later(HOUR)
        assert view.grants.last_end("R-1002") is None


def test_what_has_ended_cannot_be_opened(store: Store) -> None:
    with store.write() as work, pytest.raises(ValueError, match="R-1001/1"):
        work.grants.open(grant("R-1001/1", ended=later(1)))


def test_a_period_holds_what_overlaps_it(store: Store) -> None:
    with store.write() as work:
        work.grants.open(grant("R-1001/1"))
        work.grants.open(grant("R-1002/1", team="vision", begun=later(HOUR)))
        work.grants.open(grant("R-1003/1", begun=later(5 * HOUR)))
        work.grants.close({"R-1001/1": (later(2 * HOUR), Outcome.FINISHED)})

    def found(since: float, until: float, team: str | None = None) -> list[str]:
        with store.read() as view:
            grants = view.grants.during(later(since), later(until), team=team)
        return [one.request for one in grants]

    assert found(0, HOUR) == ["R-1001"]  # the end of a period is not in it
    assert found(HOUR, 3 * HOUR) == ["R-1001", "R-1002"]
    assert found(2 * HOUR, 9 * HOUR) == ["R-1002", "R-1003"]
    assert found(0, 9 * HOUR, "vision") == ["R-1002"]


def test_hours_are_cut_to_the_period() -> None:
    held = grant("R-1001/1", ended=later(2 * HOUR), outcome=Outcome.FINISHED)
    assert held.hours(AT, later(5 * HOUR)) == 16.0
    assert held.hours(later(1.5 * HOUR), later(5 * HOUR)) == 4.0
    assert held.hours(later(3 * HOUR), later(5 * HOUR)) == 0.0
    assert grant("R-1002/1").hours(AT, later(HOUR)) == 8.0  # still held


def test_what_is_handed_over_is_charged_to_both(store: Store) -> None:
    with store.write() as work:
        work.grants.open(grant("R-1001/1"))
        work.grants.hand_over("R-1001/1", later(HOUR), owner="U2", team="vision")
        work.grants.hand_over("R-1009/1", later(HOUR), owner="U2", team="vision")
        work.grants.close({"R-1001/1": (later(3 * HOUR), Outcome.FINISHED)})
    with store.read() as view:
        first, second = view.grants.during(AT, later(5 * HOUR))
    assert (first.owner, first.ended, first.outcome) == ("U1", later(HOUR), Outcome.GIVEN)
    assert (second.owner, second.team, second.begun) == ("U2", "vision", later(HOUR))
    assert (second.ended, second.outcome) == (later(3 * HOUR), Outcome.FINISHED)
    assert second.waited == 0.0


def test_what_is_given_back_in_part_is_charged_for_less_from_then_on(store: Store) -> None:
    with store.write() as work:
        work.grants.open(grant("R-1001/1"))
        for at, gpus in ((1, 8), (2, 4), (3, 4), (5, 8), (6, 0)):  # the same twice is once
            work.grants.resize("R-1001/1", later(at * HOUR), gpus)
        work.grants.close({"R-1001/1": (later(9 * HOUR), Outcome.FINISHED)})
        work.grants.resize("R-1001/1", later(10 * HOUR), 8)  # it is over
        work.grants.open(grant("R-1002/1"))
    with store.read() as view:
        parts = view.grants.of("R-1001")
        assert view.grants.of("R-1003") == ()
    assert [(one.gpus, one.begun, one.ended) for one in parts] == [
        (8, AT, later(2 * HOUR)),
        (4, later(2 * HOUR), later(5 * HOUR)),
        (8, later(5 * HOUR), later(6 * HOUR)),
        (0, later(6 * HOUR), later(9 * HOUR)),
    ]
    assert [one.waited for one in parts] == [60.0, 0.0, 0.0, 0.0]
    assert [one.outcome for one in parts] == [*3 * [Outcome.GIVEN], Outcome.FINISHED]


def test_old_load_is_pruned_and_nothing_else(store: Store) -> None:
    with store.write() as work:
        for number, source in enumerate((Source.TRACE, Source.TRACE, Source.CHAT), start=1001):
            work.grants.open(grant(f"R-{number}/1", source=source))
        work.grants.close({"R-1001/1": (later(10), Outcome.FINISHED)})
        work.grants.close({"R-1003/1": (later(10), Outcome.FINISHED)})
        assert work.grants.prune(Source.TRACE, later(20)) == 1
    with store.read() as view:
        left = [one.request for one in view.grants.during(AT, later(20))]
    assert left == ["R-1002", "R-1003"]


def test_samples_come_back_in_order_and_one_a_moment(store: Store) -> None:
    with store.write() as work:
        for seconds, used in ((300, 16), (0, 8), (300, 24)):
            work.gauges.put(gauge(seconds, used))
    with store.read() as view:
        assert view.gauges.during(AT, later(301)) == (gauge(0, 8), gauge(300, 24))
        assert view.gauges.during(AT, later(300)) == (gauge(0, 8),)
    with store.write() as work:
        assert work.gauges.prune(later(1)) == 1
