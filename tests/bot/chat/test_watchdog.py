"""A deaf socket is found out, rebuilt, and in the end given up; in virtual time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.chat.message import Message
from bot.chat.ports import Posted, SlackRefused, SlackUnreachable
from bot.chat.selftest import SelfTest
from bot.chat.watchdog import MOST_REBUILDS, PATIENCE, QUIET, Watchdog
from tests.bot.chat.saying import VOICE


class Line:
    """A connection and Slack behind it. Events of tests come back while it is `whole`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.deaf = False
        self.whole = self.up = self.mended_by_rebuild = True
        self.tests: list[float] = []
        self.rebuilds: list[float] = []
        self.given_up = 0
        self.dog = Watchdog(ear=self, test=self.test, give_up=self.give_up, now=self.now)

    def test(self) -> bool:
        self.tests.append(self.now)
        if self.up and self.whole:
            self.dog.heard(self.now)
        return self.up

    def rebuild(self) -> bool:
        self.rebuilds.append(self.now)
        if self.up and self.mended_by_rebuild:
            self.whole, self.deaf = True, False
        return self.up

    def give_up(self) -> None:
        self.given_up += 1

    def run(self, seconds: float, events_every: float | None = None) -> None:
        """Look every ten seconds, as the bot does."""
        end = self.now + seconds
        while self.now < end:
            if events_every and self.now % events_every < 10:
                self.dog.heard(self.now)
            self.dog.look(self.now)
            self.now += 10.0


def test_a_busy_line_is_never_tested() -> None:
    line = Line()
    line.run(3600, events_every=60)
    assert (line.tests, line.rebuilds) == ([], [])
    assert line.dog.hears


def test_a_quiet_line_is_tested_now_and_then_and_trusted() -> None:
    line = Line()
    line.run(3600)
    assert 20 <= len(line.tests) <= 3600 / QUIET
    assert line.rebuilds == []
    assert line.dog.hears


def test_an_open_socket_that_delivers_nothing_is_rebuilt() -> None:
    line = Line()
    line.whole = False
    began = line.now
    line.run(QUIET + PATIENCE + 30)
    assert len(line.rebuilds) == 1
    assert line.rebuilds[0] - began <= QUIET + PATIENCE + 30
    assert line.dog.hears  # the test after it came back
    assert line.given_up == 0


def test_between_doubt_and_proof_the_bot_is_not_ready() -> None:
    line = Line()
    line.whole = line.mended_by_rebuild = False
    line.run(QUIET + PATIENCE + 30)
    assert not line.dog.hears
    line.dog.heard(line.now)
    assert line.dog.hears


def test_what_no_rebuild_mends_is_given_up_once() -> None:
    line = Line()
    line.whole = line.mended_by_rebuild = False
    line.run(3600)
    assert len(line.rebuilds) == MOST_REBUILDS
    assert line.given_up == 1
    assert line.dog.lost
    assert not line.dog.hears


def test_unanswered_pings_need_no_test() -> None:
    line = Line()
    line.deaf = True
    line.run(10)
    assert len(line.rebuilds) == 1
    assert line.dog.hears


def test_while_slack_is_down_nothing_is_proved_and_nobody_gives_up() -> None:
    line = Line()
    line.whole = line.up = False
    line.run(3600)
    assert line.tests
    assert line.rebuilds == []
    line.deaf = True
    line.run(3600)
    assert line.given_up == 0
    line.up, line.deaf = True, False
    line.run(600)
    assert line.dog.hears


class OneLine:
    """Slack with one message of ours in it, or none."""

    def __init__(self) -> None:
        self.posts: list[str] = []
        self.edits: list[str] = []
        self.trouble: Exception | None = None
        self.place: Posted | None = None

    def post(self, channel: str, message: Message, *, keys: Sequence[str]) -> Posted:
        assert list(keys) == ["selftest"]
        self._fail()
        self.posts.append(message.text)
        return Posted(channel, f"{len(self.posts)}.000000")

    def update(self, channel: str, ts: str, message: Message, *, keys: Sequence[str]) -> Posted:
        del keys
        self._fail()
        if ts != f"{len(self.posts)}.000000":
            raise SlackRefused("message_not_found")
        self.edits.append(message.text)
        return Posted(channel, ts)

    def read(self) -> Posted | None:
        return self.place

    def write(self, posted: Posted) -> None:
        self.place = posted

    def _fail(self) -> None:
        if self.trouble is not None:
            raise self.trouble


def test_the_self_test_posts_once_and_then_only_edits() -> None:
    slack, now = OneLine(), iter(range(1000, 9000, 60))
    test = SelfTest(slack, slack, channel="C0ONCALL", voice=VOICE, now=lambda: float(next(now)))
    assert all(test.run() for _ in range(10))
    assert len(slack.posts) == 1
    assert len(set(slack.edits)) == 9  # each differs, or Slack would send no event
    slack.place = Posted("C0ONCALL", "0.5")  # somebody took it away
    assert test.run()
    assert len(slack.posts) == 2


@pytest.mark.parametrize("error", [SlackRefused("is_archived"), SlackUnreachable("timed out")])
def test_a_self_test_that_cannot_be_sent_proves_nothing(error: Exception) -> None:
    slack = OneLine()
    test = SelfTest(slack, slack, channel="C0ONCALL", voice=VOICE, now=lambda: 1000.0)
    slack.trouble = error
    assert not test.run()
