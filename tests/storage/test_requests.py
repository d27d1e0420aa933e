"""Requests: ids, finding, moving, and the story that is written with each move."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from sqlalchemy import Engine, event

from storage.errors import UnknownRequest
from storage.records import EventKind, Source, Transition
from storage.states import IllegalMove, RequestState
from storage.store import Store
from tests.storage.samples import AT, admission, later, notice, request

S = RequestState


def _fill(store: Store, count: int, **changes: Any) -> tuple[str, ...]:
    with store.write() as work:
        ids = work.requests.next_ids(count)
        work.requests.add_all(request(i, **changes) for i in ids)
    return ids


def test_ids_start_at_1001_and_grow(store: Store) -> None:
    with store.write() as work:
        assert work.requests.next_id() == "R-1001"
        assert work.requests.next_ids(2) == ("R-1002", "R-1003")
    with store.write() as work:
        assert work.requests.next_id() == "R-1004"


def test_what_is_added_is_read_back(store: Store) -> None:
    full = request(
        "R-1001",
        state=S.STOPPING,
        attempt=2,
        admission=admission("R-1001"),
        kept=dataclasses.replace(admission("R-1001"), assignments=()),
        started=later(61),
        lease_ends=later(9000),
        ending=S.RELEASED,
        ended_by="U1",
        run_for=12.5,
        starving_since=later(30),
        channel="C1",
        thread_ts="1700000000.000100",
    )
    with store.write() as work:
        work.requests.add(full)
    with store.read() as view:
        assert view.requests.get("R-1001") == full
        assert view.requests.get("R-1002") is None


def test_a_move_changes_the_state_and_writes_a_line(store: Store) -> None:
    (one,) = _fill(store, 1)
    with store.write() as work:
        moved = work.requests.move(
            one,
            S.ADMITTED,
            at=later(60),
            actor="engine",
            reason="admitted",
            details={"gpus": 16},
            attempt=1,
            admission=admission(one),
        )
    expected = request(
        one, state=S.ADMITTED, attempt=1, admission=admission(one), changed=later(60)
    )
    assert moved == expected
    with store.read() as view:
        assert view.requests.get(one) == expected
        assert view.transitions.of(one) == (
            Transition(
                request=one, before=None, after=S.WAITING, at=AT, actor="U1", reason="submitted"
            ),
            Transition(
                request=one,
                before=S.WAITING,
                after=S.ADMITTED,
                at=later(60),
                actor="engine",
                reason="admitted",
                decision=f"{one}/1",
                details={"gpus": 16},
            ),
        )


def test_a_move_that_the_table_does_not_allow_changes_nothing(store: Store) -> None:
    (one,) = _fill(store, 1)
    with store.write() as work:
        with pytest.raises(IllegalMove):
            work.requests.move(one, S.RUNNING, at=later(1), actor="x", reason="y", started=later(1))
        with pytest.raises(UnknownRequest):
            work.requests.move("R-77", S.ADMITTED, at=later(1), actor="x", reason="y")
    with store.read() as view:
        assert view.requests.get(one) == request(one)
        assert len(view.transitions.of(one)) == 1


def test_an_amendment_keeps_the_state_and_its_time(store: Store) -> None:
    (one,) = _fill(store, 1)
    other = dataclasses.replace(request(one, queue="spot").workload, priority=900)
    with store.write() as work:
        work.requests.amend(one, thread_ts="1.2", starving_since=later(5), workload=other)
    with store.read() as view:
        expected = request(one, thread_ts="1.2", starving_since=later(5), workload=other)
        assert view.requests.find(queue="spot") == (expected,)


def test_an_unknown_change_is_refused_before_anything_changes(store: Store) -> None:
    (one,) = _fill(store, 1)
    with store.write() as work:
        with pytest.raises(TypeError, match="state"):
            work.requests.amend(one, thread_ts="1.2", state=S.FINISHED)  # type: ignore[call-arg]  # the point
        assert work.requests.get(one) == request(one)


def test_finding_by_state_owner_team_and_queue(store: Store) -> None:
    first = _fill(store, 2, owner="U1", team="nlp", queue="a")
    second = _fill(store, 2, owner="U2", team="vision", queue="b")
    with store.write() as work:
        work.requests.move(first[0], S.CANCELLED, at=later(1), actor="U1", reason="asked")
        find = work.requests.find
        assert [r.id for r in find(owner="U2")] == list(second)
        assert [r.id for r in find(team="nlp", states={S.WAITING})] == [first[1]]
        assert [r.id for r in find(queue="a")] == list(first)
        assert [r.id for r in find(states=())] == []
        assert work.requests.tally()[S.WAITING] == 3
        assert work.requests.tally()[S.CANCELLED] == 1
        assert work.requests.tally()[S.RUNNING] == 0


def test_finding_by_the_door_it_came_through(store: Store) -> None:
    trace = _fill(store, 2, source=Source.TRACE)
    chat = _fill(store, 2)
    with store.write() as work:
        work.requests.move(trace[0], S.CANCELLED, at=later(1), actor="U1", reason="asked")
        found = work.requests.from_source
        assert [r.id for r in found(Source.TRACE, {S.WAITING})] == [trace[1]]
        assert [r.id for r in found(Source.CHAT, {S.WAITING, S.CANCELLED})] == list(chat)


def test_pages_run_by_number_not_by_spelling(store: Store) -> None:
    ids = ["R-998", "R-9999", "R-10000", "R-10001"]
    with store.write() as work:
        work.requests.add_all(request(i) for i in ids)
        find = work.requests.find
        assert [r.id for r in find()] == ids
        assert [r.id for r in find(after="R-998", limit=2)] == ids[1:3]
        assert [r.id for r in find(after="R-10000", newest_first=True)] == ["R-9999", "R-998"]


def test_who_waits_is_counted_by_person_and_door(store: Store) -> None:
    ids = _fill(store, 3, owner="U1")
    _fill(store, 2, owner="U1", source=Source.CLUSTER)
    _fill(store, 1, owner="U2")
    with store.write() as work:
        work.requests.move(ids[0], S.CANCELLED, at=later(1), actor="x", reason="ordered")
        count = work.requests.count_waiting
        assert [count("U1", Source.CHAT), count("U1", Source.CLUSTER)] == [2, 2]
        assert [count("U2", Source.CHAT), count("U3", Source.CHAT)] == [1, 0]


def test_by_ids_keeps_the_order_asked_for_and_skips_what_is_unknown(store: Store) -> None:
    ids = _fill(store, 1200)
    with store.read() as view:
        found = view.requests.by_ids([*reversed(ids), "R-1"])
    assert list(found) == list(reversed(ids))
    assert found[ids[3]] == request(ids[3])


def test_many_moves_are_few_statements(store: Store) -> None:
    ids = _fill(store, 500)
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        with store.write() as work:
            work.requests.by_ids(ids)
            for one in ids:
                work.requests.move(one, S.ADMITTED, at=later(1), actor="x", reason="y", attempt=1)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(statements) <= 5, statements
    with store.read() as view:
        assert view.requests.tally()[S.ADMITTED] == 500
        assert len(view.transitions.of(ids[-1])) == 2


def test_the_last_change_of_all(store: Store) -> None:
    with store.read() as view:
        assert view.requests.last_change() is None
    ids = _fill(store, 3)
    with store.write() as work:
        work.requests.move(ids[1], S.ADMITTED, at=later(7), actor="x", reason="y", attempt=1)
    with store.read() as view:
        assert view.requests.last_change() == later(7)


def test_pruning_takes_ended_load_with_all_that_belongs_to_it_and_nothing_else(
    store: Store,
) -> None:
    loads = _fill(store, 4, source=Source.TRACE)
    (asked,) = _fill(store, 1)
    with store.write() as work:
        for number, one in enumerate([*loads[:3], asked]):
            work.requests.move(one, S.CANCELLED, at=later(number), actor="x", reason="cancelled")
            work.events.add(EventKind.CANCEL, one, "x", AT)
        work.outbox.put(notice("unsent", request=loads[1]), AT)
    with store.write() as work:
        assert work.requests.prune(Source.TRACE, later(10), limit=1) == 1
        assert work.requests.prune(Source.TRACE, later(10)) == 1
        assert work.requests.prune(Source.TRACE, later(10)) == 0
    with store.read() as view:
        assert [one.id for one in view.requests.find()] == [loads[1], loads[3], asked]
        assert [event.request for event in view.events.unhandled()] == [loads[1], asked]
        assert view.transitions.of(loads[0]) == ()
        assert len(view.transitions.of(asked)) == 2


def test_what_ended_later_is_not_pruned(store: Store) -> None:
    (one,) = _fill(store, 1, source=Source.TRACE)
    with store.write() as work:
        work.requests.move(one, S.CANCELLED, at=later(60), actor="x", reason="cancelled")
        assert work.requests.prune(Source.TRACE, later(60)) == 0
        assert work.requests.prune(Source.TRACE, later(61)) == 1


def test_ids_that_are_in_use_elsewhere_are_passed_by(store: Store) -> None:
    with store.write() as work:
        assert work.requests.last_number() == 1000
        work.requests.pass_by(999)
        assert work.requests.next_id() == "R-1001"
        work.requests.pass_by(1042)
        work.requests.pass_by(1040)
        assert (work.requests.last_number(), work.requests.next_id()) == (1042, "R-1043")
