"""JobSets give back the places of pods that are done for good, while their other pods run."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clusters.base import Shrunk
from bot.clusters.kubernetes.works import job_set_of
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_progress import used
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.samples import job_set, part
from tests.kube.server import ApiServer

READY_WITHIN = Readiness().ready_in
PART = "jobset.sigs.k8s.io/replicatedjob-name"


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


def end_pods(house: KubeHouse, *starts: str, exit_code: int = 0) -> None:
    """The running pods whose names begin so end."""
    for pod in house.pods():
        name = pod["metadata"]["name"]
        if name.startswith(starts) and pod["status"].get("phase") == "Running":
            house.api.kubelet.finish(f"{TEAM}/{name}", exit_code=exit_code)
    house.settle()


def remove_done(house: KubeHouse) -> None:
    """As the garbage collector does when there are many of them."""
    for pod in house.pods():
        if pod["status"].get("phase") == "Succeeded":
            path = f"/api/v1/namespaces/{TEAM}/pods/{pod['metadata']['name']}"
            house.person.delete(path, {"gracePeriodSeconds": 0})
    house.settle()


def test_a_part_that_is_done_makes_room_while_the_others_run(house: KubeHouse) -> None:
    house.create_job_set("train", part("short", pods=2), part("long", pods=2))
    house.run(3)
    before = house.bound()
    house.create_job("next", pods=2, gpus=8)
    house.run(2)
    assert (house.state("train"), house.state("next")) == (S.RUNNING, S.WAITING)
    end_pods(house, "train-short")
    house.run(4)
    assert (house.state("train"), house.state("next")) == (S.RUNNING, S.RUNNING)
    after = house.bound()
    assert all(after[f"train-long-0-{rank}"] == before[f"train-long-0-{rank}"] for rank in range(2))
    assert used(house) == 8 * (2 + 2)
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    end_pods(house, "train-long")
    house.run(2)
    assert house.state("train") is S.FINISHED
    assert used(house) == 8 * 2


def test_each_pod_of_a_job_and_each_job_of_a_part_counts(house: KubeHouse) -> None:
    house.create_job_set("train", part("workers", replicas=2, pods=2))
    house.run(3)
    for name, left in (("workers-1-0", 24), ("workers-0-1", 16), ("workers-0-0", 8)):
        end_pods(house, f"train-{name}")
        house.run(2)
        assert used(house) == left
    assert house.state("train") is S.RUNNING


def test_who_replaces_its_pods_keeps_their_places_until_its_job_is_done(house: KubeHouse) -> None:
    queue = part("queue", pods=2, gpus=8, completions=4, completionMode="NonIndexed")
    house.create_job_set("train", queue, part("long"))
    house.run(3)
    for left in (24, 24, 24, 8):
        running = [p for p in house.pods() if p["status"].get("phase") == "Running"]
        first = next(p for p in running if p["metadata"]["labels"][PART] == "queue")
        house.api.kubelet.finish(f"{TEAM}/{first['metadata']['name']}")
        house.run(3)
        assert used(house) == left
    assert house.state("train") is S.RUNNING


@pytest.mark.parametrize("removed", [False, True])
def test_it_is_known_after_a_restart_and_by_a_new_engine(house: KubeHouse, removed: bool) -> None:
    house.create_job_set("train", part("short", pods=2), part("long", pods=2))
    house.run(3)
    end_pods(house, "train-short")
    house.run(1)
    if removed:
        remove_done(house)
        house.run(1)
    assert used(house) == 16
    house.control.give_up()  # the engine is thrown away, the cluster goes on
    house.run(2)
    assert used(house) == 16
    house.restart()
    house.run(2)
    assert used(house) == 16
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)


def test_it_is_told_once(house: KubeHouse) -> None:
    house.create_job_set("train", part("short"), part("long", pods=2))
    house.run(3)
    end_pods(house, "train-short")
    told = [one for _ in range(4) for one in house.cluster.poll(house.clock.now())]
    (shrunk,) = [one for one in told if isinstance(one, Shrunk)]
    assert {one.name: (one.count, len(one.nodes)) for one in shrunk.left} == {
        "short": (0, 0),
        "long": (2, 2),
    }


def test_one_that_may_start_all_anew_gives_back_only_when_it_can_no_more(house: KubeHouse) -> None:
    again = {"failurePolicy": {"maxRestarts": 1}}
    house.create_job_set("train", part("short", pods=2), part("long", pods=2), **again)
    house.run(3)
    before = house.bound()
    end_pods(house, "train-short")
    house.run(3)
    assert used(house) == 32
    end_pods(house, "train-long", exit_code=1)
    house.run(5)
    assert house.job_set("train")["status"]["restarts"] == 1
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert (house.bound(), used(house)) == (before, 32)
    end_pods(house, "train-short")
    house.run(3)
    assert used(house) == 16


def test_a_part_that_waits_for_the_end_of_another_keeps_its_places(house: KubeHouse) -> None:
    after = part("train", pods=2)
    after["dependsOn"] = [{"name": "prepare", "status": "Complete"}]
    house.create_job_set("train", part("prepare", pods=2), after)
    house.run(3)
    assert used(house) == 32
    end_pods(house, "train-prepare")
    house.run(3)
    assert used(house) == 16
    house.create_job("next", pods=2, gpus=8)
    house.run(3)
    assert house.state("next") is S.RUNNING
    assert house.state("train") is S.RUNNING
    running = [one for one in house.pods() if one["status"]["phase"] == "Running"]
    assert len({one["spec"]["nodeName"] for one in running}) == len(running) == 4


def test_a_part_without_gpus_has_nothing_to_give_back(house: KubeHouse) -> None:
    driver = part("driver", gpus=0)
    driver["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    house.create_job_set("train", driver, part("workers", pods=2))
    house.run(3)
    end_pods(house, "train-driver")
    house.run(2)
    assert used(house) == 16
    end_pods(house, "train-workers-0-1")
    house.run(2)
    assert used(house) == 8


def test_a_node_on_which_all_was_done_may_be_lost(house: KubeHouse) -> None:
    house.create_job_set("train", part("short"), part("long", pods=2))
    house.run(3)
    done = house.bound()["train-short-0-0"]
    end_pods(house, "train-short")
    house.run(1)
    house.api.change_node(done, ready=False)
    house.api.kubelet.vanish(done)
    house.step(60.0)
    house.run(2)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert house.said("repaired") == []


def test_after_a_preemption_pods_that_were_done_in_a_job_are_not_missed(house: KubeHouse) -> None:
    """Its Job goes on where it was; how many of its pods are done is not said on the JobSet."""
    for node in ("n5", "n6"):
        house.api.change_node(node, ready=False)
    house.create_job_set("spare", part("w", pods=4), labels={"preemptible": "true"})
    house.run(3)
    end_pods(house, "spare-w-0-0", "spare-w-0-2")
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)
    end_pods(house, "mine")
    house.run(6)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    assert used(house) == 16
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    end_pods(house, "spare")
    house.run(3)
    assert house.state("spare") is S.FINISHED


@pytest.mark.parametrize(
    ("policy", "status", "final"),
    [
        (None, {}, True),
        ({}, {}, True),
        ({"maxRestarts": 0}, {}, True),
        ({"maxRestarts": 2}, {"restarts": 1}, False),
        ({"maxRestarts": 2}, {"restarts": 2}, True),
        ({"maxRestarts": 2, "rules": [{"action": "FailJobSet"}]}, {"restarts": 2}, False),
        (
            {"maxRestarts": 2, "rules": [{"action": "FailJobSet"}]},
            {"restarts": 2, "restartsCountTowardsMax": 2},
            True,
        ),
        ({"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]}, {}, False),
        ({"rules": [{"action": "RestartJob"}]}, {}, False),
        ({"maxRestarts": 1, "restartStrategy": "InPlaceRestart"}, {"restarts": 1}, False),
        ({"maxRestarts": 1, "restartStrategy": "BlockingRecreate"}, {"restarts": 1}, True),
    ],
)
def test_whether_what_is_done_stays_done(
    policy: dict[str, Any] | None, status: dict[str, Any], final: bool
) -> None:
    body = job_set("train", part("w"))
    body["metadata"] |= {"uid": "u", "namespace": TEAM, "resourceVersion": "1"}
    body["spec"] |= {"failurePolicy": policy}
    assert job_set_of({**body, "status": status}).final is final
