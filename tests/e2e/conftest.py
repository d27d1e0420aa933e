"""A whole bot in a workspace, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.chat import announcer, socket
from bot.chat.lanes import Rate
from tests.bot.clusters.kubernetes.house import MODEL
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import Rig
from tests.fixtures_browser import browser, look_at
from tests.fixtures_store import quick_schema
from tests.kube.server import ApiServer

__all__ = ["api", "browser", "kube", "look_at", "quick_schema", "rig"]


@pytest.fixture(scope="module")
def quick_pings() -> Iterator[None]:
    """A broken socket is found out at the next ping, which comes in one second rather than five.

    Not sooner: the client takes four pings without an answer for the end, however busy we are,
    and hangs up. Who speaks then is told by Slack that nobody heard it, so only tests of broken
    sockets use this.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "PING_SECONDS", 1.0)
        yield


@pytest.fixture(scope="module")
def quick_messages() -> Iterator[None]:
    """Ten messages in a second of theirs: that Slack takes one is tested with the announcer."""
    with pytest.MonkeyPatch.context() as patch:
        for lane in ("POSTS", "UPDATES"):
            patch.setattr(announcer, lane, Rate(10.0, 10))
        yield


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """The bot, connected."""
    built = Rig(tmp_path)
    yield built
    built.close()


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Six nodes of 8 GPUs, two namespaces switched over, the shipped rights and policies."""
    with ApiServer() as server:
        for number in range(1, 7):
            server.add_node(f"n{number}", labels=MODEL)
        for namespace in ("team", "nlp"):
            server.add_namespace(namespace, **{"gpubot.dev/managed": "true"})
        server.grant_shipped_rights()
        server.policies.install_shipped()
        yield server
        assert server.app.errors == []


@pytest.fixture
def kube(tmp_path: Path, api: ApiServer) -> Iterator[KubeRig]:
    """The bot, connected to a workspace and to that cluster."""
    built = KubeRig(tmp_path, api)
    yield built
    built.close()
