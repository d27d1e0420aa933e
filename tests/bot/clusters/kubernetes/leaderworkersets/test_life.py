"""LeaderWorkerSets: a leader and its workers are one request, all replicas are under one card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kubernetes import client as kube

from bot.views import RefusalCode, Refused
from scheduler.model import GPU
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.leaderworkersets.crews import (
    LLAMA,
    by_name,
    check_whole,
    creep,
    delete,
    new_image,
    nodes,
    uids,
)
from tests.bot.clusters.kubernetes.serving import (
    LEADER_WORKER_SETS,
    counts,
    family,
    images,
    keep_groups,
    open_requests,
    scale,
)
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import LEA
from tests.kube.samples import leader_worker_set
from tests.kube.statuses import forbidden

# ---- start


def test_a_leader_and_its_workers_start_together_as_one_request(house: KubeHouse) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    running = by_name(house)
    assert list(running) == ["llama-0", "llama-1"]
    assert {one.state for one in running.values()} == {S.RUNNING}
    assert {one.workload.gpus for one in running.values()} == {16}
    assert sorted(nodes(house)) == ["llama-0", "llama-0-1", "llama-1", "llama-1-1"]
    assert {one.head for one in running.values()} == {running["llama-0"].id}
    (card,) = house.said("card")
    assert card.notice.request == running["llama-0"].id
    seen = family(house)
    assert (seen.kind, seen.namespace, seen.name) == ("LeaderWorkerSet", TEAM, "llama")
    assert counts(house) == (2, 0)


def test_what_does_not_fit_whole_waits_whole(house: KubeHouse) -> None:
    keep_groups(house, 2, 4)
    for _ in range(4):
        house.run(1)
        check_whole(house)
    assert [one.state for one in open_requests(house)] == [S.RUNNING, S.WAITING]
    assert len(nodes(house)) == 4
    assert len(house.pods()) == 8


def test_ranks_follow_the_order_of_the_nodes_granted(house: KubeHouse) -> None:
    keep_groups(house, 1, 4)
    house.run(4)
    (request,) = open_requests(house)
    assert request.admission is not None
    (part,) = request.admission.assignments
    granted = [node for node, count in part.nodes for _ in range(count)]
    there = nodes(house)
    assert [there[name] for name in ("llama-0", "llama-0-1", "llama-0-2", "llama-0-3")] == granted


def test_a_leader_that_asks_for_something_else_is_a_part_of_its_own(house: KubeHouse) -> None:
    keep_groups(house, 1, 3, leader=4)
    house.run(4)
    (request,) = open_requests(house)
    sets = {one.name: (one.count, one.requests[GPU]) for one in request.workload.pod_sets}
    assert sets == {"leader": (1, 4), "worker": (2, 8)}
    assert (request.state, request.workload.gpus) == (S.RUNNING, 20)
    assert request.admission is not None
    parts = {part.name: part.nodes for part in request.admission.assignments}
    there = nodes(house)
    assert [there["llama-0"]] == [node for node, _ in parts["leader"]]
    assert [there["llama-0-1"], there["llama-0-2"]] == [node for node, _ in parts["worker"]]


def test_a_leader_without_gpus_does_not_wait_and_is_not_waited_for(house: KubeHouse) -> None:
    keep_groups(house, 1, 3, leader=0)
    house.run(4)
    (request,) = open_requests(house)
    assert (request.state, request.workload.gpus) == (S.RUNNING, 16)
    assert sorted(nodes(house)) == ["llama-0", "llama-0-1", "llama-0-2"]


def test_a_replica_may_be_one_pod(house: KubeHouse) -> None:
    keep_groups(house, 2, 1)
    house.run(4)
    assert counts(house) == (2, 0)
    assert list(by_name(house)) == ["llama-0", "llama-1"]


def test_a_template_without_the_label_is_told_so(house: KubeHouse) -> None:
    body = leader_worker_set("llama", replicas=2)
    del body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    house.person.post(LEADER_WORKER_SETS, body)
    house.run(3)
    assert house.requests() == []
    assert house.cluster.remarks.wait(10.0)
    found = house.person.get(f"/api/v1/namespaces/{TEAM}/events")["items"]
    said = [one["message"] for one in found if one["reason"] == "Refused"]
    assert said
    assert all("gpubot.dev/team" in one for one in said)


# ---- more and fewer


def test_an_autoscaler_adds_replicas_and_takes_them_away(house: KubeHouse) -> None:
    keep_groups(house, 1, 2, preemptible="true")
    house.run(4)
    before = uids(house)
    scale(house, 3, LLAMA)
    house.run(4)
    assert counts(house) == (3, 0)
    scale(house, 1, LLAMA)
    house.run(5)
    (left,) = open_requests(house)
    assert (left.workload.name, left.state) == ("llama-0", S.RUNNING)
    assert uids(house) == before
    assert house.desk.status(LEA.id).cluster.used == 16  # type: ignore[union-attr]
    scale(house, 2, LLAMA)
    house.run(4)
    assert list(by_name(house)) == ["llama-0", "llama-1"]
    assert len(house.requests()) == 4
    assert len(house.said("card")) == 1


def test_a_replica_that_waits_goes_when_it_is_taken_away(house: KubeHouse) -> None:
    keep_groups(house, 3, 3)
    house.run(4)
    assert counts(house) == (1, 2)
    scale(house, 2, LLAMA)
    house.run(4)
    assert counts(house) == (1, 1)
    assert house.state("llama-2") is S.CANCELLED


def test_it_ends_with_its_set(house: KubeHouse) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    house.person.delete(LLAMA, {})
    house.run(5)
    assert open_requests(house) == []
    assert house.pods() == []
    assert {one.state for one in house.requests()} == {S.RELEASED}


def test_the_first_are_guaranteed_where_that_is_said(house: KubeHouse) -> None:
    keep_groups(house, 3, 1, guaranteed="1")
    house.run(4)
    kept = [one.workload.name for one in open_requests(house) if not one.workload.preemptible]
    assert (kept, counts(house)) == (["llama-0"], (3, 0))
    assert family(house).guaranteed == 1


def test_a_replica_is_not_released_but_its_set_scaled(house: KubeHouse) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    refused = house.desk.release(LEA.id, house.requests()[1].id, key="r")
    assert isinstance(refused, Refused)
    assert (refused.code, refused.args["name"]) == (RefusalCode.REPLICA, "llama")


# ---- stopping and coming again


@pytest.mark.parametrize("go_on", [KubeHouse.run, creep])
@pytest.mark.parametrize("restart", ["RecreateGroupOnPodRestart", "None"])
def test_the_newest_makes_room_whole_and_waits_at_its_place(
    house: KubeHouse, restart: str, go_on: Callable[[KubeHouse, int], None]
) -> None:
    keep_groups(house, 3, 2, preemptible="true", restart=restart)
    house.run(4)
    assert counts(house) == (3, 0)
    before = by_name(house)
    house.create_job("mine", pods=2)
    house.run(1)
    stopped = [name for name, one in by_name(house).items() if one.state is S.PREEMPTING]
    assert stopped == ["llama-2"]
    house.clock.advance(130.0)
    house.api.advance(130.0)
    go_on(house, 6)
    after = by_name(house)
    assert (after["llama-2"].state, after["mine"].state) == (S.WAITING, S.RUNNING)
    assert after["llama-2"].id == before["llama-2"].id
    assert after["llama-2"].workload.created == before["llama-2"].workload.created
    assert after["llama-2"].workload.rest is None
    assert {name for name in nodes(house) if name.startswith("llama-2")} == set()
    check_whole(house)
    for number in range(2):
        house.api.kubelet.finish(_where(house, "mine", number))
    house.run(5)
    assert counts(house) == (3, 0)
    assert by_name(house)["llama-2"].attempt == 2
    assert house.said("not-taken") == []
    assert len(house.said("card")) == 2  # the family's, and that of the Job


def test_one_that_is_added_meanwhile_does_not_take_that_place(house: KubeHouse) -> None:
    keep_groups(house, 3, 2, preemptible="true")
    house.run(4)
    house.create_job("mine", pods=2)
    house.run(1)
    assert house.state("llama-2") is S.PREEMPTING
    house.pass_time(10.0)
    scale(house, 4, LLAMA)
    house.run(2)
    added, stopped = by_name(house)["llama-3"], by_name(house)["llama-2"]
    assert added.workload.created > stopped.workload.created


def _where(house: KubeHouse, job: str, number: int) -> str:
    pods = [pod for pod in house.pods() if pod["metadata"]["labels"].get("job-name") == job]
    return f"{TEAM}/{pods[number]['metadata']['name']}"


@pytest.mark.parametrize("go_on", [KubeHouse.run, creep])
@pytest.mark.parametrize("restart", ["RecreateGroupOnPodRestart", "None"])
@pytest.mark.parametrize("which", ["llama-1", "llama-1-1"])
def test_pods_that_are_made_anew_take_the_nodes_of_their_replica(
    house: KubeHouse, restart: str, which: str, go_on: Callable[[KubeHouse, int], None]
) -> None:
    keep_groups(house, 3, 2, restart=restart)
    house.run(4)
    house.create_job("waits", pods=2)
    house.run(2)
    before, old, there = by_name(house), uids(house), nodes(house)
    delete(house, which)
    go_on(house, 6)
    assert by_name(house) == before
    assert nodes(house) == there
    new = {name for name, uid in uids(house).items() if old[name] != uid}
    alone = restart == "None" and which != "llama-1"
    assert new == ({which} if alone else {"llama-1", "llama-1-1"})
    assert house.said("not-taken") == []


def test_a_container_that_restarts_has_its_group_made_anew_on_the_same_nodes(
    house: KubeHouse,
) -> None:
    keep_groups(house, 1, 3)
    house.run(4)
    there, old = nodes(house), uids(house)
    core: Any = kube.CoreV1Api(house.api.client("admin"))
    containers = core.read_namespaced_pod("llama-0-2", TEAM).status.container_statuses
    containers[0].restart_count = 1
    body = {"status": {"containerStatuses": containers}}
    core.patch_namespaced_pod_status("llama-0-2", TEAM, body)
    house.run(5)
    assert not set(uids(house).values()) & set(old.values())
    assert nodes(house) == there
    (request,) = house.requests()
    assert (request.state, request.attempt) == (S.RUNNING, 1)


@pytest.mark.parametrize("leader", [None, 4])
def test_a_pod_that_is_done_gives_nothing_back_for_another_comes(
    house: KubeHouse, leader: int | None
) -> None:
    keep_groups(house, 1, 3, leader=leader, restart="None")
    house.run(4)
    there = nodes(house)
    house.api.kubelet.finish(f"{TEAM}/llama-0-1")
    house.hear()
    house.control.step()
    used = house.desk.status(LEA.id).cluster.used  # type: ignore[union-attr]
    assert used == 16 + (leader or 8)
    house.run(5)
    assert nodes(house) == there
    assert [(one.state, one.attempt) for one in house.requests()] == [(S.RUNNING, 1)]


def test_a_replica_whose_pods_do_not_come_again_gives_its_nodes_back(house: KubeHouse) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    house.api.cluster.mutators.insert(0, _refuse)  # nothing makes pods any more
    delete(house, "llama-1")
    house.run(2)
    assert house.state("llama-1") is S.RUNNING
    house.pass_time(61.0)
    house.run(3)
    assert house.state("llama-1") is S.RELEASED
    assert house.state("llama-0") is S.RUNNING


def _refuse(*_: object) -> None:
    raise forbidden("", "pods", "any", "no")


def test_a_rolling_update_goes_from_the_highest_down_and_hands_the_guarantee_on(
    house: KubeHouse,
) -> None:
    keep_groups(house, 2, 2, guaranteed="1")
    house.run(4)
    before = by_name(house)
    new_image(house)
    order: list[str] = []
    for _ in range(14):
        house.run(1)
        check_whole(house)
        old = {one.id for one in before.values()}
        fresh = [one.workload.name for one in open_requests(house) if one.id not in old]
        order += [name for name in fresh if name not in order]
    assert order == ["llama-1", "llama-0"]
    assert set(images(house).values()) == {"example.com/serve:2"}
    assert counts(house) == (2, 0)
    assert family(house).guaranteed == 1
    assert len(house.requests()) == 4
    assert len(house.said("card")) == 1
    assert house.said("not-taken") == []


def test_one_more_for_a_while_is_a_replica_like_others(house: KubeHouse) -> None:
    rolling = {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1}}}
    keep_groups(house, 2, 2, more=rolling, preemptible="true")
    house.run(4)
    new_image(house)
    seen = set()
    for _ in range(16):
        house.run(1)
        seen |= set(by_name(house))
    assert seen == {"llama-0", "llama-1", "llama-2"}
    assert set(images(house).values()) == {"example.com/serve:2"}
    assert (counts(house), list(nodes(house))) == (
        (2, 0),
        ["llama-0", "llama-0-1", "llama-1", "llama-1-1"],
    )


@pytest.mark.parametrize("go_on", [KubeHouse.run, creep])
def test_a_replica_that_waits_keeps_its_place_over_an_update(
    house: KubeHouse, go_on: Callable[[KubeHouse, int], None]
) -> None:
    keep_groups(house, 2, 4)
    house.run(4)
    before = by_name(house)["llama-1"]
    assert before.state is S.WAITING
    new_image(house)
    go_on(house, 3)
    after = by_name(house)["llama-1"]
    assert after.id == before.id
    assert after.workload.created == before.workload.created
    assert house.said("not-taken") == []
