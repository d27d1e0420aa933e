"""Victims whose containers do not end: on-call hears which they are, others make room instead."""

from __future__ import annotations

import pytest

from bot.control.stuck import PATIENCE, StuckCheck
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import check

NIGHT = {"preemptible": "true"}
GRACE = 120.0  # of the opportunistic pool


def test_another_makes_room_and_no_node_is_given_to_two(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        house.create_job(f"night-{number}", pods=1, gpus=8, labels=NIGHT)
    house.run(4)
    assert all(one.state is S.RUNNING for one in house.requests())
    monkeypatch.setattr(house.api.kubelet, "confirm_all", lambda: 0)  # containers hang
    house.create_job("hero", pods=1, gpus=8, labels={"priority": "high"})
    house.run(2)
    (victim,) = (one for one in house.requests() if one.state is S.PREEMPTING)
    stuck = StuckCheck(house.control.terms)
    for _ in range(3):
        house.step(GRACE)
        house.step(PATIENCE)
        house.control.propose(stuck)
        house.run(1)
        check(house)
    told = house.said("stuck")
    assert victim.id in {one.notice.request for one in told}
    assert len(told) == len({one.notice.request for one in told})  # each once
    assert house.state("hero") is S.WAITING
    monkeypatch.undo()
    house.run(4)
    house.step(GRACE)  # of who makes room instead
    house.run(4)
    check(house)
    assert house.state("hero") is S.RUNNING
