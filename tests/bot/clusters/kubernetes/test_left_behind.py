"""Pods that a lost node keeps for ever: nobody is granted anything for them again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.clusters.kubernetes.fleet import PATIENCE
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import check
from tests.bot.clusters.kubernetes.serving import deploy, keep_state
from tests.bot.clusters.kubernetes.test_chat_requests import nodes
from tests.bot.house import ANA
from tests.kube.samples import pod
from tests.kube.server import ApiServer


def make(house: KubeHouse, kind: str) -> None:
    if kind == "Pod":
        house.create_pod("a", 8, team="nlp")
    elif kind == "Deployment":
        deploy(house, 1)
    elif kind == "StatefulSet":
        keep_state(house, 1, more={})
    else:
        for name in ("a", "b"):
            house.create_pod(name, 8, team="nlp", group="g", group_size="2")
    house.run(4)


@pytest.mark.parametrize("kind", ["Pod", "Group", "Deployment", "StatefulSet"])
@pytest.mark.parametrize("restarted", ["never", "before", "after"])
def test_what_is_left_on_a_lost_node_is_not_admitted_again(
    house: KubeHouse, kind: str, restarted: str
) -> None:
    """The kubelet is silent, so its pods stay, terminating; a Deployment makes another at once."""
    make(house, kind)
    (first, *_) = house.requests()
    if restarted == "before":
        house.restart()
        house.run(2)
    lost = next(node for node in nodes(house).values() if node)
    house.api.kubelet.silence(lost)
    house.api.change_node(lost, ready=False)
    house.run(1)
    if restarted == "after":
        house.restart()
    house.run(4)
    house.pass_time(301.0)
    house.run(4)
    (old, *new) = house.requests()
    assert old.id == first.id
    assert old.state.final
    assert old.attempt == 1
    assert [one.state for one in new] == ([S.RUNNING] if kind == "Deployment" else [])
    told = [item for item in house.said("admitted") if item.notice.audience is Audience.CHANNEL]
    assert len(told) <= 1


def test_a_job_that_is_over_has_no_room_of_the_nodes_it_left(
    api: ApiServer, tmp_path: Path
) -> None:
    """Its pod on the lost node stays; after a restart that node has a minute to be ready again."""
    house = KubeHouse(api, tmp_path, patience=PATIENCE)
    house.step()
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    left, lost = sorted(house.bound().values())
    house.api.kubelet.silence(lost)
    house.api.change_node(lost, ready=False)
    house.run(2)
    house.desk.cancel(ANA.id, house.request("train").id, key="k1")
    for _ in range(3):
        house.pass_time(601.0)
        house.run(2)
    assert house.state("train").final
    assert list(house.bound().values()) == [lost]
    body = pod("notebook", gpus=6, gated=False)
    body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": left}
    api.add_namespace("nlp")
    house.person.post("/api/v1/namespaces/nlp/pods", body)
    house.run(2)
    check(house)
    house.restart()
    house.run(2)
    check(house)
    house.api.change_node(lost, ready=True)
    house.run(1)
    check(house)
    house.close()
