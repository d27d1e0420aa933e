"""Who is spoken to in which language: own choice, Slack's locale, the channel's language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from slack_sdk import WebClient

from bot.chat.locales import FRESH, RETRY, Locales
from bot.chat.voices import Voices
from tests.bot.chat import saying
from tests.bot.chat.slack_server import SlackServer, slack_server

ANN, BOB, CAT = saying.ANN, saying.BOB, saying.CAT


def test_choice_goes_before_locale_and_locale_before_the_channel() -> None:
    voices = Voices(
        saying.VOICE,
        chosen={ANN: "en"}.get,
        locale={ANN: "zh-CN", BOB: "zh-CN"}.get,
    )
    spoken = {person: voices.of(person).words.language for person in (ANN, BOB, CAT)}
    assert spoken == {ANN: "en", BOB: "zh", CAT: "en"}


def test_a_stranger_is_spoken_to_as_the_channel_is() -> None:
    assert Voices(saying.VOICE.within("zh")).of(CAT).words.language == "zh"


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with slack_server() as server:
        server.locales = {ANN: "zh-CN"}
        yield server


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def locales(slack: SlackServer, clock: Clock) -> Locales:
    return Locales(WebClient(base_url=f"{slack.url}/api/"), now=clock)


def test_slack_is_asked_once_in_half_a_day(
    slack: SlackServer, locales: Locales, clock: Clock
) -> None:
    assert [locales.of(ANN) for _ in range(5)] == ["zh-CN"] * 5
    assert len(slack.of("users.info")) == 1
    assert slack.of("users.info")[0]["include_locale"] == "1"
    slack.locales[ANN] = "en-GB"
    clock.now = FRESH + 1
    assert locales.of(ANN) == "en-GB"


def test_what_is_known_stays_in_use_while_slack_cannot_be_asked(
    slack: SlackServer, locales: Locales, clock: Clock
) -> None:
    assert locales.of(ANN) == "zh-CN"
    clock.now = FRESH + 1
    slack.errors["users.info"] = ["fatal_error"] * 3
    assert [locales.of(ANN), locales.of(ANN)] == ["zh-CN", "zh-CN"]
    assert len(slack.of("users.info")) == 2
    clock.now += RETRY
    slack.locales[ANN] = "en-US"
    slack.errors["users.info"].clear()
    assert locales.of(ANN) == "en-US"


def test_nobody_known_is_nobody_s_language(slack: SlackServer, locales: Locales) -> None:
    slack.errors["users.info"] = ["user_not_found"]
    assert locales.of(CAT) is None
    assert locales.of(CAT) is None
    assert len(slack.of("users.info")) == 1
