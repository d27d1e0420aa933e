"""Message shortcuts, external selects, HTTP mode, and what was said long ago."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from slack_bolt import Ack, App, Respond
from slack_sdk import WebClient
from starlette.applications import Starlette

from bot.chat.markup import Markup
from bot.chat.message import Lines, build
from bot.chat.webslack import WebSlack
from bot.web.events import PATH, EventsDoor
from bot.web.server import WebServer
from bot.workspace.faults import FaultKind
from bot.workspace.options import Shortcut
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor, VisitorError
from tests.fixtures_workspace import (
    GENERAL,
    OpenWorkspace,
    app_of,
    client_of,
    connected,
    eventually,
)

Json = dict[str, Any]
WHY = Shortcut(callback_id="why", label="Why?", on_message=True)


def test_a_shortcut_of_a_message_says_which(open_workspace: OpenWorkspace) -> None:
    server = open_workspace(shortcuts=(WHY,))
    app = app_of(server)
    used: list[Json] = []

    @app.shortcut("why")
    def why(ack: Ack, body: Json, respond: Respond) -> None:
        ack()
        used.append(body)
        respond("because")

    ada = Visitor(server.base_url, "U0ADA")
    ts = str(ada.say(GENERAL, "look at this")["message"]["ts"])
    with connected(server, app):
        assert not ada.shortcut_on(GENERAL, ts, "why").get("error")
        eventually(lambda: ada.private(GENERAL))
        with pytest.raises(VisitorError, match="invalid_callback_id"):
            ada.shortcut_on(GENERAL, ts, "other")
        with pytest.raises(VisitorError, match="message_not_found"):
            ada.shortcut_on(GENERAL, "1.000001", "why")
    (body,) = used
    assert (body["type"], body["message_ts"], body["channel"]["id"]) == (
        "message_action",
        ts,
        GENERAL,
    )
    assert body["message"]["text"] == "look at this"


def _modal() -> Json:
    def plain(text: str) -> Json:
        return {"type": "plain_text", "text": text}

    menu = {"type": "external_select", "action_id": "node", "min_query_length": 2}
    block = {"type": "input", "block_id": "node", "label": plain("Node"), "element": menu}
    return {
        "type": "modal",
        "callback_id": "pick",
        "title": plain("Pick"),
        "submit": plain("Pick"),
        "blocks": [block],
    }


def test_an_external_select_offers_what_the_app_knows(workspace: WorkspaceServer) -> None:
    app = app_of(workspace)
    names = [f"gpu-{n:04}" for n in range(300)]

    @app.command("/gpu")
    def open_it(ack: Ack, body: Json, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=_modal())

    @app.options("node")
    def offer(ack: Ack, payload: Json) -> None:
        fits = [name for name in names if payload["value"] in name]
        most = fits if payload["value"] == "00" else fits[:100]
        ack(options=[{"text": {"type": "plain_text", "text": n}, "value": n} for n in most])

    @app.view("pick")
    def pick(ack: Ack, view: Json) -> None:
        ack()
        picked.append(view["state"]["values"]["node"]["node"]["selected_option"]["value"])

    picked: list[str] = []
    ada = Visitor(workspace.base_url, "U0ADA")
    with connected(workspace, app):
        ada.say(GENERAL, "/gpu")
        view: Json = eventually(ada.modal)
        assert [o["value"] for o in ada.suggest(view, "node", "0042")] == ["gpu-0042"]
        assert ada.suggest(view, "node", "4") == []  # too short to ask
        with pytest.raises(KeyError):
            ada.suggest(view, "node", "00")  # more than Slack takes
        option = {"text": {"type": "plain_text", "text": "gpu-0042"}, "value": "gpu-0042"}
        value = {"type": "external_select", "selected_option": option}
        assert ada.submit(view, {})["errors"]
        assert ada.submit(view, {"node": {"node": value}}) == {"ok": True}
    assert picked == ["gpu-0042"]


class HttpApp:
    """An app that is reached over HTTP, with its server."""

    def __init__(self, server: WorkspaceServer, secret: str) -> None:
        self.app = App(client=client_of(server), request_verification_enabled=False)
        self.heard: list[str] = []
        self.events: list[Json] = []
        self.lock = threading.Lock()
        self.app.command("/gpu")(self.on_command)
        self.app.event("message")(self.on_message)
        door = EventsDoor(self.app, signing_secret=secret)
        self.web = WebServer(Starlette(routes=door.routes()), host="127.0.0.1", port=0)
        self.web.start()
        server.workspace.sockets.request_url = f"http://127.0.0.1:{self.web.port}{PATH}"

    def on_command(self, ack: Ack, body: Json, respond: Respond) -> None:
        ack()
        self.heard.append(body["text"])
        respond("heard you")

    def on_message(self, body: Json) -> None:
        with self.lock:
            self.events.append(body)


@pytest.fixture
def http_app(workspace: WorkspaceServer) -> Iterator[HttpApp]:
    built = HttpApp(workspace, workspace.options.signing_secret)
    yield built
    built.web.stop()


def test_over_http_a_command_an_event_and_a_repeat_arrive(
    workspace: WorkspaceServer, http_app: HttpApp
) -> None:
    ada = Visitor(workspace.base_url, "U0ADA")
    assert not ada.say(GENERAL, "/gpu 16 h100 8h").get("error")
    assert http_app.heard == ["16 h100 8h"]
    eventually(lambda: ada.private(GENERAL))
    workspace.faults.add(FaultKind.DUPLICATE, match="events_api")
    ada.say(GENERAL, "hello")
    eventually(lambda: len(http_app.events) >= 2)
    assert len({body["event_id"] for body in http_app.events}) == 1


def test_over_http_a_wrong_secret_is_refused_and_the_person_is_told(
    workspace: WorkspaceServer,
) -> None:
    app = HttpApp(workspace, "not-the-secret-of-this-workspace")
    ada = Visitor(workspace.base_url, "U0ADA")
    try:
        assert ada.say(GENERAL, "/gpu 1 h100 1h")["error"] == "http_error"
    finally:
        app.web.stop()
    assert app.heard == []
    assert ada.say(GENERAL, "/gpu 1 h100 1h")["error"] == "dispatch_failed"


def test_a_message_is_found_among_many_hundreds(
    workspace: WorkspaceServer, client: WebClient
) -> None:
    slack = WebSlack(client)
    first = slack.post(GENERAL, build([Lines(Markup("the first"))]), keys=["card:R-1"])
    ada = Visitor(workspace.base_url, "U0ADA")
    for number in range(620):
        ada.say(GENERAL, f"line {number}")
    found = slack.find(GENERAL, ["card:R-1"], since=float(first.ts) - 1)
    assert found == {"card:R-1": first}
    seen = [m for m in ada.messages(GENERAL) if not m.get("is_ephemeral")]
    while more := ada.earlier(GENERAL, seen[0]["ts"]):
        seen = [*more, *seen]
    assert len(seen) == 621
    assert seen[0]["ts"] == first.ts
