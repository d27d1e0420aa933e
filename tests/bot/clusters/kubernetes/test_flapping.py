"""A node that is not ready for a moment, in which the bot starts anew: what is there goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.clusters.kubernetes.fleet import PATIENCE
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy, keep_groups, keep_state
from tests.bot.clusters.kubernetes.test_chat_requests import ask
from tests.bot.house import ADA
from tests.kube.samples import part, pod
from tests.kube.server import ApiServer


def _group(house: KubeHouse) -> None:
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", group_size="2")


def _adopted(house: KubeHouse) -> None:
    house.person.post("/api/v1/namespaces/nlp/pods", pod("a", gpus=4, gated=False))
    house.run(2)
    house.desk.adopt(ADA.id, "nlp/a", key="k1")


RUN = Recipe(kind=RecipeKind.RUN, image="x")
MAKE: dict[str, Callable[[KubeHouse], object]] = {
    "Job": lambda house: house.create_job("train", pods=2, gpus=8),
    "JobSet": lambda house: house.create_job_set("train", part("workers", pods=2)),
    "Pod": lambda house: house.create_pod("a", 8, team="nlp"),
    "group": _group,
    "Deployment": lambda house: deploy(house, 1),
    "StatefulSet": lambda house: keep_state(house, 1, more={}),
    "LeaderWorkerSet": keep_groups,
    "hold": lambda house: ask(house, "k1", gpus=4),
    "hold with a pod": lambda house: house.create_pod("a", 4, request=ask(house, "k1", gpus=4)),
    "run": lambda house: ask(house, "k1", RUN, nodes=2),
    "adopted": _adopted,
}


@pytest.fixture
def patient(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot for which a node has failed when it was not ready for a minute, as for a real one."""
    api.serve_job_sets()
    api.serve_leader_worker_sets()
    api.add_namespace("nlp")
    made = KubeHouse(api, tmp_path, patience=PATIENCE)
    made.step()
    yield made
    made.close()


def pods(house: KubeHouse) -> dict[str, str | None]:
    """When each pod is to be gone, by uid."""
    metas = [one["metadata"] for one in house.pods()]
    return {meta["uid"]: meta.get("deletionTimestamp") for meta in metas}


@pytest.mark.parametrize("kind", MAKE)
def test_what_runs_goes_on(patient: KubeHouse, kind: str) -> None:
    MAKE[kind](patient)
    patient.run(5)
    with patient.store.read() as view:
        (before,) = view.requests.find()
    there = pods(patient)
    assert (before.state, before.attempt) == (S.RUNNING, 1)
    assert bool(there) == (kind != "hold")
    (lost, *_) = patient.desk.card(before.id).nodes
    patient.api.change_node(lost[0], ready=False)
    patient.restart()
    patient.run(3, pods=False)
    patient.pass_time(PATIENCE / 2)
    patient.run(2, pods=False)
    patient.api.change_node(lost[0], ready=True)
    patient.run(4)
    with patient.store.read() as view:
        (after,) = view.requests.find()
    assert (after.state, after.attempt) == (S.RUNNING, 1)
    assert after.decision == before.decision
    assert pods(patient) == there
    assert patient.said("requeued") == patient.said("repaired") == []
