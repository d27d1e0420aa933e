"""Slack over HTTP: only what Slack signed is heard, and it is written down first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from slack_bolt import App
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.signature import SignatureVerifier
from starlette.applications import Starlette

from bot.chat.spool import Spool
from bot.web.events import PATH, EventsDoor
from bot.web.server import WebServer

SECRET = "not-a-secret-but-long-enough"  # noqa: S105 - made up


class Heard:
    """An app behind the door, and what came through."""

    def __init__(self, spool: Spool) -> None:
        self.commands: list[str] = []
        self.waiting: list[int] = []
        self.proofs = 0
        self.app = App(
            authorize=lambda: AuthorizeResult(enterprise_id=None, team_id="T", bot_token="xoxb-x"),  # noqa: S106 - made up
            request_verification_enabled=False,
            token_verification_enabled=False,
            process_before_response=True,
        )
        self.app.command("/gpu")(self.on_command)
        self.spool = spool
        door = EventsDoor(self.app, signing_secret=SECRET, spool=spool, heard=self.on_proof)
        self.web = WebServer(Starlette(routes=door.routes()), host="127.0.0.1", port=0)
        self.web.start()
        self.url = f"http://127.0.0.1:{self.web.port}{PATH}"

    def on_command(self, ack: object, body: dict[str, str]) -> None:
        self.commands.append(body["text"])
        self.waiting.append(len(self.spool._waiting))
        assert callable(ack)
        ack()

    def on_proof(self) -> None:
        self.proofs += 1

    def post(self, text: str, *, secret: str = SECRET, at: float | None = None) -> int:
        body = urlencode({"command": "/gpu", "text": text, "user_id": "U1", "trigger_id": "1"})
        return self.send(body, "application/x-www-form-urlencoded", secret=secret, at=at)

    def send(self, body: str, kind: str, *, secret: str = SECRET, at: float | None = None) -> int:
        stamp = str(int(time.time() if at is None else at))
        signed = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
        headers = {
            "content-type": kind,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": signed or "",
        }
        return int(httpx.post(self.url, content=body, headers=headers).status_code)


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    spool = Spool(tmp_path / "spool")
    built = Heard(spool)
    yield built
    built.web.stop()
    spool.close()


def test_a_signed_command_is_written_down_and_carried_out(heard: Heard) -> None:
    assert heard.post("16 h100 8h") == 200
    assert heard.commands == ["16 h100 8h"]
    assert heard.waiting == [1]
    assert heard.spool._waiting == {}
    assert heard.proofs == 1


@pytest.mark.parametrize("late", [-400, 400])
def test_what_slack_did_not_sign_now_is_not_heard(heard: Heard, late: float) -> None:
    assert heard.post("16 h100 8h", secret="another") == 401  # noqa: S106 - wrong on purpose
    assert heard.post("16 h100 8h", at=time.time() + late) == 401
    assert httpx.post(heard.url, content="text=x").status_code == 401
    assert heard.commands == []
    assert heard.proofs == 0


def test_the_address_is_confirmed(heard: Heard) -> None:
    challenge = json.dumps({"type": "url_verification", "challenge": "abc", "token": "t"})
    assert heard.send(challenge, "application/json") == 200
