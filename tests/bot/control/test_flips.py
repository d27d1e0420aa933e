"""Two requests that stop each other again and again: on-call hears of it, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scheduler.layout import Options
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, House, small_layout


def test_oncall_is_told_when_two_no_longer_may_stop_each_other(tmp_path: Path) -> None:
    house = House(tmp_path, replace(small_layout(), options=Options(flips_at_most=1)))
    house.step()
    loans = [house.ask(BEN, gpus=8, preemptible=True) for _ in range(8)]
    house.step()
    owner = house.ask(ADA, gpus=8, preemptible=False)
    house.step()
    (stopped,) = [one for one in loans if house.state(one) is S.PREEMPTING]
    assert house.heard("flipped") == [(Audience.ONCALL, None)]
    (item,) = house.said("flipped")
    assert {item.notice.args["one"], item.notice.args["other"]} == {stopped, owner}
    house.step(600.0)
    assert len(house.said("flipped")) == 1
    house.close()
