"""What is gone by itself within the grace: there is nothing to write, and it ends all the same."""

from __future__ import annotations

from bot.byhand import Intervened, Wish
from storage.audit import InterventionKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import keep_groups, open_requests
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, ANA


def test_a_hold_whose_pods_are_done_within_the_grace_is_released(house: KubeHouse) -> None:
    request = ask(house, "k1", gpus=4)
    house.create_pod("a", 4, request=request)
    house.run()
    house.desk.release(ADA.id, request, key="k2")
    house.run()
    house.api.kubelet.finish(f"{TEAM}/a")
    house.run(2)
    assert state(house, request) is S.STOPPING  # pods may come until its grace is over
    house.pass_time(301.0)
    house.run(2)
    assert state(house, request) is S.RELEASED


def test_a_replica_whose_pods_are_made_anew_within_the_grace_waits_again(house: KubeHouse) -> None:
    house.api.serve_leader_worker_sets()
    house.restart()
    keep_groups(house, 1, 2)
    house.run(6)
    (running,) = open_requests(house)
    assert running.state is S.RUNNING
    wish = Wish(kind=InterventionKind.PREEMPT, target=running.id, reason="test")
    done = house.desk.intervene(ANA.id, wish, key="k1", confirmed=True)
    assert isinstance(done, Intervened)
    house.run(2)
    for pod in house.pods():
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{TEAM}/pods/{meta['name']}"
        house.person.delete(path, {"gracePeriodSeconds": 0})
    house.run(3)
    assert all(pod["spec"].get("schedulingGates") for pod in house.pods())
    house.pass_time(601.0)
    house.run(4)
    (again,) = open_requests(house)
    assert again.id == running.id
    assert (again.state, again.attempt) == (S.RUNNING, 2)
