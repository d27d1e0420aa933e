"""Jobs whose ranks fail or succeed one by one: what can come no more is not waited for."""

from __future__ import annotations

import pytest

from bot.clusters.kubernetes.works import job_of
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM

READY_WITHIN = Readiness().ready_in
JOB = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"


def end(house: KubeHouse, rank: int, *, exit_code: int = 1) -> None:
    """The newest pod of a rank ends."""
    names = [pod["metadata"]["name"] for pod in house.pods() if pod["status"]["phase"] == "Running"]
    (name,) = [name for name in names if name.startswith(f"train-{rank}-")]
    house.api.kubelet.finish(f"{TEAM}/{name}", exit_code=exit_code)
    house.settle()
    house.run(2)


def placed(house: KubeHouse) -> list[str]:
    """The nodes of the pods that run, by rank."""
    running = [pod for pod in house.pods() if pod["status"]["phase"] == "Running"]
    return [
        pod["spec"]["nodeName"] for pod in sorted(running, key=lambda pod: pod["metadata"]["name"])
    ]


def used(house: KubeHouse) -> float:
    return house.control.read(lambda engine: engine.figures().used)


def begin(house: KubeHouse, **more: object) -> None:
    house.create_job("train", pods=4, gpus=8, **more)
    house.run(3)
    assert house.state("train") is S.RUNNING


@pytest.mark.parametrize(
    ("failed", "to_come"),
    [(None, 4), ("", 4), ("2", 3), ("0,2-3", 1), ("0-3", 0), ("3-9", 3), ("x,1", 3), ([1], 4)],
)
def test_failed_indexes_are_counted_as_they_are_listed(failed: object, to_come: int) -> None:
    meta = {"name": "x", "namespace": "team", "uid": "u1", "resourceVersion": "7"}
    spec = {"completions": 4, "parallelism": 4, "completionMode": "Indexed"}
    job = job_of({"metadata": meta, "spec": spec, "status": {"failedIndexes": failed}})
    assert job.to_come == to_come


def test_a_rank_that_has_failed_for_good_gives_its_gpus_back(house: KubeHouse) -> None:
    begin(house, backoffLimitPerIndex=0)
    end(house, 2)
    assert house.job("train")["status"]["failedIndexes"] == "2"
    assert used(house) == 24
    house.step(2 * READY_WITHIN)
    house.run(2)
    assert house.state("train") is S.RUNNING
    for rank in (0, 1, 3):
        end(house, rank, exit_code=0)
    house.run(3)
    assert house.state("train") is S.FAILED
    assert used(house) == 0


def test_a_rank_that_is_tried_again_keeps_them(house: KubeHouse) -> None:
    begin(house, backoffLimitPerIndex=1)
    end(house, 2)
    assert used(house) == 32
    house.pass_time(30.0)
    house.run(3)
    assert house.state("train") is S.RUNNING
    assert sum(pod["status"]["phase"] == "Running" for pod in house.pods()) == 4


def test_ranks_that_fail_before_all_are_ready_do_not_hold_up_the_others(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8, backoffLimitPerIndex=0)
    house.run(3, pods=False)
    (first, *others) = sorted(house.api.kubelet.startable())
    house.api.kubelet.finish(first, exit_code=1)
    house.settle()
    for where in others:
        house.api.kubelet.start(where)
    house.run(2)
    assert house.state("train") is S.RUNNING
    house.step(2 * READY_WITHIN)
    house.run(2)
    assert house.state("train") is S.RUNNING


def test_a_later_attempt_is_of_those_that_can_still_come(house: KubeHouse) -> None:
    begin(house, backoffLimitPerIndex=0)
    end(house, 2)
    house.person.patch(JOB, {"spec": {"suspend": True}})
    house.run(6)
    assert house.state("train") is S.RUNNING
    assert house.request("train").gpus == 24
    running = [pod for pod in house.pods() if pod["status"]["phase"] == "Running"]
    assert len(running) == 3
    assert len({pod["spec"]["nodeName"] for pod in running}) == 3


@pytest.mark.parametrize("restarts", [False, True])
def test_the_ranks_that_still_come_are_neighbours(house: KubeHouse, restarts: bool) -> None:
    begin(house, backoffLimitPerIndex=1)
    for code in (0, 1):
        end(house, code, exit_code=code)
    house.person.patch(JOB, {"spec": {"suspend": True}})
    house.pass_time(30.0)
    house.run(6)
    admission = house.request("train").admission
    assert admission is not None
    slots = [node for node, _ in admission.assignments[0].nodes]
    assert placed(house) == slots
    if restarts:
        house.restart()
        house.run(2)
    end(house, 2)
    house.pass_time(30.0)
    house.run(4)
    assert placed(house) == slots


def test_a_restart_of_the_bot_changes_nothing_of_that(house: KubeHouse) -> None:
    begin(house, backoffLimitPerIndex=1)
    for _ in range(2):
        end(house, 2)
        house.pass_time(30.0)
        house.run(3)
    assert house.job("train")["status"]["failedIndexes"] == "2"
    house.restart()
    house.run(2)
    end(house, 1)
    house.pass_time(100.0)
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert used(house) == 24
    assert sum(pod["status"]["phase"] == "Running" for pod in house.pods()) == 3


@pytest.mark.parametrize("done", [True, False])
def test_a_job_that_is_decided_holds_only_what_still_ends(house: KubeHouse, done: bool) -> None:
    """One by its success policy, one by too many failures: a pod of it takes its time to end."""
    policy = {"rules": [{"succeededIndexes": "0"}]}
    begin(house, **({"successPolicy": policy} if done else {"backoffLimit": 0}))
    slow = house.bound()["train-3"]
    house.api.kubelet.silence(slow)
    end(house, 0, exit_code=0 if done else 1)
    assert used(house) == 8
    house.step(2 * READY_WITHIN)
    house.run(2)
    assert house.state("train") is S.RUNNING
    house.api.kubelet.recover(slow)
    house.run(3)
    assert house.state("train") is (S.FINISHED if done else S.FAILED)
