"""What people do to Jobs that run, and what must be so of every GPU at every moment of that."""

from __future__ import annotations

from collections import Counter

from scheduler.engine import Engine
from scheduler.model import GPU
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM

JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
PODS = f"/api/v1/namespaces/{TEAM}/pods"


def check(house: KubeHouse) -> None:
    """No GPU counts as free that a pod holds, and none counts twice.

    Of a node that is not there, or not ready, nobody is given anything.
    """
    house.hear()
    house.control.step()
    check_counts(house)


def check_counts(house: KubeHouse, *, taken: bool = False) -> None:
    """The same of the moment at which the loop has gone round, with everything heard.

    GPUs that a hold has no pods on others may have `taken`: until the hold is elsewhere, they are
    counted as granted and as theirs.
    """
    held = held_by_pods(house)
    granted = house.control.read(given_by_node)
    for node in house.control.read(lambda engine: engine.nodes()):
        free = node.capacity.get(GPU, 0) - granted[node.name]
        outside = node.outside.get(GPU, 0)
        said = f"{node.name}: {held[node.name]} held, {granted[node.name]} granted, {outside} else"
        assert free <= 8 - held[node.name] or not node.ready, said
        theirs = taken and outside <= held[node.name]
        assert granted[node.name] + outside <= 8 or theirs, said


def held_by_pods(house: KubeHouse) -> Counter[str]:
    """GPUs by node of pods that have not ended."""
    found: Counter[str] = Counter()
    for pod in house.pods():
        if pod["spec"].get("nodeName") and pod["status"].get("phase") in {"Pending", "Running"}:
            limits = pod["spec"]["containers"][0]["resources"]["limits"]
            found[pod["spec"]["nodeName"]] += int(limits["nvidia.com/gpu"])
    return found


def given_by_node(engine: Engine) -> Counter[str]:
    """GPUs by node of all who hold some; what was given back is not held."""
    state = engine._state  # no figure tells of one node
    state.settle_nodes()
    free, row = state.present.space.free, state.nodes.rows[GPU]
    return Counter(
        {
            name: node.capacity.get(GPU, 0) - int(free[row, state.nodes.index[name]])
            for name, node in state.nodes.known.items()
        }
    )


def change_job(house: KubeHouse, name: str, body: dict[str, object]) -> None:
    """A person's merge patch."""
    house.person.patch(f"{JOBS}/{name}", body)


def mark(house: KubeHouse, name: str, where: str, **marks: str | None) -> None:
    """Write labels or annotations of ours on a Job; None takes one away."""
    found = {f"gpubot.dev/{key.replace('_', '-')}": text for key, text in marks.items()}
    change_job(house, name, {"metadata": {where: found}})


def take_out(house: KubeHouse, name: str) -> None:
    """Change the labels of a pod so that its Job has nothing to do with it any more.

    The Job's controller then gives it up: it takes its reference off.
    """
    gone = {"controller-uid": None, "batch.kubernetes.io/controller-uid": None}
    metadata = {"labels": gone, "ownerReferences": None, "finalizers": None}
    house.person.patch(f"{PODS}/{name}", {"metadata": metadata})
