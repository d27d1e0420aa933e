"""A message that is drawn anew while somebody is about to press a button of it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bot.workspace.server import WorkspaceServer
from tests.fixtures_workspace import GENERAL, client_of


def blocks(block_id: str, value: str) -> list[dict[str, Any]]:
    button = {
        "type": "button",
        "action_id": "cancel",
        "value": value,
        "text": {"type": "plain_text", "text": "Cancel"},
    }
    return [{"type": "actions", "block_id": block_id, "elements": [button]}]


@pytest.mark.parametrize(
    ("pressed", "error"),
    [
        ({"value": "R-1"}, "dispatch_failed"),  # found; only nobody is connected to hear of it
        ({"value": "R-2"}, "action_not_found"),
        ({}, "action_not_found"),
        ({"value": "R-1", "action_id": "release"}, "action_not_found"),
    ],
    ids=["the same button", "another value", "no value", "another button"],
)
def test_the_same_button_with_the_same_value_is_meant(
    workspace: WorkspaceServer, pressed: dict[str, str], error: str
) -> None:
    bot = client_of(workspace)
    ts = bot.chat_postMessage(channel=GENERAL, text="card", blocks=blocks("old", "R-1"))["ts"]
    bot.chat_update(channel=GENERAL, ts=str(ts), text="card", blocks=blocks("new", "R-1"))
    action = {"block_id": "old", "action_id": "cancel", "type": "button", **pressed}
    answer = httpx.post(
        f"{workspace.base_url}/page/press",
        json={"person": "U0ADA", "channel": GENERAL, "ts": ts, "action": action},
    )
    assert answer.json()["error"] == error
