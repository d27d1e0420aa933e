"""Pods for a hold: none counts twice, none is forgotten, and one that waits in vain is told so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import PODS, check
from tests.bot.clusters.kubernetes.test_chat_requests import ask, nodes
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import TEAM, Doom
from tests.bot.house import ADA
from tests.kube import controllers
from tests.kube.samples import job, pod
from tests.kube.scheduling import step_scheduler

FREE = "/api/v1/namespaces/free/pods"


@contextlib.contextmanager
def no_scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Kubernetes scheduler is slow: what was let go gets no node yet."""
    loops = tuple(one for one in controllers._LOOPS if one[0] is not step_scheduler)
    with monkeypatch.context() as patched:
        patched.setattr(controllers, "_LOOPS", loops)
        yield


def release(house: KubeHouse, request: str) -> None:
    house.desk.release(ADA.id, request, key=f"release {request}")
    house.run()
    house.pass_time(301.0)
    house.run(4)


def staying(house: KubeHouse) -> set[str]:
    """The uids of the pods that nobody has deleted."""
    metas = [one["metadata"] for one in house.pods()]
    return {meta["uid"] for meta in metas if "deletionTimestamp" not in meta}


def notes(house: KubeHouse) -> list[tuple[str, str]]:
    """The pods that were told why they wait, and the first words of that."""
    return [
        (event["involvedObject"]["name"], event["message"].partition(":")[0].partition(".")[0])
        for event in said(house, "Refused")
    ]


def test_a_pod_on_its_way_is_counted_after_a_restart(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(house, "k1", gpus=4)
    with no_scheduler(monkeypatch):
        house.create_pod("a", 4, request=request)
        house.run()
        house.restart()
        house.create_pod("b", 4, request=request)
        house.run(2)
    house.run(2)
    assert [bool(nodes(house)[name]) for name in ("a", "b")] == [True, False]
    check(house)


def test_a_pod_on_its_way_to_a_lost_node_does_not_wait_for_it(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(house, "k1", gpus=4)
    with no_scheduler(monkeypatch):
        house.create_pod("a", 4, request=request)
        house.run()
        (going,) = house.pods()
        lost = going["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        house.api.kubelet.silence(lost)
        house.api.change_node(lost, ready=False)
        house.run(4)
    assert house.pods() == []  # it could go nowhere else, as one that was there
    house.create_pod("a", 4, request=request)
    house.run()
    assert nodes(house)["a"] not in ("", lost)
    check(house)


def test_what_never_was_at_the_gate_takes_no_more_than_is_held(house: KubeHouse) -> None:
    house.api.add_namespace("free")
    request = ask(house, "k1", gpus=4)
    (node,) = dict(house.desk.card(request).nodes)
    body = pod("big", gpus=8, gated=False)
    body["metadata"]["labels"] = {"gpubot.dev/request": request}
    body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    house.person.post(FREE, body)
    house.run(3)
    assert nodes(house)["big"] == node
    check(house)
    ask(house, "k2", gpus=4)  # of the same node, if it seemed to have some
    check(house)


def test_a_job_of_its_own_keeps_its_pods_whatever_hold_they_name(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=8)
    body = job("train", pods=2, gpus=8)
    body["metadata"]["labels"] = {"gpubot.dev/team": "nlp"}
    body["spec"]["template"]["metadata"] = {"labels": {"gpubot.dev/request": request}}
    house.person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
    house.run(4)
    assert house.state("train") is S.RUNNING
    before = staying(house)
    release(house, request)
    house.restart()
    house.run(3)
    assert staying(house) == before
    assert house.state("train") is S.RUNNING
    assert notes(house) == []
    check(house)


def test_a_job_that_is_started_elsewhere_may_use_a_hold_as_it_is_told_to(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=8)
    body = job("train", pods=2, gpus=4, suspend=False)
    body["metadata"]["labels"] = {"gpubot.dev/team": "nlp"}
    body["spec"]["template"]["metadata"] = {"labels": {"gpubot.dev/request": request}}
    body["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "gpubot.dev/admission"}]
    house.person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
    house.run(3)
    assert len(house.bound()) == 2
    check(house)
    release(house, request)
    assert staying(house) == set()


def test_an_adopted_pod_is_for_no_hold_any_more(house: KubeHouse) -> None:
    house.api.add_namespace("nlp")
    body = pod("notebook", gpus=4, gated=False)
    body["metadata"]["labels"] = {"gpubot.dev/request": "R-77"}
    house.person.post("/api/v1/namespaces/nlp/pods", body)
    house.run(2)
    house.desk.adopt(ADA.id, "nlp/notebook", key="k1")
    house.run(4)
    assert house.state("notebook") is S.RUNNING
    assert nodes(house)["notebook"]
    assert len(staying(house)) == 1
    house.restart()
    house.run(3)
    assert house.state("notebook") is S.RUNNING
    check(house)


def test_a_pod_that_no_hold_has_gpus_for_is_told_so_once(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("big", 8, request=request)
    house.create_pod("stray", 4, request="R-77")
    house.run(3)
    house.restart()
    house.run(3)
    assert sorted(notes(house)) == [
        ("big", f"It wants 8 GPUs, and {request}, which its label `gpubot"),
        ("stray", "Its label `gpubot"),
    ]
    assert any("4 at the most on any one node" in one["message"] for one in said(house, "Refused"))
    assert any("R-77, which has no GPUs" in one["message"] for one in said(house, "Refused"))
    house.person.patch(f"{PODS}/stray", {"metadata": {"labels": {"gpubot.dev/request": request}}})
    house.run(3)
    assert nodes(house)["stray"]
    assert len(notes(house)) == 2


def test_one_that_waits_for_others_of_its_hold_is_told_when_that_is_over(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    for name in ("a", "b"):
        house.create_pod(name, 4, request=request)
    house.run(2)
    assert notes(house) == []
    release(house, request)
    assert [name for name, _ in notes(house)] == ["b"]
    assert list(nodes(house)) == ["b"]


def test_a_job_is_told_as_a_whole_that_its_pods_wait_for_no_hold(house: KubeHouse) -> None:
    body = job("train", pods=3, gpus=4, suspend=False)
    body["metadata"]["labels"] = {"app": "train"}
    body["spec"]["template"]["metadata"] = {"labels": {"gpubot.dev/request": "R-77"}}
    body["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "gpubot.dev/admission"}]
    house.person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
    house.run(2)
    for one in house.pods():  # their successors have other names
        house.person.delete(f"{PODS}/{one['metadata']['name']}", {"gracePeriodSeconds": 0})
        house.pass_time(15.0)
        house.run()
    assert notes(house) == [("train", "Its label `gpubot")]


@pytest.mark.parametrize("to", [None, "R-77", "another"])
def test_a_pod_is_of_the_hold_that_let_it_go_whatever_its_label_says(
    house: KubeHouse, to: str | None
) -> None:
    request, other = ask(house, "k1", gpus=4), ask(house, "k2", gpus=4)
    house.create_pod("a", 4, request=request)
    house.run()
    label(house, "a", other if to == "another" else to)
    for name, whose in (("b", request), ("c", other)):
        house.create_pod(name, 4, request=whose)
    house.run(3)
    assert {name for name, node in nodes(house).items() if node} == {"a", "c"}
    check(house)
    house.restart()
    house.run(3)
    assert {name for name, node in nodes(house).items() if node} == {"a", "c"}
    release(house, request)
    assert "a" not in nodes(house)


def test_a_pod_that_an_earlier_release_let_go_is_of_the_hold_on_its_label(
    house: KubeHouse,
) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=request)
    house.run()
    none = {"metadata": {"annotations": {"gpubot.dev/redeemed": None}}}  # it did not write that
    house.person.patch(f"{PODS}/a", none)
    house.create_pod("b", 4, request=request)
    house.run(2)
    house.restart()
    house.run(2)
    assert [bool(nodes(house)[name]) for name in ("a", "b")] == [True, False]
    release(house, request)
    assert "a" not in nodes(house)


def test_what_runs_for_another_request_is_for_no_hold_whatever_its_label_says(
    house: KubeHouse,
) -> None:
    house.api.add_namespace("nlp")
    house.person.post("/api/v1/namespaces/nlp/pods", pod("notebook", gpus=4, gated=False))
    house.create_pod("single", 4, team="nlp")
    house.run(3)
    house.desk.adopt(ADA.id, "nlp/notebook", key="k1")
    hold = ask(house, "k2", gpus=4)
    house.run(2)
    label(house, "single", hold)
    label(house, "notebook", hold, space="nlp")
    house.run(3)
    release(house, hold)
    house.restart()
    house.run(3)
    assert len(staying(house)) == 2
    assert {house.state(name) for name in ("single", "notebook")} == {S.RUNNING}
    check(house)


def test_one_that_is_on_its_way_past_the_gate_is_of_its_hold_too(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=request)
    house.doom = Doom(0, sent=False)  # nothing that is written gets through
    house.step()
    label(house, "a", None)
    house.create_pod("b", 4, request=request)
    house.step()
    house.step()
    house.doom = None
    house.run(4)
    assert [bool(nodes(house)[name]) for name in ("a", "b")] == [True, False]
    check(house)


def test_what_was_to_be_deleted_on_a_node_that_was_left_is_when_the_bot_is_back(
    house: KubeHouse,
) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=request)
    house.run()
    lost = nodes(house)["a"]
    house.api.kubelet.silence(lost)
    house.api.change_node(lost, ready=False)
    house.doom = Doom(0, sent=False)
    house.step()
    house.step()
    house.restart()
    house.api.kubelet.recover(lost)
    house.create_pod("b", 4, request=request)
    house.run(5)
    assert list(nodes(house)) == ["b"]
    assert nodes(house)["b"] not in {"", lost}
    check(house)


def label(house: KubeHouse, name: str, request: str | None, space: str = TEAM) -> None:
    """Somebody says what a pod is for."""
    path = f"/api/v1/namespaces/{space}/pods/{name}"
    house.person.patch(path, {"metadata": {"labels": {"gpubot.dev/request": request}}})


# ---- GPUs that no pod is on


def test_it_is_known_since_when_gpus_have_had_no_pod(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    begun = house.clock.now()
    assert house.cluster.vacancies() == {request: [begun] * 4}
    house.pass_time(100.0)
    house.create_pod("a", 3, request=request)
    house.run()
    assert house.cluster.vacancies() == {request: [begun]}
    house.pass_time(100.0)
    house.api.kubelet.finish(f"{TEAM}/a")
    house.run()
    assert house.cluster.vacancies() == {request: [begun, *[begun + 200.0] * 3]}
    house.create_job("train")
    house.run(3)
    assert set(house.cluster.vacancies()) == {request}  # pods of a Job come by themselves


def test_after_a_restart_it_counts_from_then(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    house.pass_time(100.0)
    house.restart()
    house.run()
    assert house.cluster.vacancies() == {request: [house.clock.now()] * 4}
    release(house, request)
    assert house.cluster.vacancies() == {}
