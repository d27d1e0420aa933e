"""Calls for on-call and what the outbox keeps of messages that are in Slack, in both databases."""

from __future__ import annotations

import dataclasses

from storage.records import Audience, Call, OutboxState
from storage.store import Store
from tests.storage.samples import AT, later, notice

CALL = Call(
    key="k1",
    kind="starving",
    request="R-1001",
    channel="C0ONCALL",
    ts="1.000001",
    raised=AT,
    due=later(600),
)


def test_a_call_is_due_until_it_is_taken(store: Store) -> None:
    with store.write() as work:
        work.calls.put(CALL)
        work.calls.put(dataclasses.replace(CALL, due=later(9)))  # known: stays as it is
        assert work.calls.due(later(599)) == ()
        assert work.calls.due(later(600)) == (CALL,)
        work.calls.raise_("k1", later(1200))
    with store.write() as work:
        (raised,) = work.calls.due(later(1200))
        assert raised.level == 1
        work.calls.acknowledge("k1", "U1", later(700))
        work.calls.acknowledge("k1", "U2", later(800))
    with store.read() as view:
        taken = view.calls.get("k1")
        assert taken is not None
        assert (taken.acknowledged_by, taken.acknowledged_at) == ("U1", later(700))
        assert view.calls.due(later(9999)) == ()


def test_calls_are_found_by_their_message_and_forgotten_in_the_end(store: Store) -> None:
    with store.write() as work:
        for key, ts in (("k1", "1.000001"), ("k2", "1.000001"), ("k3", "2.000001")):
            work.calls.put(dataclasses.replace(CALL, key=key, ts=ts))
        assert [call.key for call in work.calls.at("C0ONCALL", "1.000001")] == ["k1", "k2"]
        assert work.calls.prune(AT) == 0
        assert work.calls.prune(later(1)) == 3
        assert work.calls.get("k1") is None


def test_a_message_is_drawn_anew_in_its_place(store: Store) -> None:
    with store.write() as work:
        for key in ("a", "b"):
            work.outbox.put(notice(key, Audience.ONCALL), AT)
        for item in work.outbox.claim(AT, 60, 10):
            work.outbox.sent(item.id, item.revision, "C1", "1.5", AT)
        assert work.outbox.redo("C1", "1.5")
        assert not work.outbox.redo("C1", "9.9")
        assert [item.notice.key for item in work.outbox.at("C1", "1.5")] == ["a", "b"]
        (again,) = work.outbox.claim(later(1), 60, 10)
        assert (again.notice.key, again.ts, again.revision) == ("a", "1.5", 2)


def test_where_a_message_is_after_all_is_noted_once(store: Store) -> None:
    with store.write() as work:
        work.outbox.put(notice("card:R-1", Audience.CARD), AT)
        (item,) = work.outbox.claim(AT, 60, 10)
        work.outbox.place(item.id, "C1", "1.5")
        work.outbox.place(item.id, "C1", "9.9")
        found = work.outbox.get("card:R-1")
        assert found is not None
        assert (found.ts, found.state) == ("1.5", OutboxState.CLAIMED)


def test_dead_letters_are_listed_the_latest_first(store: Store) -> None:
    with store.write() as work:
        for key in ("a", "b", "c"):
            work.outbox.put(notice(key, Audience.CHANNEL), AT)
        for item in work.outbox.claim(AT, 60, 10):
            if item.notice.key != "b":
                work.outbox.dead(item.id, item.revision, "is_archived")
        assert [item.notice.key for item in work.outbox.letters(9)] == ["c", "a"]
        assert len(work.outbox.letters(1)) == 1
