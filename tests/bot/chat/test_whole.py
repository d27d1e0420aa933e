"""Clicks that do not say what was clicked."""

from __future__ import annotations

import logging

import pytest

from tests.bot.chat import saying
from tests.bot.chat.room import Room


@pytest.mark.parametrize(
    "actions", [[], None, {}, [None], ["gpubot.why"], [{}], [{"action_id": 7}], 5], ids=str
)
def test_a_click_without_an_action_is_acknowledged_and_answered_once(
    room: Room, actions: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert room.press("gpubot.why", "{}", actions=actions).status == 200
        room.quiet()
    (answer,) = room.slack.of("respond")
    assert answer["response_type"] == "ephemeral"
    assert "does not work any more" in answer["text"]
    assert [record.getMessage() for record in caplog.records] == [
        "a click without an action was turned down"
    ]


def test_a_click_without_an_action_by_nobody_is_acknowledged(room: Room) -> None:
    assert room.press("gpubot.why", "{}", actions=[], user="").status == 200
    room.quiet()
    assert room.slack.of("respond", "chat.postMessage", "chat.postEphemeral") == []


def test_it_is_answered_in_the_language_of_who_clicked(room: Room) -> None:
    room.press("gpubot.why", "{}", actions=[], user=saying.CAT)
    room.quiet()
    (answer,) = room.slack.of("respond")
    assert "已经失效" in answer["text"]
