"""What speaks against a node, and what is the fault of the work itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bot.clusters.base import Evidence
from bot.clusters.kubernetes.troubles import Trouble, blamed, trouble_of
from scheduler.model import NodeName
from storage.records import Person
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.test_ready import READY_WITHIN, RULES, closed
from tests.bot.house import ADA, ANA, BEN


def waiting(reason: str, restarts: int = 0) -> dict[str, Any]:
    state = {"waiting": {"reason": reason}}
    return {"containerStatuses": [{"restartCount": restarts, "state": state}]}


def ended(code: int) -> dict[str, Any]:
    return {"restartCount": 0, "state": {"terminated": {"exitCode": code}}}


RUNS = {"restartCount": 0, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({}, Trouble.STUCK),
        (waiting("ContainerCreating"), Trouble.STUCK),
        (waiting("PodInitializing"), Trouble.STUCK),
        (waiting("ErrImagePull"), Trouble.IMAGE),
        (waiting("ImagePullBackOff"), Trouble.IMAGE),
        (waiting("InvalidImageName"), Trouble.IMAGE),
        (waiting("CreateContainerConfigError"), Trouble.BROKEN),
        (waiting("CrashLoopBackOff", 3), Trouble.BROKEN),
        (waiting("ContainerCreating", 1), Trouble.BROKEN),
        ({"containerStatuses": [ended(1)]}, Trouble.BROKEN),
        ({"containerStatuses": [{**RUNS, "restartCount": 2}]}, Trouble.BROKEN),
        ({"containerStatuses": [RUNS]}, Trouble.UNREADY),
        ({"initContainerStatuses": [RUNS], **waiting("PodInitializing")}, Trouble.UNREADY),
        ({"initContainerStatuses": [ended(0)], **waiting("PodInitializing")}, Trouble.STUCK),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError"}, Trouble.REFUSED),
        ({"phase": "Failed", "reason": "OutOfnvidia.com/gpu"}, Trouble.REFUSED),
        ({"phase": "Failed", "containerStatuses": [ended(1)]}, None),
        ({"phase": "Succeeded", "containerStatuses": [ended(0)]}, None),
    ],
)
def test_what_a_status_tells(status: dict[str, Any], trouble: Trouble | None) -> None:
    assert trouble_of(status) is trouble


@dataclass(frozen=True)
class Placed:
    node: NodeName | None
    trouble: Trouble | None
    part: tuple[str, int] | None = None


def verdict(*troubles: tuple[str, Trouble | None]) -> dict[str, Evidence]:
    pods = [Placed(NodeName(node), trouble) for node, trouble in troubles]
    return {str(node): evidence for node, evidence in blamed(pods)}


def test_a_node_is_suspected_for_what_is_well_elsewhere() -> None:
    stuck, image, broken = Trouble.STUCK, Trouble.IMAGE, Trouble.BROKEN
    assert verdict(("a", stuck)) == {"a": Evidence.LIKELY}
    assert verdict(("a", stuck), ("b", None)) == {"a": Evidence.LIKELY}
    assert verdict(("a", stuck), ("b", Trouble.UNREADY)) == {"a": Evidence.LIKELY}
    assert verdict(("a", stuck), ("b", stuck)) == {}
    assert verdict(("a", stuck), ("b", stuck), ("c", None)) == {}
    assert verdict(("a", image), ("b", None)) == {"a": Evidence.LIKELY}
    both = {"a": Evidence.LIKELY, "b": Evidence.DOUBTFUL}
    assert verdict(("a", image), ("b", broken)) == both
    assert verdict(("a", image), ("b", image)) == {}
    assert verdict(("a", broken), ("b", broken)) == {}


def test_what_is_on_one_node_alone_may_be_its_own_fault() -> None:
    doubtful = {"a": Evidence.DOUBTFUL}
    assert verdict(("a", Trouble.IMAGE)) == doubtful
    assert verdict(("a", Trouble.BROKEN), ("b", None)) == doubtful
    assert verdict(("a", Trouble.UNREADY), ("b", None)) == doubtful
    assert verdict(("a", Trouble.UNREADY), ("b", Trouble.UNREADY)) == {}
    assert verdict(("a", Trouble.BROKEN), ("b", Trouble.STUCK)) == doubtful


def test_images_are_compared_among_pods_of_one_kind() -> None:
    pods = [
        Placed(NodeName("a"), Trouble.IMAGE, ("workers", 0)),
        Placed(NodeName("b"), Trouble.IMAGE, ("workers", 0)),
        Placed(NodeName("c"), None, ("leader", 0)),
    ]
    assert list(blamed(pods)) == []


def test_a_kubelet_that_refuses_says_so_itself() -> None:
    found = verdict(("a", Trouble.REFUSED), ("b", Trouble.BROKEN), ("c", Trouble.BROKEN))
    assert found == {"a": Evidence.CERTAIN}


def ask(house: KubeHouse, name: str, gpus: int, person: Person) -> None:
    labels = {"team": person.teams[-1]}
    house.create_job(name, gpus=gpus, labels=labels, annotations={"owner": person.id})


def be_late(house: KubeHouse, reason: str, *, node: str | None = None) -> None:
    """What is let go waits on for this reason, on one node or wherever it is."""
    house.run(3, pods=False)
    nodes = {f"team/{pod['metadata']['name']}": pod["spec"].get("nodeName") for pod in house.pods()}
    for where in house.api.kubelet.startable():
        if node in {None, nodes[where]}:
            house.api.kubelet.hold_up(where, reason)
        else:
            house.api.kubelet.start(where)
    house.settle()
    house.step(READY_WITHIN)
    house.run(2, pods=False)


def test_wrong_images_close_no_node(house: KubeHouse) -> None:
    for number in range(6):
        house.create_job(f"typo-{number}", pods=1 + number % 2, gpus=8)
    for _ in range(RULES.tries):
        be_late(house, "ImagePullBackOff")
        house.step(RULES.longest)
    assert house.said("requeued")
    assert closed(house) == set()


def test_nodes_of_one_whose_pods_are_stuck_everywhere_stay_open(house: KubeHouse) -> None:
    """As with a Secret that is missing, which no status tells."""
    for number in range(8):
        house.create_job(f"sweep-{number}", pods=1, gpus=2)
    be_late(house, "ContainerCreating")
    assert house.said("requeued")
    assert closed(house) == set()


def test_a_node_that_lacks_an_image_which_others_have_is_avoided(house: KubeHouse) -> None:
    for number in range(3):
        assert closed(house) == set()
        house.create_job(f"j{number}", pods=2, gpus=8)
        be_late(house, "ErrImagePull", node="n1")
        house.delete_job(f"j{number}")
        house.run(1, pods=False)
    assert closed(house) == {"n1"}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_crashes_count_where_they_are_of_many_people_and_on_one_node(
    house: KubeHouse, elsewhere: bool
) -> None:
    for number, person in enumerate((ADA, BEN, ANA)):
        ask(house, f"j{number}", 2, person)
    if elsewhere:
        ask(house, "more", 8, ADA)
    be_late(house, "CrashLoopBackOff")
    assert [house.state(f"j{number}") for number in range(3)] == [S.WAITING] * 3
    assert len(closed(house)) == (0 if elsewhere else 1)


def test_a_node_that_refuses_replicas_is_left_for_another(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(3, pods=False)
    (where,) = house.api.kubelet.startable()
    (bad,) = {pod["spec"]["nodeName"] for pod in house.pods()}
    for _ in range(3):
        (where,) = house.api.kubelet.startable()
        house.api.kubelet.refuse(where)
        house.run(4, pods=False)
    assert closed(house) == {bad}
    house.run(3)
    (running,) = {
        pod["spec"]["nodeName"] for pod in house.pods() if pod["status"]["phase"] == "Running"
    }
    assert running != bad
