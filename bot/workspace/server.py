"""The local workspace as a server in a thread of its own, on loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.workspace.faults import Fault, FaultKind, Faults
from bot.workspace.options import Options
from bot.workspace.page import PageApi
from bot.workspace.people import Directory
from bot.workspace.webapi import WebApi
from bot.workspace.wire import Json
from bot.workspace.workspace import Workspace

STATIC = Path(__file__).parent / "static"
HOST = "127.0.0.1"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
T = TypeVar("T")


class ContentPolicy:
    """Tells the browser that nothing but this server may be loaded, framed or run."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [
                    (b"content-security-policy", _POLICY.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-cache"),
                ]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await self._app(scope, receive, send_with_policy)


def make_app(workspace: Workspace) -> Starlette:
    """All routes of the workspace."""
    web, page = WebApi(workspace), PageApi(workspace)
    control = Control(workspace)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await workspace.sockets.stop()

    async def index(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    return Starlette(
        lifespan=lifespan,
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
            Middleware(ContentPolicy),
        ],
        routes=[
            Route("/", index),
            Route("/api/{method}", web.call, methods=["GET", "POST"]),
            Route("/respond/{key}", web.respond, methods=["POST"]),
            Route("/upload/{file}/{key}", web.upload, methods=["POST"]),
            Route("/files/{file}/{key}", web.file),
            Route("/archives/{channel}/{stamp}", page.permalink),
            Route("/page/people", page.people),
            Route("/page/boot", page.begin),
            Route("/page/history", page.history),
            Route("/page/last", page.last),
            Route("/page/clock", page.clock),
            Route("/page/{verb}", page.act, methods=["POST"]),
            Route("/control/faults", control.faults, methods=["GET", "POST", "DELETE"]),
            Route("/control/sockets/{verb}", control.sockets, methods=["POST"]),
            WebSocketRoute("/page/socket", page.socket),
            WebSocketRoute("/link/", workspace.sockets.endpoint),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
    )


class Control:
    """Switches for faults over HTTP, for whoever tests from another process."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace

    async def faults(self, request: Request) -> Response:
        """List, add (`{kind, match, times, seconds}`) or clear faults."""
        if request.method == "DELETE":
            self._space.faults.clear()
        if request.method == "POST":
            try:
                args: Json = await request.json()
                times = args.get("times", 1)
                self._space.faults.add(
                    FaultKind(args["kind"]),
                    match=str(args.get("match", "*")),
                    times=None if times is None else int(times),
                    seconds=float(args.get("seconds", 0)),
                )
            except (ValueError, KeyError, TypeError, AttributeError):
                kinds = [kind.value for kind in FaultKind]
                return JSONResponse({"ok": False, "kinds": kinds}, status_code=400)
        return JSONResponse(
            {"ok": True, "faults": [_shown(f) for f in self._space.faults.active()]}
        )

    async def sockets(self, request: Request) -> Response:
        """Drop all sockets, or ask the app to refresh them."""
        if request.path_params["verb"] == "drop":
            await self._space.sockets.drop()
        elif request.path_params["verb"] == "refresh":
            await self._space.sockets.refresh()
        else:
            return JSONResponse({"ok": False}, status_code=404)
        return JSONResponse({"ok": True})


def _shown(fault: Fault) -> Json:
    return {
        "kind": fault.kind.value,
        "match": fault.match,
        "times": fault.times,
        "seconds": fault.seconds,
        "taken": fault.taken,
    }


class _Server(uvicorn.Server):
    """Says when it is ready; a thread waits for that."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        self.ready.set()


class WorkspaceServer:
    """A local workspace that runs from `start()` to `stop()`.

    `api_url` is what the app takes for Slack's (`GPUBOT_SLACK_API_URL`), with the tokens of
    `options`. Everything said is kept in `state_path`, if given.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        state_path: Path | None = None,
        options: Options | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.options = options or Options()
        self.workspace = Workspace(state_path, options=self.options, directory=directory)
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def faults(self) -> Faults:
        """What goes wrong on purpose."""
        return self.workspace.faults

    @property
    def base_url(self) -> str:
        """Where the page is, without a slash at the end."""
        return self.workspace.base_url

    @property
    def api_url(self) -> str:
        """The base address of the Web API."""
        return f"{self.base_url}/api/"

    def start(self) -> str:
        """Listen on loopback and serve in a thread; returns the address of the page.

        Raises:
            OSError: the port is taken.
            RuntimeError: it did not come up.

        """
        # asyncio sends small answers at once only if the protocol is named.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, self._port))
        except OSError:
            listener.close()
            raise
        self.workspace.base_url = f"http://{HOST}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            make_app(self.workspace),
            log_level="warning",
            access_log=False,  # addresses carry secrets: tickets, response keys
            log_config=None,
            ws="websockets-sansio",
            timeout_graceful_shutdown=1,
        )
        self._server = server = _Server(config)
        self._thread = threading.Thread(
            target=server.run, args=([listener],), name="workspace", daemon=True
        )
        self._thread.start()
        if not server.ready.wait(timeout=15):
            raise RuntimeError("the local workspace did not come up")
        return self.base_url

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(timeout=15)
        self._server = self._thread = None
        self.workspace.archive.close()

    def look(self, read: Callable[[Workspace], T]) -> T:
        """Run something on the server's own loop, and give back what it returns."""
        if self._server is None or self._server.loop is None:
            return read(self.workspace)
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(read(self.workspace))
            except Exception as error:  # noqa: BLE001 - handed to the caller, whatever it is
                done.set_exception(error)

        self._server.loop.call_soon_threadsafe(run)
        return done.result(timeout=15)

    def drop_sockets(self) -> None:
        """Break all connections of the app without a word."""
        self._wait_for(self.workspace.sockets.drop())

    def refresh_sockets(self) -> None:
        """Ask the app to connect anew, as Slack does every few hours."""
        self._wait_for(self.workspace.sockets.refresh())

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        if self._server is None or self._server.loop is None:
            work.close()
            return
        asyncio.run_coroutine_threadsafe(work, self._server.loop).result(timeout=15)

    def __enter__(self) -> WorkspaceServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
