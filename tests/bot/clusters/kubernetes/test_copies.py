"""Copies carry the bot's marks: one that waits is a request of its own, one that runs is nobody's.

Nothing that is about the original ever reaches a copy, before and after a restart.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.clusters.kubernetes import names
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.copying import (
    FREE,
    copy_job,
    copy_job_set,
    copy_pod,
    job_written,
    running,
)
from tests.bot.clusters.kubernetes.grouping import create, gates
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import JOBS
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.house import ADA, LEA
from tests.kube.samples import part
from tests.kube.server import ApiServer

MADE = "/apis/batch/v1/namespaces/nlp/jobs"
SHAPES = pytest.mark.parametrize(("pods", "gpus"), [(1, 4), (2, 8)], ids=["one-node", "nodes"])
AWAY = pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
GRACE = 601.0


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


@pytest.fixture(autouse=True)
def _space(house: KubeHouse) -> None:
    house.api.add_namespace(FREE)


def free(house: KubeHouse) -> int:
    return house.control.read(lambda engine: engine.figures().free)


def let(house: KubeHouse, act: Callable[[], object], *, away: bool) -> None:
    """Something happens, which the bot sees, or finds when it comes back."""
    if away:
        house.cluster.close()
    act()
    house.api.controllers.settle()
    if away:
        house.restart()
    house.run(4)


# ---- Jobs


@AWAY
def test_a_copy_of_a_job_that_runs_is_counted_and_never_touched(
    house: KubeHouse, away: bool
) -> None:
    house.create_job("train", gpus=4)
    house.run(3)
    let(house, lambda: copy_job(house, "train", "copy", FREE), away=away)
    house.restart()
    house.run(3)
    assert house.bound() == {"train-0": "n1", "copy-0": "n1"}
    assert free(house) == 40
    house.create_job("more", pods=6, gpus=4)
    house.run(3)
    assert house.state("more") is S.RUNNING
    house.desk.release(LEA.id, house.request("train").id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert house.state("train") is S.RELEASED
    assert house.job("train")["spec"]["suspend"]
    assert "copy-0" in house.bound()
    assert [one.workload.name for one in house.requests()] == ["train", "more"]


@AWAY
@SHAPES
def test_a_copy_of_a_job_that_waits_is_a_request_of_its_own(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    house.create_job("train", pods=pods, gpus=gpus)
    house.run(3)
    before = running(house)
    let(house, lambda: copy_job(house, "train", "copy", suspend=True), away=away)
    house.restart()
    house.run(4)
    first, second = house.requests()
    assert (first.state, second.state) == (S.RUNNING, S.RUNNING)
    assert (first.attempt, second.attempt) == (1, 1)
    assert before.items() <= running(house).items()
    marks = house.job("copy")["metadata"]["annotations"]
    assert marks[names.DECISION] == second.decision == "R-1002/1"
    assert free(house) == 48 - 2 * pods * gpus


def test_a_copy_is_not_bound_to_the_node_of_the_original(house: KubeHouse) -> None:
    house.create_job("train", gpus=8)
    house.run(3)
    copy_job(house, "train", "copy", suspend=True)
    house.run(4)
    assert sorted(house.bound().values()) == ["n1", "n2"]


def test_a_copy_is_not_stopped_with_the_original(house: KubeHouse) -> None:
    """What it says of when it will be stopped is about the original, too."""
    house.create_job("train", pods=2, labels={"preemptible": "true"})
    house.run(3)
    house.desk.release(LEA.id, house.request("train").id, key="x")
    house.run(2)
    assert names.STOP_AT in house.job("train")["metadata"]["annotations"]
    copy_job(house, "train", "copy", suspend=True)
    house.run(4)
    house.restart()
    house.step(GRACE)
    house.run(4)
    assert (house.state("train"), house.state("copy")) == (S.RELEASED, S.RUNNING)
    assert names.STOP_AT not in house.job("copy")["metadata"]["annotations"]


def test_what_the_bot_made_is_known_by_more_than_its_name(house: KubeHouse) -> None:
    house.api.add_namespace("nlp")
    request = ask(house, "k", Recipe(kind=RecipeKind.RUN, image="i", command="c"), gpus=4)
    house.run(3)
    (made,) = house.person.get(MADE)["items"]
    assert state(house, request) is S.RUNNING
    where = f"{MADE}/{made['metadata']['name']}"
    house.person.delete(where, {"propagationPolicy": "Background"})
    house.run(4)
    assert state(house, request) is S.FINISHED
    again = house.person.post(MADE, job_written(made, made["metadata"]["name"]))
    house.run(2)
    house.restart()
    house.run(2)
    house.step(GRACE)
    house.run(3)
    assert house.person.get(where)["metadata"]["uid"] == again["metadata"]["uid"]
    assert len(running(house)) == 1


@AWAY
def test_a_copy_of_what_the_bot_made_is_its_makers(house: KubeHouse, away: bool) -> None:
    """It is suspended when it is stopped, and not deleted."""
    house.api.add_namespace("nlp")
    ask(house, "k", Recipe(kind=RecipeKind.RUN, image="i", command="c"), gpus=4)
    house.run(3)
    (made,) = house.person.get(MADE)["items"]
    let(
        house,
        lambda: house.person.post(JOBS, job_written(made, "copy", suspend=True)),
        away=away,
    )
    assert house.state("copy") is S.RUNNING
    house.restart()
    house.run(2)
    assert names.MADE not in house.job("copy")["metadata"]["annotations"]
    house.desk.release(ADA.id, house.request("copy").id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert house.state("copy") is S.RELEASED
    assert house.job("copy")["spec"]["suspend"]


# ---- JobSets


@AWAY
def test_a_copy_of_a_job_set_is_a_request_of_its_own(house: KubeHouse, away: bool) -> None:
    house.create_job_set("rl", part("head", gpus=2), part("workers", pods=2, gpus=4))
    house.run(4)
    before = running(house)
    let(house, lambda: copy_job_set(house, "rl", "copy", suspend=True), away=away)
    house.restart()
    house.run(4)
    assert [(one.workload.name, one.state) for one in house.requests()] == [
        ("rl", S.RUNNING),
        ("copy", S.RUNNING),
    ]
    assert before.items() <= running(house).items()
    assert house.job_set("copy")["metadata"]["annotations"][names.DECISION] == "R-1002/1"


def test_a_copy_of_a_job_set_that_is_to_stop_is_not_to_stop_itself(house: KubeHouse) -> None:
    house.create_job_set("rl", part("workers", pods=2, gpus=4))
    house.run(4)
    house.desk.release(LEA.id, house.request("rl").id, key="x")
    house.run(2)
    assert names.STOP_AT in house.job_set("rl")["metadata"]["annotations"]
    copy_job_set(house, "rl", "copy", suspend=True)
    house.run(4)
    assert house.state("copy") is S.RUNNING
    assert names.STOP_AT not in house.job_set("copy")["metadata"]["annotations"]


def test_a_copy_of_a_job_set_that_goes_on_by_itself_is_not_stopped(house: KubeHouse) -> None:
    """Its pods wait at the gate that the bot has put into its templates, and that is told."""
    house.create_job_set("rl", part("workers", pods=2))
    house.run(4)
    copy_job_set(house, "rl", "copy", suspend=False)
    house.run(2)
    house.restart()
    house.run(2)
    house.desk.release(LEA.id, house.request("rl").id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert house.state("rl") is S.RELEASED
    assert not house.job_set("copy")["spec"]["suspend"]
    assert len([one for one in house.pods() if "copy" in one["metadata"]["name"]]) == 2


def test_a_copy_of_a_job_of_a_job_set_is_no_part_of_it(house: KubeHouse) -> None:
    house.create_job_set("rl", part("workers", pods=2, gpus=4))
    house.run(4)
    assert free(house) == 40
    spec = {"suspend": False}
    (child,) = house.person.get(JOBS)["items"]
    body = job_written(child, "other", **spec)
    body["metadata"]["labels"] = {}
    pods = body["spec"]["template"]["spec"]
    pods["schedulingGates"], pods["nodeSelector"] = [], {"kubernetes.io/hostname": "n3"}
    house.person.post(JOBS.replace("team", FREE), body)
    house.run(4)
    assert free(house) == 32
    house.desk.release(LEA.id, house.request("rl").id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert house.state("rl") is S.RELEASED
    assert sorted(name.rpartition("-")[0] for name in running(house)) == ["other-0", "other-1"]


# ---- pods


@pytest.mark.parametrize("group", [False, True], ids=["one", "group"])
@AWAY
def test_a_copy_of_a_pod_that_runs_is_counted_and_never_touched(
    house: KubeHouse, group: bool, away: bool
) -> None:
    if group:
        create(house, {"a": 2, "b": 2})
    else:
        house.create_pod("a", 2, team="nlp")
    house.run(4)
    held = free(house)
    let(house, lambda: copy_pod(house, "a", "copy", FREE), away=away)
    house.restart()
    house.run(4)
    assert free(house) == held - 2
    house.desk.release(LEA.id, house.requests()[0].id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert [one.state for one in house.requests()] == [S.RELEASED]
    assert list(running(house)) == ["copy"]


def test_a_copy_beside_its_group_is_none_of_it(house: KubeHouse) -> None:
    """In the group's own namespace, past the gate: where no policy has put it there again."""
    create(house, {"a": 2, "b": 2})
    house.run(4)
    copy_pod(house, "a", "copy", "team", schedulingGates=[])
    house.run(2)
    house.restart()
    house.run(3)
    assert free(house) == 42
    house.desk.release(LEA.id, house.requests()[0].id, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert list(running(house)) == ["copy"]


def test_a_copy_of_a_pod_at_the_gate_is_a_request_of_its_own(house: KubeHouse) -> None:
    house.create_pod("a", 2, team="nlp")
    house.run(4)
    copy_pod(house, "a", "copy", "team", schedulingGates=[{"name": names.GATE}])
    house.run(4)
    house.restart()
    house.run(2)
    assert [one.state for one in house.requests()] == [S.RUNNING, S.RUNNING]
    assert gates(house) == {"a": False, "copy": False}


@pytest.mark.parametrize("marked", [False, True], ids=["no-team", "team"])
def test_a_deployment_with_the_template_of_a_job_is_left_alone(
    house: KubeHouse, marked: bool
) -> None:
    house.create_job("train", gpus=4)
    house.run(3)
    template = job_written(house.job("train"), "x")["spec"]["template"]
    assert names.PLACED in template["metadata"]["annotations"]
    template["metadata"]["labels"] = {"app": "x", **({names.TEAM: "nlp"} if marked else {})}
    template["spec"] |= {"restartPolicy": "Always"}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    house.person.post(f"/apis/apps/v1/namespaces/{FREE}/deployments", body)
    house.run(3)
    before = running(house)
    assert (len(before), free(house)) == (2, 40)
    for name in before:
        if name.startswith("train"):
            house.api.kubelet.finish(f"team/{name}")
    house.run(3)
    house.restart()
    house.run(3)
    house.step(GRACE)
    house.run(3)
    (name,) = running(house)
    assert before[name] == running(house)[name]
    assert free(house) == 44


def test_a_copy_of_a_pod_of_a_hold_is_not_deleted_with_it(house: KubeHouse) -> None:
    hold = ask(house, "hold", gpus=4)
    house.create_pod("a", 2, request=hold)
    house.run(3)
    held = free(house)
    copy_pod(house, "a", "copy", FREE)
    house.run(3)
    assert free(house) == held - 2
    house.desk.release(ADA.id, hold, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert state(house, hold) is S.RELEASED
    assert list(running(house)) == ["copy"]
