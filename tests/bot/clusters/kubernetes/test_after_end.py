"""Work whose pods are made anew only when the old ones have ended, and nodes that end nothing."""

from __future__ import annotations

import pytest

from scheduler.model import RestCause
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.kube.kinds import NODE
from tests.kube.samples import part

RULES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def begin(house: KubeHouse) -> str:
    """It runs on three nodes; the second."""
    house.create_job("train", pods=3, gpus=8, podFailurePolicy=RULES)
    house.run(3)
    assert house.state("train") is S.RUNNING
    return house.bound()["train-1"]


def silence(house: KubeHouse, node: str) -> None:
    house.api.kubelet.silence(node)
    house.api.change_node(node, ready=False)
    house.settle()


def delete_node(house: KubeHouse, node: str) -> None:
    """Also what the cluster does a minute later: its pods have failed, and are removed."""
    store = house.api.cluster.store
    with store.lock:
        if store.get(NODE, ("", node)) is not None:
            store.remove(NODE, ("", node))
    for pod in house.pods():
        if pod["spec"].get("nodeName") == node:
            house.api.kubelet.finish(f"team/{pod['metadata']['name']}", exit_code=137)
    house.api.kubelet.vanish(node)
    house.pass_time(60.0)


def pass_hour(house: KubeHouse) -> None:
    for _ in range(60):
        house.step(60.0)
        house.run(1)


def reasons(house: KubeHouse) -> list[str]:
    with house.store.read() as view:
        return [one.reason for one in view.transitions.of(house.request("train").id)]


def used(house: KubeHouse) -> float:
    return house.control.read(lambda engine: engine.figures().used)


def test_it_is_stopped_whole_and_not_admitted_while_the_node_keeps_a_pod(house: KubeHouse) -> None:
    silence(house, begin(house))
    pass_hour(house)
    assert house.state("train") is S.WAITING
    assert used(house) == 0
    assert reasons(house).count("admitted") == 1
    rest = house.request("train").workload.rest
    assert rest is not None
    assert rest.cause is RestCause.LINGERS
    (told,) = [one for one in house.said("repaired") if one.notice.audience is Audience.THREAD]
    assert told.notice.args["whole"]
    (held,) = [one for one in house.said("not-taken") if one.notice.audience is Audience.THREAD]
    refusal = held.notice.args["refusal"]
    assert isinstance(refusal, dict)
    assert refusal["refused"] == "lingers"


@pytest.mark.parametrize("how", ["back", "deleted"])
def test_it_goes_on_when_the_node_is_back_or_is_no_more(house: KubeHouse, how: str) -> None:
    node = begin(house)
    silence(house, node)
    pass_hour(house)
    if how == "back":
        house.api.kubelet.recover(node)
    else:
        delete_node(house, node)
    house.run(8)
    assert house.state("train") is S.RUNNING
    assert house.request("train").workload.rest is None
    assert reasons(house).count("admitted") == 2


def test_it_stays_held_over_a_restart(house: KubeHouse) -> None:
    node = begin(house)
    silence(house, node)
    pass_hour(house)
    house.restart()
    house.run(3)
    assert house.state("train") is S.WAITING
    house.api.kubelet.recover(node)
    house.run(8)
    assert house.state("train") is S.RUNNING
    assert reasons(house).count("admitted") == 2


def test_of_a_node_that_is_no_more_it_is_mended(house: KubeHouse) -> None:
    """The cluster itself ends the pods of such a node."""
    node = begin(house)
    with house.api.cluster.store.lock:
        house.api.cluster.store.remove(NODE, ("", node))
    house.settle()
    house.run(2)
    delete_node(house, node)
    for _ in range(6):
        house.pass_time(30.0)
        house.run(2)
    assert house.state("train") is S.RUNNING
    assert reasons(house).count("admitted") == 1


def test_a_job_on_the_lost_node_alone_waits_for_it_as_well(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=4, podFailurePolicy=RULES)
    house.run(3)
    (node,) = set(house.bound().values())
    silence(house, node)
    pass_hour(house)
    assert reasons(house).count("admitted") == 1
    house.api.kubelet.recover(node)
    house.run(8)
    assert house.state("train") is S.RUNNING


def test_what_is_preempted_while_all_nodes_are_well_is_not_held(house: KubeHouse) -> None:
    house.create_job("train", pods=3, labels={"preemptible": "true"}, podFailurePolicy=RULES)
    house.run(3)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(301.0)
    house.run(4)
    rest = house.request("train").workload.rest
    assert house.state("train") is S.WAITING
    assert rest is None
    assert house.said("not-taken") == []


def test_job_sets_are_the_same(house: KubeHouse) -> None:
    house.api.serve_job_sets()
    house.restart()
    house.step()
    workers = part("workers", pods=3)
    workers["template"]["spec"]["podFailurePolicy"] = RULES
    house.create_job_set("train", workers)
    house.run(4)
    assert house.state("train") is S.RUNNING
    silence(house, min(house.bound().values()))
    pass_hour(house)
    assert house.state("train") is S.WAITING
    assert reasons(house).count("admitted") == 1
