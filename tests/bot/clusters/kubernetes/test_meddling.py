"""A Job that is changed while it runs, in whatever way the API server allows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.clusters.kubernetes import names
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import (
    JOBS,
    PODS,
    change_job,
    check,
    held_by_pods,
    mark,
    take_out,
)

LIMIT = 901.0  # a moment more than a gang has to be ready
AWAY = pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
BOTH = pytest.mark.parametrize(
    ("pods", "gpus", "away"), [(4, 2, False), (3, 8, True)], ids=["one-node-there", "nodes-away"]
)


def start(house: KubeHouse, pods: int, gpus: int, **more: object) -> None:
    house.create_job("train", pods=pods, gpus=gpus, **more)
    house.run(4)
    assert house.state("train") is S.RUNNING


def meddle(house: KubeHouse, act: Callable[[], object], *, away: bool) -> None:
    """Somebody does something, which the bot sees, or finds when it comes back."""
    if not away:
        act()
        return
    house.cluster.close()
    act()
    house.api.controllers.settle()
    house.restart()


def go_on(house: KubeHouse, rounds: int = 4) -> None:
    """Go round, and look after every step."""
    for _ in range(rounds):
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
        check(house)
        house.let_pods_run()
        house.settle()


def resize(house: KubeHouse, pods: int) -> None:
    """An elastic indexed Job is made larger or smaller, whether it runs or not."""
    change_job(house, "train", {"spec": {"parallelism": pods, "completions": pods}})


def uids(house: KubeHouse) -> set[str]:
    return {pod["metadata"]["uid"] for pod in house.pods()}


def ours(house: KubeHouse) -> dict[str, str]:
    found = house.job("train")["metadata"]["annotations"]
    return {name: text for name, text in found.items() if name.startswith(names.PREFIX)}


# ---- what is written on it


@pytest.mark.parametrize(
    ("marks", "away"),
    [
        ({"decision": None}, False),
        ({"decision": "x"}, True),
        ({"decision": "R-1001/7"}, True),
        ({"grant": "{"}, False),
        ({"grant": None, "decision": None, "admitted": None, "pinned": None}, True),
    ],
    ids=["no-decision", "no-id-away", "another-away", "garbled", "none-away"],
)
def test_what_the_bot_wrote_is_written_again_and_nothing_else_happens(
    house: KubeHouse, marks: dict[str, str | None], away: bool
) -> None:
    start(house, 3, 8)
    before, written = uids(house), ours(house)
    meddle(house, lambda: mark(house, "train", "annotations", **marks), away=away)
    go_on(house)
    house.step(LIMIT)
    go_on(house, 2)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert uids(house) == before
    assert ours(house) == written
    house.finish_pods()
    house.run(2)
    assert house.state("train") is S.FINISHED


def test_the_same_on_one_node_whose_pods_never_saw_the_gate(house: KubeHouse) -> None:
    start(house, 4, 2)
    before = uids(house)
    none = {"grant": None, "decision": None, "admitted": None, "pinned": None}
    meddle(house, lambda: mark(house, "train", "annotations", **none), away=True)
    go_on(house)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert uids(house) == before


@pytest.mark.parametrize("text", ["soon", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z"])
def test_when_it_stops_is_not_for_others_to_say(house: KubeHouse, text: str) -> None:
    start(house, 6, 8, labels={"preemptible": "true"})
    meddle(house, lambda: mark(house, "train", "annotations", stop_at=text), away=True)
    go_on(house)
    assert house.state("train") is S.RUNNING
    house.create_job("mine", pods=1, gpus=8)
    house.run(1)
    assert house.state("train") is S.PREEMPTING
    house.restart()
    house.run(1)
    house.pass_time(121.0)
    go_on(house)
    assert (house.state("train"), house.state("mine")) == (S.WAITING, S.RUNNING)


def test_its_labels_hold_from_its_next_start_on(house: KubeHouse) -> None:
    start(house, 3, 8)
    before = house.request("train")
    mark(house, "train", "labels", priority="high", group="g", request="R-1", team="vision")
    mark(house, "train", "annotations", lease="2h", owner="U0ADA")
    go_on(house)
    house.restart()
    go_on(house)
    assert house.request("train") == before
    change_job(house, "train", {"spec": {"suspend": True}})
    go_on(house)
    again = house.request("train")
    assert (again.id, again.state, again.attempt) == (before.id, S.RUNNING, 2)
    asked = again.workload
    assert (asked.team, asked.priority_class, asked.duration) == ("vision", "high", 7200.0)


# ---- how many pods it has


@BOTH
def test_a_job_made_smaller_gives_back_and_made_larger_again_takes_nothing_of_others(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    start(house, pods, gpus)
    meddle(house, lambda: resize(house, 1), away=away)
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().used) == gpus
    house.step(LIMIT)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    room = house.control.read(lambda engine: engine.figures().free)
    for number in range(room // 8):
        house.create_job(f"next-{number}", labels={"preemptible": "true"})
    go_on(house)
    meddle(house, lambda: resize(house, pods), away=away)
    go_on(house, 6)
    assert house.request("train").attempt == 1
    assert {house.state(f"next-{number}") for number in range(room // 8)} == {S.RUNNING}


@AWAY
def test_pods_beyond_the_grant_count_as_others(house: KubeHouse, away: bool) -> None:
    """Where no policy forbids it: those on one node pass the gate by their template."""
    start(house, 2, 2)
    meddle(house, lambda: resize(house, 4), away=away)
    go_on(house)
    (node,) = set(house.bound().values())
    assert held_by_pods(house) == {node: 8}
    house.create_job("other", pods=1, gpus=4)
    go_on(house)
    assert house.bound()["other-0"] != node
    resize(house, 2)
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().used) == 8


@AWAY
def test_a_job_without_pods_holds_nothing_and_starts_anew_when_it_wants_some(
    house: KubeHouse, away: bool
) -> None:
    start(house, 3, 8)
    meddle(house, lambda: change_job(house, "train", {"spec": {"parallelism": 0}}), away=away)
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().used) == 0
    house.create_job("other", pods=2, gpus=8)
    go_on(house)
    assert house.state("other") is S.RUNNING
    change_job(house, "train", {"spec": {"parallelism": 2}})
    go_on(house)
    assert not any(name.startswith("train") for name in house.bound())
    house.step(LIMIT)
    go_on(house, 8)
    again = house.request("train")  # not for ever at the gate, for what it had given back
    assert (again.state, again.attempt, again.workload.gpus) == (S.RUNNING, 2, 16)


@AWAY
def test_what_asks_for_nothing_when_it_stops_is_not_tried_again(
    house: KubeHouse, away: bool
) -> None:
    start(house, 3, 8)
    change_job(house, "train", {"spec": {"parallelism": 0}})
    go_on(house)
    meddle(house, lambda: change_job(house, "train", {"spec": {"suspend": True}}), away=away)
    go_on(house, 6)
    assert (house.state("train"), house.request("train").attempt) == (S.CANCELLED, 1)


# ---- whether it runs at all


def test_a_deadline_of_its_own_ends_it(house: KubeHouse) -> None:
    start(house, 4, 8)
    change_job(house, "train", {"spec": {"activeDeadlineSeconds": 60}})
    go_on(house)
    assert house.state("train") is S.RUNNING
    house.create_job("next", pods=4, gpus=8)
    house.pass_time(61.0)
    go_on(house)
    assert (house.state("train"), house.state("next")) == (S.FAILED, S.RUNNING)


@BOTH
def test_suspended_and_resumed_before_anybody_looked(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    start(house, pods, gpus)
    before = uids(house)

    def flip() -> None:
        change_job(house, "train", {"spec": {"suspend": True}})
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
        change_job(house, "train", {"spec": {"suspend": False}})
        house.api.controllers.settle()

    meddle(house, flip, away=away)
    go_on(house, 6)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert not uids(house) & before
    assert len(house.bound()) == pods
    assert house.control.read(lambda engine: engine.figures().used) == pods * gpus


@AWAY
def test_who_lets_go_by_hand_what_waits_takes_nobodys_room(house: KubeHouse, away: bool) -> None:
    """It is no request any more; what the bot finds like that when it comes back, it stops."""
    start(house, 4, 2, labels={"preemptible": "true"})
    house.create_job("fill", pods=5, gpus=8, labels={"preemptible": "true"})
    go_on(house)
    house.create_job("more", pods=1, gpus=8)
    change_job(house, "train", {"spec": {"suspend": True}})
    go_on(house, 6)
    assert [house.state(one) for one in ("train", "fill", "more")] == [
        S.WAITING,
        S.RUNNING,
        S.RUNNING,
    ]
    meddle(house, lambda: change_job(house, "train", {"spec": {"suspend": False}}), away=away)
    house.run(6)
    go_on(house)
    state = S.WAITING if away else S.CANCELLED
    assert (house.state("train"), house.request("train").attempt) == (state, 1)
    assert house.job("train")["spec"]["suspend"] is away
    assert [house.state(one) for one in ("fill", "more")] == [S.RUNNING, S.RUNNING]
    house.finish_pods()
    go_on(house, 6)  # pods that nobody let go take the room that came free, and are others'
    assert [house.state(one) for one in ("fill", "more")] == [S.FINISHED, S.FINISHED]
    assert sum(held_by_pods(house).values()) == 8


@BOTH
def test_deleted_with_a_finalizer_of_others_it_ends_with_its_pods(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    start(house, pods, gpus)
    change_job(house, "train", {"metadata": {"finalizers": ["example.com/keep"]}})
    meddle(house, lambda: house.delete_job("train"), away=away)
    go_on(house)
    assert house.state("train") is S.STOPPING
    assert house.control.read(lambda engine: engine.figures().used) == pods * gpus
    house.finish_pods()
    go_on(house)
    assert house.job("train")["metadata"]["deletionTimestamp"]
    assert house.state("train") is S.RELEASED
    assert house.control.read(lambda engine: engine.figures().used) == 0


# ---- whose its pods are


@BOTH
def test_pods_that_a_deleted_job_leaves_behind_hold_their_gpus_until_they_end(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    start(house, pods, gpus)
    orphan = {"propagationPolicy": "Orphan"}
    meddle(house, lambda: house.person.delete(f"{JOBS}/train", orphan), away=away)
    go_on(house)
    assert house.state("train").final
    assert sum(held_by_pods(house).values()) == pods * gpus
    assert house.control.read(lambda engine: engine.figures().free) == 48 - pods * gpus
    again = house.create_job("train", pods=pods, gpus=gpus)
    go_on(house)
    ref = house.request("train").ref
    assert ref is not None
    assert (house.state("train"), ref.uid) == (S.RUNNING, again)
    house.finish_pods()
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().free) == 48


@BOTH
def test_a_pod_that_leaves_its_job_keeps_its_room_and_the_gang_starts_whole_elsewhere(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    start(house, pods, gpus)
    left = house.pods()[0]
    meddle(house, lambda: take_out(house, left["metadata"]["name"]), away=away)
    go_on(house)
    assert house.control.read(lambda engine: engine.figures().free) == 48 - pods * gpus
    house.step(LIMIT)
    go_on(house)
    house.step(LIMIT)
    go_on(house)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 2)
    assert held_by_pods(house)[left["spec"]["nodeName"]] == gpus
    free = house.control.read(lambda engine: engine.figures().free)
    assert free == 48 - (pods + 1) * gpus


def test_a_pod_whose_reference_is_taken_off_and_put_back_is_counted_once(
    house: KubeHouse,
) -> None:
    """As its Job's controller does, which takes up again what its selector finds."""
    start(house, 3, 8)
    meta = house.pods()[0]["metadata"]
    path = f"{PODS}/{meta['name']}"
    house.person.patch(path, {"metadata": {"ownerReferences": None}})
    check(house)
    house.person.patch(path, {"metadata": {"ownerReferences": meta["ownerReferences"]}})
    check(house)
    go_on(house)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert len(house.bound()) == 3
    assert house.control.read(lambda engine: engine.figures().used) == 24
