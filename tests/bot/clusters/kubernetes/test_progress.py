"""Pods that are done give their places back while others run; saved progress is known."""

from __future__ import annotations

import datetime as dt

import pytest

from bot.asks import Period
from bot.clock import moment
from bot.clusters.base import Shrunk
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.progress import UNSAVED_AT_MOST
from bot.reports import ReportView
from scheduler.invariants import check_invariants
from scheduler.model import WorkloadId
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import TEAM

READY_WITHIN = Readiness().ready_in
JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"


def finish(house: KubeHouse, *ranks: int, name: str = "train") -> None:
    """The pods of these ranks succeed."""
    for pod in house.pods():
        meta = pod["metadata"]
        if any(meta["name"].startswith(f"{name}-{rank}-") for rank in ranks):
            house.api.kubelet.finish(f"{meta['namespace']}/{meta['name']}")
    house.settle()


def used(house: KubeHouse) -> int:
    house.control.read(check_invariants)
    return house.control.read(lambda engine: engine.figures().used)


def test_what_is_done_makes_room_for_others_while_the_rest_runs(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(2)
    house.create_job("next", pods=2, gpus=8)
    house.create_job("last", pods=1, gpus=8)
    house.run(4)
    states = [house.state(one) for one in ("train", "next", "last")]
    assert states == [S.RUNNING, S.WAITING, S.RUNNING]
    before = dict(house.bound())
    finish(house, 1, 2)
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert house.state("next") is S.RUNNING
    assert house.state("last") is S.RUNNING
    assert before["train-0"] == house.bound()["train-0"]
    assert used(house) == 8 * (2 + 2 + 1)
    finish(house, 0, 3)
    house.run(2)
    assert house.state("train") is S.FINISHED
    assert used(house) == 8 * (2 + 1)


def test_it_is_known_after_a_restart_and_by_a_new_engine(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    finish(house, 3)
    house.run(1)
    assert used(house) == 24
    house.control.give_up()  # the engine is thrown away, the cluster goes on
    house.run(2)
    assert used(house) == 24
    house.restart()
    house.run(2)
    assert used(house) == 24
    assert house.state("train") is S.RUNNING


def test_who_replaces_its_pods_keeps_their_places_until_its_tail(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8, completions=4, completionMode="NonIndexed")
    house.run(3)
    assert used(house) == 16
    for left in (16, 16, 8):  # of four, at most two at once
        pod = next(one for one in house.pods() if one["status"]["phase"] == "Running")
        house.api.kubelet.finish(f"{TEAM}/{pod['metadata']['name']}")
        house.run(3)
        assert used(house) == left
    assert house.state("train") is S.RUNNING


def test_a_pod_that_fails_and_is_replaced_keeps_its_place(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8, backoffLimit=3)
    house.run(3)
    before = house.bound()
    for pod in house.pods():
        if pod["metadata"]["name"].startswith("train-1-"):
            house.api.kubelet.finish(f"{TEAM}/{pod['metadata']['name']}", exit_code=1)
    house.settle()
    house.step()
    assert used(house) == 24
    house.pass_time(30.0)
    house.run(3)
    assert used(house) == 24
    alive = [p for p in house.pods() if p["status"]["phase"] == "Running"]
    there = {p["metadata"]["name"].rpartition("-")[0]: p["spec"]["nodeName"] for p in alive}
    assert there == before


def test_what_is_given_back_is_not_taken_again(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    house.person.patch(f"{JOBS}/train", {"spec": {"parallelism": 2}})
    house.run(3)
    assert used(house) == 16
    house.create_job("next", pods=2, gpus=8)
    house.run(3)
    assert house.state("next") is S.RUNNING
    house.person.patch(f"{JOBS}/train", {"spec": {"parallelism": 4}})
    house.run(3)
    assert used(house) == 32  # what pods have, though more are wanted
    running = [p for p in house.pods() if p["status"]["phase"] == "Running"]
    nodes = [p["spec"]["nodeName"] for p in running]
    assert len(nodes) == len(set(nodes)) == 4
    house.step(2 * 900.0)
    assert house.state("train") is S.RUNNING


def test_a_node_on_which_all_was_done_may_be_lost(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.run(3)
    done = house.bound()["train-2"]
    finish(house, 2)
    house.run(1)
    house.api.change_node(done, ready=False)
    house.api.kubelet.vanish(done)
    house.step(60.0)
    house.run(2)
    assert house.state("train") is S.RUNNING
    assert house.said("repaired") == []
    assert house.said("requeued") == []


@pytest.mark.parametrize("where", ["job", "pod"])
def test_a_checkpoint_is_told_by_an_annotation(house: KubeHouse, where: str) -> None:
    house.create_job("train", pods=2, gpus=8, labels={"preemptible": "true"})
    house.run(3)
    form = house.request("train").ref
    at = house.clock.now() + 600.0
    house.step(900.0)
    path = f"{JOBS}/train"
    if where == "pod":
        path = f"/api/v1/namespaces/{TEAM}/pods/{house.pods()[0]['metadata']['name']}"
    for text in (stamp(at), stamp(at - 300.0), "yesterday", ""):  # the newest counts
        house.person.patch(path, {"metadata": {"annotations": {names.CHECKPOINTED: text}}})
        house.run(2)
        assert checkpoint(house) == at
    assert house.request("train").ref == form
    house.restart()
    house.run(2)
    assert checkpoint(house) is None  # the annotation is unreadable now
    house.person.patch(path, {"metadata": {"annotations": {names.CHECKPOINTED: stamp(at)}}})
    house.run(2)
    assert checkpoint(house) == at


def test_a_checkpoint_of_the_next_minutes_is_of_now_one_of_before_is_none(
    house: KubeHouse,
) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    start = house.clock.now()
    for when, counts in ((start - 7200.0, None), (start + 7200.0, None), (start + 120.0, start)):
        body = {"metadata": {"annotations": {names.CHECKPOINTED: stamp(when)}}}
        house.person.patch(f"{JOBS}/train", body)
        house.run(1)
        assert checkpoint(house) == counts


def annotate(house: KubeHouse, path: str, said: str | None) -> None:
    house.person.patch(path, {"metadata": {"annotations": {names.CHECKPOINTED: said}}})
    house.run(2)


def test_what_cannot_be_is_said_on_the_object_once_for_each_value(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    late = stamp(house.clock.now() + 8 * 3600.0)
    for value in ("yesterday", late, "yesterday", "1767607200", late):
        annotate(house, f"{JOBS}/train", value)
    first, second, third = said(house, "Ignored")
    assert {one["involvedObject"]["name"] for one in (first, second, third)} == {"train"}
    assert first["type"] == "Warning"
    assert "cannot be `yesterday`" in first["message"]
    assert "Right would be `2026-01-05T10:00:00Z`" in first["message"]
    assert f"is `{late}`, which lies 8 h ahead" in second["message"]
    assert "cannot be `1767607200`" in third["message"]
    house.restart()
    house.run(2)
    assert len(said(house, "Ignored")) == 3


def test_what_lay_ahead_is_not_believed_when_its_time_has_come(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    annotate(house, f"{JOBS}/train", stamp(house.clock.now() + 3600.0))
    house.step(4000.0)
    house.person.patch(f"{JOBS}/train", {"metadata": {"annotations": {"note": "look again"}}})
    house.run(2)
    assert checkpoint(house) is None


def test_pods_that_all_say_the_same_are_told_on_the_first_of_them(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.run(3)
    for pod in sorted(one["metadata"]["name"] for one in house.pods()):
        annotate(house, f"/api/v1/namespaces/{TEAM}/pods/{pod}", "now")
    (event,) = said(house, "Ignored")
    assert event["involvedObject"]["kind"] == "Pod"
    assert event["involvedObject"]["name"].startswith("train-0-")


def test_who_says_another_wrong_time_each_minute_is_not_told_each_time(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    for minute in range(UNSAVED_AT_MOST + 3):
        path, body = f"{JOBS}/train", {names.CHECKPOINTED: f"10h{minute}"}
        house.person.patch(path, {"metadata": {"annotations": body}})
        house.step()
    assert len(said(house, "Ignored")) == UNSAVED_AT_MOST
    annotate(house, path, stamp(house.clock.now()))
    assert checkpoint(house) == house.clock.now()


def charged(house: KubeHouse) -> list[tuple[int, float]]:
    """The GPUs and seconds of each part of what `train` is charged."""
    now = moment(house.clock.now())
    with house.store.read() as view:
        parts = view.grants.of(house.request("train").id)
    return [(one.gpus, ((one.ended or now) - one.begun).total_seconds()) for one in parts]


def test_what_is_charged_is_what_was_held(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    house.step(3600.0)
    finish(house, 1, 2)
    house.run(1)
    house.step(1800.0)
    house.restart()
    house.run(2)
    house.step(1800.0)
    assert charged(house) == [(32, 3600.0), (16, 3600.0)]
    finish(house, 0)
    house.run(2)
    house.step(3600.0)
    finish(house, 3)
    house.run(2)
    assert charged(house) == [(32, 3600.0), (16, 3600.0), (8, 3600.0)]
    (told,) = house.said("ended")
    assert told.notice.args["gpu_hours"] == 32 + 16 + 8
    report = house.desk.report(Period.WEEK)
    assert isinstance(report, ReportView)
    assert report.gpu_hours == 32 + 16 + 8
    assert report.waits.starts == 1


def test_who_is_mended_is_charged_for_all_again_until_it_has_given_back(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8, backoffLimit=6)
    house.run(3)
    house.step(3600.0)
    finish(house, 2)
    house.run(1)
    house.step(3600.0)
    lost = house.bound()["train-0"]
    house.api.kubelet.silence(lost)
    house.api.change_node(lost, ready=False)
    house.step()
    house.step()
    assert [gpus for gpus, _ in charged(house)] == [24, 16, 24]
    house.step(600.0)
    house.api.kubelet.vanish(lost)
    house.pass_time(30.0)
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert used(house) == 16
    assert [gpus for gpus, _ in charged(house)] == [24, 16, 24, 16]


def checkpoint(house: KubeHouse) -> float | None:
    one = WorkloadId(house.request("train").id)
    return house.control.read(lambda engine: engine.checkpoint(one))


def stamp(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).isoformat()


def test_it_is_told_once(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.run(3)
    finish(house, 1)
    told = [one for _ in range(4) for one in house.cluster.poll(house.clock.now())]
    (shrunk,) = [one for one in told if isinstance(one, Shrunk)]
    assert shrunk.left[0].count == 2


@pytest.mark.parametrize(("pods", "ranks"), [(4, (0, 2)), (4, (1, 2, 3)), (8, (0,))])
def test_after_a_preemption_only_what_is_not_done_starts_again(
    house: KubeHouse, pods: int, ranks: tuple[int, ...]
) -> None:
    """Also on one node, whose template names it: pods that were done before say nothing of now."""
    gpus = 8 if pods == 4 else 1
    for node in ("n5", "n6"):
        house.api.change_node(node, ready=False)
    house.create_job("spare", pods=pods, gpus=gpus, labels={"preemptible": "true"})
    house.run(3)
    finish(house, *ranks, name="spare")
    house.run(2)
    rest = pods - len(ranks)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)
    finish(house, *range(4), name="mine")
    house.step()
    house.step()  # its pods are bound, and none is ready yet
    alive = [p for p in house.pods() if p["status"]["phase"] == "Pending"]
    assert [p["metadata"]["name"].startswith("spare-") for p in alive] == [True] * rest
    assert house.state("spare") is S.ADMITTED
    house.run(3)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    assert house.request("spare").workload.gpus == rest * gpus
    assert used(house) == rest * gpus
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    house.finish_pods()
    house.run(3)
    assert house.state("spare") is S.FINISHED


def test_pods_that_were_done_and_removed_are_not_missed_after_a_restart(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run(3)
    finish(house, 1, 2)
    house.run(2)
    for pod in house.pods():
        if pod["status"]["phase"] == "Succeeded":
            path = f"/api/v1/namespaces/{TEAM}/pods/{pod['metadata']['name']}"
            house.person.delete(path, {"gracePeriodSeconds": 0})
    house.settle()
    house.restart()
    house.run(2)
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert used(house) == 16
