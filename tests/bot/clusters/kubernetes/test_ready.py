"""Gangs that are not whole in time, nodes that are lost, and nodes that hold gangs up."""

from __future__ import annotations

from bot.clusters.kubernetes.cluster import READY_WITHIN
from bot.control.observed import LATE_AT_MOST
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse


def start_all_but_one(house: KubeHouse) -> None:
    """The pods of rank 0 never become ready."""
    for pod in house.pods():
        meta = pod["metadata"]
        pending = pod["status"]["phase"] == "Pending" and pod["spec"].get("nodeName")
        if pending and "-0-" not in meta["name"] and not meta.get("deletionTimestamp"):
            house.api.kubelet.start(f"{meta['namespace']}/{meta['name']}")
    house.settle()


def begin(house: KubeHouse) -> None:
    house.run(3, pods=False)
    start_all_but_one(house)
    house.step()


def be_late(house: KubeHouse) -> None:
    begin(house)
    house.step(READY_WITHIN)
    house.run(2, pods=False)


def test_a_gang_that_is_not_whole_in_time_is_stopped_whole(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    begin(house)
    house.step(READY_WITHIN - 1.0)
    assert house.state("train") is S.ADMITTED
    before = house.request("train")
    house.step(1.0)
    house.settle()
    house.control.step()
    again = house.request("train")
    assert (before.attempt, again.attempt) == (1, 2)
    (told,) = house.said("requeued")
    assert told.notice.args["cause"] == "late"


def test_its_own_fault_sends_it_to_the_back_of_its_queue(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    begin(house)
    created = house.request("train").workload.created
    house.step(READY_WITHIN)
    house.run(2, pods=False)
    assert house.request("train").workload.created > created


def test_it_is_not_tried_for_ever(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    for _ in range(LATE_AT_MOST):
        be_late(house)
    assert house.state("train") is S.FAILED
    assert house.request("train").attempt == LATE_AT_MOST
    assert house.job("train")["spec"]["suspend"]


def test_who_gets_no_node_in_time_keeps_the_place(house: KubeHouse) -> None:
    """Something that the API does not show keeps the pods off: the scheduler refuses."""
    house.create_job("train", pods=2, gpus=8)
    house.step()
    for number in range(1, 7):  # behind our back, and not yet heard of
        house.api.change_node(f"n{number}", gpus=0)
    house.settle()
    house.step()
    house.settle()
    created = house.request("train").workload.created
    house.step(READY_WITHIN)
    house.run(2, pods=False)
    assert house.said("requeued")[0].notice.args["cause"] == "unplaced"
    assert house.request("train").workload.created == created


def test_a_node_that_holds_up_several_gangs_is_avoided(house: KubeHouse) -> None:
    for number in range(3):
        house.create_job(f"j{number}", pods=1, gpus=2)
    begin(house)
    house.step(READY_WITHIN)
    house.settle()
    house.step()
    nodes = house.cluster.fleet.all()
    closed = {node.name for node in nodes if not node.schedulable}
    assert len(closed) == 1
    house.run(3, pods=False)
    there = {pod["spec"].get("nodeName") for pod in house.pods()}
    assert not there & closed


def test_a_lost_node_is_replaced_and_the_others_stay(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.run(4)
    before = house.bound()
    house.api.kubelet.silence(before["train-1"])
    house.api.change_node(before["train-1"], ready=False)
    house.run(4)
    house.api.kubelet.vanish(before["train-1"])
    house.pass_time(30.0)  # a Job's controller takes its time with successors
    house.run(4)
    after = house.bound()
    assert house.state("train") is S.RUNNING
    assert after["train-1"] != before["train-1"]
    assert [after[name] for name in ("train-0", "train-2")] == [
        before[name] for name in ("train-0", "train-2")
    ]
    assert len(house.said("repaired")) == 1
    assert len(house.said("node-failed")) == 1


def test_a_job_on_one_lost_node_starts_again_elsewhere(house: KubeHouse) -> None:
    """Its template names the node, so it cannot be mended: it is stopped whole."""
    house.create_job("train", pods=2, gpus=4)
    house.run(4)
    (before,) = set(house.bound().values())
    house.api.change_node(before, ready=False)
    house.api.kubelet.silence(before)
    house.run(4)
    house.api.kubelet.vanish(before)
    house.pass_time(30.0)
    house.run(6)
    assert house.state("train") is S.RUNNING
    assert before not in house.bound().values()
