"""What is done to a LeaderWorkerSet, and what is seen of its replicas."""

from __future__ import annotations

from storage.records import Request
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import (
    LEADER_WORKER_SETS,
    open_requests,
)
from tests.bot.clusters.kubernetes.world import TEAM

LLAMA = f"{LEADER_WORKER_SETS}/llama"


def by_name(house: KubeHouse) -> dict[str, Request]:
    """The open request of each replica."""
    return {one.workload.name: one for one in open_requests(house)}


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod that has one, by name."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in house.pods()
        if pod["spec"].get("nodeName")
    }


def uids(house: KubeHouse) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in house.pods()}


def delete(house: KubeHouse, pod: str) -> None:
    house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{pod}", {})


def new_image(house: KubeHouse) -> None:
    there = house.person.get(LLAMA)["spec"]["leaderWorkerTemplate"]
    there["workerTemplate"]["spec"]["containers"][0]["image"] = "example.com/serve:2"
    house.person.patch(LLAMA, {"spec": {"leaderWorkerTemplate": there}})


def creep(house: KubeHouse, rounds: int) -> None:
    """Go round with a look of the bot at whatever comes between, such as a leader by itself."""
    controllers, kubelet = house.api.controllers, house.api.kubelet
    for _ in range(rounds):
        for step in (
            controllers.leader_worker_sets,
            kubelet.confirm_all,
            controllers.garbage,
            controllers.workloads,
            controllers.jobs,
            controllers.schedule,
            kubelet.start_all,
        ):
            step()
            house.hear()
            house.control.step()
            assert house.cluster.writer.wait(10.0)


def check_whole(house: KubeHouse) -> None:
    """Of each replica all pods have passed the gate, or none."""
    gated: dict[str, set[bool]] = {}
    for pod in house.pods():
        group = pod["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/group-index")
        if group is not None and not pod["metadata"].get("deletionTimestamp"):
            gated.setdefault(group, set()).add(bool(pod["spec"].get("schedulingGates")))
    assert all(len(states) == 1 for states in gated.values())
