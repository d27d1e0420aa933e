"""Groups of pods: several roles, flaws, and what becomes of a group that changes or comes again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.asks import Change
from bot.clusters.base import Action, Start, Stop
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection
from scheduler.invariants import check_invariants
from scheduler.model import GPU, RestCause
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, Doom, wait_until
from tests.bot.house import LEA
from tests.kube.samples import pod

READY_WITHIN = Readiness().ready_in


def create(house: KubeHouse, gpus: dict[str, int], *, size: int | None = None, **more: str) -> None:
    """Pods of the group `g`, by name and GPUs."""
    for name, each in gpus.items():
        marks = {"team": "nlp", "group": "g", "group_size": str(size or len(gpus)), **more}
        house.create_pod(name, each, **marks)


def delete(house: KubeHouse, *pods: str) -> None:
    for name in pods:
        house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{name}", {})
    house.settle()


def label(house: KubeHouse, which: str, **marks: str) -> None:
    labels = {f"gpubot.dev/{name}": text for name, text in marks.items()}
    path = f"/api/v1/namespaces/{TEAM}/pods/{which}"
    house.person.patch(path, {"metadata": {"labels": labels}})
    house.settle()


def nodes(house: KubeHouse) -> dict[str, str]:
    """The node of each pod that has one, by name."""
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in house.pods()
        if one["spec"].get("nodeName")
    }


def gates(house: KubeHouse) -> dict[str, bool]:
    """Whether each pod waits at the gate, by name."""
    pods = house.pods()
    return {one["metadata"]["name"]: bool(one["spec"].get("schedulingGates")) for one in pods}


def refused(house: KubeHouse) -> list[str]:
    assert house.cluster.remarks.wait(10.0)
    found = house.person.get(f"/api/v1/namespaces/{TEAM}/events")["items"]
    return [one["message"] for one in found if one["reason"] == "Refused"]


def attempts(house: KubeHouse) -> int:
    return sum(one.attempt for one in house.requests())


def held(house: KubeHouse) -> bool:
    rest = house.request("g").workload.rest
    return rest is not None and rest.cause is RestCause.SPOILED


# ---- roles


def test_pods_of_several_roles_are_one_request_and_start_together(house: KubeHouse) -> None:
    create(house, {"first": 4}, size=3, role="leader")
    create(house, {"a": 8}, size=3, role="worker")
    house.run()
    assert house.requests() == []
    create(house, {"b": 8}, size=3, role="worker")
    house.run(4)
    request = house.request("g")
    assert request.state is S.RUNNING
    assert {one.name: (one.count, one.requests[GPU]) for one in request.workload.pod_sets} == {
        "leader": (1, 4),
        "worker": (2, 8),
    }
    assert request.admission is not None
    granted = {
        part.name: sorted(node for node, _ in part.nodes) for part in request.admission.assignments
    }
    there = nodes(house)
    assert granted == {"leader": [there["first"]], "worker": sorted([there["a"], there["b"]])}


def test_a_role_without_gpus_is_let_go_with_the_others(house: KubeHouse) -> None:
    create(house, {"first": 0}, size=2, role="leader")
    create(house, {"a": 8}, size=2, role="worker")
    house.run(4)
    request = house.request("g")
    assert (request.state, request.workload.gpus) == (S.RUNNING, 8)
    assert [one.name for one in request.workload.pod_sets] == ["worker"]
    assert gates(house) == {"first": False, "a": False}


def test_what_was_never_at_the_gate_and_needs_no_gpus_is_no_member(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 8})
    marks = {"gpubot.dev/team": "nlp", "gpubot.dev/group": "g", "gpubot.dev/group-size": "2"}
    plain = pod("plain", gpus=0, gated=False, **marks)
    house.person.post(f"/api/v1/namespaces/{TEAM}/pods", plain)
    house.run(4)
    assert house.state("g") is S.RUNNING


# ---- flaws


def test_pods_that_differ_in_a_mark_are_told_so(house: KubeHouse) -> None:
    create(house, {"a": 8}, size=2)
    create(house, {"b": 8}, size=2, priority="high")
    house.run()
    (said,) = refused(house)
    assert "differ in the label `gpubot.dev/priority`: none and `high`" in said
    assert house.requests() == []
    label(house, "a", priority="high")
    house.run(4)
    assert house.state("g") is S.RUNNING


def test_pods_of_one_role_that_ask_for_different_things_are_told_so(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 4})
    house.run()
    (said,) = refused(house)
    assert "the role `main` differ" in said
    assert "`gpubot.dev/role`" in said
    assert house.requests() == []
    label(house, "b", role="small")
    house.run(4)
    assert (house.state("g"), house.request("g").workload.gpus) == (S.RUNNING, 12)


def test_a_group_that_stays_short_is_told_so_once(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 8}, size=3)
    house.run()
    house.step(READY_WITHIN - 1.0)
    assert refused(house) == []
    for _ in range(3):
        house.step(1.0)
        house.run(1)
    (said,) = refused(house)
    assert "It has 2 of its 3 pods" in said
    create(house, {"c": 8}, size=3)
    house.run(4)
    assert house.state("g") is S.RUNNING


# ---- changes while it waits


@pytest.fixture
def waiting(house: KubeHouse) -> KubeHouse:
    """A group of two waits, as a Job has all of the quota."""
    house.create_job("first", pods=4)
    house.run(3)
    create(house, {"a": 8, "b": 8})
    house.run()
    assert house.state("g") is S.WAITING
    return house


def make_room(house: KubeHouse) -> None:
    house.finish_pods()
    house.run(4)


def test_it_is_held_while_it_lacks_a_pod_and_keeps_its_place(waiting: KubeHouse) -> None:
    before = waiting.request("g")
    delete(waiting, "b")
    waiting.run()
    assert held(waiting)
    assert [item.notice.audience.value for item in waiting.said("not-taken")] == ["thread"]
    make_room(waiting)
    assert attempts(waiting) == 1  # of the other
    create(waiting, {"b": 8}, size=2)
    waiting.run(4)
    after = waiting.request("g")
    assert (after.id, after.state, after.attempt) == (before.id, S.RUNNING, 1)
    assert after.workload.created == before.workload.created
    assert waiting.said("changed")


def test_it_is_asked_for_anew_when_its_pods_are_others(waiting: KubeHouse) -> None:
    before = waiting.request("g")
    delete(waiting, "a", "b")
    create(waiting, {"a": 4, "b": 4})
    waiting.run()
    make_room(waiting)
    after = waiting.request("g")
    assert (after.state, after.workload.gpus) == (S.RUNNING, 8)
    assert after.id == before.id or waiting.requests()[-2].state is S.CANCELLED


def test_it_is_held_while_its_pods_differ(waiting: KubeHouse) -> None:
    label(waiting, "b", priority="high")
    waiting.run()
    assert held(waiting)
    waiting.restart()
    waiting.run()
    assert held(waiting)
    assert len(waiting.said("not-taken")) == 2  # its thread and its owner, each once
    label(waiting, "a", priority="high")
    make_room(waiting)
    assert (waiting.state("g"), attempts(waiting)) == (S.RUNNING, 2)


def test_an_edit_in_chat_does_not_let_go_what_is_held(waiting: KubeHouse) -> None:
    delete(waiting, "b")
    waiting.run()
    request = waiting.request("g")
    waiting.desk.edit(LEA.id, request.id, Change(duration=7200.0), key="edit")
    make_room(waiting)
    assert held(waiting)
    assert waiting.request("g").workload.duration == 7200.0
    assert waiting.request("g").attempt == 0


def test_who_deletes_all_of_it_ends_its_request(waiting: KubeHouse) -> None:
    delete(waiting, "a", "b")
    waiting.run()
    assert waiting.state("g") is S.CANCELLED


def replace_at_start(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch, name: str, gpus: int | None
) -> None:
    """Just before a decision about the group is carried out, one pod of it becomes another."""
    apply_all = house.cluster.apply_all

    def changed(actions: Sequence[Action], now: float) -> None:
        if any(isinstance(one, Start) and one.ref and one.ref.name == "g" for one in actions):
            monkeypatch.setattr(house.cluster, "apply_all", apply_all)
            delete(house, name)
            if gpus is not None:
                create(house, {name: gpus}, size=2)
            house.hear()
        apply_all(actions, now)

    monkeypatch.setattr(house.cluster, "apply_all", changed)


@pytest.mark.parametrize("gpus", [8, None])
def test_a_pod_that_became_larger_or_vanished_before_the_start_lets_none_go(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch, gpus: int | None
) -> None:
    replace_at_start(house, monkeypatch, "b", gpus)
    create(house, {"a": 4, "b": 4})
    house.run(6)
    assert all(gates(house).values())
    assert (house.state("g"), held(house)) == (S.WAITING, True)
    assert attempts(house) <= 2  # it is not tried again and again
    if gpus is not None:
        delete(house, "b")
    create(house, {"b": 4}, size=2)
    house.run(4)
    assert (house.state("g"), len(nodes(house))) == (S.RUNNING, 2)


def test_a_pod_that_became_another_of_the_same_shape_before_the_start_starts(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_at_start(house, monkeypatch, "b", 4)
    create(house, {"a": 4, "b": 4})
    house.run(6)
    assert (house.state("g"), len(nodes(house))) == (S.RUNNING, 2)


def test_a_larger_pod_does_not_take_the_place_of_one_that_ran(house: KubeHouse) -> None:
    create(house, {"a": 4, "b": 4})
    house.run(4)
    delete(house, "b")
    create(house, {"b": 8}, size=2)
    house.run(3)
    assert gates(house)["b"]
    delete(house, "b")
    create(house, {"b": 4}, size=2)
    house.run(3)
    assert (house.state("g"), len(nodes(house)), attempts(house)) == (S.RUNNING, 2, 1)


# ---- the same name again


def test_one_of_other_pods_is_another_request(house: KubeHouse) -> None:
    create(house, {"a": 8, "b": 8})
    house.run(4)
    house.finish_pods()
    house.run()
    assert house.state("g") is S.FINISHED
    create(house, {"c": 8, "d": 8})  # those that are done are still there
    house.run(4)
    assert [(one.state, one.attempt) for one in house.requests()] == [
        (S.FINISHED, 1),
        (S.RUNNING, 1),
    ]
    house.finish_pods()
    house.run()
    assert house.state("g") is S.FINISHED


def test_one_that_was_cancelled_is_asked_for_again_only_with_other_pods(
    waiting: KubeHouse,
) -> None:
    waiting.desk.cancel(LEA.id, waiting.request("g").id, key="cancel")
    waiting.run()
    waiting.restart()
    waiting.run()
    assert [one.state for one in waiting.requests()][1:] == [S.CANCELLED]
    delete(waiting, "a", "b")
    create(waiting, {"a": 8, "b": 8})
    waiting.run()
    assert [one.state for one in waiting.requests()][1:] == [S.CANCELLED, S.WAITING]


def test_one_that_came_while_its_request_ended_and_no_bot_was_there_is_asked_for(
    house: KubeHouse,
) -> None:
    create(house, {"a": 8, "b": 8})
    house.run(4)
    house.desk.release(LEA.id, house.request("g").id, key="release")
    house.step()
    assert house.state("g") is S.STOPPING
    delete(house, "a", "b")
    house.api.kubelet.confirm_all()
    create(house, {"a": 8, "b": 8})
    house.restart()
    house.run(5)
    assert [one.state for one in house.requests()] == [S.RELEASED, S.RUNNING]


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
