"""The ASGI application: HTTP in, `dispatch` in the middle, faults around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.kube.cluster import Cluster
from tests.kube.dispatch import Answer, Call, refuse, serve
from tests.kube.faults import Effect, Fault, Faults
from tests.kube.routing import parse_path
from tests.kube.statuses import STALE, Refusal, conflict
from tests.kube.watching import BrokenConnection, Hub, Watch, stream

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Seen:
    """One request that was answered, for tests that count."""

    method: str
    path: str
    query: str
    agent: str
    code: int
    content_type: str = ""


class App:
    """Serves one cluster on the loop it is started in."""

    def __init__(self, cluster: Cluster, faults: Faults) -> None:
        self.cluster = cluster
        self.faults = faults
        self.requests: list[Seen] = []
        self.errors: list[Exception] = []
        self.hub: Hub | None = None
        self.skew = timedelta(0)  # how far the server's clock is ahead of everybody else's
        self.abort: Callable[[tuple[str, int]], None] = lambda _: None
        self._released = asyncio.Event()

    def attach(
        self, loop: asyncio.AbstractEventLoop, abort: Callable[[tuple[str, int]], None]
    ) -> None:
        """Tie the watches to the loop of the server; `abort` cuts the connection of a client."""
        hub = Hub(loop)
        self.abort = abort
        self.hub = hub
        self.cluster.store.listen(hub.notice)
        self._released = asyncio.Event()

    def release(self) -> None:
        """Cut the requests that hang; loop thread only."""
        self._released.set()
        self._released = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            await self._answer(scope, receive, send)
        except BrokenConnection:
            self.abort(scope["client"])
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await _read_call(scope, receive)
        query = scope["query_string"].decode("latin-1")
        fault = self.faults.take(call.method, call.path, query)
        if fault is not None and not await self._suffer(fault, call, send):
            return
        try:
            answer = serve(self.cluster, call)
        except Exception as error:
            self.errors.append(error)  # a fault of the emulator, which the fixture reports
            raise
        if fault is not None and fault.effect is Effect.LOST:
            raise BrokenConnection
        if isinstance(answer, Watch):
            self._note(call, scope, 200)
            await self._stream(answer, receive, send)
            return
        self._note(call, scope, answer.code)
        await self._send(send, answer)

    def _note(self, call: Call, scope: Scope, code: int) -> None:
        query = scope["query_string"].decode("latin-1")
        agent = call.headers.get("user-agent", "")
        self.requests.append(Seen(call.method, call.path, query, agent, code, call.content_type))

    async def _suffer(self, fault: Fault, call: Call, send: Send) -> bool:
        """Let a fault act; whether the request is still to be served."""
        if fault.effect is Effect.SLOW:
            await asyncio.sleep(fault.seconds)
        elif fault.effect is Effect.BEFORE and fault.action is not None:
            await asyncio.get_running_loop().run_in_executor(None, fault.action)
        elif fault.effect is Effect.ANSWER and fault.refusal is not None:
            await self._send(send, refuse(fault.refusal))
            return False
        elif fault.effect is Effect.CONFLICT:
            await self._send(send, refuse(_stale(call.path)))
            return False
        elif fault.effect is Effect.HANG:
            await self._released.wait()
            raise BrokenConnection
        elif fault.effect is Effect.CUT:
            raise BrokenConnection
        return True

    async def _send(self, send: Send, answer: Answer) -> None:
        headers = [
            self._date(),
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(len(answer.body)).encode()),
        ]
        headers += [(name.lower().encode(), text.encode()) for name, text in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.code, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _date(self) -> tuple[bytes, bytes]:
        """The Date header: the time of the cluster, plus its skew."""
        moment = self.cluster.clock.now() + self.skew
        return b"date", format_datetime(moment, usegmt=True).encode()

    async def _stream(self, watch: Watch, receive: Receive, send: Send) -> None:
        assert self.hub is not None, "the server attaches the app before it serves"
        headers = [
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
            self._date(),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        leaving = asyncio.ensure_future(_disconnected(receive, watch))
        try:
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            async for chunk in stream(self.cluster, self.hub, watch):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()


async def _disconnected(receive: Receive, watch: Watch) -> None:
    """Wake the watch when the client has gone."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            watch.stopped = "ended"
            watch.wake.set()
            return


async def _read_call(scope: Scope, receive: Receive) -> Call:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    path = unquote(scope["raw_path"].decode("latin-1") if scope.get("raw_path") else scope["path"])
    return Call(scope["method"], path, query, headers, body)


def _stale(path: str) -> Refusal:
    """409 about the object of a path: somebody wrote in between."""
    route = parse_path(path)
    if route is None:
        return conflict("", "objects", "", STALE)
    return conflict(route.group, route.plural, route.name, STALE)
