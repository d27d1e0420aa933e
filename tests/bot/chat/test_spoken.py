"""What counts as said to the bot, and what of a delivery cannot be taken as it is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.asks import Ask
from bot.chat import grammar
from bot.chat.actions import ActionId, PageValue
from bot.chat.cards.requests import buttons
from bot.chat.spoken import after_mention, as_delivered, make_storable, storable
from tests.bot.chat import saying
from tests.bot.chat.room import BOT, GPU, Room
from tests.bot.chat.slack_server import slack_server

SAID = {"type": "app_mention", "channel": GPU, "user": saying.ANN, "ts": "1.1"}
DIRECT = {"type": "message", "channel_type": "im", "channel": "D0ANN", "user": saying.ANN}
ASK = "16 h100 8h"


@pytest.fixture
def room() -> Iterator[Room]:
    with slack_server() as slack:
        room = Room(slack)
        yield room
        room.worker.shutdown()


def submit(room: Room, callback: str, metadata: str) -> None:
    room.send(
        {
            "type": "view_submission",
            "team": {"id": "T0"},
            "user": {"id": saying.ANN},
            "view": {
                "id": "V9",
                "type": "modal",
                "callback_id": callback,
                "private_metadata": metadata,
                "state": {"values": {"size": {"size": {"value": "16"}}}},
            },
        }
    )


@pytest.mark.parametrize("said", [SAID, DIRECT])
def test_an_edited_message_is_not_said_again(room: Room, said: dict[str, Any]) -> None:
    text = f"<@{BOT}> {ASK}"
    edited = {"user": saying.ANN, "ts": "1.2"}
    room.send(room.event({**said, "ts": "1.1", "text": text, "edited": edited}))
    room.quiet()
    assert room.desk.asks == []
    assert room.slack.of("chat.postMessage", "chat.postEphemeral") == []


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message"])
def test_what_a_person_says_in_another_way_is_said(room: Room, subtype: str) -> None:
    room.send(room.event({**DIRECT, "ts": "1.1", "text": ASK, "subtype": subtype}))
    assert room.said("chat.postMessage")
    assert len(room.desk.asks) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"<@{BOT}> why R-7", "why R-7"),
        (f"<@{BOT}>: why R-7", "why R-7"),
        (f"<@{BOT}>, why R-7", "why R-7"),
        (f"<@{BOT}>：为什么 R-7", "为什么 R-7"),
        (f"<@{BOT}> ，为什么 R-7", "为什么 R-7"),
        (f"<@{BOT}>:", ""),
        (f"why R-7 <@{BOT}>:", "why R-7"),
        (f"<@{BOT}> ?", "?"),
        (f"<@{BOT}> -4 h100", "-4 h100"),
        (f'<@{BOT}>: "4" h100', '"4" h100'),
        (f"why R-7 <@{BOT}>", "why R-7"),
        (f"hey <@{BOT}> why R-7", "why R-7"),
        (f"<@{BOT}>", ""),
        ("why R-7", "why R-7"),
    ],
)
def test_a_command_stands_after_the_mention_or_before_it(text: str, said: str) -> None:
    assert after_mention(text, BOT) == said


def test_a_name_with_what_no_database_keeps_is_kept_without(room: Room) -> None:
    room.command(f"{ASK} name «a\x00b\ud800c»")
    room.said("respond")
    ((_, ask, _),) = room.desk.asks
    assert ask.name == "a b\ufffdc"
    assert storable(ask.text) == ask.text


@given(
    st.recursive(
        st.text() | st.none() | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=3), x),
    )
)
def test_everything_in_a_delivery_can_be_stored(value: Any) -> None:
    body = {"value": value, "text": "a\x00\udfff"}
    make_storable(body, lambda: None)
    shown = json.dumps(body["value"], ensure_ascii=False)
    assert body["text"] == "a \ufffd"
    assert storable(shown) == shown


@pytest.mark.parametrize("metadata", ["junk", '{"v":2,"channel":"C0GPU"}', "[]", '{"channel":7}'])
def test_a_form_of_another_version_is_still_a_request(room: Room, metadata: str) -> None:
    submit(room, "gpubot.form", metadata)
    assert room.said("chat.postMessage")[0]["channel"] == saying.ANN
    assert len(room.desk.asks) == 1


@pytest.mark.parametrize("callback", ["gpubot.edit-form", "gpubot.form-of-tomorrow"])
def test_a_form_that_is_not_known_any_more_changes_nothing(room: Room, callback: str) -> None:
    submit(room, callback, "junk")
    assert "older message" in room.said("chat.postMessage")[0]["text"]
    assert room.desk.asks == []


def test_a_quota_without_a_number_is_no_button_of_ours(room: Room) -> None:
    value = {"v": 1, "kind": "quota", "target": "nlp", "reason": "x"}
    room.press(ActionId.ORDER, json.dumps(value))
    assert "older message" in room.said("respond")[0]["text"]


@given(st.text())
def test_what_a_button_carries_can_be_stored(text: str) -> None:
    value = json.dumps({"v": 1, "what": f"\x00{text}"[:80], "page": 1})
    found = PageValue.model_validate_json(value)
    assert found.what is not None
    assert storable(found.what) == found.what


_ANY_NAME = st.text(st.sampled_from("ab &<>@!|#;ampltgt«»「」“”\"'`"), min_size=1, max_size=20)


@given(_ANY_NAME.filter(lambda name: name.strip() and "»" not in name))
def test_the_line_of_a_button_asks_for_what_was_tried(name: str) -> None:
    asked = Ask(gpus=16, model="h100", name=name)
    line = f"request {grammar.spell(asked)}"
    found = grammar.parse(as_delivered(line))
    assert isinstance(found, grammar.Request)
    assert dataclasses.replace(found.ask, text="") == asked


def test_cancel_on_a_card_that_waited_stops_nothing_that_runs_by_now(room: Room) -> None:
    drawn = buttons(saying.VOICE, room.desk.cards["R-1042"])
    cancel = next(each for each in drawn if each.action is ActionId.CANCEL)
    room.desk.cards["R-1042"] = saying.RUNNING
    room.press(cancel.action, cancel.value)
    question = room.said("respond")[0]
    assert "Cancelling it stops everything it runs" in question["text"]
    assert room.desk.cards["R-1042"].state.holding
    (button,) = question["blocks"][-1]["elements"]
    room.press(button["action_id"], button["value"])
    assert "R-1042 is cancelled" in room.said("respond", count=2)[1]["text"]
