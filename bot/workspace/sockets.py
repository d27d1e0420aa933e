"""Socket Mode, Slack's side: connections of the app, envelopes, acknowledgements, retries.

Each envelope goes to one connection, in turn. An event that is not acknowledged in time is
sent again with `retry_attempt`; a command or a click is not, its person sees the failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import secrets
import time
import uuid
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.workspace.faults import FaultKind, Faults
from bot.workspace.options import Options
from bot.workspace.posting import Poster, PostError
from bot.workspace.wire import Json

TICKET_LIFE = 30.0
"""Seconds in which an address from apps.connections.open has to be used."""


class DeliveryError(Exception):
    """An envelope was not acknowledged; `code` is what Slack shows to the person."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True, eq=False)
class Connection:
    """One WebSocket of the app."""

    socket: WebSocket
    number: int
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, body: Json) -> None:
        """Send one message; a broken socket is found out by its reader, not here."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            async with self.sending:
                await self.socket.send_text(json.dumps(body, ensure_ascii=False))


@dataclass(slots=True, kw_only=True)
class Delivered:
    """What became of an envelope, for tests and the page's figures."""

    kind: str
    envelope_id: str
    seconds: float
    """From sending to the acknowledgement."""


class Sockets:
    """All connections of the app, and what is on its way to it."""

    def __init__(self, options: Options, faults: Faults, app_id: str) -> None:
        self._options = options
        self.request_url = options.request_url
        self._faults = faults
        self._app_id = app_id
        self._tickets: dict[str, float] = {}
        self._connections: list[Connection] = []
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._numbers = itertools.count(1)
        self._turns = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watchers: list[Callable[[], None]] = []
        self.deliveries: deque[Delivered] = deque(maxlen=10_000)

    @property
    def count(self) -> int:
        """How many connections the app has now."""
        return len(self._connections)

    def watch(self, watcher: Callable[[], None]) -> None:
        """Be told when a connection comes or goes."""
        self._watchers.append(watcher)

    def issue_ticket(self) -> str:
        """A one-time right to connect, part of the address given to the app."""
        now = time.monotonic()
        self._tickets = {t: at for t, at in self._tickets.items() if now - at < TICKET_LIFE}
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = now
        return ticket

    async def endpoint(self, socket: WebSocket) -> None:
        """Serve one connection of the app until it ends."""
        issued = self._tickets.pop(socket.query_params.get("ticket", ""), None)
        if issued is None or time.monotonic() - issued > TICKET_LIFE:
            await socket.close(code=4401)
            return
        await socket.accept()
        connection = Connection(socket, next(self._numbers))
        await connection.send(self._hello(connection))
        self._connections.append(connection)
        self._tell()
        if self._options.connection_lifetime is not None:
            self.spawn(self._expire(connection, self._options.connection_lifetime))
        try:
            while True:
                self._acknowledge(await socket.receive_text())
        except (WebSocketDisconnect, KeyError):
            pass  # the app went away, or sent a binary frame, which Socket Mode does not know
        finally:
            self._forget(connection)

    def _hello(self, connection: Connection) -> Json:
        return {
            "type": "hello",
            "num_connections": self.count + 1,
            "debug_info": {
                "host": f"applink-local-{connection.number}",
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": self._app_id},
        }

    def _acknowledge(self, text: str) -> None:
        try:
            body = json.loads(text)
        except ValueError:
            return
        if not isinstance(body, dict):
            return
        waiting = self._waiting.get(str(body.get("envelope_id")))
        if waiting is not None and not waiting.done():
            payload = body.get("payload")
            waiting.set_result(payload if isinstance(payload, dict) else {})

    def _forget(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            self._tell()

    def _tell(self) -> None:
        for watcher in self._watchers:
            watcher()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside, until it is done or the server stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire(self, connection: Connection, after: float) -> None:
        await asyncio.sleep(after)
        await self._refresh(connection)

    async def _refresh(self, connection: Connection) -> None:
        """Ask the app to connect anew; nothing more is sent on the old socket."""
        if connection not in self._connections:
            return
        self._connections.remove(connection)
        self._tell()
        reason = {"type": "disconnect", "reason": "refresh_requested"}
        await connection.send({**reason, "debug_info": {"host": "applink-local"}})

    async def refresh(self) -> None:
        """Ask all connections to come anew, as Slack does every few hours."""
        for connection in list(self._connections):
            await self._refresh(connection)

    async def drop(self) -> None:
        """Break all connections without a word."""
        for connection in list(self._connections):
            await self._break(connection)

    async def _break(self, connection: Connection) -> None:
        self._forget(connection)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await connection.socket.close(code=1011)

    async def stop(self) -> None:
        """Give up what is on its way, and close."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.drop()

    async def request(self, kind: str, payload: Json) -> Json:
        """Deliver a command or a click once; returns what came with the acknowledgement.

        Raises:
            DeliveryError: `dispatch_failed` without a connection, `operation_timeout` when
                nobody acknowledged within three seconds.

        """
        envelope = {"type": kind, "accepts_response_payload": True, "payload": payload}
        return await self._deliver(kind, envelope)

    def event(self, event: Json, team_id: str, bot_user: str) -> None:
        """Send an event, again if it is not acknowledged; returns at once."""
        payload = {
            "token": "local-workspace",
            "team_id": team_id,
            "api_app_id": self._app_id,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{uuid.uuid4().hex[:10].upper()}",
            "event_time": int(time.time()),
            "is_ext_shared_channel": False,
            "authorizations": [
                {"enterprise_id": None, "team_id": team_id, "user_id": bot_user, "is_bot": True}
            ],
        }
        self.spawn(self._send_event(payload))

    async def _send_event(self, payload: Json) -> None:
        reason = ""
        for attempt, delay in enumerate((None, *self._options.retry_delays)):
            if delay:
                await asyncio.sleep(delay)
            envelope: Json = {
                "type": "events_api",
                "accepts_response_payload": False,
                "payload": payload,
                "retry_attempt": attempt,
                "retry_reason": reason,
            }
            try:
                await self._deliver("events_api", envelope)
            except DeliveryError as error:
                reason = "timeout" if error.code == "operation_timeout" else "connection_failed"
            else:
                return

    async def _deliver(self, kind: str, envelope: Json) -> Json:
        if self.request_url is not None:
            return await self._post(kind, envelope, self.request_url)
        if not self._connections:
            raise DeliveryError("dispatch_failed")
        envelope = {"envelope_id": str(uuid.uuid4()), **envelope}
        name = str(envelope["envelope_id"])
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[name] = waiting
        started = time.monotonic()
        late = self._faults.take(FaultKind.LATE, kind)
        if late is not None:
            self.spawn(self._send_late(kind, envelope, late.seconds))
        else:
            await self._send(kind, envelope)
        try:
            answer = await asyncio.wait_for(waiting, self._options.ack_timeout)
        except TimeoutError as error:
            raise DeliveryError("operation_timeout") from error
        finally:
            self._waiting.pop(name, None)
        self.deliveries.append(
            Delivered(kind=kind, envelope_id=name, seconds=time.monotonic() - started)
        )
        return answer

    async def _post(self, kind: str, envelope: Json, url: str) -> Json:
        """Deliver over HTTP; duplicates and delays are Slack's here, too."""
        poster = Poster(url, self._options.signing_secret, self._options.ack_timeout)
        late = self._faults.take(FaultKind.LATE, kind)
        if late is not None:
            await asyncio.sleep(late.seconds)
        if self._faults.take(FaultKind.LOST, kind) or self._faults.take(FaultKind.DEAF, kind):
            raise DeliveryError("operation_timeout")
        started = time.monotonic()
        try:
            answer = await poster.post(kind, envelope)
            if self._faults.take(FaultKind.DUPLICATE, kind):
                await poster.post(kind, {**envelope, "retry_attempt": 1, "retry_reason": "timeout"})
        except PostError as error:
            raise DeliveryError(error.code) from error
        name = str(uuid.uuid4())
        self.deliveries.append(
            Delivered(kind=kind, envelope_id=name, seconds=time.monotonic() - started)
        )
        return answer

    async def _send_late(self, kind: str, envelope: Json, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._send(kind, envelope)

    async def _send(self, kind: str, envelope: Json) -> None:
        if not self._connections or self._faults.take(FaultKind.LOST, kind):
            return
        connection = self._connections[next(self._turns) % len(self._connections)]
        if self._faults.take(FaultKind.DEAF, kind):
            return
        await connection.send(envelope)
        if self._faults.take(FaultKind.DUPLICATE, kind):
            other = self._connections[next(self._turns) % len(self._connections)]
            await other.send(envelope)
        if self._faults.take(FaultKind.DROPPED, kind):
            await self._break(connection)
