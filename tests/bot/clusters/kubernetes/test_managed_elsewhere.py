"""Jobs and JobSets whose pods another controller makes (`spec.managedBy`) are not taken."""

from __future__ import annotations

import pytest

from bot.clusters.kubernetes import names
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA
from tests.kube.documents import Json
from tests.kube.samples import job, part
from tests.kube.server import ApiServer

ELSEWHERE = "kueue.x-k8s.io/multikueue"
JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed, and the policies that are shipped."""
    api.serve_job_sets()
    api.policies.install_shipped()
    return api


def make(house: KubeHouse, kind: str, manager: str) -> str:
    marks = {"owner": ADA.id}
    if kind == "Job":
        return house.create_job("train", pods=2, managedBy=manager, annotations=marks)
    return house.create_job_set("train", part("w"), managedBy=manager, annotations=marks)


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_it_is_told_so_and_nothing_is_held_for_it(house: KubeHouse, kind: str) -> None:
    uid = make(house, kind, ELSEWHERE)
    house.run()
    (event,) = said(house, "Refused")
    assert event["involvedObject"]["uid"] == uid
    assert f"made by `{ELSEWHERE}` (`spec.managedBy`)" in event["message"]
    (told,) = house.said("not-taken")
    assert told.notice.target == ADA.id
    house.restart()
    house.run()
    assert house.requests() == []
    assert len(said(house, "Refused")) == 1
    found = house.job("train") if kind == "Job" else house.job_set("train")
    assert found["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("kind", "manager"),
    [
        ("Job", "kubernetes.io/job-controller"),
        ("JobSet", "jobset.sigs.k8s.io/jobset-controller"),
    ],
)
def test_the_usual_controller_may_be_named(house: KubeHouse, kind: str, manager: str) -> None:
    make(house, kind, manager)
    house.run()
    assert house.state("train") is S.RUNNING


def test_pods_that_another_controller_makes_all_the_same_do_not_pass(house: KubeHouse) -> None:
    """They are told on the Job, as one; with the id of a hold they would pass."""
    body = job("train", pods=2, suspend=False, app="train")
    made = house.person.post(JOBS, {**body, "spec": {**body["spec"], "managedBy": ELSEWHERE}})
    for rank in range(2):
        house.person.post(f"/api/v1/namespaces/{TEAM}/pods", pod_of(made, rank))
    house.run()
    (event,) = said(house, "Refused")
    assert event["involvedObject"]["kind"] == "Job"
    assert house.bound() == {}


def pod_of(made: Json, rank: int) -> Json:
    meta = made["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    template = made["spec"]["template"]
    return {
        "metadata": {
            "name": f"{meta['name']}-{rank}",
            "ownerReferences": [{**owner, "controller": True}],
            "annotations": {names.INDEX: str(rank)},
        },
        "spec": template["spec"],
    }
