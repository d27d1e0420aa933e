"""LeaderWorkerSets whose workers come when their leader is ready; bots that die amid changes."""

from __future__ import annotations

import pytest

from bot.clusters.kubernetes import names
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.leaderworkersets.crews import (
    by_name,
    check_whole,
    delete,
    new_image,
    nodes,
)
from tests.bot.clusters.kubernetes.serving import (
    counts,
    images,
    keep_groups,
    open_requests,
    stop,
)

# ---- workers that come when their leader is ready


@pytest.mark.parametrize("leader", [None, 4])
def test_all_is_asked_for_although_workers_come_later(house: KubeHouse, leader: int | None) -> None:
    keep_groups(house, 1, 3, leader=leader, more={"startupPolicy": "LeaderReady"})
    house.run(2, pods=False)
    (request,) = open_requests(house)
    assert request.workload.gpus == 16 + (leader or 8)
    assert list(nodes(house)) == ["llama-0"]
    assert request.state is S.ADMITTED
    house.run(3)
    assert sorted(nodes(house)) == ["llama-0", "llama-0-1", "llama-0-2"]
    (request,) = open_requests(house)
    assert request.state is S.RUNNING
    assert request.admission is not None
    granted = [node for part in request.admission.assignments for node, _ in part.nodes]
    assert sorted(granted) == sorted(nodes(house).values())


def test_one_whose_workers_come_later_is_not_started_without_room_for_them(
    house: KubeHouse,
) -> None:
    house.create_job("first", pods=4)
    house.run(3)
    keep_groups(house, 1, 3, more={"startupPolicy": "LeaderReady"})
    house.run(3)
    assert house.state("llama-0") is S.WAITING
    assert not [name for name in nodes(house) if name.startswith("llama")]
    house.finish_pods()
    house.run(5)
    assert house.state("llama-0") is S.RUNNING


@pytest.mark.parametrize("restart", ["RecreateGroupOnPodRestart", "None"])
def test_one_whose_workers_come_later_is_stopped_and_comes_again_like_others(
    house: KubeHouse, restart: str
) -> None:
    ordered = {"startupPolicy": "LeaderReady"}
    keep_groups(house, 1, 3, restart=restart, more=ordered, preemptible="true")
    house.run(4)
    stop(house, house.request("llama-0").id)
    (request,) = open_requests(house)
    assert (request.state, request.attempt) == (S.RUNNING, 2)
    assert sorted(nodes(house)) == ["llama-0", "llama-0-1", "llama-0-2"]


# ---- the bot dies


@pytest.mark.parametrize("rounds", range(1, 6))
def test_a_restart_amid_an_update_converges(house: KubeHouse, rounds: int) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    new_image(house)
    house.run(rounds)
    house.restart()
    house.run(12)
    assert counts(house) == (2, 0)
    assert set(images(house).values()) == {"example.com/serve:2"}
    assert len(house.said("card")) == 1


@pytest.mark.parametrize("rounds", range(4))
def test_a_restart_amid_a_preemption_converges(house: KubeHouse, rounds: int) -> None:
    keep_groups(house, 3, 2, preemptible="true")
    house.run(4)
    house.create_job("mine", pods=2)
    house.run(1)
    house.pass_time(130.0)
    house.run(rounds)
    house.restart()
    house.run(6)
    house.pass_time(130.0)
    house.run(6)
    after = by_name(house)
    assert (after["llama-2"].state, after["mine"].state) == (S.WAITING, S.RUNNING)
    assert len(house.requests()) == 4
    check_whole(house)


def test_pods_made_anew_while_no_bot_was_there_go_where_they_were(house: KubeHouse) -> None:
    keep_groups(house, 2, 2)
    house.run(4)
    there = nodes(house)
    delete(house, "llama-1-1")
    for _ in range(3):
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
    house.restart()
    house.run(4)
    assert nodes(house) == there
    assert [one.attempt for one in house.requests()] == [1, 1]
    decisions = {pod["metadata"]["annotations"].get(names.DECISION) for pod in house.pods()}
    assert None not in decisions
