"""What is deleted and made again under its name, while its old pods still hold their nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.clusters.kubernetes.connection import Refused
from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import PODS, check, held_by_pods
from tests.bot.clusters.kubernetes.serving import STATEFUL_SETS, keep_state, open_requests
from tests.kube.samples import part

AWAY = pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
BACKGROUND = {"propagationPolicy": "Background"}


def go_on(house: KubeHouse, rounds: int = 5) -> None:
    """Go round, and look after every step."""
    for _ in range(rounds):
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
        check(house)
        house.let_pods_run()
        house.settle()


def hold_still(house: KubeHouse) -> set[str]:
    """The kubelets where pods are answer no more: what is deleted there goes on to end."""
    nodes = {pod["spec"]["nodeName"] for pod in house.pods()}
    for node in nodes:
        house.api.kubelet.silence(node)
    return nodes


def come_back(house: KubeHouse, nodes: set[str]) -> None:
    for node in nodes:
        house.api.kubelet.recover(node)


def replace(house: KubeHouse, change: Callable[[], object], *, away: bool) -> None:
    """Do it while the bot looks, or while it is not there."""
    if not away:
        change()
        return
    house.cluster.close()
    change()
    house.api.controllers.settle()
    house.restart()


def named(house: KubeHouse, name: str) -> list[Request]:
    return [one for one in house.requests() if one.workload.name == name]


def uids(requests: list[Request]) -> list[str]:
    return [one.ref.uid for one in requests if one.ref is not None]


@pytest.mark.parametrize(
    ("pods", "gpus", "away"), [(4, 2, False), (2, 8, True)], ids=["one-node-there", "nodes-away"]
)
@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_the_new_one_is_another_request_and_gets_none_of_what_the_old_one_still_holds(
    house: KubeHouse, kind: str, pods: int, gpus: int, away: bool
) -> None:
    if kind == "JobSet":
        house.api.serve_job_sets()
        house.restart()

    def make() -> str:
        if kind == "Job":
            return house.create_job("train", pods=pods, gpus=gpus)
        return house.create_job_set("train", part("workers", pods=pods, gpus=gpus))

    delete = house.delete_job if kind == "Job" else house.delete_job_set
    made = [make()]

    def again() -> None:
        delete("train")
        made.append(make())

    house.run(4)
    assert house.state("train") is S.RUNNING
    nodes = hold_still(house)
    replace(house, again, away=away)
    go_on(house)
    old, new = named(house, "train")
    assert uids([old, new]) == made
    assert new.state is S.RUNNING
    assert new.admission is not None
    given = {node for one in new.admission.assignments for node, _ in one.nodes}
    assert not given & nodes
    assert sum(held_by_pods(house).values()) == 2 * pods * gpus
    assert house.control.read(lambda engine: engine.figures().free) == 48 - 2 * pods * gpus
    come_back(house, nodes)
    go_on(house)
    old, new = named(house, "train")
    assert (old.state.final, new.state, new.attempt) == (True, S.RUNNING, 1)
    assert house.control.read(lambda engine: engine.figures().used) == pods * gpus


def test_what_was_decided_about_the_old_one_is_not_done_to_the_new(house: KubeHouse) -> None:
    """It is replaced between the decision and the write."""

    def another() -> None:
        house.delete_job("train")
        house.api.controllers.settle()
        house.create_job("train", pods=2, gpus=8)

    house.api.faults.before(another, "PATCH", path="/jobs/train")
    house.create_job("train", pods=1, gpus=8)
    house.step()
    house.settle()
    assert house.job("train")["spec"]["suspend"]
    assert not house.job("train")["metadata"].get("annotations")
    go_on(house, 6)
    old, new = named(house, "train")
    assert old.state.final
    assert (new.state, new.workload.gpus, new.attempt) == (S.RUNNING, 16, 1)
    assert house.control.read(lambda engine: engine.figures().used) == 16


@AWAY
def test_a_pod_of_the_same_name_comes_when_the_old_one_is_gone(
    house: KubeHouse, away: bool
) -> None:
    house.create_pod("notebook", 8, team="nlp")
    house.run(3)
    nodes = hold_still(house)
    house.person.delete(f"{PODS}/notebook", {})
    go_on(house, 2)
    with pytest.raises(Refused, match="AlreadyExists"):
        house.create_pod("notebook", 8, team="nlp")
    assert house.control.read(lambda engine: engine.figures().free) == 40

    def succeed() -> None:
        come_back(house, nodes)
        house.api.kubelet.confirm_all()
        house.create_pod("notebook", 8, team="nlp")

    replace(house, succeed, away=away)
    go_on(house)
    old, new = named(house, "notebook")
    assert (old.state.final, new.state) == (True, S.RUNNING)
    assert len(set(uids([old, new]))) == 2
    assert house.control.read(lambda engine: engine.figures().used) == 8


@AWAY
def test_a_gated_pod_made_again_at_once_is_another_request(house: KubeHouse, away: bool) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_pod("busy-0", 8, team="nlp")
    house.create_pod("busy-1", 8, team="nlp")
    house.create_pod("notebook", 8, team="nlp")
    house.run(3)
    assert house.state("notebook") is S.WAITING

    def again() -> None:
        house.person.delete(f"{PODS}/notebook", {})
        house.create_pod("notebook", 4, team="nlp")

    replace(house, again, away=away)
    go_on(house, 3)
    old, new = named(house, "notebook")
    assert (old.state, new.state) == (S.CANCELLED, S.WAITING)
    assert (old.workload.gpus, new.workload.gpus) == (8, 4)


@AWAY
def test_the_ordinals_of_a_stateful_set_made_anew_wait_for_the_old_ones(
    house: KubeHouse, away: bool
) -> None:
    more = {"podManagementPolicy": "Parallel"}
    keep_state(house, 2, more=more)
    house.run(4)
    before = open_requests(house)
    nodes = hold_still(house)

    def anew() -> None:
        house.person.delete(f"{STATEFUL_SETS}/index", BACKGROUND)
        house.api.controllers.settle()
        keep_state(house, 2, more=more)

    replace(house, anew, away=away)
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().free) == 32
    assert sum(held_by_pods(house).values()) == 16
    come_back(house, nodes)
    go_on(house, 8)
    after = open_requests(house)
    assert [one.workload.name for one in after] == ["index-0", "index-1"]
    assert {one.state for one in after} == {S.RUNNING}
    assert not {one.id for one in after} & {one.id for one in before}
    assert not set(uids(after)) & set(uids(before))
    assert house.control.read(lambda engine: engine.figures().used) == 16
