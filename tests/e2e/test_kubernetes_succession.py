"""kill -9 of the bot that leads, and of the one that is just taking over: real processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from bot.clusters.kubernetes.connection import Connection, Json
from bot.clusters.kubernetes.gangs import slots_of
from storage.records import Request
from storage.states import RequestState as S
from storage.store import Store, open_store
from tests.bot.clusters.kubernetes.house import MODEL
from tests.bot.clusters.kubernetes.replicas import LEASE, SPACE
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, POLICY
from tests.bot.kubeconfig import write_kubeconfig
from tests.e2e import serving
from tests.e2e.kube_rig import KubeRoom
from tests.e2e.rig import eventually
from tests.e2e.test_kill import PEOPLE
from tests.e2e.test_kubernetes_kill import found
from tests.e2e.test_kubernetes_lives import entered
from tests.kube.samples import job
from tests.kube.server import ApiServer
from tests.storage import postgres
from tests.storage.conftest import server

__all__ = ["server"]  # a fixture

PATIENCE = 90.0  # seconds: a Lease has to run out, and a process to start


class Replicas:
    """A workspace, an API server and a database that live on, and bots that do not."""

    def __init__(self, folder: Path, api: ApiServer, database: str) -> None:
        self.folder, self.api, self.database = folder, api, database
        self.room = KubeRoom(folder, api)
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "people.yaml").write_text(PEOPLE)
        self.processes: dict[str, ForkServerProcess] = {}
        self.lease = Connection(lambda: api.client("admin"))

    def start(self, name: str) -> None:
        """`gpubot serve` as the pod of this name."""
        options = self.room.server.options
        environment = {
            "GPUBOT_CLUSTER": "kubernetes",
            "KUBECONFIG": str(write_kubeconfig(self.folder, self.api.url, "bot-token")),
            "POD_NAME": name,
            "GPUBOT_TEST_LEASE": "6",
            "GPUBOT_SLACK_API_URL": self.room.server.api_url,
            "SLACK_BOT_TOKEN": options.bot_token,
            "SLACK_APP_TOKEN": options.app_token,
            "GPUBOT_DATABASE_URL": self.database,
            "GPUBOT_SPOOL": str(self.folder / f"{name}.spool"),
            "GPUBOT_POLICY": str(self.folder / "policy.yaml"),
            "GPUBOT_PEOPLE": str(self.folder / "people.yaml"),
        }
        self.processes[name] = serving.start(environment)

    def kill(self, name: str) -> None:
        serving.kill(self.processes.pop(name))

    def holder(self) -> tuple[str, int]:
        """Who leads by the Lease, and its number."""
        items = self.lease.get(LEASE.rpartition("/")[0]).get("items") or []
        spec = items[0]["spec"] if items else {}
        return str(spec.get("holderIdentity") or ""), int(spec.get("leaseTransitions") or 0)

    def pods(self) -> list[Json]:
        return list(self.lease.get(f"/api/v1/namespaces/{TEAM}/pods")["items"])

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        eventually(lambda: not self.room.server.workspace.sockets.count, seconds=PATIENCE)
        self.room.server.stop()


@contextmanager
def playing(folder: Path, database: str) -> Iterator[Replicas]:
    with ApiServer(wall_clock=True) as api:
        for number in range(1, 5):
            api.add_node(f"n{number}", labels=MODEL)
        api.add_namespace(TEAM)
        api.add_namespace(SPACE)
        replicas = Replicas(folder, api, database)
        try:
            yield replicas
        finally:
            replicas.close()


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
@pytest.mark.timeout(300)
def test_whoever_is_killed_in_a_change_of_leader_the_gang_starts_whole_and_once(
    tmp_path: Path, server: postgres.Server
) -> None:
    with server.database() as database, playing(tmp_path, database) as bots:
        room, faults = bots.room, bots.api.faults
        bots.start("gpubot-0")
        room.until(lambda: bots.holder() == ("gpubot-0", 1), seconds=PATIENCE)
        bots.start("gpubot-1")
        eventually(lambda: room.server.workspace.sockets.count > 1, seconds=PATIENCE)
        first = faults.before(lambda: bots.kill("gpubot-0"), "PATCH", path=r"/pods/train-")
        person = Connection(lambda: bots.api.client("alice"))
        body = job("train", pods=3, gpus=8)
        body["metadata"]["labels"] = {"gpubot.dev/team": "nlp"}
        body["metadata"]["annotations"] = {"gpubot.dev/owner": ADA.id}
        person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
        room.until(lambda: first.taken, seconds=PATIENCE)
        second = faults.before(lambda: bots.kill("gpubot-1"), "PUT", path=r"/leases/gpubot")
        room.until(lambda: second.taken, seconds=PATIENCE)  # it is dead, and the Lease its
        assert bots.holder()[0] in {"gpubot-0", "gpubot-1"}
        bots.start("gpubot-2")
        room.until(lambda: bots.holder()[0] == "gpubot-2", seconds=PATIENCE)
        store = open_store(database)
        room.until(lambda: _runs(store), seconds=PATIENCE)
        train = found(store, "train")
        assert train is not None
        assert train.attempt == 1
        assert [entered(store, train.id, state) for state in (S.ADMITTED, S.RUNNING)] == [1, 1]
        running = [pod for pod in bots.pods() if pod["status"]["phase"] == "Running"]
        assert sorted(pod["spec"]["nodeName"] for pod in running) == sorted(nodes_of(train))
        store.close()


def nodes_of(request: Request) -> list[str]:
    """The node of each pod that it was granted."""
    assert request.admission is not None
    return [str(node) for node in slots_of(request.admission)]


def _runs(store: Store) -> bool:
    request = found(store, "train")
    return request is not None and request.state is S.RUNNING
