"""The bot is killed between any two writes of a JobSet's life: all is done once, and whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.gangs import read_grant
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, Doom
from tests.kube.jobsets import JOB_SET
from tests.kube.samples import part
from tests.kube.server import ApiServer

WRITES = 11  # 1 and 3 to start, 2 to stop, 1 for another; 1 and 3 to start again
NODES = 3


def serve() -> ApiServer:
    server = ApiServer()
    for number in range(1, NODES + 1):
        server.add_node(f"n{number}", labels=MODEL)
    server.add_namespace(TEAM)
    server.serve_job_sets()
    server.grant_shipped_rights()
    return server


def check_truth(house: KubeHouse) -> None:
    """Nothing runs without its grant, and no attempt before it was stored."""
    for request in house.requests():
        found = house.api.cluster.get(JOB_SET, TEAM, request.workload.name)
        if found is None:
            continue
        marks = found.body["metadata"].get("annotations") or {}
        decision = marks.get(names.DECISION)
        if decision is not None:
            assert decision.startswith(f"{request.id}/")
            assert int(decision.rpartition("/")[2]) <= request.attempt
        if not found.body["spec"]["suspend"]:
            assert read_grant(marks.get(names.GRANT)) is not None
    assert len(occupied(house)) == len(set(occupied(house)))  # whole nodes: a pod each


def occupied(house: KubeHouse) -> list[str]:
    """The node of each pod that has one and has not ended."""
    return sorted(
        pod["spec"]["nodeName"]
        for pod in house.pods()
        if pod["spec"].get("nodeName") and pod["status"]["phase"] in {"Pending", "Running"}
    )


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


def play(house: KubeHouse) -> None:
    """A JobSet on all nodes; somebody who needs one; and the JobSet again when that is done."""
    parts = [part("leader"), part("workers", pods=2)]
    house.create_job_set("set", *parts, labels={"preemptible": "true"})
    drive(house, 4)
    house.create_job("mine", pods=1, gpus=8)
    drive(house, 2)
    house.pass_time(130.0)
    drive(house, 5)
    assert (house.state("set"), house.state("mine")) == (S.WAITING, S.RUNNING)
    house.finish_pods()
    drive(house, 5)
    assert (house.state("set"), house.state("mine")) == (S.RUNNING, S.FINISHED)
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
