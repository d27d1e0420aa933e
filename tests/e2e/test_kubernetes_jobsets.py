"""A JobSet from kubectl: one request in the channel, its pods, its preemption and its end."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from storage.states import RequestState as S
from tests.bot.house import ADA
from tests.deploy.manifests import FOLDER
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import GENERAL
from tests.kube.server import ApiServer

PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/nlp/jobsets"
PODS = {"leader-0-0", "workers-0-0", "workers-0-1", "workers-1-0", "workers-1-1"}


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


def create(kube: KubeRig) -> str:
    """The shipped example as Ada's, with workers of 4 GPUs; the id of its request."""
    path: Path = FOLDER / "examples" / "jobset.yaml"
    body = yaml.safe_load(path.read_text().replace("U0123ABCD", ADA.id))
    workers = body["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    workers["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 4}
    kube.house.person.post(PATH, body)
    return kube.named("llama-rl")


def test_a_job_set_has_one_card_its_pods_and_its_end(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    request = create(kube)
    kube.reach(request, S.RUNNING)
    card = kube.wait_for(ada, f"*Running* · {request}")
    assert "20 × H100 (5×4)" in card["text"]
    assert kube.house.bound().keys() == {f"llama-rl-{name}" for name in PODS}
    told = kube.wait_for(ada, f"*Admitted* · {request}")["text"]
    assert all(node in told for node in set(kube.house.bound().values()))
    kube.house.finish_pods()
    kube.reach(request, S.FINISHED)
    kube.wait_for(ada, f"*Finished* · {request}")
    kube.settled()
    assert [one.workload.name for one in kube.house.requests()] == ["llama-rl"]
    assert len(kube.said(ada, "*Admitted*")) == 1
    assert len(ada.thread(GENERAL, card["ts"])) >= 3  # card, admission, end


def test_a_job_set_makes_room_whole_and_starts_again(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    request = create(kube)
    kube.reach(request, S.RUNNING)
    kube.house.create_job("mine", pods=4, gpus=8)
    mine = kube.named("mine")
    kube.reach(request, S.PREEMPTING)
    told = kube.wait_for(ada, "*Preemption*")["text"]
    assert request in told
    kube.pass_time(301.0)
    kube.reach(mine, S.RUNNING)
    assert kube.state(request) is S.WAITING
    assert kube.house.bound().keys() == {f"mine-{rank}" for rank in range(4)}
    kube.finish("mine")
    kube.reach(request, S.RUNNING)
    kube.settled()
    assert len(kube.said(ada, "*Preemption*")) == 1
