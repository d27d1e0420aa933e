"""A LeaderWorkerSet from kubectl: one card for its replicas, which come and go whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from storage.states import RequestState as S
from tests.bot.house import ADA
from tests.deploy.manifests import FOLDER
from tests.e2e.kube_rig import KubeRig
from tests.kube.server import ApiServer

PATH = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/nlp/leaderworkersets"
FIRST, SECOND = {"llama-api-0", "llama-api-0-1"}, {"llama-api-1", "llama-api-1-1"}


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With LeaderWorkerSet installed."""
    api.serve_leader_worker_sets()
    return api


def create(kube: KubeRig) -> tuple[str, str]:
    """The shipped example as Ada's, of medium priority; the ids of its two replicas."""
    path: Path = FOLDER / "examples" / "leaderworkerset.yaml"
    body = yaml.safe_load(path.read_text().replace("U0123ABCD", ADA.id))
    labels = body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]
    del labels["gpubot.dev/priority"]
    kube.house.person.post(PATH, body)
    return kube.named("llama-api-0"), kube.named("llama-api-1")


def bound(kube: KubeRig) -> set[str]:
    pods = kube.house.pods()
    return {pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")}


def test_replicas_have_one_card_and_one_thread(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    first, second = create(kube)
    for request in (first, second):
        kube.reach(request, S.RUNNING)
    assert bound(kube) == FIRST | SECOND
    card = kube.wait_for(ada, f"*Running* · {first}")
    assert "LeaderWorkerSet nlp/llama-api" in card["text"]
    assert "2 replicas" in card["text"]
    kube.house.person.patch(f"{PATH}/llama-api", {"spec": {"replicas": 1}})
    kube.reach(second, S.RELEASED)
    kube.until(lambda: bound(kube) == FIRST)
    kube.settled()
    assert any("*Gone*" in text for text in kube.thread_of(ada, f"*Running* · {first}"))


def test_the_newest_makes_room_whole_and_comes_again(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    first, second = create(kube)
    kube.house.person.patch(f"{PATH}/llama-api", {"spec": {"replicas": 3}})
    third = kube.named("llama-api-2")
    for request in (first, second, third):
        kube.reach(request, S.RUNNING)
    kube.house.create_job("mine", pods=2, gpus=8)
    mine = kube.named("mine")
    kube.reach(third, S.PREEMPTING)
    kube.wait_for(ada, "*Preemption*")
    kube.pass_time(301.0)
    kube.reach(mine, S.RUNNING)
    kube.reach(third, S.WAITING)
    assert (kube.state(first), kube.state(second)) == (S.RUNNING, S.RUNNING)
    running = {name for name in bound(kube) if name.startswith("llama")}
    assert running == FIRST | SECOND
    kube.finish("mine")
    kube.reach(third, S.RUNNING)
    assert bound(kube) >= FIRST | SECOND | {"llama-api-2", "llama-api-2-1"}
    kube.settled()
    assert len(kube.said(ada, "*Preemption*")) == 1
