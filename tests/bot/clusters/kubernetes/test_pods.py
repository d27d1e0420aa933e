"""Pods that wait by themselves, and groups of them."""

from __future__ import annotations

from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod, by name; empty while it waits at the gate."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in house.pods()}


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


def test_a_pod_that_is_deleted_while_it_waits_is_no_request_any_more(house: KubeHouse) -> None:
    for number in range(7):
        house.create_pod(f"p{number}", 8, team="nlp")
    house.run(4)
    (waiting,) = [one for one in house.requests() if one.state is S.WAITING][:1]
    house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{waiting.workload.name}", {})
    house.run()
    assert house.state(waiting.workload.name) is S.CANCELLED
