"""Groups of pods that are stopped, that nobody stands for any more, or of which some are done."""

from __future__ import annotations

import pytest

from bot.clusters.base import Stop
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection
from scheduler.invariants import check_invariants
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import (
    READY_WITHIN,
    attempts,
    create,
    delete,
    gates,
    held,
    make_room,
    nodes,
)
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, Doom, wait_until
from tests.kube.samples import pod

# ---- stopping


SPARE = dict.fromkeys("abcdef", 8)


@pytest.fixture
def preempting(house: KubeHouse) -> KubeHouse:
    """A group on all nodes has been told to make room, and has its grace."""
    create(house, SPARE, preemptible="true")
    house.run(4)
    assert house.state("g") is S.RUNNING
    house.create_job("mine", pods=4)
    house.run(1)
    assert house.state("g") is S.PREEMPTING
    return house


def test_whose_pods_are_not_made_again_has_ended(preempting: KubeHouse) -> None:
    preempting.pass_time(130.0)
    preempting.run(6)
    assert (preempting.state("g"), preempting.state("mine")) == (S.RELEASED, S.RUNNING)


def test_whose_pods_are_made_again_at_once_waits_until_there_is_room(
    preempting: KubeHouse,
) -> None:
    preempting.pass_time(130.0)
    preempting.control.step()  # has them evicted, and is not told yet what became of it
    preempting.api.controllers.settle()
    assert preempting.cluster.writer.wait(10.0)
    preempting.api.kubelet.confirm_all()
    create(preempting, SPARE, preemptible="true")
    preempting.run(6)
    assert (preempting.state("g"), preempting.state("mine")) == (S.WAITING, S.RUNNING)
    assert all(gates(preempting)[name] for name in SPARE)
    make_room(preempting)
    assert preempting.state("g") is S.RUNNING
    assert [one.attempt for one in preempting.requests() if one.workload.name == "g"] == [2]


def test_what_is_at_the_gate_stays_there_when_none_was_let_go(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 8})
    house.step()
    request = house.request("g")
    assert request.state is S.ADMITTED
    before = {one["metadata"]["uid"] for one in house.pods()}
    stop = Stop(workload=request.workload.id, decision=request.decision, grace=0.0)
    house.cluster.apply(stop, house.clock.now())
    house.run(4)
    after = {one["metadata"]["uid"] for one in house.pods()}
    assert (after, house.state("g"), attempts(house)) == (before, S.RUNNING, 2)


@pytest.mark.parametrize("grace_is_over", [False, True])
def test_what_was_to_be_stopped_is_stopped_after_a_restart(
    preempting: KubeHouse, grace_is_over: bool
) -> None:
    if grace_is_over:
        preempting.doom = Doom(1, sent=False)
        preempting.pass_time(130.0)
        preempting.control.step()
        wait_until(lambda: preempting.doom is not None and preempting.doom.dead, "its death")
    preempting.restart()
    preempting.step()
    assert preempting.state("g") is S.PREEMPTING
    assert set(SPARE) <= set(nodes(preempting))
    preempting.pass_time(130.0)
    preempting.run(6)
    assert set(SPARE) & set(nodes(preempting)) == set()
    assert (preempting.state("g"), preempting.state("mine")) == (S.RELEASED, S.RUNNING)


# ---- what nobody stands for


def let_go_late(house: KubeHouse, name: str, decision: str, node: str) -> None:
    """A write of a bot that has died arrives: a pod is let go by what is over by now."""
    path = f"/api/v1/namespaces/{TEAM}/pods/{name}"
    selector = {"nodeSelector": {names.HOSTNAME: node}}
    marks = {"metadata": {"annotations": {names.DECISION: decision}}}
    bot = Connection(lambda: house.api.client("bot"))
    bot.patch(path, {**marks, "spec": {"schedulingGates": None, **selector}})
    house.settle()
    house.let_pods_run()
    house.settle()


def test_what_was_let_go_by_a_decision_that_is_over_is_evicted(waiting: KubeHouse) -> None:
    request = waiting.request("g")
    make_room(waiting)
    make_room(waiting)
    assert waiting.state("g") is S.FINISHED
    create(waiting, {"c": 4, "d": 4})
    waiting.run(4)
    assert (waiting.state("g"), attempts(waiting)) == (S.RUNNING, 3)
    create(waiting, {"e": 4}, size=2)
    let_go_late(waiting, "e", f"{request.id}/1", "n6")
    assert "e" in nodes(waiting)
    waiting.run(2)
    assert "e" not in nodes(waiting)
    assert waiting.state("g") is S.RUNNING


def test_a_stray_pod_does_not_end_the_request_of_its_group(waiting: KubeHouse) -> None:
    let_go_late(waiting, "b", f"{waiting.request('g').id}/1", "n6")
    waiting.run()
    assert "b" not in {one["metadata"]["name"] for one in waiting.pods()}
    assert held(waiting)
    create(waiting, {"b": 8}, size=2)
    make_room(waiting)
    assert waiting.state("g") is S.RUNNING


def test_what_was_let_go_for_a_hold_that_is_over_is_deleted(house: KubeHouse) -> None:
    house.create_pod("mine", 4, request="R-1001")
    let_go_late(house, "mine", "R-1001/1", "n1")
    house.run()
    assert house.pods() == []


def test_marks_that_were_copied_from_a_pod_that_ran_mean_nothing_at_the_gate(
    house: KubeHouse,
) -> None:
    for name in ("a", "b"):
        body = pod(name, gpus=4)
        marks = {"team": "nlp", "group": "g", "group-size": "2"}
        body["metadata"]["labels"] = {f"gpubot.dev/{key}": text for key, text in marks.items()}
        body["metadata"]["annotations"] = {names.DECISION: "R-7/1"}
        house.person.post(f"/api/v1/namespaces/{TEAM}/pods", body)
    house.run(4)
    assert (house.state("g"), attempts(house), len(nodes(house))) == (S.RUNNING, 1, 2)


# ---- how far it has come


def used(house: KubeHouse) -> int:
    house.control.read(check_invariants)
    return house.control.read(lambda engine: engine.figures().used)


def finish(house: KubeHouse, *pods: str) -> None:
    for name in pods:
        house.api.kubelet.finish(f"{TEAM}/{name}")
    house.settle()


def test_what_is_done_gives_its_gpus_back_while_the_others_run(house: KubeHouse) -> None:
    create(house, {"first": 4}, size=3, role="leader")
    create(house, {"a": 8, "b": 8}, size=3, role="worker")
    house.run(4)
    assert used(house) == 20
    finish(house, "a")
    house.run(2)
    assert (house.state("g"), used(house)) == (S.RUNNING, 12)
    house.restart()
    house.run(2)
    assert (house.state("g"), used(house)) == (S.RUNNING, 12)
    delete(house, "a")  # what is done may go
    house.step(READY_WITHIN + 1.0)
    house.run(2)
    assert (house.state("g"), used(house)) == (S.RUNNING, 12)
    finish(house, "first", "b")
    house.run(2)
    assert (house.state("g"), used(house)) == (S.FINISHED, 0)


def test_what_a_controller_keeps_gives_nothing_back(house: KubeHouse) -> None:
    crew = house.person.post(f"/api/v1/namespaces/{TEAM}/pods", pod("crew", gpus=0, gated=False))
    keeper = {"apiVersion": "v1", "kind": "Pod", "name": "crew", "uid": crew["metadata"]["uid"]}
    for name in ("a", "b"):
        body = pod(name, gpus=8)
        marks = {"team": "nlp", "group": "g", "group-size": "2"}
        body["metadata"]["labels"] = {f"gpubot.dev/{key}": text for key, text in marks.items()}
        body["metadata"]["ownerReferences"] = [{**keeper, "controller": True}]
        house.person.post(f"/api/v1/namespaces/{TEAM}/pods", body)
    house.run(4)
    finish(house, "a")
    house.run(2)
    assert (house.state("g"), used(house)) == (S.RUNNING, 16)


def test_the_node_that_holds_it_up_gets_a_bad_mark(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 8})
    house.run(3, pods=False)
    house.api.kubelet.start(f"{TEAM}/a")
    house.step()
    node = nodes(house)["b"]
    for _ in range(2):
        house.step(READY_WITHIN + 1.0)
    with house.store.read() as view:
        late = [one.name for one in view.settings.under("late:")]
    assert late == [f"late:{node}"]
