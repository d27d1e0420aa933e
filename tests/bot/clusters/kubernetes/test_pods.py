"""Pods that wait by themselves, groups of them, and the replicas of a Deployment."""

from __future__ import annotations

from typing import Any

from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.samples import GATE, pod_spec


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod, by name; empty while it waits at the gate."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in house.pods()}


def open_requests(house: KubeHouse) -> list[Request]:
    return [request for request in house.requests() if not request.state.final]


def deploy(house: KubeHouse, replicas: int) -> None:
    labels = {"app": "chat", "gpubot.dev/team": "nlp"}
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "chat"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": pod_spec(8, schedulingGates=[{"name": GATE}]),
            },
        },
    }
    house.person.post(f"/apis/apps/v1/namespaces/{TEAM}/deployments", body)


def scale(house: KubeHouse, replicas: int) -> None:
    path = f"/apis/apps/v1/namespaces/{TEAM}/deployments/chat"
    house.person.patch(path, {"spec": {"replicas": replicas}})


def test_a_pod_with_a_team_is_a_request_of_its_own(house: KubeHouse) -> None:
    house.create_pod("notebook", 4, team="nlp")
    house.create_pod("stranger", 4)
    house.run(4)
    (request,) = house.requests()
    assert (request.workload.name, request.state, request.workload.gpus) == (
        "notebook",
        S.RUNNING,
        4,
    )
    assert nodes(house)["notebook"]
    assert not nodes(house)["stranger"]
    house.api.kubelet.finish(f"{TEAM}/notebook")
    house.run()
    assert house.state("notebook") is S.FINISHED


def test_a_group_waits_until_it_is_whole_and_starts_together(house: KubeHouse) -> None:
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", group_size="3")
    house.run()
    assert house.requests() == []
    house.create_pod("c", 8, team="nlp", group="g", group_size="3")
    house.run(4)
    (request,) = house.requests()
    assert (request.state, request.workload.gpus) == (S.RUNNING, 24)
    assert len(set(nodes(house).values())) == 3


def test_a_group_outlives_a_restart(house: KubeHouse) -> None:
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", group_size="2")
    house.run(4)
    house.restart()
    house.run()
    (request,) = house.requests()
    assert (request.state, request.attempt) == (S.RUNNING, 1)


def test_each_replica_is_a_request_and_the_autoscaler_keeps_working(house: KubeHouse) -> None:
    deploy(house, 2)
    house.run(5)
    assert [one.state for one in open_requests(house)] == [S.RUNNING, S.RUNNING]
    scale(house, 3)
    house.run(5)
    assert len(open_requests(house)) == 3
    scale(house, 1)
    house.run(5)
    (left,) = open_requests(house)
    assert left.state is S.RUNNING
    assert len(house.pods()) == 1


def test_a_stopped_replica_comes_back_as_another_request(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(5)
    (first,) = open_requests(house)
    house.desk.release(first.workload.owner, first.id, key="k1")
    house.run(2)
    house.pass_time(301.0)
    house.run(6)
    (second,) = open_requests(house)
    assert second.id != first.id
    assert second.state is S.RUNNING


def test_an_eviction_waits_for_its_disruption_budget(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(5)
    (request,) = open_requests(house)
    house.api.faults.shed("POST", path="eviction", times=2, after=0)
    house.desk.release(request.workload.owner, request.id, key="k1")
    house.run(2)
    house.pass_time(301.0)
    house.run(6)
    assert request.id not in [one.id for one in open_requests(house)]


def test_a_pod_that_is_deleted_while_it_waits_is_no_request_any_more(house: KubeHouse) -> None:
    for number in range(7):
        house.create_pod(f"p{number}", 8, team="nlp")
    house.run(4)
    (waiting,) = [one for one in house.requests() if one.state is S.WAITING][:1]
    house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{waiting.workload.name}", {})
    house.run()
    assert house.state(waiting.workload.name) is S.CANCELLED
