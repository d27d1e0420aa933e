"""The outbox: said once, in order, by one sender at a time, whatever crashes."""

from __future__ import annotations

import pytest

from storage.records import Audience, OutboxItem, OutboxState
from storage.store import Store
from tests.storage.samples import AT, later, notice, request

P, C, T = OutboxState.PENDING, OutboxState.CLAIMED, OutboxState.SENT
CARD, THREAD, CHANNEL = Audience.CARD, Audience.THREAD, Audience.CHANNEL


@pytest.fixture
def one(store: Store) -> str:
    """A stored request."""
    with store.write() as work:
        request_id = work.requests.next_id()
        work.requests.add(request(request_id))
    return request_id


def _put(store: Store, key: str, audience: Audience = CHANNEL, **changes: object) -> None:
    with store.write() as work:
        work.outbox.put(notice(key, audience, **changes), AT)


def _claim(store: Store, after: float = 0, *, after_cards: bool = False) -> tuple[OutboxItem, ...]:
    with store.write() as work:
        return work.outbox.claim(later(after), 30, 10, after_cards=after_cards)


def _keys(items: tuple[OutboxItem, ...]) -> list[str]:
    return [item.notice.key for item in items]


def _get(store: Store, key: str) -> OutboxItem:
    with store.read() as view:
        item = view.outbox.get(key)
    assert item is not None
    return item


def test_a_notice_comes_back_as_it_was_put(store: Store, one: str) -> None:
    said = notice(
        "preempted:1",
        Audience.PERSON,
        kind="preempted",
        request=one,
        target="U7",
        args={"gpus": 16, "ran": 1.5, "path": ["root", "nlp"], "until": None},
        urgent=True,
    )
    with store.write() as work:
        work.outbox.put(said, AT)
        stored = work.outbox.get("preempted:1")
        assert work.outbox.of(one) == (stored,)
    assert stored == OutboxItem(
        id=1, notice=said, state=P, revision=1, attempts=0, created=AT, due=AT
    )


def test_the_same_key_is_said_once(store: Store) -> None:
    _put(store, "starving:1", args={"first": True})
    _put(store, "starving:1", args={"first": False})
    (item,) = _claim(store)
    assert item.notice.args == {"first": True}
    with store.write() as work:
        work.outbox.sent(item.id, item.revision, "C1", "1.1", AT)
        work.outbox.put(notice("starving:1", CHANNEL), later(5))
    assert _claim(store, after=60) == ()
    assert _get(store, "starving:1").state is T


def test_urgent_first_then_by_id(store: Store) -> None:
    for key, urgent in (("a", False), ("b", True), ("c", False), ("d", True)):
        _put(store, key, urgent=urgent)
    assert _keys(_claim(store)) == ["b", "d", "a", "c"]


def test_a_claim_holds_until_its_lease_ends(store: Store) -> None:
    _put(store, "a")
    (first,) = _claim(store)
    assert (first.state, first.attempts) == (C, 1)
    assert _claim(store, after=29) == ()
    (second,) = _claim(store, after=30)
    assert (second.id, second.attempts) == (first.id, 2)


def test_nothing_is_given_before_it_is_due(store: Store) -> None:
    _put(store, "a")
    (item,) = _claim(store)
    with store.write() as work:
        work.outbox.retry(item.id, item.revision, "ratelimited", later(100))
    assert _claim(store, after=99) == ()
    (again,) = _claim(store, after=100)
    assert (again.attempts, again.error) == (2, "ratelimited")


def test_a_replaced_card_goes_out_again_in_its_place(store: Store, one: str) -> None:
    _put(store, "card:1", CARD, request=one, args={"n": 1})
    (item,) = _claim(store)
    with store.write() as work:
        work.outbox.sent(item.id, item.revision, "C1", "1.1", later(1))
    _put(store, "card:1", CARD, request=one, args={"n": 2})
    (again,) = _claim(store, after=2)
    assert (again.id, again.revision, again.attempts) == (item.id, 2, 1)
    assert (again.channel, again.ts) == ("C1", "1.1")
    assert again.notice.args == {"n": 2}


def test_many_changes_of_a_card_in_one_step_are_one_message(store: Store, one: str) -> None:
    with store.write() as work:
        for n in range(5):
            work.outbox.put(notice("card:1", CARD, request=one, args={"n": n}), AT)
    (item,) = _claim(store)
    assert (item.revision, item.notice.args) == (5, {"n": 4})


def test_a_card_replaced_in_the_sender_s_hand(store: Store, one: str) -> None:
    """The newer one waits for the older one's place, so that no second card is posted."""
    _put(store, "card:1", CARD, request=one)
    (item,) = _claim(store)
    _put(store, "card:1", CARD, request=one, args={"n": 2})
    assert _get(store, "card:1").state is P
    assert _claim(store, after=1) == ()
    with store.write() as work:
        work.outbox.sent(item.id, item.revision, "C1", "1.1", later(2))
    waiting = _get(store, "card:1")
    assert (waiting.state, waiting.revision, waiting.ts) == (P, 2, "1.1")
    (again,) = _claim(store, after=3)
    with store.write() as work:
        work.outbox.sent(again.id, again.revision, "C1", "1.1", later(4))
    assert _get(store, "card:1").state is T


def test_a_card_replaced_in_a_crashed_sender_s_hand_is_given_again(store: Store, one: str) -> None:
    _put(store, "card:1", CARD, request=one)
    _claim(store)
    _put(store, "card:1", CARD, request=one, args={"n": 2})
    (again,) = _claim(store, after=31)
    assert (again.notice.args, again.attempts) == ({"n": 2}, 2)  # it may have been posted


def test_a_replaced_card_keeps_the_delay_that_was_asked_for(store: Store, one: str) -> None:
    _put(store, "card:1", CARD, request=one)
    (item,) = _claim(store)
    _put(store, "card:1", CARD, request=one)
    with store.write() as work:
        work.outbox.retry(item.id, item.revision, "ratelimited", later(100))
    _put(store, "card:1", CARD, request=one)
    assert _claim(store, after=99) == ()
    assert _keys(_claim(store, after=100)) == ["card:1"]


def test_a_dead_item_stays_silent_but_a_new_card_revives(store: Store, one: str) -> None:
    _put(store, "a")
    _put(store, "card:1", CARD, request=one)
    for item in _claim(store):
        with store.write() as work:
            work.outbox.dead(item.id, item.revision, "channel_not_found")
    with store.read() as view:
        assert _keys(view.outbox.items(OutboxState.DEAD)) == ["a", "card:1"]
    _put(store, "a")
    _put(store, "card:1", CARD, request=one)
    (item,) = _claim(store, after=60)
    assert (item.notice.key, item.error, item.attempts) == ("card:1", None, 2)


def test_a_late_report_does_not_undo_a_later_one(store: Store) -> None:
    _put(store, "a")
    (slow,) = _claim(store)
    (quick,) = _claim(store, after=31)
    with store.write() as work:
        work.outbox.sent(quick.id, quick.revision, "C1", "1.1", later(32))
        work.outbox.retry(slow.id, slow.revision, "timeout", later(33))
        work.outbox.dead(slow.id, slow.revision, "timeout")
    item = _get(store, "a")
    assert (item.state, item.ts, item.error) == (T, "1.1", None)


def test_a_thread_is_told_one_message_at_a_time(store: Store, one: str) -> None:
    """A message that has to wait holds back the later ones of its thread, and no others."""
    for key in ("a", "b"):
        _put(store, key, THREAD, request=one)
    _put(store, "other")
    first, other = _claim(store)
    assert _keys((first, other)) == ["a", "other"]
    with store.write() as work:
        work.outbox.retry(first.id, first.revision, "timeout", later(100))
    assert _claim(store, after=29) == ()
    with store.write() as work:
        work.outbox.sent(other.id, other.revision, "C1", "1.1", later(29))
    (first,) = _claim(store, after=100)
    with store.write() as work:
        work.outbox.sent(first.id, first.revision, "C1", "1.2", later(101))
    assert _keys(_claim(store, after=102)) == ["b"]


def test_a_thread_can_wait_for_its_card(store: Store, one: str) -> None:
    _put(store, "a", THREAD, request=one)
    _put(store, "card:1", CARD, request=one)
    (card,) = _claim(store, after_cards=True)
    assert card.notice.key == "card:1"
    assert _claim(store, after=1, after_cards=True) == ()
    with store.write() as work:
        work.outbox.sent(card.id, card.revision, "C1", "1.1", later(2))
        posted = work.outbox.card_of(one)
    assert posted is not None
    assert (posted.channel, posted.ts) == ("C1", "1.1")
    assert _keys(_claim(store, after=3, after_cards=True)) == ["a"]


def test_a_thread_without_a_card_does_not_wait_for_one(store: Store, one: str) -> None:
    _put(store, "a", THREAD, request=one)
    with store.read() as view:
        assert view.outbox.card_of(one) is None
    assert _keys(_claim(store, after_cards=True)) == ["a"]


def test_a_deferred_item_counts_no_attempt(store: Store) -> None:
    _put(store, "a")
    (item,) = _claim(store)
    with store.write() as work:
        work.outbox.defer(item.id, item.revision, later(5))
    assert _claim(store, after=4) == ()
    (again,) = _claim(store, after=5)
    assert again.attempts == 1


def test_figures_say_how_far_behind_the_sender_is(store: Store) -> None:
    with store.read() as view:
        assert view.outbox.figures(AT).lag == 0
    for key in "abcd":
        _put(store, key)
    sent, dead, claimed = _claim(store)[:3]
    with store.write() as work:
        work.outbox.sent(sent.id, 1, "C1", "1.1", AT)
        work.outbox.dead(dead.id, 1, "x")
        work.outbox.retry(claimed.id, 1, "x", later(500))
    with store.read() as view:
        figures = view.outbox.figures(later(90))
    assert (figures.pending, figures.claimed, figures.sent, figures.dead) == (1, 1, 1, 1)
    assert figures.lag == 90


def test_pruning_removes_what_was_said_long_ago_but_no_cards(store: Store, one: str) -> None:
    _put(store, "card:1", CARD, request=one)
    for key in ("old", "new", "unsent"):
        _put(store, key)
    moments = {"card:1": 0, "old": 0, "new": 100}
    for item in _claim(store):
        if item.notice.key in moments:
            with store.write() as work:
                work.outbox.sent(item.id, 1, "C1", "1.1", later(moments[item.notice.key]))
    with store.write() as work:
        assert work.outbox.prune(later(50)) == 1
        assert _keys(work.outbox.items(*OutboxState)) == ["card:1", "new", "unsent"]
