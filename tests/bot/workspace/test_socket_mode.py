"""A real Bolt app over a real socket: commands, events, clicks, retries, lost sockets."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from slack_bolt import Ack, App, Respond
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as websocket

from bot.workspace.faults import FaultKind
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from tests.fixtures_workspace import (
    GENERAL,
    OpenWorkspace,
    app_of,
    client_of,
    connected,
    eventually,
)


class Heard:
    """What an app was told, in order; safe to fill from Bolt's threads."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def app(self, server: WorkspaceServer) -> App:
        """An app that acknowledges everything and remembers it."""
        app = app_of(server)
        for kind in ("message", "app_mention", "app_home_opened"):
            app.event(kind)(self.take)
        return app

    def take(self, body: dict[str, Any]) -> None:
        self.bodies.append(body)

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [b["event"] for b in list(self.bodies) if b["event"]["type"] == kind]


def test_a_command_is_acknowledged_and_answered(workspace: WorkspaceServer, ada: Visitor) -> None:
    app, seen = app_of(workspace), []

    @app.command("/gpu")
    def gpu(ack: Ack, respond: Respond, command: dict[str, Any]) -> None:
        ack()
        seen.append(command)
        respond(f"heard {command['text']}")

    with connected(workspace, app):
        assert ada.say(GENERAL, "/gpu 16 h100 8h @ben <b>") == {"ok": True}
        answer = eventually(lambda: ada.private(GENERAL))[-1]
    assert answer["text"] == "heard 16 h100 8h <@U0BEN|ben> &lt;b&gt;"
    assert seen[0]["channel_name"] == "gpu-resources"
    assert seen[0]["user_id"] == "U0ADA"
    assert Visitor(workspace.base_url, "U0BEN").private(GENERAL) == []


def test_text_in_the_acknowledgement_is_the_answer(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    app = app_of(workspace)

    @app.command("/gpu")
    def gpu(ack: Ack, command: dict[str, Any]) -> None:
        ack("only you") if command["text"] == "me" else ack(text="all", response_type="in_channel")

    with connected(workspace, app):
        ada.say(GENERAL, "/gpu me")
        ada.say(GENERAL, "/gpu us")
    assert [m["text"] for m in ada.messages(GENERAL)] == ["only you", "all"]
    assert [m["text"] for m in ada.private(GENERAL)] == ["only you"]


def test_without_an_app_the_person_is_told(workspace: WorkspaceServer, ada: Visitor) -> None:
    assert ada.say(GENERAL, "/gpu status")["error"] == "dispatch_failed"
    assert "dispatch_failed" in ada.private(GENERAL)[-1]["text"]


def test_an_app_that_does_not_acknowledge_times_out(open_workspace: OpenWorkspace) -> None:
    server = open_workspace(ack_timeout=0.2)
    app, release = app_of(server), threading.Event()

    @app.command("/gpu")
    def gpu(ack: Ack) -> None:
        release.wait(10)
        ack()

    ada = Visitor(server.base_url, "U0ADA")
    with connected(server, app):
        assert ada.say(GENERAL, "/gpu status")["error"] == "operation_timeout"
        release.set()
    assert "timed out" in ada.private(GENERAL)[-1]["text"]


def test_unknown_commands_and_commands_in_threads_are_refused(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    first = ada.say(GENERAL, "hello")["message"]["ts"]
    assert ada.say(GENERAL, "/gpus 3")["error"] == "unknown_command"
    assert ada.say(GENERAL, "/gpu why", thread_ts=first)["error"] == "not_supported_in_threads"
    assert "not supported in threads" in ada.thread(GENERAL, first)[-1]["text"]


def test_messages_and_mentions_reach_the_app(workspace: WorkspaceServer, ada: Visitor) -> None:
    heard = Heard()
    with connected(workspace, heard.app(workspace)):
        ada.say(GENERAL, "@gpubot why R-1 & <more>")
        ada.say(ada.direct(), "status")
        eventually(lambda: len(heard.bodies) >= 3)
    channel, direct = heard.events("message")
    assert channel["text"] == "<@U0GPUBOT> why R-1 &amp; &lt;more&gt;"
    assert (channel["channel_type"], direct["channel_type"]) == ("channel", "im")
    assert [e["text"] for e in heard.events("app_mention")] == [channel["text"]]


def test_edits_come_back_as_events(workspace: WorkspaceServer, ada: Visitor) -> None:
    app, seen = app_of(workspace), []

    @app.middleware
    def note(body: dict[str, Any], next: Any) -> None:  # noqa: A002 - Bolt passes it by this name
        seen.append(body["event"])
        next()

    app.event("message")(lambda: None)
    with connected(workspace, app):
        posted = ada.say(GENERAL, "one")["message"]["ts"]
        ada.edit(GENERAL, posted, "two")
        eventually(lambda: [e for e in seen if e.get("subtype") == "message_changed"])
    changed = next(e for e in seen if e.get("subtype") == "message_changed")
    assert changed["message"]["text"] == "two"
    assert changed["previous_message"]["text"] == "one"
    assert changed["message"]["ts"] == posted


def test_an_unacknowledged_event_is_sent_again(open_workspace: OpenWorkspace) -> None:
    server, heard = open_workspace(ack_timeout=0.2), Heard()
    server.faults.add(FaultKind.LOST, match="events_api")
    with connected(server, heard.app(server)):
        Visitor(server.base_url, "U0ADA").say(GENERAL, "once")
        eventually(lambda: heard.bodies)
    assert [e["text"] for e in heard.events("message")] == ["once"]


def test_retries_say_so_and_keep_the_event_id(open_workspace: OpenWorkspace) -> None:
    server, seen = open_workspace(ack_timeout=0.15), []
    app = app_of(server)
    with connected(server, app) as handler:
        handler.client.socket_mode_request_listeners.clear()
        handler.client.socket_mode_request_listeners.append(lambda _, request: seen.append(request))
        Visitor(server.base_url, "U0ADA").say(GENERAL, "nobody answers")
        eventually(lambda: len(seen) == 4)
    assert [r.retry_attempt for r in seen] == [0, 1, 2, 3]
    assert [r.retry_reason for r in seen] == ["", "timeout", "timeout", "timeout"]
    assert len({r.payload["event_id"] for r in seen}) == 1


def test_a_duplicate_delivers_the_same_envelope_twice(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    heard = Heard()
    fault = workspace.faults.add(FaultKind.DUPLICATE, match="events_api")
    with connected(workspace, heard.app(workspace)):
        ada.say(GENERAL, "twice")
        eventually(lambda: len(heard.bodies) == 2)
    assert len({body["event_id"] for body in heard.bodies}) == 1
    assert fault.taken == 1


def test_a_late_command_arrives_after_its_person_gave_up(open_workspace: OpenWorkspace) -> None:
    server, seen = open_workspace(ack_timeout=0.1), []
    app = app_of(server)

    @app.command("/gpu")
    def gpu(ack: Ack, command: dict[str, Any]) -> None:
        ack()
        seen.append(command["text"])

    server.faults.add(FaultKind.LATE, match="slash_commands", seconds=0.3)
    with connected(server, app):
        answer = Visitor(server.base_url, "U0ADA").say(GENERAL, "/gpu late")
        eventually(lambda: seen)
    assert answer["error"] == "operation_timeout"
    assert seen == ["late"]


def test_a_dropped_socket_is_rebuilt_by_the_client(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    heard = Heard()
    workspace.faults.add(FaultKind.DROPPED, match="events_api")
    with connected(workspace, heard.app(workspace)):
        ada.say(GENERAL, "before")
        eventually(lambda: not workspace.faults.active())
        eventually(lambda: workspace.workspace.sockets.count == 1)
        ada.say(GENERAL, "after")
        eventually(lambda: [e for e in heard.events("message") if e["text"] == "after"])


def test_a_refresh_request_makes_the_client_come_again(workspace: WorkspaceServer) -> None:
    with connected(workspace, app_of(workspace)) as handler:
        first = handler.client.session_id()
        workspace.refresh_sockets()
        eventually(lambda: handler.client.session_id() != first)
        eventually(lambda: workspace.workspace.sockets.count == 1)


def test_the_bots_own_messages_come_back_as_events(workspace: WorkspaceServer) -> None:
    seen: list[dict[str, Any]] = []
    client = client_of(workspace)
    with connected(workspace, app_of(workspace)) as handler:
        listeners = handler.client.socket_mode_request_listeners
        listeners.insert(0, lambda _, request: seen.append(request.payload["event"]))
        ts = client.chat_postMessage(channel=GENERAL, text="mine")["ts"]
        client.chat_update(channel=GENERAL, ts=ts, text="still mine")
        client.chat_delete(channel=GENERAL, ts=ts)
        eventually(lambda: [e for e in seen if e.get("subtype") == "message_deleted"])
    own = next(e for e in seen if e["ts"] == ts)
    assert (own["bot_id"], own["user"]) == ("B0GPUBOT", "U0GPUBOT")
    assert {e.get("subtype") for e in seen} == {None, "message_changed", "message_deleted"}


def test_a_ticket_opens_one_connection(workspace: WorkspaceServer) -> None:
    client = client_of(workspace)
    url = client.apps_connections_open(app_token=workspace.options.app_token)["url"]
    with websocket(url) as socket:
        hello = json.loads(socket.recv())
    assert hello["type"] == "hello"
    assert hello["connection_info"] == {"app_id": "A0GPUBOT"}
    assert "host" in hello["debug_info"]
    with pytest.raises(InvalidStatus):
        websocket(url)


def test_a_deaf_socket_stays_open_and_carries_nothing(open_workspace: OpenWorkspace) -> None:
    server, heard = open_workspace(ack_timeout=0.1, retry_delays=()), Heard()
    ada = Visitor(server.base_url, "U0ADA")
    with connected(server, heard.app(server)):
        fault = server.faults.add(FaultKind.DEAF, times=None)
        ada.say(GENERAL, "unheard")
        eventually(lambda: fault.taken)
        assert server.workspace.sockets.count == 1
        server.faults.clear()
        ada.say(GENERAL, "heard")
        eventually(lambda: heard.bodies)
    assert [e["text"] for e in heard.events("message")] == ["heard"]


def test_each_event_goes_to_one_of_several_connections(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    one, two = Heard(), Heard()
    with (
        connected(workspace, one.app(workspace)),
        connected(workspace, two.app(workspace)),
    ):
        for number in range(6):
            ada.say(GENERAL, f"message {number}")
        eventually(lambda: len(one.bodies) + len(two.bodies) == 6)
    assert len(one.bodies) == len(two.bodies) == 3
