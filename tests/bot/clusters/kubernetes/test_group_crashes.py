"""The bot is killed between any two writes of a group's life: all is done once, and whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, Doom
from tests.kube.server import ApiServer

WRITES = 10  # 3 to start, 3 to stop, 1 for another, 3 to start again
NODES = 3
MEMBERS = ("a", "b", "c")


def serve() -> ApiServer:
    server = ApiServer()
    for number in range(1, NODES + 1):
        server.add_node(f"n{number}", labels=MODEL)
    server.add_namespace(TEAM, **{"gpubot.dev/managed": "true"})
    server.grant_shipped_rights()
    return server


def keep_group(house: KubeHouse) -> None:
    """What keeps the group: each of its pods that is gone is made again at once."""
    there = {pod["metadata"]["name"] for pod in house.pods()}
    for name in MEMBERS:
        if name not in there:
            marks = {"team": "nlp", "group": "g", "group_size": "3", "preemptible": "true"}
            house.create_pod(name, 8, **marks)
    house.settle()


def drive(house: KubeHouse, rounds: int) -> None:
    """Go round; a bot that died is started anew at once."""
    for _ in range(rounds):
        house.step()
        house.settle()
        house.let_pods_run()
        house.settle()
        if house.doom is not None and house.doom.dead:
            house.restart()
        keep_group(house)
        check_truth(house)


def check_truth(house: KubeHouse) -> None:
    """Whole nodes, a pod each; and no pod was let go by a decision that was never stored."""
    there = occupied(house)
    assert len(there) == len(set(there))
    attempts = {request.id: request.attempt for request in house.requests()}
    for pod in house.pods():
        decision = (pod["metadata"].get("annotations") or {}).get(names.DECISION)
        if decision is not None:
            request, _, attempt = decision.partition("/")
            assert int(attempt) <= attempts[request]


def occupied(house: KubeHouse) -> list[str]:
    """The node of each pod that has one and has not ended."""
    return sorted(
        pod["spec"]["nodeName"]
        for pod in house.pods()
        if pod["spec"].get("nodeName") and pod["status"]["phase"] in {"Pending", "Running"}
    )


def play(house: KubeHouse) -> None:
    """A group on all nodes; somebody who needs one; and the group again when that is done."""
    keep_group(house)
    drive(house, 4)
    assert house.state("g") is S.RUNNING
    house.create_job("mine", pods=1, gpus=8)
    drive(house, 2)
    house.pass_time(130.0)
    drive(house, 6)
    assert (house.state("g"), house.state("mine")) == (S.WAITING, S.RUNNING)
    assert len(occupied(house)) == 1
    house.finish_pods()
    drive(house, 5)
    assert (house.state("g"), house.state("mine")) == (S.RUNNING, S.FINISHED)
    assert occupied(house) == [f"n{number}" for number in range(1, NODES + 1)]


def test_nobody_dies(tmp_path: Path) -> None:
    with serve() as api:
        house = KubeHouse(api, tmp_path)
        house.doom = Doom(10_000, sent=True)
        play(house)
        assert house.doom.written == WRITES
        house.close()


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_it_converges_whichever_write_was_the_last(at: int, sent: bool, tmp_path: Path) -> None:
    with serve() as api:
        house = KubeHouse(api, tmp_path)
        house.doom = Doom(at, sent=sent)
        play(house)
        assert house.doom is None  # it died
        house.close()
