"""Nodes that their provider or an autoscaler takes away: what is there moves while it still can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clusters.kubernetes.fleet import LEAVING, PATIENCE
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.server import ApiServer

IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
SPOT = "aws-node-termination-handler/spot-itn"


@pytest.fixture
def patient(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot for which a node that is not ready has failed after a minute, as for a real one."""
    made = KubeHouse(api, tmp_path, patience=PATIENCE)
    made.step()
    yield made
    made.close()


def go_on(house: KubeHouse) -> None:
    """Until the Job controller has made another pod, for which it waits longer each time."""
    for _ in range(3):
        house.step(20.0)
        house.run(2)


def leave(house: KubeHouse, node: str, key: str = SPOT) -> None:
    house.api.change_node(node, taints=[{"key": key, "effect": "NoSchedule"}])
    house.settle()


@pytest.mark.parametrize("key", sorted(LEAVING))
def test_a_gang_goes_on_with_another_node_before_this_one_is_gone(
    patient: KubeHouse, key: str
) -> None:
    patient.create_job("train", pods=3)
    patient.run(3)
    before = patient.bound()
    leave(patient, before["train-1"], key)
    go_on(patient)
    after = patient.bound()
    assert after["train-1"] not in before.values()
    assert {name: after[name] for name in ("train-0", "train-2")} == {
        name: before[name] for name in ("train-0", "train-2")
    }
    request = patient.request("train")
    assert (request.state, request.attempt) == (S.RUNNING, 1)
    (told,) = patient.said("node-failed")
    assert (told.notice.audience, told.notice.args["leaving"]) == (Audience.ONCALL, True)


def test_nothing_is_placed_on_it_even_by_who_puts_up_with_everything(patient: KubeHouse) -> None:
    for number in range(2, 7):
        leave(patient, f"n{number}")
    body = {"tolerations": [{"operator": "Exists"}]}
    patient.create_job("any", pods=1)
    path = "/apis/batch/v1/namespaces/team/jobs/any"
    patient.person.patch(path, {"spec": {"template": {"spec": body}}})
    patient.create_job("more", pods=1)
    patient.run(3)
    assert set(patient.bound().values()) == {"n1"}
    assert sorted([patient.state("any"), patient.state("more")]) == [S.RUNNING, S.WAITING]


def test_a_job_that_replaces_pods_only_when_they_have_ended_moves_as_well(
    patient: KubeHouse,
) -> None:
    patient.create_job("train", pods=3, podFailurePolicy=IGNORE)
    patient.run(3)
    before = patient.bound()
    (pod,) = [one for one in patient.pods() if one["metadata"]["name"].startswith("train-1-")]
    leave(patient, before["train-1"])
    patient.hear()
    patient.control.step()
    patient.settle()
    patient.api.kubelet.finish(f"{TEAM}/{pod['metadata']['name']}", exit_code=143)  # as it was told
    go_on(patient)
    assert patient.bound()["train-1"] not in before.values()
    assert patient.request("train").attempt == 1


def running(house: KubeHouse) -> list[str]:
    """The nodes on which containers run."""
    return [one["spec"]["nodeName"] for one in house.pods() if one["status"]["phase"] == "Running"]


def test_what_is_stopped_there_is_not_begun_elsewhere_before_it_has_ended(
    patient: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pod is saving: two that write one checkpoint would spoil it."""
    patient.create_job("train", pods=1)
    patient.run(3)
    (node,) = patient.bound().values()
    with monkeypatch.context() as patched:
        patched.setattr(patient.api.kubelet, "confirm_all", lambda: 0)
        leave(patient, node)
        for _ in range(4):
            patient.step(1.0)
            patient.settle()
            patient.let_pods_run()
            patient.settle()
            assert running(patient) == [node]
        assert patient.job("train")["spec"]["suspend"]
    go_on(patient)
    assert running(patient) != [node]
    assert patient.state("train") is S.RUNNING


@pytest.mark.parametrize("away", [False, True], ids=["a bot there", "no bot there"])
def test_the_rest_of_a_hold_stays(patient: KubeHouse, away: bool) -> None:
    hold = ask(patient, "k1", nodes=2)
    for name in ("a", "b"):
        patient.create_pod(name, 8, request=hold)
    patient.run(3)
    before = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in patient.pods()}
    patient.api.change_node(before["a"], taints=[{"key": SPOT, "effect": "NoSchedule"}])
    if away:
        patient.restart()
    patient.run(4)
    after = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in patient.pods()}
    assert after == {"b": before["b"]}
    assert state(patient, hold) is S.RUNNING


def test_one_that_is_shut_down_ends_nothing_any_more(patient: KubeHouse) -> None:
    patient.create_job("train", pods=3, podFailurePolicy=IGNORE)
    patient.run(3)
    node = patient.bound()["train-1"]
    patient.api.kubelet.silence(node)
    patient.api.change_node(node, ready=False)
    leave(patient, node, "node.cloudprovider.kubernetes.io/shutdown")
    patient.step(PATIENCE + 1.0)
    patient.run(3)
    assert patient.state("train") is S.WAITING
    assert patient.job("train")["spec"]["suspend"]


def test_a_replica_comes_again_elsewhere(patient: KubeHouse) -> None:
    deploy(patient, 1)
    patient.run(3)
    (before,) = patient.bound().values()
    leave(patient, before)
    for _ in range(3):
        patient.step(130.0)
        patient.run(3)
    (after,) = patient.bound().values()
    assert after != before


def test_one_that_stays_after_all_is_used_again(patient: KubeHouse) -> None:
    for number in range(1, 7):
        leave(patient, f"n{number}")
    patient.create_job("train", pods=1)
    patient.run(2)
    assert patient.state("train") is S.WAITING
    patient.api.change_node("n4", taints=[])
    patient.run(3)
    assert list(patient.bound().values()) == ["n4"]


def test_that_it_is_gone_then_is_no_second_failure(patient: KubeHouse) -> None:
    patient.create_job("train", pods=2)
    patient.run(3)
    node = patient.bound()["train-0"]
    leave(patient, node)
    patient.run(3)
    patient.api.change_node(node, ready=False)
    patient.run(1)
    patient.step(PATIENCE + 1.0)
    patient.run(2)
    assert len(patient.said("node-failed")) == 1
