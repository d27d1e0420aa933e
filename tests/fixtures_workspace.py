"""A local workspace, people in it, and Bolt apps connected to it, for tests of any room.

Use from a conftest: `from tests.fixtures_workspace import connect, open_workspace, workspace`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler
from slack_sdk import WebClient

from bot.chat.socket import hang_up
from bot.workspace.options import Options
from bot.workspace.rates import RateLimits
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor

GENERAL = "C0GPURES"
ONCALL = "C0ONCALL"
T = TypeVar("T")

OpenWorkspace = Callable[..., WorkspaceServer]
Connect = Callable[[App], AbstractContextManager[Any]]


def eventually(look: Callable[[], T | None], *, seconds: float = 10.0) -> T:
    """Look again and again until something is seen; fails after a while."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def quick_options(**chosen: object) -> Options:
    """No rate limits, and retries of events without delay."""
    base: dict[str, object] = {"limits": RateLimits.off(), "retry_delays": (0.0, 0.05, 0.05)}
    return Options(**{**base, **chosen})  # type: ignore[arg-type]  # names are checked at run time


def client_of(server: WorkspaceServer) -> WebClient:
    """The bot's Web API client, without retries."""
    return WebClient(
        token=server.options.bot_token, base_url=server.api_url, timeout=20, retry_handlers=[]
    )


def app_of(server: WorkspaceServer) -> App:
    """An empty Bolt app of this workspace."""
    return App(client=client_of(server), raise_error_for_unhandled_request=False)


@contextmanager
def connected(server: WorkspaceServer, app: App) -> Iterator[Any]:
    """The app connected over Socket Mode as long as the block lasts."""
    before = server.workspace.sockets.count
    handler: Any = SocketModeHandler(app, server.options.app_token, ping_interval=0.5)
    handler.connect()
    try:
        eventually(lambda: server.workspace.sockets.count > before)
        yield handler
    finally:
        hang_up(handler.client)


@pytest.fixture
def open_workspace() -> Iterator[OpenWorkspace]:
    """Start workspaces with options of one's own; all are stopped at the end."""
    servers: list[WorkspaceServer] = []

    def start(**chosen: object) -> WorkspaceServer:
        port: Any = chosen.pop("port", 0)
        state_path: Any = chosen.pop("state_path", None)
        directory: Any = chosen.pop("directory", None)
        server = WorkspaceServer(
            options=quick_options(**chosen),
            port=port,
            state_path=state_path,
            directory=directory,
        )
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def workspace(open_workspace: OpenWorkspace) -> WorkspaceServer:
    """A workspace without rate limits."""
    return open_workspace()


@pytest.fixture
def ada(workspace: WorkspaceServer) -> Visitor:
    """Ada, a researcher, at the page."""
    return Visitor(workspace.base_url, "U0ADA")


@pytest.fixture
def client(workspace: WorkspaceServer) -> WebClient:
    """The bot's Web API client."""
    return client_of(workspace)
