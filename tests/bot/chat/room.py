"""An app with its fakes, for tests that dispatch in-process what Slack would send."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk import WebClient

from bot.chat.app import Identity, build_app
from bot.chat.voices import Voices
from bot.chat.webslack import SlackThreads
from tests.bot.chat import saying
from tests.bot.chat.desks import MemoryDesk, MemoryOnce
from tests.bot.chat.slack_server import SlackServer, slack_server
from tests.bot.chat.test_rendering import filled

BOT = "U0BOT"
XOXB = "xoxb-test"  # as a token looks, without being one
GPU = "C0GPU"


class Room:
    """An app with its fakes, and the payloads people's clicks and words turn into."""

    def __init__(self, slack: SlackServer) -> None:
        self.slack, self.desk, self.once = slack, MemoryDesk(), MemoryOnce()
        client = WebClient(token=XOXB, base_url=f"{slack.url}/api/", retry_handlers=[])
        identity = Identity(bot_token=XOXB, user_id=BOT, bot_id="B0BOT", team_id="T0")
        # One worker makes an order of what Bolt starts, and `quiet` a barrier.
        self.worker = ThreadPoolExecutor(max_workers=1)
        self.app: App = build_app(
            self.desk,
            client=client,
            identity=identity,
            voices=Voices(saying.VOICE, chosen={saying.CAT: "zh"}.get),
            once=self.once,
            threads=SlackThreads(client),
            workers=self.worker,
        )
        self.number = 0

    def send(self, body: dict[str, Any], *, retry: int | None = None) -> BoltResponse:
        headers: dict[str, str | Sequence[str]] = {}
        if retry is not None:
            headers["x-slack-retry-num"] = str(retry)
        request = BoltRequest(mode="socket_mode", body=body, headers=headers)
        return self.app.dispatch(request)

    def command(self, text: str, *, user: str = saying.ANN, trigger: str = "") -> BoltResponse:
        return self.send(self.command_body(text, user=user, trigger=trigger))

    def command_body(
        self, text: str, *, user: str = saying.ANN, trigger: str = ""
    ) -> dict[str, Any]:
        return {
            "command": "/gpu",
            "text": text,
            "user_id": user,
            "channel_id": GPU,
            "team_id": "T0",
            "trigger_id": trigger or self.fresh("13.37"),
            "response_url": f"{self.slack.url}/respond/secret",
            "token": "verification-secret",
        }

    def event(self, event: dict[str, Any], *, event_id: str = "") -> dict[str, Any]:
        return {
            "type": "event_callback",
            "team_id": "T0",
            "event_id": event_id or self.fresh("Ev"),
            "event": event,
        }

    def mention(self, text: str, **more: Any) -> BoltResponse:
        said = {"type": "app_mention", "user": saying.ANN, "channel": GPU, "ts": "5.1", **more}
        return self.send(self.event({**said, "text": f"<@{BOT}> {text}"}))

    def press(
        self,
        action: str,
        value: str,
        *,
        user: str = saying.ANN,
        trigger: str = "",
        **more: Any,
    ) -> BoltResponse:
        return self.send(
            {
                "type": "block_actions",
                "team": {"id": "T0"},
                "user": {"id": user},
                "trigger_id": trigger or self.fresh("99.1"),
                "actions": [
                    {"type": "button", "action_id": action, "block_id": "b", "value": value}
                ],
                "response_url": f"{self.slack.url}/respond/secret",
                "channel": {"id": GPU},
                "container": {"type": "message", "message_ts": "1.1", "channel_id": GPU},
                **more,
            }
        )

    def submit_form(self, *, view_id: str = "V1", **values: str) -> BoltResponse:
        return self.send(
            {
                "type": "view_submission",
                "team": {"id": "T0"},
                "user": {"id": saying.ANN},
                "view": {
                    "id": view_id,
                    "type": "modal",
                    "callback_id": "gpubot.form",
                    "private_metadata": json.dumps({"v": 1, "channel": GPU}),
                    "state": {"values": filled(**values)},
                },
            }
        )

    def fresh(self, stem: str) -> str:
        self.number += 1
        return f"{stem}.{self.number}"

    def said(self, *methods: str, count: int = 1) -> list[dict[str, Any]]:
        """The calls of these methods, once there are `count`; handlers run in Bolt's threads."""
        until(lambda: len(self.slack.of(*methods)) >= count)
        return self.slack.of(*methods)

    def quiet(self) -> None:
        """Wait until all handlers that were started are done."""
        self.worker.submit(lambda: None).result(timeout=10)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


@pytest.fixture
def room() -> Iterator[Room]:
    with slack_server() as slack:
        room = Room(slack)
        yield room
        room.worker.shutdown()


def request_value(request: str = "R-1042") -> str:
    return json.dumps({"v": 1, "request": request})
