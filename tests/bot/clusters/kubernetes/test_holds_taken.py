"""Pods outside the bot take GPUs that a hold has no pods on: it is noticed, told and made good."""

from __future__ import annotations

import pytest

from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import check
from tests.bot.clusters.kubernetes.test_chat_requests import ask, nodes, state
from tests.bot.house import ADA
from tests.kube.samples import pod
from tests.kube.server import ApiServer

FREE = "/api/v1/namespaces/free/pods"
ALL_HEAR = {(Audience.THREAD, None), (Audience.ONCALL, None), (Audience.PERSON, ADA.id)}


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With a namespace in which pods need not pass the gate."""
    api.add_namespace("free")
    return api


def take(house: KubeHouse, node: str, *, gpus: int = 8, name: str = "intruder") -> None:
    """Somebody's pod is put on a node past the gate, and runs there."""
    body = pod(name, gpus=gpus, gated=False)
    body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    house.person.post(FREE, body)
    house.settle()
    house.let_pods_run()
    house.settle()


def where(house: KubeHouse, request: str) -> dict[str, int]:
    return dict(house.desk.card(request).nodes)


def go_on(house: KubeHouse, rounds: int = 3) -> None:
    for _ in range(rounds):
        check(house)
        house.run(1)


@pytest.mark.parametrize("away", [False, True])
def test_it_is_held_on_another_node_at_once(house: KubeHouse, away: bool) -> None:
    request = ask(house, "k1", gpus=8)
    (node,) = where(house, request)
    if away:
        house.cluster.close()
        body = pod("intruder", gpus=8, gated=False)
        body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        house.person.post(FREE, body)
        house.api.controllers.settle()
        house.restart()
    else:
        take(house, node)
    check(house)
    (to,) = where(house, request)
    assert to != node
    assert state(house, request) is S.RUNNING
    told = house.said("taken")
    assert {(one.notice.audience, one.notice.target) for one in told} == ALL_HEAR
    args = told[0].notice.args
    assert (args["by"], args["to"], args["node"]) == ([["free/intruder", 8]], [to], node)
    assert house.said("repaired") == []
    assert house.said("node-failed") == []
    go_on(house)
    house.create_pod("mine", 8, request=request)
    house.run()
    assert nodes(house)["mine"] == to
    go_on(house)
    assert len(house.said("taken")) == 3


def test_the_node_is_given_to_nobody_else_in_the_same_moment(house: KubeHouse) -> None:
    """Five whole nodes are full; who waits for one must not get that which was taken."""
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    request = ask(house, "k1", gpus=8)
    (node,) = where(house, request)
    second = ask(house, "k2", gpus=8)
    assert len({*where(house, request), *where(house, second), *house.bound().values()}) == 6
    third = ask(house, "k3", gpus=8)
    assert state(house, third) is S.WAITING
    take(house, node)
    go_on(house)
    assert (state(house, second), state(house, third)) == (S.RUNNING, S.WAITING)


def test_without_another_node_it_waits_at_its_old_place(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    request, second = ask(house, "k1", gpus=8), ask(house, "k2", gpus=8)
    (node,) = where(house, request)
    take(house, node)
    go_on(house)
    assert (state(house, request), state(house, second)) == (S.WAITING, S.RUNNING)
    assert house.said("taken")[0].notice.args["waits"]
    assert [one.notice.args["cause"] for one in house.said("requeued")] == ["taken"]
    house.person.delete(f"{FREE}/intruder", {"gracePeriodSeconds": 0})
    go_on(house)
    assert state(house, request) is S.RUNNING
    assert list(where(house, request)) == [node]


def test_what_runs_for_it_there_goes_on_and_no_more_is_let_in(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=8)
    (node,) = where(house, request)
    house.create_pod("mine", 4, request=request)
    house.run()
    take(house, node, gpus=4)
    house.create_pod("more", 4, request=request)
    go_on(house)
    assert (nodes(house)["mine"], nodes(house)["more"]) == (node, "")
    assert list(where(house, request)) == [node]
    told = house.said("taken")
    assert {(one.notice.audience, one.notice.target) for one in told} == ALL_HEAR
    assert (told[0].notice.args["to"], told[0].notice.args["waits"]) == ([], False)
    house.restart()
    go_on(house)
    assert len(house.said("taken")) == 3
    house.person.delete(f"{FREE}/intruder", {"gracePeriodSeconds": 0})
    go_on(house)
    assert nodes(house)["more"] == node


def test_who_has_pods_elsewhere_loses_none_of_them(house: KubeHouse) -> None:
    """No other node has room: it stays; with room it would have gone on there."""
    request = ask(house, "k1", nodes=2)
    held = sorted(where(house, request))
    house.create_pod("mine", 8, request=request)
    house.run()
    taken = next(node for node in held if node != nodes(house)["mine"])
    for node in sorted({f"n{number}" for number in range(1, 7)} - {*held}):
        take(house, node, name=f"on-{node}")
    take(house, taken)
    go_on(house)
    assert state(house, request) is S.RUNNING
    assert sorted(where(house, request)) == held
    assert nodes(house)["mine"]


def test_who_has_pods_elsewhere_goes_on_where_there_is_room(house: KubeHouse) -> None:
    request = ask(house, "k1", nodes=2)
    house.create_pod("mine", 8, request=request)
    house.run()
    used = nodes(house)["mine"]
    (empty,) = set(where(house, request)) - {used}
    take(house, empty)
    go_on(house)
    now = where(house, request)
    assert nodes(house)["mine"] == used
    assert used in now
    assert empty not in now
    house.create_pod("more", 8, request=request)
    house.run()
    assert nodes(house)["more"] in set(now) - {used}
