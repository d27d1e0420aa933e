"""The README's way from an empty cluster to the first admitted Job, walked command by command."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from scheduler.policy import compile_policy, load_policy
from storage.states import RequestState
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.replicas import Hand, candidate
from tests.deploy.manifests import FOLDER
from tests.deploy.walk import ROOT, Walk, commands
from tests.kube.kinds import NAMESPACE
from tests.kube.samples import pod
from tests.kube.server import ApiServer
from tests.kubectl import Failed

PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
PLACE = {"topology.gpubot.dev/block": "b1", "topology.gpubot.dev/rack": "r1"}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(wall_clock=True) as server:
        for number in range(1, 7):
            server.add_node(f"n{number}", labels={**PRODUCT, **PLACE})
        store = server.cluster.store
        with store.lock:
            store.remove(NAMESPACE, ("", "gpubot-system"))
        yield server
        assert server.app.errors == []


@pytest.fixture
def walk(api: ApiServer, tmp_path: Path) -> Walk:
    return Walk(api, tmp_path)


def follow(walk: Walk, steps: Iterator[str], last: str) -> None:
    """Walk on to the command that has these words."""
    for command in steps:
        walk.run(command)
        if last in command:
            return
    raise AssertionError(f"the README has no {last!r} from here on")


def test_the_way_from_an_empty_cluster_to_the_first_job(walk: Walk, tmp_path: Path) -> None:
    api, steps = walk.api, commands()
    follow(walk, steps, "rollout status")
    assert "successfully rolled out" in walk.said
    follow(walk, steps, "gpubot doctor")
    assert [one for one in walk.found if not one.well] == []
    warned = {one.what for one in walk.found if one.cure}
    assert warned == {"namespaces", "admission policies"}  # a trial has neither

    text = (FOLDER / "site" / "policy.yaml").read_text()
    house = KubeHouse(api, tmp_path, layout=compile_policy(load_policy(text, "policy.yaml")))
    follow(walk, steps, "get job")
    assert walk.answer["spec"]["suspend"] is True
    house.step()
    house.run()
    walk.run("kubectl -n nlp get job llama-sft -o yaml")
    assert walk.answer["spec"]["suspend"] is False
    assert house.state("llama-sft") is RequestState.RUNNING
    ranks = {name: node for name, node in house.bound().items() if name.startswith("llama-sft")}
    assert len(ranks) == len(set(ranks.values())) == 4
    house.close()

    follow(walk, steps, "gpubot doctor")
    assert [one for one in walk.found if one.cure or not one.well] == []
    candidate(api, "gpubot-0", Hand()).attend()
    follow(walk, steps, "get lease")
    assert walk.answer["spec"]["holderIdentity"] == "gpubot-0"
    made = walk.admin.post("/api/v1/namespaces/nlp/pods", pod("notebook", gpus=1, gated=False))
    assert made["spec"]["schedulingGates"] == [{"name": "gpubot.dev/admission"}]
    follow(walk, steps, "describe job")
    assert re.search(
        r"Normal +Admitted .* gpubot\.dev/gpubot +Admitted · R-\d+ · 32 GPUs · llama-sft\.",
        walk.said,
    )
    for command in steps:
        walk.run(command)


WRONG = (
    "kubectl apply -f deploy/kubernetes/base/namespaces.yaml",
    "kubectl aply -f deploy/kubernetes/base/namespace.yaml",
    "kubectl apply -f secret.yaml",  # before its namespace is there
    "kubectl kustomize deploy/kubernetes/overlays/trail | kubectl apply -f -",
    "kubectl kustomize deploy/kubernetes/overlays/trial | kubectl create namespace -f -",
    "kubectl kustomize deploy/kubernetes/overlays/trial | tee manifests.yaml",
    "kubectl -n gpubot-system rollout status deployment/gpubot",  # before it is applied
    "kubectl -n gpubot-system exec deployment/gpubot -- gpubot doctor",
    "kubectl label namespace nlp gpubot.dev/managed=true",
    "kubectl label node n1 topology.gpubot.dev/rack=r2",  # has another
    "kubectl -n nlp get jobb llama-sft -o yaml",
    "kubectl -n nlp get job llama-sft -o yaml",
    "helm install gpubot",
)


@pytest.mark.parametrize("command", WRONG)
def test_a_command_that_cannot_work_is_noticed(walk: Walk, command: str) -> None:
    walk.run("cp deploy/kubernetes/examples/secret.yaml secret.yaml")
    with pytest.raises((AssertionError, Failed)):
        walk.run(command)


def test_a_manifest_with_a_misspelt_field_is_not_applied(walk: Walk, tmp_path: Path) -> None:
    text = (FOLDER / "examples" / "namespace.yaml").read_text()
    (tmp_path / "namespace.yaml").write_text(text.replace("labels:", "lables:"))
    with pytest.raises(Failed, match="unknown field"):
        walk.run("kubectl apply -f namespace.yaml")


@pytest.mark.parametrize("name", sorted(path.name for path in (FOLDER / "examples").glob("*.yaml")))
def test_an_example_is_taken_where_the_bot_is_installed(walk: Walk, name: str) -> None:
    walk.api.serve_job_sets()
    walk.api.serve_leader_worker_sets()
    walk.run("kubectl kustomize deploy/kubernetes/overlays/production | kubectl apply -f -")
    if name != "namespace.yaml":
        walk.run("kubectl apply -f deploy/kubernetes/examples/namespace.yaml")
    walk.run(f"kubectl apply -f deploy/kubernetes/examples/{name}")
    assert walk.said.endswith(" created\n")


def test_the_image_has_every_file_that_the_wheel_brings() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    brought = [
        source for target in built["targets"].values() for source in target.get("force-include", {})
    ]
    copied = (ROOT / "deploy" / "Dockerfile").read_text()
    assert brought
    assert [source for source in brought if source not in copied] == []


def test_every_label_that_people_write_is_told() -> None:
    text = (FOLDER / "README.md").read_text()
    written = [names.TEAM, names.SPEND, names.PREEMPTIBLE, names.PRIORITY, names.TOPOLOGY]
    written += [names.GROUP, names.GROUP_SIZE, names.ROLE, names.GUARANTEED, names.REQUEST]
    written += [names.LEASE, names.OWNER, names.CHECKPOINTED]
    for name in written:
        assert f"`{name}`" in text or f"`{name.removeprefix(names.PREFIX)}`" in text
