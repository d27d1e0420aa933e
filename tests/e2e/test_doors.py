"""The other ways in: HTTP instead of a socket, a message's menu, and a socket that goes deaf."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bot.chat import watchdog
from bot.chat.actions import WHY_OF_MESSAGE
from bot.composition import Bot
from bot.settings import read_settings
from bot.web.events import PATH
from bot.workspace.faults import FaultKind
from bot.workspace.options import Shortcut
from storage.states import RequestState as S
from tests.bot.house import ADA
from tests.e2e.rig import GENERAL, ONCALL, Rig, eventually

SHORTCUTS = (Shortcut(callback_id=WHY_OF_MESSAGE, label="Why?", on_message=True),)


class Doors(Rig):
    """A bot with a health port, over HTTP if that is said."""

    http = False

    def _join(self) -> None:
        object.__setattr__(self.server.options, "shortcuts", SHORTCUTS)
        options = self.server.options
        settings = read_settings(
            slack_api_url=self.server.api_url,
            bot_token=options.bot_token,
            app_token=None if self.http else options.app_token,
            signing_secret=options.signing_secret if self.http else None,
            http_port=0 if self.http else None,
            health_port=0,
        )
        self.house.core.desk.patience = 5.0
        self.bot = Bot(self.house.core, settings)
        self.bot.start()
        if self.http:
            url = f"http://127.0.0.1:{self.bot.hearing.http_port}{PATH}"
            self.server.workspace.sockets.request_url = url

    def health(self, what: str) -> httpx.Response:
        """What the health port says."""
        health = self.bot._health
        assert health is not None
        return httpx.get(f"http://127.0.0.1:{health.port}/{what}")


class HttpDoors(Doors):
    """The same over HTTP."""

    http = True


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    built = Doors(tmp_path)
    yield built
    built.close()


def test_over_http_a_request_goes_its_way(tmp_path: Path) -> None:
    rig = HttpDoors(tmp_path)
    try:
        ada = rig.visitor(ADA)
        answer = rig.command(ada, "/gpu 8 h100 4h name over-http")
        assert "R-1001" in answer["text"]
        card = rig.wait_for(ada, "over-http")
        assert rig.house.state("R-1001") is S.ADMITTED
        ada.say(GENERAL, "@gpubot why", thread_ts=card["ts"])
        eventually(lambda: [m for m in ada.thread(GENERAL, card["ts"]) if "R-1001" in m["text"]])
        assert rig.health("ready").status_code == 200
        assert rig.server.workspace.sockets.count == 0
    finally:
        rig.close()


def test_why_from_the_menu_of_a_card_and_of_something_else(doors: Doors) -> None:
    ada = doors.visitor(ADA)
    doors.command(ada, "/gpu 8 h100 4h name with-a-menu")
    card = doors.wait_for(ada, "with-a-menu")
    eventually(lambda: ada.thread(GENERAL, card["ts"])[1:])  # the answer goes not under the card
    ada.shortcut_on(GENERAL, card["ts"], WHY_OF_MESSAGE)
    why = eventually(lambda: ada.private(GENERAL)[1:])
    assert "R-1001" in why[0]["text"]
    other = ada.say(GENERAL, "lunch?")["message"]["ts"]
    ada.shortcut_on(GENERAL, other, WHY_OF_MESSAGE)
    which = eventually(lambda: ada.private(GENERAL)[2:])
    assert "R-1042" in which[0]["text"]  # an example, for it is not about any request


@pytest.mark.usefixtures("quick_pings")
def test_a_deaf_socket_is_found_out_told_and_mended(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = doors.visitor(ADA)
    doors.command(ada, "/gpu 8 h100 4h")
    assert doors.health("ready").status_code == 200
    monkeypatch.setattr(watchdog, "QUIET", 0.2)
    monkeypatch.setattr(watchdog, "PATIENCE", 0.2)
    monkeypatch.setattr(watchdog, "MOST_REBUILDS", 1000)  # not given up on a slow machine
    fault = doors.server.faults.add(FaultKind.DEAF, times=None)
    before = doors.server.workspace.sockets.deliveries
    assert before

    def doubted() -> bool:
        doors.bot.hearing.look()
        return doors.health("ready").status_code == 503

    eventually(doubted, seconds=20)
    assert fault.taken
    assert doors.health("live").status_code == 200
    doors.server.faults.clear()
    monkeypatch.setattr(watchdog, "PATIENCE", 2.0)  # what comes back has the time to

    def mended() -> bool:
        doors.bot.hearing.look()
        return doors.health("ready").status_code == 200

    eventually(mended, seconds=20)
    lines = [m for m in ada.messages(ONCALL) if "I listen here" in m["text"]]
    assert len(lines) == 1  # changed in place, however often it was tested
    assert "gpubot_slack_hears 1.0" in doors.health("metrics").text
    assert doors.command(ada, "/gpu mine")["text"]


def test_a_socket_that_stays_deaf_ends_the_bot(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "QUIET", 0.1)
    monkeypatch.setattr(watchdog, "PATIENCE", 0.1)
    doors.server.faults.add(FaultKind.DEAF, times=None)

    def failed() -> bool:
        doors.bot.hearing.look()
        return doors.bot.hearing.failed.is_set()

    eventually(failed, seconds=40)
    assert doors.health("live").status_code == 503
