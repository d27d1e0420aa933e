"""What a policy beyond Kueue asks of the loop: flips are told, waiting outlives it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scheduler.layout import Aging, Options
from scheduler.model import WorkloadId
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, House, small_layout


def _preempted(house: House) -> tuple[str, str]:
    """A loan that was stopped for its owner, and the owner's request."""
    house.step()
    loans = [house.ask(BEN, gpus=8, preemptible=True) for _ in range(8)]
    house.step()
    owner = house.ask(ADA, gpus=8, preemptible=False)
    house.step()
    (stopped,) = [one for one in loans if house.state(one) is S.PREEMPTING]
    return stopped, owner


def test_oncall_is_told_when_two_no_longer_may_stop_each_other(tmp_path: Path) -> None:
    house = House(tmp_path, replace(small_layout(), options=Options(flips_at_most=1)))
    stopped, owner = _preempted(house)
    assert house.heard("flipped") == [(Audience.ONCALL, None)]
    (item,) = house.said("flipped")
    assert {item.notice.args["one"], item.notice.args["other"]} == {stopped, owner}
    house.step(600.0)
    assert len(house.said("flipped")) == 1
    house.close()


def test_waiting_counts_from_the_last_stop_also_after_a_restart(tmp_path: Path) -> None:
    layout = small_layout()
    rule = Aging(after=7200.0, every=3600.0, step=10, most=90)
    queues = tuple(replace(queue, aging=rule) for queue in layout.queues)
    house = House(tmp_path, replace(layout, queues=queues))
    stopped, _ = _preempted(house)
    house.step(600.0)
    house.step()
    assert house.state(stopped) is S.WAITING
    queued = house.request(stopped).workload.queued
    assert queued == house.clock.now()
    house.restart()
    house.step(7199.0)
    waits = house.control.read(lambda engine: engine.workload(WorkloadId(stopped)))
    assert waits is not None
    assert waits.raised == 0
    house.step(1.0)
    waits = house.control.read(lambda engine: engine.workload(WorkloadId(stopped)))
    assert waits is not None
    assert waits.raised == 10
    house.close()
