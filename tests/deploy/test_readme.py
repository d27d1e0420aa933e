"""The README's way from an empty cluster to the first admitted Job, walked command by command."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler.policy import compile_policy, load_policy
from storage.states import RequestState
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.replicas import Hand, candidate
from tests.deploy.manifests import FOLDER
from tests.deploy.walk import ROOT, Walk, commands
from tests.kube.samples import pod
from tests.kube.server import ApiServer

PRODUCT = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
PLACE = {"topology.gpubot.dev/block": "b1", "topology.gpubot.dev/rack": "r1"}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(wall_clock=True) as server:
        for number in range(1, 7):
            server.add_node(f"n{number}", labels={**PRODUCT, **PLACE})
        yield server


def test_the_way_from_an_empty_cluster_to_the_first_job(api: ApiServer, tmp_path: Path) -> None:
    walk = Walk(api, tmp_path)
    steps = commands()
    for command in steps:
        walk.run(command)
        if command.endswith("gpubot doctor"):
            break
    wrong = [one for one in walk.found if not one.well]
    assert not wrong
    warned = {one.what for one in walk.found if one.cure}
    assert warned == {"namespaces", "admission policies"}  # a trial has neither

    text = (FOLDER / "overlays" / "trial" / "policy.yaml").read_text()
    house = KubeHouse(api, tmp_path, layout=compile_policy(load_policy(text, "policy.yaml")))
    for command in steps:
        walk.run(command)
        if "get job" in command:
            break
    assert walk.answer["spec"]["suspend"] is True
    house.step()
    house.run()
    walk.run("kubectl -n nlp get job llama-sft -o yaml")
    assert walk.answer["spec"]["suspend"] is False
    assert house.state("llama-sft") is RequestState.RUNNING
    assert len(set(house.bound().values())) == 4
    house.close()

    candidate(api, "gpubot-0", Hand()).attend()
    for command in steps:
        walk.run(command)
    assert walk.answer["spec"]["holderIdentity"] == "gpubot-0"
    assert [one for one in walk.found if one.cure or not one.well] == []
    made = walk.admin.post("/api/v1/namespaces/nlp/pods", pod("notebook", gpus=1, gated=False))
    assert made["spec"]["schedulingGates"] == [{"name": "gpubot.dev/admission"}]


def test_a_command_that_nobody_checks_is_an_error(api: ApiServer, tmp_path: Path) -> None:
    walk = Walk(api, tmp_path)
    for command in ("helm install gpubot", "kubectl drain n1", "kubectl kustomize x | tee y"):
        with pytest.raises(AssertionError):
            walk.run(command)
    with pytest.raises(AssertionError, match="does not exist"):
        walk.run("kubectl apply -f deploy/kubernetes/examples/jobb.yaml")


def test_the_image_has_every_file_that_the_wheel_brings() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    brought = [
        source for target in built["targets"].values() for source in target.get("force-include", {})
    ]
    copied = (ROOT / "deploy" / "Dockerfile").read_text()
    assert brought
    assert [source for source in brought if source not in copied] == []
