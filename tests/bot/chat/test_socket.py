"""The whole chat over a real socket: the local workspace, the Bolt app, the announcer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.chat.app import build_app, identify
from bot.chat.routing import Places
from bot.chat.socket import DEAF_AFTER, Socket, SocketError
from bot.chat.voices import Voices
from bot.chat.webslack import SlackThreads, WebSlack, resolve_channel
from bot.workspace.faults import FaultKind
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from storage.records import OutboxState
from storage.store import open_store
from tests.bot.chat import saying
from tests.bot.chat.announcing import admitted, announcer_of, card, ended
from tests.bot.chat.desks import MemoryDesk, MemoryOnce
from tests.fixtures_workspace import GENERAL, ONCALL, client_of, eventually
from tests.storage import samples

Json = dict[str, Any]


class Running:
    """A connected bot and one person at the page."""

    def __init__(self, server: WorkspaceServer) -> None:
        self.server, self.desk, self.once = server, MemoryDesk(), MemoryOnce()
        self.now = 1000.0
        client = client_of(server)
        self.app = build_app(
            self.desk,
            client=client,
            identity=identify(client),
            voices=Voices(saying.VOICE),
            once=self.once,
            threads=SlackThreads(client),
        )
        self.socket = Socket(
            self.app,
            app_token=server.options.app_token,
            client=client,
            clock=lambda: self.now,
        )
        self.ada = Visitor(server.base_url, "U0ADA")

    def answer(self, count: int = 1) -> Json:
        """The last of at least `count` private answers to Ada in the channel."""
        found: list[Json] = eventually(
            lambda: seen if len(seen := self.ada.private(GENERAL)) >= count else None
        )
        return found[-1]


@pytest.fixture
def bot(workspace: WorkspaceServer) -> Iterator[Running]:
    running = Running(workspace)
    running.socket.start()
    eventually(lambda: workspace.workspace.sockets.count)
    yield running
    running.socket.stop()


def test_a_command_a_button_and_a_page_of_the_queue(bot: Running) -> None:
    bot.ada.say(GENERAL, "/gpu 16 h100 8h")
    answer = bot.answer()
    assert "R-2001" in answer["text"]
    bot.ada.press(GENERAL, answer["ts"], "gpubot.why")
    why = bot.answer(2)
    assert "3rd in line" in why["text"]
    bot.ada.press(GENERAL, why["ts"], "gpubot.cancel")
    assert "R-2001 is cancelled" in bot.answer(3)["text"]
    bot.ada.say(GENERAL, "/gpu queue nlp")
    listed = bot.answer(4)
    bot.ada.press(GENERAL, listed["ts"], "gpubot.next")
    eventually(lambda: any("Page 2 of 40" in m["text"] for m in bot.ada.private(GENERAL)))


def test_a_mistake_shows_its_place(bot: Running) -> None:
    bot.ada.say(GENERAL, "/gpu 16 h100 8")
    assert "        ^" in bot.answer()["text"]


def test_the_form_and_its_errors(bot: Running) -> None:
    bot.ada.say(GENERAL, "/gpu")
    view: Json = eventually(bot.ada.modal)
    wrong = bot.ada.submit(view, {"size": {"size": {"type": "plain_text_input", "value": "0"}}})
    assert set(wrong["errors"]) == {"size"}
    right = {"size": {"size": {"type": "plain_text_input", "value": "2 nodes"}}}
    assert not bot.ada.submit(view, right).get("errors")
    assert "R-2001" in bot.answer()["text"]
    ((_, ask, channel),) = bot.desk.asks
    assert (ask.nodes, ask.model, channel) == (2, "h100", GENERAL)


def test_a_direct_message_and_the_home_tab(bot: Running) -> None:
    bot.ada.say(bot.ada.direct(), "mine")
    eventually(lambda: any("*Yours*" in m["text"] for m in bot.ada.messages(bot.ada.direct())))
    bot.ada.open_home()
    home: Json = eventually(lambda: bot.ada.boot()["home"])
    assert home["blocks"][0]["text"]["text"] == "Your GPUs"
    bot.ada.press_in_view(home, "gpubot.refresh")


def test_every_event_delivered_three_times_is_answered_once(bot: Running) -> None:
    bot.server.faults.add(FaultKind.DUPLICATE, times=None)
    bot.ada.say(GENERAL, "/gpu 16 h100 8h")
    bot.ada.say(GENERAL, "@gpubot 8 h100 8h")
    eventually(lambda: len(bot.ada.thread(GENERAL, _last(bot))) > 1)
    bot.answer()
    bot.app.listener_runner.listener_executor.shutdown(wait=True)
    assert len(bot.ada.private(GENERAL)) == 1
    assert len(bot.ada.thread(GENERAL, _last(bot))) == 2
    assert len(bot.desk.asks) == 2


def _last(bot: Running) -> str:
    mine = [m for m in bot.ada.messages(GENERAL) if m.get("user") == bot.ada.person]
    return str(mine[-1]["ts"])


def test_the_socket_knows_when_it_heard_something_last(bot: Running) -> None:
    bot.ada.say(GENERAL, "/gpu mine")
    bot.answer()
    assert bot.socket.connected
    assert not bot.socket.deaf
    session = bot.socket._handler.client.current_session
    assert session is not None
    session.last_ping_pong_time = None
    bot.now += DEAF_AFTER + 1
    assert bot.socket.deaf


def test_a_wrong_token_says_what_slack_said(workspace: WorkspaceServer) -> None:
    running = Running(workspace)
    running.socket._handler.client.app_token = "xapp-wrong"  # noqa: S105 it is wrong on purpose
    with pytest.raises(SocketError, match="invalid_auth"):
        running.socket.start()
    running.socket.stop()


def test_announcing_into_the_workspace(workspace: WorkspaceServer, tmp_path: Path) -> None:
    client = client_of(workspace)
    slack, desk = WebSlack(client), MemoryDesk()
    now = dt.datetime.now(dt.UTC)
    store = open_store(f"sqlite:///{tmp_path / 'gpubot.db'}")
    places = Places(channel=resolve_channel(client, "#gpu-resources"), oncall=ONCALL)
    announcer = announcer_of(store, slack, desk, places)
    ada = Visitor(workspace.base_url, "U0ADA")
    with store.write() as work:
        for number in (1042, 2000, 1):
            work.requests.add(samples.request(f"R-{number}"))
        for notice in (card(), admitted(2000), ended(1)):
            work.outbox.put(notice, now)
    announcer.tick(now)
    told = ada.messages(GENERAL)
    assert [m["text"].split(" ")[0] for m in told] == ["*Waiting*", "*Admitted*", "*Released*"]
    found = slack.find(GENERAL, ["card:R-1042", "ended:1", "x"], since=now.timestamp() - 60)
    assert {key: posted.ts for key, posted in found.items()} == {
        "card:R-1042": told[0]["ts"],
        "ended:1": told[2]["ts"],
    }
    assert SlackThreads(client).request_at(GENERAL, told[0]["ts"]) == "R-1042"
    assert SlackThreads(client).request_at(GENERAL, told[1]["ts"]) is None
    desk.cards["R-1042"] = saying.RUNNING
    with store.write() as work:
        work.outbox.put(card(), now)
    announcer.tick(now)
    assert ada.messages(GENERAL)[0]["text"].startswith("*Running*")
    with store.read() as view:
        assert len(view.outbox.items(OutboxState.SENT)) == 3
    store.close()
    with pytest.raises(KeyError):
        resolve_channel(client, "no-such-channel")
