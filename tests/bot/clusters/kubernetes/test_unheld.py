"""Jobs that are not ours, or not suspended, and whose pods wait at the gate: they are told why."""

from __future__ import annotations

import pytest

from bot.clusters.kubernetes import names, waiting
from bot.clusters.kubernetes.connection import Json, Refused
from bot.clusters.kubernetes.facts import pod_of
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import JOB_SETS, TEAM, wait_until
from tests.bot.house import ADA, an_ask
from tests.kube.samples import job, job_set, part, pod

JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"


@pytest.fixture
def guarded(house: KubeHouse) -> KubeHouse:
    """The bot of `house`, in whose namespace the policies act."""
    house.api.policies.install_shipped()
    return house


def bare_job(house: KubeHouse, name: str = "train", *, pods: int = 3, **marks: str) -> str:
    """A Job that is no request's and not suspended; its uid. `marks` are labels of its pods."""
    body = job(name, pods=pods, suspend=False, app=name)  # without any it has those of its pods
    labels = {names.PREFIX + key: text for key, text in marks.items()}
    body["spec"]["template"]["metadata"] = {"labels": labels, "annotations": {}}
    return str(house.person.post(JOBS, body)["metadata"]["uid"])


def change(house: KubeHouse, path: str, spec: Json, **labels: str) -> None:
    marks = {names.PREFIX + key: text for key, text in labels.items()}
    house.person.patch(path, {"metadata": {"labels": marks}, "spec": spec})


def test_a_job_without_a_team_is_told_so_once_whatever_its_pods_do(guarded: KubeHouse) -> None:
    uid = bare_job(guarded, pods=3)
    guarded.run()
    (event,) = said(guarded, "Refused")
    regarding = event["involvedObject"]
    assert (regarding["kind"], regarding["name"], regarding["uid"]) == ("Job", "train", uid)
    assert "`gpubot.dev/team` is missing. Right would be" in event["message"]
    assert "`suspend: true`" in event["message"]
    for one in guarded.pods():  # their successors have other names
        path = f"/api/v1/namespaces/{TEAM}/pods/{one['metadata']['name']}"
        guarded.person.delete(path, {"gracePeriodSeconds": 0})
        guarded.pass_time(15.0)
        guarded.run()
    guarded.restart()
    guarded.run()
    assert len(said(guarded, "Refused")) == 1
    assert guarded.said("not-taken") == []  # nobody is called for it
    assert guarded.requests() == []


def test_with_the_label_and_suspended_in_one_change_it_runs(guarded: KubeHouse) -> None:
    bare_job(guarded)
    guarded.run()
    change(guarded, f"{JOBS}/train", {"suspend": True}, team="nlp")
    guarded.run(4)
    assert guarded.state("train") is S.RUNNING
    assert len(guarded.bound()) == 3


def test_it_is_told_to_the_person_that_its_pods_name(guarded: KubeHouse) -> None:
    bare_job(guarded, owner=ADA.id)
    guarded.run()
    (told,) = guarded.said("not-taken")
    assert told.notice.target == ADA.id
    assert told.notice.args["name"] == "train"


def test_what_had_waited_before_the_bot_came_is_told(guarded: KubeHouse) -> None:
    guarded.cluster.close()
    bare_job(guarded)
    guarded.api.controllers.settle()
    guarded.restart()
    guarded.run()
    (event,) = said(guarded, "Refused")
    assert event["involvedObject"]["name"] == "train"


def test_pods_with_the_team_of_a_job_without_it_do_not_help(guarded: KubeHouse) -> None:
    bare_job(guarded, team="nlp")
    guarded.run()
    (event,) = said(guarded, "Refused")
    assert event["involvedObject"]["kind"] == "Job"


def test_a_job_set_is_told_as_a_whole(guarded: KubeHouse) -> None:
    guarded.api.serve_job_sets()
    guarded.restart()
    body = job_set("train", part("a", pods=2), part("b", replicas=2), suspend=False)
    uid = guarded.person.post(JOB_SETS, body)["metadata"]["uid"]
    guarded.run()
    (event,) = said(guarded, "Refused")
    regarding = event["involvedObject"]
    assert (regarding["kind"], regarding["name"], regarding["uid"]) == ("JobSet", "train", uid)
    change(guarded, f"{JOB_SETS}/train", {"suspend": True}, team="nlp")
    guarded.run(4)
    assert guarded.state("train") is S.RUNNING


def test_the_label_alone_is_refused_and_says_what_else_is_needed(guarded: KubeHouse) -> None:
    bare_job(guarded)
    guarded.run()
    with pytest.raises(Refused, match="set suspend to true in the same change"):
        change(guarded, f"{JOBS}/train", {}, team="nlp")


@pytest.mark.parametrize(
    ("group", "kind", "unit"),
    [
        ("batch/v1", "Job", None),
        ("batch.volcano.sh/v1alpha1", "Job", "p"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", None),
        ("example.com/v1", "JobSet", "p"),
        ("", "Job", None),
    ],
)
def test_pods_of_a_job_of_another_api_group_wait_by_themselves(
    group: str, kind: str, unit: str | None
) -> None:
    body = pod("train-0", gpus=8)
    owner = {"apiVersion": group, "kind": kind, "name": "train", "uid": "u", "controller": True}
    meta = {"uid": "p", "namespace": TEAM, "resourceVersion": "1", "ownerReferences": [owner]}
    facts = pod_of({**body, "metadata": {**body["metadata"], **meta}})
    assert facts.unit == unit
    assert waiting.is_at_gate(facts) is (unit is None)


def test_what_runs_without_us_is_none_of_our_business(house: KubeHouse) -> None:
    """There are no policies here: its pods have no gate."""
    bare_job(house, pods=1)
    house.run()
    assert [one["status"]["phase"] for one in house.pods()] == ["Running"]
    assert said(house, "Refused") == []


def test_a_job_whose_pods_are_for_a_hold_need_not_be_suspended(guarded: KubeHouse) -> None:
    bare_job(guarded, request="R-1")
    guarded.run()
    (event,) = said(guarded, "Refused")
    assert "R-1, which has no GPUs for pods now" in event["message"]
    assert "suspend" not in event["message"]


def test_a_labelled_job_that_is_not_suspended_is_told_to_be(house: KubeHouse) -> None:
    """As before the policies came: nobody has suspended it, and its template has the gate."""
    body = job("train", pods=2, suspend=False)
    body["metadata"]["labels"] = {names.TEAM: "nlp"}
    body["spec"]["template"]["spec"]["schedulingGates"] = [{"name": names.GATE}]
    house.person.post(JOBS, body)
    house.run()
    (event,) = said(house, "Refused")
    assert "Set `suspend: true`" in event["message"]
    assert "is missing" not in event["message"]
    assert len(house.said("not-taken")) == 1
    house.person.patch(f"{JOBS}/train", {"spec": {"suspend": True}})
    house.run(4)
    assert house.state("train") is S.RUNNING
    house.restart()
    house.run()
    assert len(said(house, "Refused")) == 1


def test_pods_of_what_the_bot_made_are_no_strays_when_they_are_heard_of_first(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods and Jobs are watched each for itself."""
    house.api.add_namespace("nlp")
    late: list[Json] = []
    monkeypatch.setattr(house.cluster.mirror.jobs, "put", late.append)
    recipe = Recipe(kind=RecipeKind.RUN, image="registry.example/train:2")
    house.desk.submit(ADA.id, an_ask(nodes=2), key="k1", recipe=recipe)
    house.control.step()
    assert house.cluster.writer.wait(5.0)
    house.api.controllers.settle()
    wait_until(lambda: bool(late), "the Job to be heard of")
    wait_until(lambda: len(house.cluster.mirror.pods.items) == 2, "its pods to be heard of")
    house.control.step()
    assert all(waits(one) for one in house.pods())
    assert said(house, "Refused", "nlp") == []


def waits(one: Json) -> bool:
    return bool(one["spec"]["schedulingGates"] == [{"name": names.GATE}])
