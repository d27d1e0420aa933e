"""`gpubot bench placement` runs; what it measures is no matter of tests."""

from __future__ import annotations

from typer.testing import CliRunner

from bot.cli.main import app


def test_placement_prints_a_line_for_each_cluster() -> None:
    result = CliRunner().invoke(app, ["bench", "placement", "--nodes", "40", "--runs", "1"])
    assert result.exit_code == 0
    head, *lines = result.output.splitlines()
    assert "8 x 8, one rack" in head
    assert [line.split()[:2] for line in lines] == [["40", "0%"], ["40", "50%"], ["40", "97%"]]
    assert all(line.count(" us") == 4 for line in lines)
