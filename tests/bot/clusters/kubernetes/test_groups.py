"""Groups of pods: several roles, flaws, and what becomes of a group that changes or comes again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.asks import Change
from bot.clusters.base import Action, Start
from scheduler.model import GPU
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import (
    READY_WITHIN,
    attempts,
    create,
    delete,
    gates,
    held,
    label,
    make_room,
    nodes,
    refused,
)
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import LEA
from tests.kube.samples import pod

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
