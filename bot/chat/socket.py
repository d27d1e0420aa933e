"""Socket Mode: starts and stops slack_sdk's built-in client and knows when it last heard anything.

A socket that looks open and delivers nothing is deaf: `watchdog` finds out and has it rebuilt.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable

from slack_bolt import App
from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.chat.discreet import discreet_logger
from bot.chat.spool import Delivery, Spool

DEAF_AFTER = 60.0
"""Seconds without an event or pong after which the socket counts as deaf; pings go every 5 s."""

PING_SECONDS = 5.0
RECEIVE_BYTES = 65536
"""The client recurses once a read: its own 1,024 bytes would make long payloads deep."""


class SocketError(Exception):
    """Socket Mode could not be started; the message says what Slack answered."""


class SpooledHandler(SocketModeHandler):
    """Writes each delivery down before the app sees it, which is before it is acknowledged."""

    spool: Spool | None = None
    heard: Callable[[], None] = staticmethod(lambda: None)

    def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override] # the library's own signature differs from its base class, too
        """One envelope from Slack."""
        self.heard()
        if self.spool is None:
            super().handle(client, req)
            return
        headers = {name: str(value) for name, value in (build_headers(req) or {}).items()}
        delivery = Delivery(envelope_id=req.envelope_id, payload=req.payload or {}, headers=headers)
        with self.spool.keeping(delivery):
            super().handle(client, req)


class Socket:
    """One Socket Mode connection of an app. `clock` gives monotonic seconds.

    `heard` is told of every event, command and click.
    """

    def __init__(
        self,
        app: App,
        *,
        app_token: str,
        client: WebClient,
        clock: Callable[[], float] = time.monotonic,
        spool: Spool | None = None,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._on_event = heard
        self._spool = spool
        self._heard: float | None = None
        self._log: logging.Logger = discreet_logger("gpubot.chat.socket")
        self._app, self._token, self._client = app, app_token, client
        self._handler = self._new_handler()

    def start(self) -> None:
        """Connect and return; events arrive in the client's own threads. Raises SocketError."""
        self._log.setLevel(logging.NOTSET)
        try:
            self._handler.client.connect()
        except (SlackApiError, SlackClientError, OSError) as error:
            raise SocketError(f"Socket Mode did not start: {error}") from error
        self._heard = self._clock()

    def stop(self) -> None:
        """Close the connection; handlers that run are finished first."""
        hang_up(self._handler.client)

    def rebuild(self) -> bool:
        """Replace a deaf client by a new one; whether that one is connected."""
        self._log.warning("the socket has gone deaf; connecting anew")
        hang_up(self._handler.client)
        self._handler = self._new_handler()
        try:
            self.start()
        except SocketError as error:
            self._log.warning("%s", error)
            return False
        return True

    @property
    def connected(self) -> bool:
        """Whether a session is open, which is not yet proof that it delivers."""
        return bool(self._handler.client.is_connected())

    @property
    def last_heard(self) -> float | None:
        """When the last event or pong came, on the clock given; None before the start."""
        session = self._handler.client.current_session
        pong = session.last_ping_pong_time if session is not None else None
        if pong is not None:  # the client notes pongs in wall time
            age = max(0.0, time.time() - pong)
            return max(self._heard or 0.0, self._clock() - age)
        return self._heard

    @property
    def deaf(self) -> bool:
        """Whether nothing was heard for too long."""
        heard = self.last_heard
        return heard is not None and self._clock() - heard > DEAF_AFTER

    def _new_handler(self) -> SocketModeHandler:
        handler = SpooledHandler(
            self._app,
            app_token=self._token,
            web_client=self._client,
            logger=self._log,
            ping_interval=PING_SECONDS,
            receive_buffer_size=RECEIVE_BYTES,
        )
        handler.spool, handler.heard = self._spool, self._on_event
        handler.client.on_message_listeners.append(self._note)
        return handler

    def _note(self, message: str) -> None:
        del message
        self._heard = self._clock()


def hang_up(client: SocketModeClient) -> None:
    """Close a client at once.

    By itself it would wait up to three seconds until its own read has ended, connect again if
    that ended by an end of the connection, and look another second for messages. A TLS socket is
    shut below TLS: its reader then sees an end, not an error. Pings end before that.
    """
    client.closed = True
    client.message_queue.put(None)
    if client.current_app_monitor.is_alive():
        client.current_app_monitor.shutdown()  # type: ignore[no-untyped-call] # has no types there
    client.auto_reconnect_enabled = False
    client.current_session_state.terminated = True
    session = client.current_session
    open_socket = None if session is None else session.sock
    if open_socket is not None:
        with contextlib.suppress(OSError):  # the other side was faster
            socket.socket.shutdown(open_socket, socket.SHUT_RDWR)
    client.close()
