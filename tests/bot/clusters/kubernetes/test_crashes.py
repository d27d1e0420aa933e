"""The bot is killed between any two writes: what was decided is done, once, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.gangs import read_grant
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import Doom
from tests.kube.server import ApiServer

WRITES = 14  # 1 + 3 and 1 to start, 2 and 2 to stop, 1 + 4 to start
GPUS = {"wide": 8, "narrow": 4, "mine": 8}


def check_truth(house: KubeHouse) -> None:
    """What the API server says agrees with what was decided, and nothing is held twice."""
    held: Counter[str] = Counter()
    for request in house.requests():
        if request.ref is None or house.api.cluster.get(*house.key(request.ref.name)) is None:
            continue
        job = house.job(request.ref.name)
        marks = job["metadata"].get("annotations") or {}
        decision = marks.get(names.DECISION)
        if decision is not None:
            number = int(decision.rpartition("/")[2])
            assert decision.startswith(f"{request.id}/")
            assert number <= request.attempt, "started before it was stored"
        grant = read_grant(marks.get(names.GRANT))
        ended = job["status"].get("completionTime") or request.state.final
        if not job["spec"]["suspend"] and not ended:
            assert grant is not None, "runs without a grant"
            for part in grant.assignments:
                for node, pods in part.nodes:
                    held[node] += pods * GPUS[request.ref.name]
    assert max(held.values(), default=0) <= 8, held


def play(house: KubeHouse) -> None:
    """A gang on three nodes and a small one, then somebody who needs the nodes of the gang."""
    house.create_job("wide", pods=3, gpus=8, labels={"preemptible": "true"})
    house.create_job("narrow", pods=2, gpus=4, labels={"preemptible": "true"})
    drive(house, 5)
    house.create_job("mine", pods=4, gpus=8)
    drive(house, 2)
    house.pass_time(130.0)
    drive(house, 6)


def drive(house: KubeHouse, rounds: int) -> None:
    """Go round; a bot that died is started anew at once."""
    for _ in range(rounds):
        house.step()
        house.settle()
        house.let_pods_run()
        house.settle()
        if house.doom is not None and house.doom.dead:
            house.restart()
        check_truth(house)


@pytest.fixture(scope="module")
def writes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many writes there are when nobody dies."""
    with _server() as api:
        house = KubeHouse(api, tmp_path_factory.mktemp("whole"))
        house.doom = Doom(10_000, sent=True)
        play(house)
        assert house.state("mine") is S.RUNNING
        house.close()
        return house.doom.written


def _server() -> ApiServer:
    server = ApiServer()
    for number in range(1, 5):
        server.add_node(f"n{number}", labels={"gpubot.dev/model": "h100"})
    server.add_namespace("team")
    return server


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_it_converges_whichever_write_was_the_last(
    at: int, sent: bool, writes: int, tmp_path: Path
) -> None:
    assert writes == WRITES
    with _server() as api:
        house = KubeHouse(api, tmp_path)
        house.doom = Doom(at, sent=sent)
        play(house)
        died = house.doom is None
        assert died
        states = {name: house.state(name) for name in ("wide", "narrow", "mine")}
        assert states == {"wide": S.WAITING, "narrow": S.WAITING, "mine": S.RUNNING}
        assert len(house.bound()) == 4
        house.close()


def test_a_gang_waits_whole_after_a_crash_in_the_middle_of_its_pods(tmp_path: Path) -> None:
    with _server() as api:
        house = KubeHouse(api, tmp_path)
        house.create_job("wide", pods=3, gpus=8)
        house.doom = Doom(3, sent=False)  # one pod of three was let go
        house.step()
        house.settle()
        house.step()
        house.settle()
        assert house.doom.dead
        house.restart()
        house.run()
        assert house.state("wide") is S.RUNNING
        house.close()
