"""A small web server in a thread of its own."""

from __future__ import annotations

import socket
import threading

import uvicorn
from starlette.applications import Starlette


class WebError(Exception):
    """The port cannot be listened on; the message says which and why."""


class _Server(uvicorn.Server):
    """Says when it is ready; a thread waits for that."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()


class WebServer:
    """Serves an app from `start` to `stop`. Port 0 takes a free one; `port` says which."""

    def __init__(self, app: Starlette, *, host: str, port: int) -> None:
        self._app, self._host, self.port = app, host, port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen and serve. Raises WebError."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # asyncio sends small answers at once only if the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._host, self.port))
        except OSError as error:
            listener.close()
            raise WebError(
                f"cannot listen on {self._host}:{self.port}: {error.strerror}"
            ) from error
        self.port = int(listener.getsockname()[1])
        config = uvicorn.Config(
            self._app,
            log_level="warning",
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=3,
        )
        self._server = server = _Server(config)
        self._thread = threading.Thread(
            target=server.run, args=([listener],), name="gpubot-web", daemon=True
        )
        self._thread.start()
        if not server.ready.wait(timeout=15):
            raise WebError(f"nothing came up on {self._host}:{self.port}")

    def stop(self) -> None:
        """Answer what is under way, and end."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(timeout=15)
        self._server = self._thread = None
