"""A message that is drawn anew while somebody is about to press a button of it."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from tests.fixtures_browser import LookAt
from tests.fixtures_workspace import GENERAL, ONCALL, client_of


def blocks(block_id: str, value: str, action_id: str = "cancel") -> list[dict[str, Any]]:
    button = {
        "type": "button",
        "action_id": action_id,
        "value": value,
        "text": {"type": "plain_text", "text": "Press"},
    }
    return [{"type": "actions", "block_id": block_id, "elements": [button]}]


@pytest.mark.parametrize(
    ("pressed", "error"),
    [
        ({"value": "R-1"}, "dispatch_failed"),  # found; only nobody is connected to hear of it
        ({"value": "R-2"}, "action_not_found"),
        ({"value": "R-1", "action_id": "release"}, "action_not_found"),
    ],
    ids=["the same button", "another value", "another button"],
)
@pytest.mark.parametrize(
    "anew",
    [
        blocks("new", "R-1"),
        [*blocks("old", "R-9", "take"), *blocks("new", "R-1")],
        [*blocks("old", "R-9"), *blocks("new", "R-1")],
    ],
    ids=["a new id", "its id for another button", "its id for another value"],
)
def test_the_same_button_with_the_same_value_is_meant(
    workspace: WorkspaceServer, pressed: dict[str, str], error: str, anew: list[dict[str, Any]]
) -> None:
    bot = client_of(workspace)
    ts = bot.chat_postMessage(channel=GENERAL, text="card", blocks=blocks("old", "R-1"))["ts"]
    bot.chat_update(channel=GENERAL, ts=str(ts), text="card", blocks=anew)
    assert press(workspace, ts, pressed) == error


def test_what_tells_no_value_is_found_by_its_block_alone(workspace: WorkspaceServer) -> None:
    bot = client_of(workspace)
    ts = bot.chat_postMessage(channel=GENERAL, text="card", blocks=blocks("old", "R-1"))["ts"]
    bot.chat_update(channel=GENERAL, ts=str(ts), text="card", blocks=blocks("new", "R-1"))
    assert press(workspace, ts, {}) == "action_not_found"


def press(workspace: WorkspaceServer, ts: object, pressed: dict[str, str]) -> object:
    action = {"block_id": "old", "action_id": "cancel", "type": "button", **pressed}
    answer = httpx.post(
        f"{workspace.base_url}/page/press",
        json={"person": "U0ADA", "channel": GENERAL, "ts": ts, "action": action},
    )
    return answer.json()["error"]


def test_a_visitor_says_what_the_button_carried(
    workspace: WorkspaceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, ada = client_of(workspace), Visitor(workspace.base_url, "U0ADA")
    ts = str(bot.chat_postMessage(channel=GENERAL, text="card", blocks=blocks("a", "R-1"))["ts"])
    seen = ada.messages(GENERAL)
    bot.chat_update(channel=GENERAL, ts=ts, text="card", blocks=blocks("b", "R-1"))
    monkeypatch.setattr(ada, "messages", lambda _channel: seen)
    answer = ada.press(GENERAL, ts, "cancel")
    assert answer["error"] == "dispatch_failed"  # found; only nobody is connected to hear of it


# ---- in a browser


def test_a_place_that_is_drawn_anew_while_it_is_pressed_is_gone_to(
    workspace: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(workspace.base_url)
    page.get_by_test_id("channel-gpu-oncall").hover()
    page.mouse.down()
    Visitor(workspace.base_url, "U0BEN").say(ONCALL, "news")
    expect(page).to_have_title(re.compile(r"^\(1\)"))  # by then all is drawn that can be
    page.mouse.up()
    expect(page.get_by_test_id("title")).to_have_text("#gpu-oncall")
    expect(page.get_by_test_id("unread-gpu-oncall")).to_have_count(0)


def test_a_button_that_is_drawn_anew_while_it_is_pressed_is_pressed(
    workspace: WorkspaceServer, look_at: LookAt
) -> None:
    bot = client_of(workspace)
    ts = str(bot.chat_postMessage(channel=GENERAL, text="card", blocks=blocks("a", "R-1"))["ts"])
    page = look_at(workspace.base_url)
    page.get_by_role("button", name="Press").hover()
    page.mouse.down()
    bot.chat_update(channel=GENERAL, ts=ts, text="card", blocks=blocks("b", "R-1"))
    Visitor(workspace.base_url, "U0BEN").say(ONCALL, "news")
    expect(page).to_have_title(re.compile(r"^\(1\)"))
    page.mouse.up()
    # Nobody is connected to hear of it, which is said: so it was pressed.
    expect(page.get_by_test_id("toast")).to_be_visible()
