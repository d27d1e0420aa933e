"""Bursts, quiet hours, preferences and what on-call has to take, in virtual time."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import notices
from bot.chat.ports import SlackRefused
from bot.preferences import Language, Notices, Preferences, QuietHours, Where
from storage.records import Audience, Notice, OutboxState
from storage.store import open_store
from tests.bot.chat import saying
from tests.bot.chat.announcing import (
    GPU,
    ONCALL,
    START,
    Crash,
    World,
    admitted,
    card,
    ended,
    fine,
    notice,
)

NIGHT = Preferences(quiet=QuietHours(begins=11 * 60, ends=13 * 60))  # it is 12:00 at START
MORNING = START + dt.timedelta(hours=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(f"sqlite:///{tmp_path / 'gpubot.db'}")
    yield World(store)
    store.close()


def preempted_group(number: int, audience: Audience) -> Notice:
    request = f"R-{number}"
    party = saying.GROUP.preemptor.model_copy(update={"request": request})
    args = saying.GROUP.model_copy(update={"preemptor": party})
    return notice(f"preempted-group:{number}:{audience}", args, audience, urgent=True)


def preempted(number: int, owner: str = saying.BOB) -> Notice:
    args = saying.preempted(f"R-{number}", owner, "rl")
    return notice(f"p{number}", args, Audience.PERSON, target=owner, urgent=True)


def test_500_admissions_are_heard_within_a_minute_in_12_messages(world: World) -> None:
    world.put(*(card(f"R-{number}") for number in range(3000, 3040)))  # a row of cards besides
    for number in range(3000, 3040):
        world.desk.cards[f"R-{number}"] = saying.RUNNING
    world.put(*(admitted(number) for number in range(2000, 2500)))
    world.run(10, step=0.5)
    world.put(preempted_group(1, Audience.CHANNEL), preempted(1))
    urgent_at = world.now
    world.run(50, step=0.5)
    told = [each for each in world.slack.told if each.keys[0].startswith("admitted")]
    assert len(told) <= 12
    assert sum(len(each.keys) for each in told) == 500
    assert max(each.at for each in told) - START <= dt.timedelta(seconds=60)
    urgent = [
        each for each in world.slack.told if each.keys[0] in {"p1", "preempted-group:1:channel"}
    ]
    assert len(urgent) == 2
    assert max(each.at for each in urgent) - urgent_at <= dt.timedelta(seconds=3)


def test_a_burst_of_preemptions_is_one_post_and_few_more_within_seconds(world: World) -> None:
    for audience in (Audience.CHANNEL, Audience.ONCALL):
        world.put(*(preempted_group(number, audience) for number in range(2000, 2100)))
    world.run(3, step=0.5)
    for channel in (GPU, ONCALL):
        first, *rest = [told for told in world.slack.told if told.channel == channel]
        assert len(first.keys) == 1
        assert len(rest) <= 3
        assert sum(len(told.keys) for told in rest) == 99
        for number in range(2000, 2100):
            assert any(f"R-{number} " in text for text in world.texts(channel))


def test_one_person_hears_of_several_at_once(world: World) -> None:
    world.put(*(preempted(number) for number in range(5)), preempted(9, saying.CAT))
    world.run(5)
    assert len(world.texts(saying.BOB)) == 1
    assert len(world.texts(saying.CAT)) == 1
    for number in range(5):
        assert f"R-{number} " in world.texts(saying.BOB)[0]


def test_a_group_that_does_not_fit_goes_on_in_the_next(world: World) -> None:
    long = saying.ADMITTED.model_copy(update={"name": "&" * 60, "team": "&" * 60})
    for number in range(2000, 2060):
        args = long.model_copy(update={"request": f"R-{number}"})
        world.put(notice(f"a{number}", args, Audience.CHANNEL, request=f"R-{number}"))
    world.run(40)
    assert len(world.items(OutboxState.SENT)) == 60
    for number in range(2000, 2060):
        assert sum(f"R-{number} " in text for text in world.texts(GPU)) == 1


def test_quiet_hours_hold_direct_notices_and_nothing_is_lost(world: World) -> None:
    world.desk.preferred[saying.BOB] = NIGHT
    world.put(*(preempted(number) for number in range(3)))
    world.run(600, step=20)
    assert world.texts(saying.BOB) == []
    world.now = MORNING
    world.run(5)
    (text,) = world.texts(saying.BOB)
    for number in range(3):
        assert f"R-{number} " in text


def test_quiet_hours_hold_the_mention_and_not_the_admission(world: World) -> None:
    world.desk.preferred[saying.ANN] = NIGHT
    world.put(admitted(2000))
    world.run(5)
    (text,) = world.texts(GPU)
    assert "Ann Meyer" in text
    assert f"<@{saying.ANN}>" not in text
    world.now = MORNING
    world.run(5)
    (later,) = world.texts(saying.ANN)
    assert "R-2000" in later


def test_what_happens_at_night_is_one_message_in_the_morning(world: World) -> None:
    world.desk.preferred[saying.ANN] = NIGHT
    world.put(*(admitted(number) for number in range(2000, 2020)))
    world.run(30)
    world.now = MORNING
    world.run(30)
    (text,) = world.texts(saying.ANN)
    assert text.count("R-20") == 20


def test_on_call_knows_no_quiet_hours(world: World) -> None:
    world.desk.preferred[saying.CAT] = NIGHT
    world.put(notice("s", saying.STARVING, Audience.ONCALL, urgent=True))
    call = saying.ESCALATED.model_copy(update={"called": saying.CAT})
    world.put(notice("e", call, Audience.PERSON, target=saying.CAT, urgent=True))
    world.run(3)
    assert len(world.texts(ONCALL)) == 1
    assert len(world.texts(saying.CAT)) == 1


def test_who_mutes_admissions_is_named_and_not_mentioned(world: World) -> None:
    world.desk.preferred[saying.ANN] = Preferences(notices=Notices.IMPORTANT)
    world.put(admitted(2000))
    world.run(5)
    assert "Ann Meyer" in world.texts(GPU)[0]
    assert f"<@{saying.ANN}>" not in world.texts(GPU)[0]
    assert world.items(OutboxState.PENDING) == ()
    world.put(notice("s", saying.STARVING, Audience.CHANNEL, urgent=True))
    world.run(5)
    assert f"<@{saying.ANN}>" in world.texts(GPU)[1]  # only admissions are muted


def test_notices_go_to_the_thread_for_who_wants_that(world: World) -> None:
    world.desk.preferred[saying.ANN] = Preferences(where=Where.THREAD)
    world.put(card())
    world.run(2)
    world.put(notice("l", saying.LEASE_ENDING, Audience.PERSON, target=saying.ANN))
    world.run(3)
    first, second = world.slack.told
    assert (second.channel, second.thread) == (GPU, first.ts)
    assert f"<@{saying.ANN}>" in second.message.text
    world.put(notice("o", saying.LEASE_ENDING, Audience.PERSON, request="R-7", target=saying.ANN))
    world.run(3)
    assert len(world.texts(saying.ANN)) == 1  # no card, no thread: directly then


def test_who_wants_no_notices_is_named_in_the_thread_and_disturbed_nowhere(world: World) -> None:
    world.desk.preferred[saying.ANN] = Preferences(notices=Notices.NONE)
    world.put(card())
    world.run(2)
    world.put(notice("l", saying.LEASE_ENDING, Audience.PERSON, target=saying.ANN))
    world.put(notice("s", saying.STARVING, Audience.CHANNEL, urgent=True))
    world.put(notice("o", saying.LEASE_ENDING, Audience.PERSON, request="R-7", target=saying.ANN))
    world.run(5)
    first, *others = world.slack.told
    assert [told.thread for told in others] == [None, first.ts]
    assert all(f"<@{saying.ANN}>" not in told.message.text for told in others)
    assert world.texts(saying.ANN) == []
    assert len(world.items(OutboxState.SENT)) == 4


def test_what_asks_something_of_a_person_comes_whatever_they_mute(world: World) -> None:
    world.desk.preferred[saying.ANN] = Preferences(notices=Notices.NONE)
    asked = notices.LinkAskedArgs(person=saying.BOB, team="nlp", until=saying.NOW)
    told = notice("link", asked, Audience.PERSON, target=saying.ANN)
    world.put(dataclasses.replace(told, request=None))
    world.run(3)
    assert len(world.texts(saying.ANN)) == 1


def test_a_direct_notice_is_in_the_language_of_its_reader(world: World) -> None:
    world.desk.preferred[saying.ANN] = Preferences(language=Language.CHINESE)
    for person in (saying.ANN, saying.BOB):
        world.put(notice(f"l{person}", saying.LEASE_ENDING, Audience.PERSON, target=person))
    world.run(3)
    assert world.texts(saying.ANN)[0].startswith("*租期")
    assert world.texts(saying.BOB)[0].startswith("*Lease ending*")


def test_an_on_call_notice_is_a_call_until_somebody_takes_it(world: World) -> None:
    world.put(notice("s", saying.STARVING, Audience.ONCALL, urgent=True))
    world.run(2)
    (told,) = world.slack.told
    assert "[Acknowledge]" in told.message.text
    with world.store.write() as work:
        (call,) = work.calls.at(told.channel, told.ts)
        assert work.calls.due(world.now) == ()
        assert work.calls.due(world.now + dt.timedelta(minutes=10)) == (call,)
        work.calls.acknowledge(call.key, saying.CAT, world.now)
        assert work.outbox.redo(told.channel, told.ts)
        assert work.calls.due(world.now + dt.timedelta(days=1)) == ()
    world.run(3)
    (told,) = world.slack.told
    assert "Acknowledged by Cat Lindqvist" in told.message.text
    assert "[Acknowledge]" not in told.message.text
    assert told.edits == 1


def test_a_burst_for_on_call_is_taken_and_drawn_whole(world: World) -> None:
    world.put(*(preempted_group(number, Audience.ONCALL) for number in range(2000, 2006)))
    world.run(6)
    _first, group = world.slack.told
    with world.store.write() as work:
        calls = work.calls.at(group.channel, group.ts)
        assert len(calls) == 5
        for call in calls:
            work.calls.acknowledge(call.key, saying.CAT, world.now)
        work.outbox.redo(group.channel, group.ts)
    before = group.message.text.split("[Acknowledge]")[0]
    world.run(3)
    assert len(world.slack.told) == 2
    assert group.message.text.startswith(before)
    assert "Acknowledged by Cat Lindqvist" in group.message.text


def test_an_on_call_notice_that_was_deleted_is_not_said_again(world: World) -> None:
    world.put(notice("s", saying.STARVING, Audience.ONCALL, urgent=True))
    world.run(2)
    (told,) = world.slack.told
    world.slack.told.clear()
    with world.store.write() as work:
        work.outbox.redo(told.channel, told.ts)
    world.run(5)
    assert world.slack.told == []
    assert world.items(OutboxState.PENDING, OutboxState.CLAIMED) == ()


@pytest.mark.parametrize("error", ["ratelimited", "missing_scope", "not_in_channel"])
def test_after_a_crash_without_any_history_all_is_said(world: World, error: str) -> None:
    """Need 94: nothing may depend on the history call."""

    def closed(method: str, channel: str) -> None:
        if method == "find":
            raise SlackRefused(error, wait=60.0)

    def die(_method: str, _channel: str) -> None:
        raise Crash

    world.put(ended(1), ended(2))
    world.slack.after = die
    with pytest.raises(Crash):
        world.announcer.tick(world.now)
    world.slack.after, world.slack.trouble = fine, closed
    world.announcer = world.fresh()
    world.now += dt.timedelta(minutes=3)
    world.run(400, step=2.0)
    assert world.items(OutboxState.PENDING, OutboxState.CLAIMED, OutboxState.DEAD) == ()
    assert {key for told in world.slack.told for key in told.keys} == {"ended:1", "ended:2"}
