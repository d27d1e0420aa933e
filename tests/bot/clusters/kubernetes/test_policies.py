"""The bot under the shipped admission policies: writes that a start takes, and who may fake one."""

from __future__ import annotations

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection, Json, Refused
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.samples import job, pod

JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"


@pytest.fixture
def guarded(house: KubeHouse) -> KubeHouse:
    """The bot of `house`, in whose namespace the policies act."""
    house.api.policies.install_shipped()
    return house


def writes(house: KubeHouse, since: int) -> list[tuple[str, str]]:
    """What the bot has written, but for Events: method and kind."""
    return [
        (asked.method, asked.path.split("/")[-2])
        for asked in house.api.requests[since:]
        if asked.method in {"PATCH", "DELETE", "PUT"}
        or (asked.method == "POST" and not asked.path.endswith("/events"))
    ]


def test_a_job_on_one_node_starts_by_one_write(guarded: KubeHouse) -> None:
    guarded.create_job("train", pods=4, gpus=2)
    before = len(guarded.api.requests)
    guarded.run()
    assert guarded.state("train") is S.RUNNING
    assert len(set(guarded.bound().values())) == 1
    assert writes(guarded, before) == [("PATCH", "jobs")]


def test_on_several_nodes_it_takes_one_more_for_each_pod(guarded: KubeHouse) -> None:
    guarded.create_job("train", pods=3, gpus=8)
    before = len(guarded.api.requests)
    guarded.run()
    assert guarded.state("train") is S.RUNNING
    assert writes(guarded, before) == [("PATCH", "jobs"), *[("PATCH", "pods")] * 3]


def test_after_its_node_was_lost_its_pods_go_where_the_next_start_says(guarded: KubeHouse) -> None:
    guarded.create_job("train", pods=2, gpus=4)
    guarded.run()
    (lost,) = set(guarded.bound().values())
    guarded.api.change_node(lost, ready=False)
    guarded.api.kubelet.vanish(lost)
    guarded.step(60.0)
    guarded.run(5)
    (node,) = set(guarded.bound().values())
    assert node != lost
    assert (guarded.state("train"), guarded.request("train").attempt) == (S.RUNNING, 2)


def placed_job(name: str) -> Json:
    body = job(name, pods=1, gpus=8, suspend=False)
    body["spec"]["template"]["metadata"] = {"annotations": {names.PLACED: "R-1"}}
    body["spec"]["template"]["spec"]["nodeSelector"] = {names.HOSTNAME: "n1"}
    return body


def test_nobody_else_makes_a_job_whose_pods_pass(guarded: KubeHouse) -> None:
    with pytest.raises(Refused, match=r"only gpubot may write gpubot\.dev/placed"):
        guarded.person.post(JOBS, placed_job("sly"))
    body = job("plain", pods=1, gpus=8, suspend=True)
    made = guarded.person.post(JOBS, body)
    mark = {"spec": {"template": {"metadata": {"annotations": {names.PLACED: "R-1"}}}}}
    with pytest.raises(Refused, match=r"only gpubot may write gpubot\.dev/placed"):
        guarded.person.patch(f"{JOBS}/{made['metadata']['name']}", mark)


def test_a_pod_that_only_says_so_waits_at_the_gate(guarded: KubeHouse) -> None:
    body = pod("sly", gpus=8)
    body["spec"].pop("schedulingGates", None)
    body["spec"]["nodeSelector"] = {names.HOSTNAME: "n1"}
    body["metadata"]["annotations"] = {names.PLACED: "R-1"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "u", "controller": True}
    body["metadata"]["ownerReferences"] = [owner]
    made = guarded.person.post(f"/api/v1/namespaces/{TEAM}/pods", body)
    assert made["spec"]["schedulingGates"] == [{"name": names.GATE}]


def test_pods_of_a_job_that_nobody_admitted_wait_at_the_gate(guarded: KubeHouse) -> None:
    body = job("bare", pods=2, gpus=8, suspend=False)
    guarded.person.post(JOBS, body)
    guarded.run(2)
    assert [one["spec"]["schedulingGates"] for one in guarded.pods()] == [
        [{"name": names.GATE}]
    ] * 2


def test_a_job_that_runs_does_not_grow_past_the_gate(guarded: KubeHouse) -> None:
    guarded.create_job("train", pods=2, gpus=2)
    guarded.run()
    with pytest.raises(Refused, match="more pods need a Job of their own"):
        guarded.person.patch(f"{JOBS}/train", {"spec": {"parallelism": 4, "completions": 4}})


def test_a_namespace_of_a_team_is_charged_to_no_other(guarded: KubeHouse) -> None:
    guarded.api.add_namespace("nlp", **{"gpubot.dev/team": "nlp"})
    jobs = "/apis/batch/v1/namespaces/nlp/jobs"
    mine, others = job("mine"), job("others")
    mine["metadata"]["labels"] = {names.TEAM: "nlp"}
    others["metadata"]["labels"] = {names.TEAM: "vision"}
    guarded.person.post(jobs, mine)
    with pytest.raises(Refused, match=r"namespace nlp is of team nlp.*cannot be vision"):
        guarded.person.post(jobs, others)
    with pytest.raises(Refused, match="namespace nlp is of team nlp"):
        guarded.person.patch(f"{jobs}/mine", {"metadata": {"labels": {names.TEAM: "vision"}}})
    loose = pod("loose", gpus=1)
    loose["metadata"]["labels"] = {names.TEAM: "vision"}
    with pytest.raises(Refused, match="cannot be vision there"):
        guarded.person.post("/api/v1/namespaces/nlp/pods", loose)
    guarded.run()
    assert {one.workload.team for one in guarded.requests()} == {"nlp"}


def test_what_is_of_another_team_already_can_still_be_changed(guarded: KubeHouse) -> None:
    guarded.create_job("old")
    path = f"/api/v1/namespaces/{TEAM}"
    admin = Connection(lambda: guarded.api.client("admin"))
    admin.patch(path, {"metadata": {"labels": {names.TEAM: "vision"}}})
    guarded.person.patch(f"{JOBS}/old", {"metadata": {"annotations": {names.LEASE: "2h"}}})
    guarded.run()
    assert guarded.state("old") is S.RUNNING
