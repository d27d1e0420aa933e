"""Defragmentation through the loop: a gang is stopped, and goes on elsewhere at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler.model import PreemptionRule
from storage.states import RequestState as S
from tests.bot.house import ADA, NODES, START_DELAY, STOP_TIME, House, small_layout


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[House]:
    """A house whose policy lets work be moved."""
    layout = small_layout()
    options = dataclasses.replace(layout.options, defragment=True)
    folder = tmp_path / "moving"
    folder.mkdir()
    house = House(folder, dataclasses.replace(layout, options=options))
    house.step()
    yield house
    house.close()


def _pieces(house: House) -> list[str]:
    """Every node full but for half of two of them; those who lie alone there."""
    jobs = [house.ask(gpus=4, preemptible=True) for _ in range(2 * NODES)]
    house.step()
    house.step(START_DELAY)
    by_node: dict[str, list[str]] = {}
    for job in jobs:
        by_node.setdefault(house.desk.card(job).nodes[0][0], []).append(job)
    pairs = [pair for _, pair in sorted(by_node.items())][:2]
    for pair in pairs:
        house.desk.cancel(ADA.id, pair[0], key=house.key())
    house.step()
    house.step(STOP_TIME + 300.0)
    return [pair[1] for pair in pairs]


def test_a_moved_gang_runs_on_elsewhere_and_its_owner_is_told_why(moving: House) -> None:
    alone = _pieces(moving)
    before = {job: moving.desk.card(job).nodes for job in alone}
    wanted = moving.ask(gpus=8, preemptible=True)
    moving.step()
    (moved,) = [job for job in alone if moving.state(job) is S.PREEMPTING]
    for _ in range(4):
        moving.step(300.0)
    assert moving.state(wanted) is S.RUNNING
    assert moving.state(moved) is S.RUNNING
    (other,) = [job for job in alone if job != moved]
    assert moving.desk.card(moved).nodes == before[other]
    assert moving.desk.card(wanted).nodes[0][0] == before[moved][0][0]
    (told, *_) = moving.said("preempted")
    assert told.notice.args["rule"] == PreemptionRule.DEFRAGMENTATION


def test_a_crash_in_the_middle_of_a_move_loses_nobody(moving: House) -> None:
    alone = _pieces(moving)
    wanted = moving.ask(gpus=8, preemptible=True)
    moving.step()
    assert sorted(moving.state(job) for job in alone) == [S.PREEMPTING, S.RUNNING]
    moving.restart()
    for _ in range(6):
        moving.step(300.0)
    assert [moving.state(job) for job in (*alone, wanted)] == [S.RUNNING] * 3
