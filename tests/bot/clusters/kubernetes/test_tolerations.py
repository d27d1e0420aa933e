"""Nodes with a taint that the policy knows: what is granted there puts up with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler.policy import compile_policy, load_policy
from storage.records import Recipe, RecipeKind, Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy, keep_groups, keep_state
from tests.bot.clusters.kubernetes.test_chat_requests import ask
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import POLICY
from tests.kube.samples import part
from tests.kube.server import ApiServer

TAINT = {"key": "example.com/shared", "value": "true", "effect": "NoSchedule"}
OWN = {"key": "example.com/own", "operator": "Exists"}


def _own(house: KubeHouse) -> None:
    """A pod whose maker has written a toleration already."""
    house.create_pod("a", 8, team="nlp")
    path = f"/api/v1/namespaces/{TEAM}/pods/a"
    there = house.person.get(path)["spec"]["tolerations"]
    house.person.patch(path, {"spec": {"tolerations": [*there, OWN]}})


MAKE: dict[str, Callable[[KubeHouse], object]] = {
    "Job on one node": lambda house: house.create_job("train"),
    "Job on two nodes": lambda house: house.create_job("train", pods=2),
    "JobSet": lambda house: house.create_job_set("train", part("w", pods=2)),
    "pod": lambda house: house.create_pod("a", 8, team="nlp"),
    "pod with another": _own,
    "group": lambda house: create(house, {"a": 8, "b": 8}),
    "Deployment": lambda house: deploy(house, 1),
    "StatefulSet": lambda house: keep_state(house, 1, more={}),
    "LeaderWorkerSet": keep_groups,
    "hold": lambda house: house.create_pod("a", 4, request=ask(house, "k1", gpus=4)),
    "run": lambda house: ask(house, "k1", Recipe(kind=RecipeKind.RUN, image="x"), nodes=2),
}


@pytest.fixture
def tainted(tmp_path: Path) -> Iterator[KubeHouse]:
    """Four nodes, all with the taint, of a flavor that wants it to be put up with."""
    line = "tolerations: [{key: example.com/shared, effect: NoSchedule}]"
    text = POLICY.replace("provision: reserved\n", f"provision: reserved\n    {line}\n", 1)
    with ApiServer() as api:
        api.serve_job_sets()
        api.serve_leader_worker_sets()
        for number in range(1, 5):
            api.add_node(f"n{number}", labels=MODEL)
            api.change_node(f"n{number}", taints=[TAINT])
        api.policies.install_shipped()
        for name in (TEAM, "nlp"):
            api.add_namespace(name, **{"gpubot.dev/managed": "true"})
        api.grant_shipped_rights()
        house = KubeHouse(api, tmp_path, layout=compile_policy(load_policy(text, "tainted.yaml")))
        house.step()
        yield house
        house.close()


def only(house: KubeHouse) -> Request:
    with house.store.read() as view:
        (request,) = view.requests.find()
    return request


@pytest.mark.parametrize("kind", MAKE)
def test_what_is_granted_there_puts_up_with_it(tainted: KubeHouse, kind: str) -> None:
    MAKE[kind](tainted)
    tainted.run(5)
    assert only(tainted).state is S.RUNNING
    pods = tainted.pods()
    assert pods
    for pod in pods:
        assert pod["spec"]["nodeName"]
        found = pod["spec"]["tolerations"]
        ours = [one for one in found if one.get("key") == TAINT["key"]]
        assert ours == [{"key": TAINT["key"], "operator": "Exists", "effect": "NoSchedule"}]
        assert (OWN in found) == (kind == "pod with another")
