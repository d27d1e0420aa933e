"""The benchmarks run; the times that they measure are no matter of tests."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from bot.cli import kubernetes_bench
from bot.cli.kubernetes_bench import APART, TOGETHER, Load
from bot.cli.main import app


def test_placement_prints_a_line_for_each_cluster() -> None:
    result = CliRunner().invoke(app, ["bench", "placement", "--nodes", "40", "--runs", "1"])
    assert result.exit_code == 0
    head, *lines = result.output.splitlines()
    assert "8 x 8, one rack" in head
    assert [line.split()[:2] for line in lines] == [["40", "0%"], ["40", "50%"], ["40", "97%"]]
    assert all(line.count(" us") == 4 for line in lines)


@pytest.mark.parametrize(("load", "of_pods"), [(TOGETHER, 0.0), (APART, 1.0)])
def test_kubernetes_counts_the_writes_of_jobs_and_of_their_pods(
    monkeypatch: pytest.MonkeyPatch, load: Load, of_pods: float
) -> None:
    small = dataclasses.replace(load, jobs=2)
    monkeypatch.setattr(kubernetes_bench, "NODES", 8)
    monkeypatch.setattr(kubernetes_bench, "ROUNDS", 2)
    monkeypatch.setattr(kubernetes_bench, "TOGETHER" if load is TOGETHER else "APART", small)
    rows = {row[0].partition(": ")[2]: row[1] for row in kubernetes_bench._burst(small)}
    assert 1.0 <= rows["writes for each Job"] <= 3.0
    assert rows["writes for each pod"] == of_pods
