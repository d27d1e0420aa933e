"""The policy is another when the bot comes back: what waits and what runs in the cluster."""

from __future__ import annotations

import pytest

from scheduler.invariants import check_invariants
from scheduler.policy import compile_policy, load_policy
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.house import POLICY

RENAMED = POLICY.replace("shared-multi", "shared-large")
SMALLER = POLICY.replace("nominal: 32", "nominal: 16")


def restart_under(house: KubeHouse, policy: str) -> None:
    house.layout = compile_policy(load_policy(policy, "other.yaml"))
    house.restart()
    house.run(2)
    house.pass_time(601.0)
    house.run(4)


def queues(house: KubeHouse) -> dict[str, tuple[S, str]]:
    """The state and the queue of the newest request of each object."""
    return {one.workload.name: (one.state, one.workload.queue) for one in house.requests()}


def test_what_waits_in_a_queue_that_is_gone_is_asked_for_anew(house: KubeHouse) -> None:
    house.create_job("first", pods=4)
    house.run(3)
    house.create_job("second", pods=4)
    house.run()
    restart_under(house, RENAMED)
    house.control.read(check_invariants)
    assert queues(house)["second"][1] == "shared-large"
    for _ in range(3):
        house.finish_pods()
        house.run(4)
    assert {name: state for name, (state, _) in queues(house).items()} == {
        "first": S.FINISHED,
        "second": S.FINISHED,
    }


@pytest.mark.parametrize("policy", [SMALLER, POLICY], ids=["smaller", "same"])
def test_what_runs_goes_on_although_its_quota_is_smaller(house: KubeHouse, policy: str) -> None:
    house.create_job("first", pods=4)
    house.run(3)
    house.create_job("second", pods=2)
    house.run()
    before = house.bound()
    restart_under(house, policy)
    assert house.bound() == before
    assert [house.state(name) for name in ("first", "second")] == [S.RUNNING, S.WAITING]
    house.finish_pods()
    house.run(4)
    assert [house.state(name) for name in ("first", "second")] == [S.FINISHED, S.RUNNING]
