"""Estimates of starts, and the arguments of orders."""

from __future__ import annotations

from typing import Any

from storage.records import Estimate, EventKind
from storage.states import RequestState
from storage.store import Store
from tests.storage.samples import AT, admission, later, request


def an_estimate(request_id: str, **changes: Any) -> Estimate:
    values: dict[str, Any] = {
        "request": request_id,
        "pool": "team",
        "at": AT,
        "low": later(600),
        "likely": later(1200),
        "high": later(1800),
        "basis": "declared",
    }
    return Estimate(**(values | changes))


def test_an_estimate_is_compared_with_the_first_start(store: Store) -> None:
    with store.write() as work:
        one, other = work.requests.next_ids(2)
        work.requests.add_all((request(one), request(other)))
        work.estimates.put(an_estimate(one))
        work.estimates.put(an_estimate(other, low=None, likely=None, high=None, basis="unknown"))
    with store.write() as work:
        assert work.estimates.known([one, other, "R-9"]) == {one, other}
        for started in (later(1500), later(9000)):  # a second start changes nothing
            work.estimates.settle([one], started)
        work.estimates.settle([other], later(60))
    with store.read() as view:
        found = view.estimates.settled(AT, later(86400))
        assert [(e.request, e.error, e.waited) for e in found] == [
            (other, None, 60.0),
            (one, 300.0, 1500.0),
        ]
        assert view.estimates.settled(later(60.5), later(1500)) == ()
        assert view.estimates.get("R-9") is None


def test_a_later_estimate_takes_the_place_of_the_first(store: Store) -> None:
    with store.write() as work:
        one = work.requests.next_id()
        work.requests.add(request(one))
        work.estimates.put(an_estimate(one))
        work.estimates.put(an_estimate(one, at=later(30), likely=later(40)))
        kept = work.estimates.get(one)
    assert kept is not None
    assert (kept.at, kept.likely) == (later(30), later(40))


def test_an_order_keeps_what_it_asks_for(store: Store) -> None:
    with store.write() as work:
        one = work.requests.next_id()
        work.requests.add(request(one))
        work.events.add(EventKind.EXTEND, one, "U1", AT, {"lease": 7200.0})
        work.events.add(EventKind.CANCEL, one, "U1", AT)
    with store.read() as view:
        assert [event.args for event in view.events.unhandled()] == [{"lease": 7200.0}, {}]


def test_what_held_gpus_and_ended_last(store: Store) -> None:
    with store.write() as work:
        ids = work.requests.next_ids(4)
        work.requests.add_all(request(one) for one in ids)
        for one in ids[:3]:
            work.requests.move(
                one,
                RequestState.ADMITTED,
                at=later(60),
                actor="engine",
                reason="admitted",
                attempt=1,
                admission=admission(one),
            )
            work.requests.move(
                one, RequestState.FINISHED, at=later(90), actor="engine", reason="pods-finished"
            )
        work.requests.move(
            ids[3], RequestState.CANCELLED, at=later(90), actor="U1", reason="ordered"
        )
    with store.read() as view:
        assert [one.id for one in view.requests.ended(2)] == list(ids[1:3])
