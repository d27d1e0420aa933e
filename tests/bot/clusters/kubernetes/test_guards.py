"""What is written is about the very object that was decided on, and about what is ours of it.

Between the decision and the write somebody deletes the object and makes another of its name, or
another controller writes on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.byhand import Intervened, Wish
from bot.clusters.base import Stop
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import STRATEGIC, Json
from bot.clusters.kubernetes.templates import name_of
from bot.views import Submitted
from scheduler.model import TaintEffect, Toleration
from storage.audit import InterventionKind
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import JOBS, PODS
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.clusters.kubernetes.world import JOB_SETS, wait_until
from tests.bot.house import ADA, ANA, an_ask, small_layout
from tests.kube.kinds import POD
from tests.kube.samples import job, job_set, part, pod
from tests.kube.server import ApiServer

OTHER = {"name": "example.com/quota"}
OURS = {"name": names.GATE}
AT_ONCE = {"gracePeriodSeconds": 0}
THEIRS = {"key": "theirs", "operator": "Exists", "effect": "NoSchedule"}
OF_FLAVOR = {"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"}


@pytest.fixture
def tolerant(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot whose flavor has its nodes put up with."""
    api.serve_job_sets()
    layout = small_layout()
    more = (Toleration(key="gpu", value="h100", effect=TaintEffect.NO_SCHEDULE),)
    flavors = tuple(dataclasses.replace(one, tolerations=more) for one in layout.flavors)
    made = KubeHouse(api, tmp_path, layout=dataclasses.replace(layout, flavors=flavors))
    made.step()
    yield made
    made.close()


def stop(house: KubeHouse, request: str) -> None:
    """An admin has it stopped; where nothing is ready of it, that is at once."""
    wish = Wish(kind=InterventionKind.PREEMPT, target=request, reason="test")
    done = house.desk.intervene(ANA.id, wish, key=f"stop {request}", confirmed=True)
    assert isinstance(done, Intervened)
    house.step()
    house.settle()


def instead(house: KubeHouse, method: str, path: str, make: Callable[[], object]) -> list[int]:
    """Have the object of a path replaced before the next write to it; how often that was done."""
    done: list[int] = []

    def replace(old: str = path.removesuffix("/eviction")) -> None:
        options = AT_ONCE if old.startswith(PODS) else {"propagationPolicy": "Background"}
        house.person.delete(old, options)
        house.api.controllers.settle()
        make()
        done.append(1)

    house.api.faults.before(replace, method, path=f"{path}$")
    return done


def at_gate(house: KubeHouse, name: str) -> Json:
    """A pod of people's, as it is now: nothing of ours may be on it."""
    found = house.api.cluster.get(POD, "team", name)
    assert found is not None
    body = dict(found.body)
    assert body["spec"]["schedulingGates"] == [OURS]
    assert "nodeSelector" not in body["spec"]
    assert not body["metadata"].get("annotations")
    assert "deletionTimestamp" not in body["metadata"]
    return body


# ---- what was stopped before it was done


@pytest.mark.parametrize("kind", ["Job", "group", "hold"])
def test_no_pod_is_let_go_after_its_gang_was_stopped(house: KubeHouse, kind: str) -> None:
    """What was to let it go has had no answer, and would be sent again."""
    if kind == "Job":
        house.create_job("train", pods=2)
    elif kind == "group":
        create(house, {"a": 8, "b": 8})
    else:
        house.create_pod("a", 4, request=ask(house, "k1", gpus=4))
    fault = house.api.faults.fail(503, "PATCH", path="/pods/", times=None)
    for _ in range(3):
        house.hear()
        house.control.step()
        wait_until(lambda: fault.taken > 0 or house.cluster.writer.wait(0.0), "the writes")
        house.api.controllers.settle()
    assert fault.taken
    (gang,) = house.cluster._gangs.values()
    stop = Stop(workload=gang.workload, decision=gang.decision, grace=0.0)
    house.cluster.apply(stop, house.clock.now())
    wait_until(lambda: house.cluster.writer.wait(0.0), "what is over not to be sent again")
    house.api.faults.clear()
    house.settle()
    assert {one.code for one in house.api.requests if "/pods/" in one.path} <= {201}


# ---- another object of the same name


@pytest.mark.parametrize("ready", [False, True], ids=["stop", "announce"])
@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_what_runs_by_the_name_of_what_is_stopped_runs_on(
    house: KubeHouse, kind: str, ready: bool
) -> None:
    if kind == "Job":
        house.create_job("train", pods=2, gpus=8)
        path, body = JOBS, job("train", pods=1, suspend=False)
    else:
        house.api.serve_job_sets()
        house.restart()
        house.create_job_set("train", part("workers", pods=2))
        path, body = JOB_SETS, job_set("train", part("workers"), suspend=False)
    house.run(3, pods=ready)
    request = house.request("train")
    assert (request.state is S.RUNNING) is ready
    done = instead(house, "PATCH", f"{path}/train", lambda: house.person.post(path, body))
    stop(house, request.id)
    assert done
    there = house.person.get(f"{path}/train")
    assert not there["spec"].get("suspend")
    assert not there["metadata"].get("annotations")
    assert house.request("train").id == request.id


def test_a_job_set_that_was_replaced_is_not_started_by_what_was_decided(house: KubeHouse) -> None:
    house.api.serve_job_sets()
    house.restart()
    house.create_job_set("train", part("workers", pods=1))
    house.hear()
    parts = part("workers", pods=2)
    path = f"{JOB_SETS}/train"
    done = instead(house, "PATCH", path, lambda: house.create_job_set("train", parts))
    house.step()
    house.settle()
    assert done
    assert house.job_set("train")["spec"]["suspend"]
    assert not house.job_set("train")["metadata"].get("annotations")


@pytest.mark.parametrize("held", [False, True], ids=["pod", "hold"])
def test_a_pod_that_was_replaced_waits_on_at_the_gate(house: KubeHouse, held: bool) -> None:
    marks = {"request": ask(house, "k1", gpus=4)} if held else {"team": "nlp"}
    house.create_pod("a", 4, **marks)
    house.hear()
    done = instead(house, "PATCH", f"{PODS}/a", lambda: house.create_pod("a", 4, **marks))
    for _ in range(3):
        if not done:
            house.step()
            house.settle()
    assert done
    at_gate(house, "a")
    house.run(4)
    assert [one["spec"].get("nodeName") is not None for one in house.pods()] == [True]


@pytest.mark.parametrize("held", [False, True], ids=["evicted", "deleted"])
def test_the_pod_that_took_the_place_of_one_that_is_stopped_stays(
    house: KubeHouse, held: bool
) -> None:
    marks = {"request": ask(house, "k1", gpus=4)} if held else {"team": "nlp"}
    house.create_pod("a", 4, **marks)
    house.run(3, pods=False)
    assert house.bound() or house.pods()[0]["spec"].get("nodeName")
    method, path = ("DELETE", f"{PODS}/a") if held else ("POST", f"{PODS}/a/eviction")
    done = instead(house, method, path, lambda: house.create_pod("a", 4))
    if held:
        house.desk.release(ADA.id, marks["request"], key="k2")
        house.step()
        house.pass_time(301.0)
        house.step()
        house.settle()
    else:
        stop(house, house.request("a").id)
    assert done
    at_gate(house, "a")


@pytest.mark.parametrize("ours", [True, False], ids=["after-ours", "instead-of-ours"])
def test_a_job_that_has_the_name_of_one_we_made_stays(house: KubeHouse, ours: bool) -> None:
    jobs = "/apis/batch/v1/namespaces/nlp/jobs"
    house.api.add_namespace("nlp")
    recipe = Recipe(kind=RecipeKind.RUN, image="example.com/train:2", command="python t.py")
    made = house.desk.submit(ADA.id, an_ask(gpus=4), key="k1", recipe=recipe)
    assert isinstance(made, Submitted)
    request, uids = made.card.request, []
    path = f"{jobs}/{name_of(f'{request}/1')}"

    def another() -> None:
        body = job(path.rpartition("/")[2], pods=1, suspend=False)
        uids.append(house.person.post(jobs, body)["metadata"]["uid"])

    if ours:
        house.run()
        assert state(house, request) is S.RUNNING
        instead(house, "DELETE", path, another)
    else:
        another()
        house.run()
    house.desk.release(ADA.id, request, key="k2")
    house.step()
    house.pass_time(301.0)
    house.run(4)
    assert [house.person.get(path)["metadata"]["uid"]] == uids
    assert state(house, request).final


# ---- what others have written


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_what_was_changed_meanwhile_is_not_started_as_it_was(house: KubeHouse, kind: str) -> None:
    """It is another team's when the write comes."""
    path = f"{JOBS if kind == 'Job' else JOB_SETS}/train"
    if kind == "Job":
        house.create_job("train", pods=2)
    else:
        house.api.serve_job_sets()
        house.restart()
        house.create_job_set("train", part("workers", pods=2))

    def change() -> None:
        house.person.patch(path, {"metadata": {"labels": {names.TEAM: "vision"}}})

    fault = house.api.faults.before(change, "PATCH", path=path)
    house.step()
    house.settle()
    assert fault.taken
    there = house.person.get(path)
    assert there["spec"]["suspend"]
    assert not there["metadata"].get("annotations")
    house.run(4)
    assert (house.state("train"), house.request("train").workload.team) == (S.RUNNING, "vision")


def test_only_our_gate_is_taken_off_a_pod(house: KubeHouse) -> None:
    """Also when another controller takes off its own between our look and our write."""
    for name in ("stays", "goes"):
        body = pod(name, gpus=8)
        body["metadata"]["labels"] = {names.TEAM: "nlp"}
        body["spec"] |= {"schedulingGates": [OTHER, OURS], "tolerations": [THEIRS]}
        house.person.post(PODS, body)

    def take_off() -> None:
        gates = [{"$patch": "delete", **OTHER}]
        house.person.patch(f"{PODS}/goes", {"spec": {"schedulingGates": gates}}, STRATEGIC)

    house.hear()
    house.api.faults.before(take_off, "PATCH", path=f"{PODS}/goes$")
    house.run(3)
    there = {one["metadata"]["name"]: one["spec"] for one in house.pods()}
    assert there["stays"]["schedulingGates"] == [OTHER]
    assert there["stays"]["nodeSelector"].keys() == {names.HOSTNAME}
    assert "nodeName" not in there["stays"]
    assert not there["goes"].get("schedulingGates")
    assert there["goes"]["nodeName"]
    assert all(THEIRS in one["tolerations"] for one in there.values())


@pytest.mark.parametrize(("pods", "gates"), [(1, [OTHER]), (2, [OTHER, OURS])])
def test_a_job_keeps_the_gates_and_tolerations_of_its_maker(
    tolerant: KubeHouse, pods: int, gates: list[Json]
) -> None:
    body = job("train", pods=pods, gpus=8)
    body["metadata"]["labels"] = {names.TEAM: "nlp"}
    body["spec"]["template"]["spec"] |= {"schedulingGates": [OTHER], "tolerations": [THEIRS]}
    tolerant.person.post(JOBS, body)
    tolerant.run(1)
    spec = tolerant.job("train")["spec"]
    assert not spec["suspend"]
    assert spec["template"]["spec"]["schedulingGates"] == gates
    assert spec["template"]["spec"]["tolerations"] == [THEIRS, OF_FLAVOR]
    tolerant.run(2)
    assert [one["spec"]["schedulingGates"] for one in tolerant.pods()] == [[OTHER]] * pods
    assert all(THEIRS in one["spec"]["tolerations"] for one in tolerant.pods())


def test_a_job_set_keeps_the_gates_and_tolerations_of_its_maker(tolerant: KubeHouse) -> None:
    workers = part("workers", pods=2)
    mine = workers["template"]["spec"]["template"]["spec"]
    mine |= {"schedulingGates": [OTHER], "tolerations": [THEIRS, OF_FLAVOR]}
    tolerant.create_job_set("train", workers)
    tolerant.run(1)
    spec = tolerant.job_set("train")["spec"]
    template = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert not spec["suspend"]
    assert template["schedulingGates"] == [OTHER, OURS]
    assert template["tolerations"] == [THEIRS, OF_FLAVOR]
    tolerant.run(3)
    assert [one["spec"]["schedulingGates"] for one in tolerant.pods()] == [[OTHER]] * 2
