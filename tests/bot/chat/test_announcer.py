"""The announcer against a real outbox, a Slack in memory and a clock that the test turns."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.chat.lanes import Bucket, Rate
from bot.chat.memory import LEASE_SECONDS
from bot.chat.ports import SlackRefused, SlackUnreachable
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
    unreachable,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(f"sqlite:///{tmp_path / 'gpubot.db'}")
    yield World(store)
    store.close()


def test_the_thread_waits_for_its_card_and_lies_under_it(world: World) -> None:
    world.put(
        notice("requeued:1", saying.REQUEUED, Audience.THREAD),
        notice("ended:1", saying.ENDED, Audience.THREAD),
        card(),
    )
    world.run(6)
    first, second, third = world.slack.told
    assert first.keys == ("card:R-1042",)
    assert [second.keys, third.keys] == [("requeued:1",), ("ended:1",)]
    assert second.thread == third.thread == first.ts


def test_a_card_is_updated_in_place(world: World) -> None:
    world.put(card())
    world.run(2)
    world.desk.cards["R-1042"] = saying.RUNNING
    world.put(card())
    world.run(2)
    (told,) = world.slack.told
    assert told.edits == 1
    assert told.message.text.startswith("*Running*")


def test_a_card_that_somebody_deleted_is_posted_again(world: World) -> None:
    world.put(card())
    world.run(2)
    world.slack.told.clear()
    world.put(card())
    world.run(2)
    assert len(world.slack.told) == 1
    world.put(card())
    world.run(2)
    assert world.slack.told[0].edits == 1


def test_many_changes_of_a_card_are_one_update(world: World) -> None:
    world.put(card())
    world.run(2)
    for _ in range(50):
        world.put(card())
    world.run(3)
    assert world.slack.told[0].edits == 1


def test_a_burst_is_one_at_once_and_few_groups_that_name_all(world: World) -> None:
    world.put(*(admitted(number) for number in range(2000, 2500)))
    world.announcer.tick(world.now)
    assert len(world.texts(GPU)) == 1
    world.run(60)
    texts = world.texts(GPU)
    assert len(texts) <= 12
    for number in range(2000, 2500):
        assert sum(f"R-{number} " in text for text in texts) == 1
    assert world.items(OutboxState.PENDING, OutboxState.CLAIMED) == ()
    at_once = [told.at for told in world.slack.told]
    assert max(at_once) - START <= dt.timedelta(seconds=60)


def test_single_admissions_far_apart_each_go_at_once(world: World) -> None:
    for number in range(3):
        world.put(admitted(2000 + number))
        world.announcer.tick(world.now)
        assert len(world.texts(GPU)) == number + 1
        world.run(40)


def test_one_message_a_second_in_a_channel_after_the_burst(world: World) -> None:
    world.put(*(ended(number) for number in range(30)))
    world.run(40)
    times = [(told.at - START).total_seconds() for told in world.slack.told]
    assert len(times) == 30
    for second in range(40):
        assert sum(second <= at < second + 10 for at in times) <= 14
    assert [told.keys[0] for told in world.slack.told] == [f"ended:{n}" for n in range(30)]


def test_urgent_overtakes_a_full_lane_within_three_seconds(world: World) -> None:
    world.put(*(ended(number) for number in range(150)))
    world.run(10)
    asked = world.now
    world.put(notice("starving:1", saying.STARVING, Audience.CHANNEL, urgent=True))
    world.run(5)
    (told,) = [told for told in world.slack.told if told.keys == ("starving:1",)]
    assert (told.at - asked).total_seconds() <= 3
    world.run(180)
    assert len(world.slack.told) == 151


def test_retry_after_is_obeyed_and_nothing_is_lost_or_reordered(world: World) -> None:
    limited_at: list[dt.datetime] = []

    def limit(method: str, channel: str) -> None:
        if world.slack.calls == 5:
            limited_at.append(world.now)
            raise SlackRefused("ratelimited", wait=17.0)

    world.slack.trouble = limit
    world.put(*(ended(number) for number in range(12)))
    world.run(60)
    assert [told.keys[0] for told in world.slack.told] == [f"ended:{n}" for n in range(12)]
    later = [told.at for told in world.slack.told if told.at >= limited_at[0]]
    assert min(later) - limited_at[0] >= dt.timedelta(seconds=17)


def test_another_channel_is_not_held_up(world: World) -> None:
    def limit(method: str, channel: str) -> None:
        if channel == GPU:
            raise SlackRefused("ratelimited", wait=60.0)

    world.slack.trouble = limit
    world.put(ended(1), notice("s", saying.STARVING, Audience.ONCALL, urgent=True))
    world.run(3)
    assert len(world.texts(ONCALL)) == 1


@pytest.mark.parametrize(
    "told",
    [
        card(),
        ended(1),
        notice("p", saying.preempted("R-1", saying.BOB, "rl"), Audience.PERSON, target="U0BOB"),
    ],
    ids=["card", "channel", "person"],
)
def test_a_crash_between_post_and_note_says_nothing_twice(world: World, told: Notice) -> None:
    world.put(told)
    world.slack.after = _die
    with pytest.raises(Crash):
        world.announcer.tick(world.now)
    restart(world)
    world.run(5)
    assert [each.keys for each in world.slack.told] == [(told.key,)]
    (item,) = world.items(OutboxState.SENT)
    assert (item.channel, item.ts) == (world.slack.told[0].channel, world.slack.told[0].ts)


def test_a_crash_after_a_group_neither_repeats_nor_swallows(world: World) -> None:
    world.put(*(admitted(number) for number in range(2000, 2010)))
    world.announcer.tick(world.now)
    world.slack.after = _die
    with pytest.raises(Crash):
        world.run(40)
    restart(world)
    world.put(*(admitted(number) for number in range(2010, 2015)))  # they join what is left
    world.run(60)
    said = [key for told in world.slack.told for key in told.keys]
    assert sorted(said) == sorted(admitted(number).key for number in range(2000, 2015))
    assert len(world.items(OutboxState.SENT)) == 15


def _die(_method: str, _channel: str) -> None:
    raise Crash


def restart(world: World) -> None:
    """A new process, once the claims of the dead one have run out."""
    world.slack.after = fine
    world.now += dt.timedelta(seconds=LEASE_SECONDS + 1)
    world.announcer = world.fresh()


def test_without_history_a_message_is_said_rather_than_lost(world: World) -> None:
    def no_history(method: str, channel: str) -> None:
        if method == "find":
            raise SlackRefused("missing_scope")

    world.put(ended(1))
    world.slack.trouble = unreachable
    world.run(2)
    world.slack.trouble = no_history
    world.run(30)
    assert len(world.texts(GPU)) == 1


def test_an_archived_channel_goes_to_oncall_with_one_alert(world: World) -> None:
    tried = 0

    def archived(method: str, channel: str) -> None:
        nonlocal tried
        if channel == GPU:
            tried += 1
            raise SlackRefused("is_archived")

    world.slack.trouble = archived
    world.put(*(ended(number) for number in range(4)))
    world.run(20)
    alerts = [text for text in world.texts(ONCALL) if text.startswith("*Undeliverable*")]
    moved = [text for text in world.texts(ONCALL) if text.startswith("Meant for C0GPU")]
    assert len(alerts) == 1
    assert len(moved) == 4
    assert tried == 1
    world.announcer = world.fresh()
    world.put(ended(9))
    world.run(5)
    assert sum(text.startswith("*Undeliverable*") for text in world.texts(ONCALL)) == 1


def test_a_person_who_is_gone_is_a_dead_letter_and_one_alert(world: World) -> None:
    def gone(method: str, channel: str) -> None:
        if channel == "U0GONE":
            raise SlackRefused("user_not_found")

    world.slack.trouble = gone
    told = saying.preempted("R-1", "U0GONE", "rl")
    world.put(
        *(notice(f"p{n}", told, Audience.PERSON, target="U0GONE", urgent=True) for n in range(3))
    )
    world.run(10)
    assert len(world.items(OutboxState.DEAD)) == 3
    assert len(world.texts(ONCALL)) == 1


def test_rejected_blocks_are_sent_as_words(world: World) -> None:
    def picky(method: str, channel: str) -> None:
        if world.slack.calls == 1:
            raise SlackRefused("invalid_blocks")

    world.slack.trouble = picky
    world.put(card())
    world.run(2)
    (told,) = world.slack.told
    assert told.message.blocks == ()
    assert told.message.text.startswith("*Waiting*")


def test_slack_being_down_for_an_hour_loses_and_reorders_nothing(world: World) -> None:
    def down(method: str, channel: str) -> None:
        if world.now < START + dt.timedelta(hours=1):
            raise SlackUnreachable("timed out")

    world.slack.trouble = down
    world.put(*(ended(number) for number in range(6)))
    world.run(3600 + 330, step=5.0)
    assert [told.keys[0] for told in world.slack.told] == [f"ended:{n}" for n in range(6)]
    assert world.slack.calls < 60


def test_a_message_that_alone_is_refused_holds_nobody_up_and_is_given_up(world: World) -> None:
    def picky(method: str, channel: str) -> None:
        if "R-1042" not in world.desk.cards and method == "post" and channel == GPU:
            return
        if channel == GPU and (world.slack.calls == 1 or world.slack.calls > 3):
            raise SlackRefused("msg_too_long")

    world.slack.trouble = picky
    world.put(ended(1), ended(2), ended(3))
    world.run(2)
    assert [told.keys[0] for told in world.slack.told] == ["ended:2", "ended:3"]
    world.run(300)
    (dead,) = world.items(OutboxState.DEAD)
    assert (dead.notice.key, dead.error) == ("ended:1", "msg_too_long")


@pytest.mark.parametrize(
    "broken",
    [
        dataclasses.replace(ended(1), args={"kind": "ended", "nonsense": 1}),
        dataclasses.replace(ended(1), kind="no-such-kind"),
        card("R-404"),
    ],
    ids=["args", "kind", "request"],
)
def test_a_notice_that_cannot_be_drawn_is_buried_alone(world: World, broken: Notice) -> None:
    world.put(broken, ended(2))
    world.run(4)
    assert len(world.texts(GPU)) == 1
    assert len(world.items(OutboxState.DEAD)) == 1
    assert len(world.texts(ONCALL)) == 1


def test_stopping_gives_everything_back_at_once(world: World) -> None:
    world.put(*(ended(number) for number in range(20)))
    world.announcer.tick(world.now)
    world.announcer.stop(world.now)
    world.announcer = world.fresh()
    world.run(25)
    assert len(world.texts(GPU)) == 20
    assert all(item.attempts <= 1 for item in world.items(OutboxState.SENT))


def test_a_tick_with_nothing_to_say_says_nothing(world: World) -> None:
    tick = world.announcer.tick(world.now)
    assert (tick.posts, tick.updates, tick.held) == (0, 0, 0)


def test_a_bucket_refills_at_its_rate_and_waits_when_told() -> None:
    bucket = Bucket(Rate(2.0, 3))
    assert [bucket.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.take(10.5)
    assert not bucket.take(10.9)
    assert bucket.next_at(11.0) == 11.0
    bucket.block(20.0)
    assert not bucket.take(19.9)
    assert bucket.next_at(12.0, ahead=2) == pytest.approx(21.0)
    assert bucket.take(20.0)
    assert not bucket.take(5.0)
