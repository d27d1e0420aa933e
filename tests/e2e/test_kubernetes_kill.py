"""kill -9 of `gpubot serve` on Kubernetes between two of its writes, three times in one story."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from bot.clusters.kubernetes.connection import Connection
from storage.records import Request
from storage.states import RequestState as S
from storage.store import Store, open_store
from tests.bot.clusters.kubernetes.house import MODEL
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, POLICY
from tests.bot.kubeconfig import write_kubeconfig
from tests.e2e import serving
from tests.e2e.kube_rig import KubeRoom
from tests.e2e.rig import eventually
from tests.e2e.test_kill import PEOPLE
from tests.e2e.test_kubernetes_lives import check_said, entered, unsent
from tests.kube.samples import job
from tests.kube.server import ApiServer

PATIENCE = 60.0  # seconds: a process has to start, on a machine that has other things to do
JOBS, PODS = r"/jobs/train$", r"/pods/train-"


class Lives:
    """A workspace and an API server that live on, and the files of a bot that does not."""

    def __init__(self, folder: Path, api: ApiServer) -> None:
        self.room = KubeRoom(folder, api)
        self.api = api
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "people.yaml").write_text(PEOPLE)
        options = self.room.server.options
        self.process: ForkServerProcess
        self.url = f"sqlite:///{folder / 'gpubot.db'}"
        self.spool = folder / "gpubot.spool"
        self.environment = {
            "GPUBOT_CLUSTER": "kubernetes",
            "KUBECONFIG": str(write_kubeconfig(folder, api.url, "bot-token")),
            "POD_NAME": "gpubot-0",
            "GPUBOT_SLACK_API_URL": self.room.server.api_url,
            "SLACK_BOT_TOKEN": options.bot_token,
            "SLACK_APP_TOKEN": options.app_token,
            "GPUBOT_DATABASE_URL": self.url,
            "GPUBOT_POLICY": str(folder / "policy.yaml"),
            "GPUBOT_PEOPLE": str(folder / "people.yaml"),
        }

    @contextmanager
    def serving(self) -> Iterator[None]:
        """`gpubot serve` as a process of its own, killed at the end at the latest."""
        sockets = self.room.server.workspace.sockets
        self.process = serving.start(self.environment)
        try:
            yield
        finally:
            self.kill()
            eventually(lambda: not sockets.count, seconds=PATIENCE)

    def kill(self) -> None:
        serving.kill(self.process)

    def killed_at(self, path: str, *, sent: bool) -> None:
        """Serve until the next PATCH of a path, and kill the bot then.

        The write takes effect (`sent`), or is lost with the process.
        """
        faults = self.api.faults
        fault = (
            faults.before(self.kill, "PATCH", path=path)
            if sent
            else faults.hang("PATCH", path=path)
        )
        with self.serving():
            self.room.until(lambda: fault.taken, seconds=PATIENCE)
        self.api.release_hanging()


def found(store: Store, name: str) -> Request | None:
    with store.read() as view:
        return next((one for one in view.requests.find() if one.workload.name == name), None)


@pytest.mark.timeout(300)
def test_a_killed_bot_lets_its_gang_go_whole_and_says_everything_once(tmp_path: Path) -> None:
    with ApiServer(wall_clock=True) as api:
        for number in range(1, 5):
            api.add_node(f"n{number}", labels=MODEL)
        api.add_namespace(TEAM)
        lives = Lives(tmp_path, api)
        try:
            _play(lives)
        finally:
            lives.room.server.stop()


def _play(lives: Lives) -> None:
    room, api = lives.room, lives.api
    ada = room.visitor(ADA)
    person = Connection(lambda: api.client("alice"))
    body = job("train", pods=3, gpus=8)
    body["metadata"]["labels"] = {"gpubot.dev/team": "nlp"}
    body["metadata"]["annotations"] = {"gpubot.dev/owner": ADA.id}
    person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
    lives.killed_at(JOBS, sent=False)
    lives.killed_at(JOBS, sent=True)
    lives.killed_at(PODS, sent=True)
    with lives.serving():
        eventually(lambda: room.server.workspace.sockets.count, seconds=PATIENCE)
        hold = room.ask(ada, "/gpu 8 h100 2h")
        store = open_store(lives.url)
        room.until(lambda: _runs(store, "train"), seconds=PATIENCE)
        room.until(lambda: _runs(store, hold), seconds=PATIENCE)
        eventually(lambda: not lives.spool.read_bytes(), seconds=PATIENCE)
        eventually(lambda: not unsent(store), seconds=PATIENCE)
    train = found(store, "train")
    assert train is not None
    assert [entered(store, train.id, state) for state in (S.ADMITTED, S.RUNNING)] == [1, 1]
    check_said(room, store)
    store.close()


def _runs(store: Store, word: str) -> bool:
    with store.read() as view:
        requests = view.requests.find()
    return any(one.state is S.RUNNING and word in {one.id, one.workload.name} for one in requests)
