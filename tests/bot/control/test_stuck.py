"""Work that does not go when it is told to."""

from __future__ import annotations

from bot.clusters.base import Action, Stop
from bot.clusters.simulated import SimulatedCluster
from bot.control.stuck import PATIENCE, StuckCheck
from scheduler.model import Seconds
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, START_DELAY, STOP_TIME, House

GRACE = 120.0  # of the opportunistic pool


class Deaf:
    """A cluster on which the first request that is told to stop does not."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._apply = cluster.apply
        self.deaf: str | None = None
        cluster.apply = self.apply  # type: ignore[method-assign]

    def apply(self, action: Action, now: Seconds) -> None:
        if isinstance(action, Stop) and self.deaf in {None, action.workload}:
            self.deaf = action.workload
            return
        self._apply(action, now)


def test_another_set_is_chosen_and_oncall_is_told_once(house: House) -> None:
    lent = [house.ask(BEN, nodes=4, preemptible=True) for _ in range(2)]
    house.step()
    house.step(START_DELAY)
    deaf = Deaf(house.cluster)
    wants = house.ask(ADA, gpus=8)
    house.step()
    assert [house.state(one) for one in lent].count(S.PREEMPTING) == 1
    check = StuckCheck(house.control.terms)
    house.step(GRACE + PATIENCE - 1.0)
    house.control.propose(check)
    assert house.said("stuck") == []
    house.step(2.0)
    for _ in range(3):
        house.control.propose(check)
        house.step()
    assert house.heard("stuck") == [(Audience.ONCALL, None)]
    assert house.said("stuck")[0].notice.request == deaf.deaf
    assert [house.state(one) for one in lent].count(S.PREEMPTING) == 2
    house.step(STOP_TIME)
    assert house.state(wants) is S.ADMITTED
