"""`gpubot serve` on a cluster: two bots as they are composed, one leads, and the other after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bot.cli.serve import build_bot, open_cluster, wait_for_signal
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.connection import Connection
from bot.composition import Bot
from bot.settings import read_settings
from bot.web.health import health_app
from bot.web.server import WebServer
from bot.workspace.server import WorkspaceServer
from storage.records import ObjectRef
from storage.states import RequestState
from storage.store import open_store
from tests.bot.clusters.kubernetes.world import wait_until
from tests.bot.house import small_layout
from tests.bot.kubeconfig import write_kubeconfig
from tests.fixtures_workspace import open_workspace, workspace
from tests.kube.samples import pod
from tests.kube.server import ApiServer
from tests.storage.samples import admission, request

__all__ = ["open_workspace", "workspace"]  # fixtures


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(wall_clock=True) as server:
        server.grant_shipped_rights()
        server.add_node("n1", labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
        yield server


@pytest.fixture(autouse=True)
def _environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workspace: WorkspaceServer, api: ApiServer
) -> None:
    path = str(write_kubeconfig(tmp_path, api.url, "bot-token"))
    for name, value in {
        "GPUBOT_CLUSTER": "kubernetes",
        "KUBECONFIG": path,
        "GPUBOT_SLACK_API_URL": workspace.api_url,
        "SLACK_BOT_TOKEN": workspace.options.bot_token,
        "SLACK_APP_TOKEN": workspace.options.app_token,
        "GPUBOT_DATABASE_URL": f"sqlite:///{tmp_path / 'gpubot.db'}",
    }.items():
        monkeypatch.setenv(name, value)


def start(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str) -> Bot:
    monkeypatch.setenv("POD_NAME", name)
    monkeypatch.setenv("GPUBOT_SPOOL", str(folder / f"{name}.spool"))
    bot = build_bot(read_settings())
    bot.start()
    return bot


def leads(bot: Bot) -> float:
    (found,) = [one for one in bot.vitals.gauges() if one.name == "gpubot_leads"]
    return found.values[()]


def ask_ready(bot: Bot) -> tuple[int, object]:
    server = WebServer(health_app(bot.vitals), host="127.0.0.1", port=0)
    server.start()
    try:
        answer = httpx.get(f"http://127.0.0.1:{server.port}/ready")
        return answer.status_code, answer.json()["leader"]
    finally:
        server.stop()


def test_a_bot_that_was_deposed_ends() -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    well, deposed = threading.Event(), threading.Event()
    threading.Timer(0.01, deposed.set).start()
    try:
        wait_for_signal(well, deposed)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert deposed.is_set()


def test_the_second_bot_takes_over_when_the_first_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = start(monkeypatch, tmp_path, "gpubot-a")
    second = start(monkeypatch, tmp_path, "gpubot-b")
    try:
        assert first.vitals.leader() == second.vitals.leader() == "gpubot-a"
        assert (leads(first), leads(second)) == (1.0, 0.0)
        wait_until(lambda: not second.vitals.missing(), "the second to be of use")
        assert ask_ready(second) == (200, "gpubot-a")
    finally:
        first.stop()
    try:
        wait_until(lambda: leads(second) == 1.0, "the second to lead")
        assert second.vitals.leader() == "gpubot-b"
        assert not second.leadership.deposed.is_set()
    finally:
        second.stop()


def test_the_cluster_is_told_what_the_store_has_decided(api: ApiServer, tmp_path: Path) -> None:
    """What another identity has sealed is its own where the store knows of it, and only there."""
    api.add_namespace("team")
    person = Connection(lambda: api.client("alice"))
    about = {}
    for name, number in (("ours", 1), ("others", 2)):
        path = "/api/v1/namespaces/team/pods"
        about[name] = str(person.post(path, pod(name))["metadata"]["uid"])
        marks = {names.DECISION: f"R-{number}/1", names.SEAL: f"former/{about[name]}"}
        person.patch(f"{path}/{name}", {"metadata": {"annotations": marks}})
    store = open_store(f"sqlite:///{tmp_path / 'gpubot.db'}")
    ref = ObjectRef(kind="Pod", namespace="team", name="ours", uid=about["ours"])
    held = request(
        "R-1", state=RequestState.RUNNING, attempt=1, admission=admission("R-1"), ref=ref
    )
    with store.write() as work:
        work.requests.add(held)
    cluster = open_cluster(read_settings(), small_layout(), None, store)
    assert isinstance(cluster, KubernetesCluster)
    try:
        pods = cluster.mirror.pods.items
        found = {name: pods[uid].annotations.get(names.DECISION) for name, uid in about.items()}
        assert found == {"ours": "R-1/1", "others": None}
    finally:
        cluster.close()
        store.close()
