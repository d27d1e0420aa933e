"""The arithmetic of the report, against sums done by hand."""

from __future__ import annotations

import pytest

from scheduler.simulation.cluster import Figures
from scheduler.simulation.report import GANG_CLASSES, Moved, Tally, Waits, gang_class


@pytest.mark.parametrize(
    ("gpus", "name"),
    [
        (1, "1"),
        (2, "2-7"),
        (7, "2-7"),
        (8, "8"),
        (9, "9-64"),
        (64, "9-64"),
        (65, "65+"),
        (999, "65+"),
    ],
)
def test_gang_classes(gpus: int, name: str) -> None:
    assert gang_class(gpus) == name


def test_means_are_weighted_by_time_and_by_the_gpus_there_were() -> None:
    tally = Tally()
    tally.pass_time(Figures(gpus=99, used=99, stranded=99), 50.0)  # before the first event
    tally.pass_time(Figures(gpus=16, used=4, stranded=4), 60.0)
    tally.pass_time(Figures(gpus=8, used=8, stranded=0), 80.0)
    report = tally.report(partial_gangs=0, over_commitments=0)
    assert report.lasted == 30.0
    assert report.utilisation == (4 * 10 + 8 * 20) / (16 * 10 + 8 * 20)
    assert report.fragmentation == 4 * 10 / (16 * 10 + 8 * 20)
    assert report.whole_free == (16 - 4 - 4) * 10 / 30


def test_moves_are_summed_in_gpu_hours() -> None:
    tally = Tally()
    tally.move(4, 1800.0)
    tally.move(8, 900.0)
    tally.made_whole += 8
    assert tally.moved() == Moved(moves=2, made_whole=8, gpu_hours=4.0)


def test_waits_are_kept_by_class_and_interpolated() -> None:
    tally = Tally()
    for seconds in (0.0, 10.0, 20.0):
        tally.wait(1, seconds)
    tally.wait(64, 100.0)
    waits = tally.report(partial_gangs=0, over_commitments=0).waits
    assert list(waits) == ["all", *(name for name, _, _ in GANG_CLASSES)]
    single = waits["1"]
    assert (single.p50, single.p95, single.p99) == pytest.approx((10.0, 19.0, 19.8))
    assert single.n == 3
    assert waits["all"].p50 == 15.0
    assert waits["all"].n == 4
    assert waits["9-64"] == Waits(100.0, 100.0, 100.0, 1, 100.0)
    assert waits["8"] == Waits(None, None, None, 0)


def test_the_json_has_the_documented_keys_in_order() -> None:
    tally = Tally(jobs=3, admitted=2, finished=1, never_fit=1, preemptions=1, decisions=3)
    tally.gpu_seconds_lost = 7200.0
    report = tally.report(partial_gangs=0, over_commitments=0)
    shown = report.as_json(wall_s=0.5, peak_rss_mb=100.04)
    assert list(shown) == [
        "jobs",
        "admitted",
        "finished",
        "never_fit",
        "utilisation",
        "fragmentation",
        "wait_s",
        "preemptions",
        "gpu_hours_lost",
        "partial_gangs",
        "wall_s",
        "decisions_per_s",
        "peak_rss_mb",
        "whole_free_gpus",
        "loaded_utilisation",
        "loaded_fragmentation",
    ]
    assert shown["gpu_hours_lost"] == 2.0
    assert shown["decisions_per_s"] == 6.0
    assert shown["peak_rss_mb"] == 100.0
    assert isinstance(shown["wait_s"], dict)
    assert shown["wait_s"]["65+"] == {"mean": None, "p50": None, "p95": None, "p99": None, "n": 0}
