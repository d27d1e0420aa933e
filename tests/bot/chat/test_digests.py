"""A digest in Slack: words first, then its plots in the thread, each once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import notices
from bot.asks import Period
from bot.chat.ports import SlackRefused
from storage.records import Audience, Notice, OutboxState
from storage.store import open_store
from tests.bot.chat import saying
from tests.bot.chat.announcing import GPU, START, Crash, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(f"sqlite:///{tmp_path / 'gpubot.db'}")
    yield World(store)
    store.close()


def digest(target: str | None = None) -> Notice:
    args = notices.DigestArgs(period=Period.WEEK, until=START.timestamp())
    return Notice(
        key=f"digest:{target or 'channel'}:weekly:2026-01-05",
        kind=args.kind,
        audience=Audience.PERSON if target else Audience.CHANNEL,
        request=None,
        target=target,
        args=args.model_dump(mode="json"),
    )


def test_the_plots_follow_the_words_into_their_thread(world: World) -> None:
    world.put(digest())
    world.run(10)
    words, plots = world.slack.told
    assert (words.channel, words.thread) == (GPU, None)
    assert "GPU-hours" in words.message.text
    assert (plots.channel, plots.thread) == (GPU, words.ts)
    assert plots.keys == ("file:digest-channel-weekly-2026-01-05.png",)
    world.run(60)
    assert len(world.slack.told) == 2


def test_a_person_gets_theirs_in_a_direct_message(world: World) -> None:
    world.put(digest(saying.ANN))
    world.run(10)
    words, plots = world.slack.told
    assert words.channel == plots.channel == saying.ANN
    assert plots.thread == words.ts


def test_a_crash_after_the_upload_uploads_nothing_twice(world: World) -> None:
    def die(method: str, _channel: str) -> None:
        if method == "show":
            raise Crash

    world.slack.after = die
    world.put(digest())
    with pytest.raises(Crash):
        world.run(10)
    world.slack.after = lambda _method, _channel: None
    world.announcer = world.fresh()
    world.run(900, step=10)
    assert len([told for told in world.slack.told if told.thread]) == 1
    assert world.items(OutboxState.PENDING, OutboxState.CLAIMED, OutboxState.DEAD) == ()


def test_without_the_right_to_upload_the_words_stay(world: World) -> None:
    def forbid(method: str, _channel: str) -> None:
        if method == "show":
            raise SlackRefused("missing_scope")

    world.slack.trouble = forbid
    world.put(digest())
    world.run(900, step=10)
    first = next(told for told in world.slack.told if told.channel == GPU)
    assert first.message.text.startswith("*Digest*")
    (dead,) = world.items(OutboxState.DEAD)
    assert dead.notice.kind == notices.NoticeKind.DIGEST_PLOTS
