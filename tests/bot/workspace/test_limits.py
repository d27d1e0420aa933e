"""Slack's limits: sizes of messages, blocks and modals, and how often one may call."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from bot.workspace.blocks import BlockCheck, check_view
from bot.workspace.rates import SLACK_RATES, Rate, RateLimits
from bot.workspace.server import WorkspaceServer
from bot.workspace.wire import Ids, RateLimitedError
from tests.fixtures_workspace import GENERAL, ONCALL, OpenWorkspace, client_of

Json = dict[str, Any]


def plain(length: int) -> Json:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> Json:
    return {"type": "mrkdwn", "text": "x" * length}


def button(text: int = 1, **more: Any) -> Json:
    return {"type": "button", "text": plain(text), **more}


def section(**more: Any) -> Json:
    return {"type": "section", "text": mrkdwn(1), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def option(n: int = 1) -> Json:
    return {"text": plain(1), "value": "v" * n}


CASES: list[tuple[Json, str]] = [
    ({"type": "section", "text": mrkdwn(3001)}, "must be less than 3001 characters"),
    ({"type": "section", "text": mrkdwn(0)}, "must be more than 0 characters"),
    ({"type": "section"}, "missing required field: text or fields"),
    ({"type": "section", "fields": [mrkdwn(1)] * 11}, "no more than 10 items allowed"),
    ({"type": "section", "fields": [mrkdwn(2001)]}, "must be less than 2001 characters"),
    ({"type": "header", "text": plain(151)}, "must be less than 151 characters"),
    ({"type": "header", "text": mrkdwn(1)}, "must be one of plain_text"),
    ({"type": "context", "elements": [mrkdwn(1)] * 11}, "no more than 10 items allowed"),
    (actions(*[button() for _ in range(26)]), "no more than 25 items allowed"),
    (actions(), "no fewer than 1 items allowed"),
    (actions(button(76)), "must be less than 76 characters"),
    (actions(button(action_id="a" * 256)), "must be less than 256 characters"),
    (actions(button(value="v" * 2001)), "must be less than 2001 characters"),
    (actions(button(style="loud")), "must be one of primary, danger"),
    (actions(button(action_id="a"), button(action_id="a")), "already exists"),
    (actions({"type": "overflow", "options": [option()] * 6}), "no more than 5 items allowed"),
    (actions({"type": "overflow", "options": [option(151)]}), "must be less than 151 characters"),
    (actions({"type": "video"}), "unsupported type: video"),
    (section(accessory=button(confirm={"title": plain(101)})), "must be less than 101 characters"),
    (section(block_id="b" * 256), "must be less than 256 characters"),
    ({"type": "image", "alt_text": "x"}, "missing required field: image_url or slack_file"),
    ({"type": "carousel"}, "unsupported type: carousel"),
]


@pytest.mark.parametrize(("block", "problem"), CASES, ids=[f"{n}" for n in range(len(CASES))])
def test_a_bad_block_is_named_with_its_place(client: WebClient, block: Json, problem: str) -> None:
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(channel=GENERAL, text="x", blocks=[section(), block])
    answer = caught.value.response
    assert answer["error"] == "invalid_blocks"
    assert len(answer["errors"]) == 1
    assert answer["errors"][0].startswith(problem) or problem in answer["errors"][0]
    assert "[json-pointer:/blocks/1" in answer["errors"][0]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {answer['errors'][0]}"]


def test_the_largest_allowed_message_passes(client: WebClient) -> None:
    full: list[Json] = [
        {"type": "section", "text": mrkdwn(3000), "fields": [mrkdwn(2000)] * 10},
        {"type": "header", "text": plain(150)},
        actions(*[button(75, value="v" * 2000, action_id=f"{n}{'a' * 240}") for n in range(25)]),
    ]
    blocks = full + [section() for _ in range(47)]
    assert client.chat_postMessage(channel=GENERAL, text="x" * 40_000, blocks=blocks)["ok"]
    with pytest.raises(SlackApiError, match="no more than 50 items allowed"):
        client.chat_postMessage(channel=GENERAL, text="x", blocks=[*blocks, section()])
    with pytest.raises(SlackApiError, match="msg_too_long"):
        client.chat_postMessage(channel=GENERAL, text="x" * 40_001)
    with pytest.raises(SlackApiError, match="no_text"):
        client.api_call("chat.postMessage", json={"channel": GENERAL, "text": " "})
    with pytest.raises(SlackApiError, match="already exists"):
        client.chat_postMessage(
            channel=GENERAL, text="x", blocks=[section(block_id="b"), section(block_id="b")]
        )


def modal(**more: Any) -> Json:
    return {"type": "modal", "title": plain(24), "blocks": [section()], **more}


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (modal(title=plain(25)), "must be less than 25 characters [json-pointer:/view/title/text]"),
        (modal(submit=plain(25)), "must be less than 25 characters"),
        (modal(private_metadata="x" * 3001), "must be less than 3001 characters"),
        (modal(blocks=[section() for _ in range(101)]), "no more than 100 items allowed"),
        (modal(blocks="none"), "must be an array"),
        ({"type": "modal", "blocks": []}, "missing required field: title"),
        ({"type": "window"}, "must be one of modal, home"),
        (
            modal(
                blocks=[
                    {
                        "type": "input",
                        "label": plain(1),
                        "element": {"type": "plain_text_input", "action_id": "a"},
                    }
                ]
            ),
            "missing required field: submit",
        ),
    ],
)
def test_a_bad_modal_is_refused(view: Json, problem: str) -> None:
    _, problems = check_view(view, Ids(1))
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_a_bad_modal_is_refused_over_the_wire(
    workspace: WorkspaceServer, client: WebClient
) -> None:
    trigger = workspace.look(lambda space: space.triggers.issue("U0ADA"))
    with pytest.raises(SlackApiError) as caught:
        client.views_open(trigger_id=trigger, view=modal(title=plain(25)))
    assert caught.value.response["error"] == "invalid_arguments"
    assert "json-pointer:/view/title/text" in str(caught.value.response["response_metadata"])


def test_ids_are_given_to_what_came_without() -> None:
    check = BlockCheck(Ids(1))
    [filled] = check.blocks([actions(button(), button())], "message")
    names = [element["action_id"] for element in filled["elements"]]
    assert filled["block_id"]
    assert all(names)
    assert len(set(names)) == 2


def test_a_burst_passes_and_then_one_message_a_second() -> None:
    clock = [0.0]
    limits = RateLimits(now=lambda: clock[0])
    burst = SLACK_RATES["chat.postMessage"].burst
    for _ in range(burst):
        limits.check("chat.postMessage", GENERAL)
    with pytest.raises(RateLimitedError) as caught:
        limits.check("chat.postMessage", GENERAL)
    assert caught.value.retry_after == 1
    limits.check("chat.postMessage", ONCALL)
    clock[0] += 1.0
    limits.check("chat.postMessage", GENERAL)
    with pytest.raises(RateLimitedError):
        limits.check("chat.postMessage", GENERAL)


def test_too_many_calls_are_answered_429_with_retry_after(open_workspace: OpenWorkspace) -> None:
    rates = {"chat.postMessage": Rate(per_minute=2, burst=1, by_channel=True)}
    client = client_of(open_workspace(limits=RateLimits(rates=rates, other=None)))
    client.chat_postMessage(channel=GENERAL, text="one")
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(channel=GENERAL, text="two")
    assert caught.value.response.status_code == 429
    assert caught.value.response["error"] == "ratelimited"
    assert 1 <= int(caught.value.response.headers["Retry-After"]) <= 30


def test_a_client_that_obeys_retry_after_gets_through(open_workspace: OpenWorkspace) -> None:
    rates = {"chat.postMessage": Rate(per_minute=600, burst=1, by_channel=True)}
    client = client_of(open_workspace(limits=RateLimits(rates=rates, other=None)))
    client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=2))
    for text in ("one", "two"):
        client.chat_postMessage(channel=GENERAL, text=text)
    assert len(client.conversations_history(channel=GENERAL)["messages"]) == 2
