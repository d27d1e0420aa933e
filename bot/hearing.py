"""How Slack reaches the bot, and how the bot knows that it does.

Over Socket Mode, or over HTTP where a port is set for it. Both write down what comes before
it is acknowledged, both feed the watchdog, and both take up what an earlier process left.
"""

from __future__ import annotations

import logging
import threading
import time

from slack_bolt import App
from slack_sdk import WebClient
from starlette.applications import Starlette

from bot.chat.catchup import CatchUp
from bot.chat.ports import Posted
from bot.chat.selftest import SelfTest
from bot.chat.socket import Socket
from bot.chat.spool import Spool
from bot.chat.voice import Voice
from bot.chat.watchdog import Watchdog
from bot.chat.webslack import WebSlack
from bot.clock import WallClock
from bot.settings import Settings
from bot.web.events import EventsDoor
from bot.web.server import WebServer
from storage.records import Setting
from storage.store import Store

MARK = "selftest"
"""The setting that holds where the line of the self test is."""

log = logging.getLogger(__name__)


class Hearing:
    """Starts and stops the way in. `failed` is set when nothing helps against deafness."""

    def __init__(
        self,
        app: App,
        settings: Settings,
        *,
        client: WebClient,
        store: Store,
        voice: Voice,
        channel: str,
        spool: Spool | None,
    ) -> None:
        self.failed = threading.Event()
        self._catch_up = CatchUp(app, spool)
        self._socket: Socket | None = None
        self._web: WebServer | None = None
        if settings.http_port is not None and settings.signing_secret is not None:
            secret = settings.signing_secret.get_secret_value()
            door = EventsDoor(app, signing_secret=secret, spool=spool, heard=self._heard)
            web = Starlette(routes=door.routes())
            self._web = WebServer(web, host=settings.listen, port=settings.http_port)
        elif settings.app_token is not None:
            token = settings.app_token.get_secret_value()
            self._socket = Socket(
                app, app_token=token, client=client, spool=spool, heard=self._heard
            )
        test = SelfTest(
            WebSlack(client),
            StoredMark(store),
            channel=channel,
            voice=voice,
            now=WallClock().now,
        )
        self.watchdog = Watchdog(
            ear=self._socket or OpenDoor(),
            test=test.run,
            give_up=self._give_up,
            now=time.monotonic(),
        )

    @property
    def http_port(self) -> int | None:
        """The port that Slack posts to, if it does."""
        return None if self._web is None else self._web.port

    @property
    def connected(self) -> bool:
        """Whether there is a way in at all."""
        return self._socket is None or self._socket.connected

    def start(self) -> None:
        """Let Slack in. Raises SocketError and WebError."""
        self._catch_up.start()
        if self._socket is not None:
            self._socket.start()
        if self._web is not None:
            self._web.start()

    def stop(self) -> None:
        """Hear nobody any more; what runs is finished first."""
        self._catch_up.stop()
        if self._socket is not None:
            self._socket.stop()
        if self._web is not None:
            self._web.stop()

    def look(self) -> None:
        """See whether Slack still reaches us."""
        self.watchdog.look(time.monotonic())

    def _heard(self) -> None:
        self.watchdog.heard(time.monotonic())

    def _give_up(self) -> None:
        if self._socket is not None:  # a new process has a new socket; a closed door is not ours
            self.failed.set()


class OpenDoor:
    """HTTP mode has no connection that could go deaf: Slack comes to us, or does not."""

    @property
    def deaf(self) -> bool:
        """Never by itself."""
        return False

    def rebuild(self) -> bool:
        """There is nothing to rebuild."""
        return True


class StoredMark:
    """Where the line of the self test is, over restarts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self) -> Posted | None:
        """Its place, if it was posted."""
        with self._store.read() as view:
            found = view.settings.get(MARK)
        if found is None:
            return None
        channel, _, ts = found.value.partition("/")
        return Posted(channel, ts)

    def write(self, posted: Posted) -> None:
        """Keep its place."""
        place = Setting(name=MARK, value=f"{posted.channel}/{posted.ts}", author="gpubot")
        with self._store.write() as work:
            work.settings.put(place)
