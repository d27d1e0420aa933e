"""Replicas of several pods that are not ready in time: they wait again as themselves."""

from __future__ import annotations

from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import (
    LEADER_WORKER_SETS,
    keep_groups,
    open_requests,
    scale,
)
from tests.bot.clusters.kubernetes.test_latecomers import be_late, held, rests
from tests.bot.clusters.kubernetes.test_ready import RULES


def test_their_template_is_held_once_for_all_of_them(house: KubeHouse) -> None:
    keep_groups(house, 2, preemptible="true")
    be_late(house)
    assert [rest and rest.tries for rest in rests(house)] == [1, 1]
    house.step(RULES.longest)
    be_late(house)
    assert [rest and rest.until for rest in rests(house)] == [None, None]
    assert len(held(house)) == 2  # to the thread and to the owner
    scale(house, 3, f"{LEADER_WORKER_SETS}/llama")
    house.step(RULES.longest)
    house.run(3, pods=False)
    assert [one.state for one in open_requests(house)] == [S.WAITING] * 3
