"""Inbox, desk events, usage, people, settings and the thinning of old stories."""

from __future__ import annotations

import pytest

from storage.records import EventKind, Person, Role, Setting, UsageSample
from storage.states import RequestState
from storage.store import Store
from tests.storage.samples import AT, later, request

S = RequestState


def test_a_key_is_first_once(store: Store) -> None:
    with store.write() as work:
        assert work.inbox.first("Ev1", AT)
        assert not work.inbox.first("Ev1", AT)
        assert work.inbox.answer("Ev1") is None
        work.inbox.remember("Ev1", {"request": "R-1001"})
    with store.write() as work:
        assert not work.inbox.first("Ev1", later(5))
        assert work.inbox.answer("Ev1") == {"request": "R-1001"}
        with pytest.raises(KeyError):
            work.inbox.remember("Ev2", {})


def test_a_key_whose_step_failed_is_first_again(store: Store) -> None:
    def step() -> None:
        with store.write() as work:
            work.inbox.first("Ev1", AT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        step()
    with store.write() as work:
        assert work.inbox.first("Ev1", AT)


def test_keys_are_forgotten_by_age(store: Store) -> None:
    with store.write() as work:
        work.inbox.first("old", AT)
        work.inbox.first("new", later(100))
        assert work.inbox.prune(later(50)) == 1
        assert work.inbox.first("old", later(100))
        assert not work.inbox.first("new", later(100))


def test_events_are_handled_in_order_and_once(store: Store) -> None:
    with store.write() as work:
        work.requests.add(request("R-1001"))
        kinds = (EventKind.SUBMIT, EventKind.CANCEL, EventKind.RELEASE)
        added = [work.events.add(kind, "R-1001", "U1", later(-n)) for n, kind in enumerate(kinds)]
    with store.read() as view:
        assert list(view.events.unhandled()) == added
        assert view.events.unhandled(limit=1) == (added[0],)
    with store.write() as work:
        work.events.mark([added[0].id, added[2].id], later(10))
        assert work.events.unhandled() == (added[1],)
        assert work.events.prune(later(10)) == 0
        assert work.events.prune(later(11)) == 2
        again = work.events.add(EventKind.SUBMIT, "R-1001", "U1", AT)
    assert again.id > added[2].id


def test_marking_no_events_changes_nothing(store: Store) -> None:
    with store.write() as work:
        work.requests.add(request("R-1001"))
        event = work.events.add(EventKind.SUBMIT, "R-1001", "U1", AT)
        work.events.mark([], AT)
        assert work.events.unhandled() == (event,)


def test_usage_keeps_the_last_sample_of_each_team(store: Store) -> None:
    with store.write() as work:
        work.usage.put(
            UsageSample(team="vision", chip_hours=1.25, at=AT),
            UsageSample(team="nlp", chip_hours=0.1, at=AT),
        )
    with store.write() as work:
        work.usage.put(UsageSample(team="nlp", chip_hours=0.30000000000000004, at=later(60)))
        assert work.usage.all() == (
            UsageSample(team="nlp", chip_hours=0.30000000000000004, at=later(60)),
            UsageSample(team="vision", chip_hours=1.25, at=AT),
        )


def test_people_keep_the_order_of_their_teams(store: Store) -> None:
    ada = Person(id="U1", name="Ada \N{SNOWMAN}", teams=("vision", "nlp"), role=Role.LEAD)
    bob = Person(id="U2", name="Bob")
    with store.write() as work:
        work.people.put(bob, ada)
    with store.write() as work:
        moved = Person(id="U2", name="Bob", teams=("nlp",))
        work.people.put(moved)
        assert work.people.get("U1") == ada
        assert work.people.get("U3") is None
        assert work.people.all() == (ada, moved)
        assert work.people.find(team="nlp") == (ada, moved)
        assert work.people.find(team="nlp", role=Role.LEAD) == (ada,)


def test_settings_end(store: Store) -> None:
    pause = Setting(name="pause:q1", value="on", author="U1", reason="drain", until=later(60))
    boost = Setting(name="boost:R-1", value="100", author="U2")
    with store.write() as work:
        work.settings.put(pause)
        work.settings.put(boost)
        assert work.settings.all() == (boost, pause)
        assert work.settings.all(now=later(59)) == (boost, pause)
        assert work.settings.all(now=later(60)) == (boost,)
        assert work.settings.get("pause:q1") == pause
        assert work.settings.delete("pause:q1")
        assert not work.settings.delete("pause:q1")
        assert work.settings.get("pause:q1") is None


def test_old_stories_keep_their_first_and_last_line(store: Store) -> None:
    ended, running = "R-1001", "R-1002"
    with store.write() as work:
        for one in (ended, running):
            work.requests.add(request(one))
            for second, state in enumerate((S.ADMITTED, S.RUNNING), start=1):
                work.requests.move(one, state, at=later(second), actor="x", reason="y")
        work.requests.move(ended, S.FINISHED, at=later(9), actor="x", reason="y")
    with store.write() as work:
        assert work.transitions.prune(later(9)) == 0
        assert work.transitions.prune(later(10)) == 2
        assert [line.after for line in work.transitions.of(ended)] == [S.WAITING, S.FINISHED]
        assert len(work.transitions.of(running)) == 3


def test_people_who_are_no_longer_there_are_forgotten(store: Store) -> None:
    ann, bob = Person(id="U1", name="Ann"), Person(id="U2", name="Bob")
    with store.write() as work:
        work.people.put(ann, bob)
        work.people.forget([])
        work.people.forget(["U2", "U9"])
        assert work.people.all() == (ann,)
