"""Groups of pods as people make and change them, and what is seen of them."""

from __future__ import annotations

from scheduler.model import RestCause
from scheduler.rest import Readiness
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM

READY_WITHIN = Readiness().ready_in


def create(house: KubeHouse, gpus: dict[str, int], *, size: int | None = None, **more: str) -> None:
    """Pods of the group `g`, by name and GPUs."""
    for name, each in gpus.items():
        marks = {"team": "nlp", "group": "g", "group_size": str(size or len(gpus)), **more}
        house.create_pod(name, each, **marks)


def delete(house: KubeHouse, *pods: str) -> None:
    for name in pods:
        house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{name}", {})
    house.settle()


def label(house: KubeHouse, which: str, **marks: str) -> None:
    labels = {f"gpubot.dev/{name}": text for name, text in marks.items()}
    path = f"/api/v1/namespaces/{TEAM}/pods/{which}"
    house.person.patch(path, {"metadata": {"labels": labels}})
    house.settle()


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod that has one, by name."""
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in house.pods()
        if one["spec"].get("nodeName")
    }


def gates(house: KubeHouse) -> dict[str, bool]:
    """Whether each pod waits at the gate, by name."""
    pods = house.pods()
    return {one["metadata"]["name"]: bool(one["spec"].get("schedulingGates")) for one in pods}


def refused(house: KubeHouse) -> list[str]:
    assert house.cluster.remarks.wait(10.0)
    found = house.person.get(f"/api/v1/namespaces/{TEAM}/events")["items"]
    return [one["message"] for one in found if one["reason"] == "Refused"]


def attempts(house: KubeHouse) -> int:
    return sum(one.attempt for one in house.requests())


def held(house: KubeHouse) -> bool:
    rest = house.request("g").workload.rest
    return rest is not None and rest.cause is RestCause.SPOILED


def make_room(house: KubeHouse) -> None:
    house.finish_pods()
    house.run(4)
