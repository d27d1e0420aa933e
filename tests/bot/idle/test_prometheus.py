"""The client against a real server, and against answers that are none."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bot.idle import prometheus as prometheus_module
from bot.idle.measure import Use, measure, query
from bot.idle.prometheus import Prometheus, PrometheusError
from tests.bot.idle.server import exporting, scraping
from tests.bot.idle.test_measure import SINCE, find_pod
from tests.fixtures_workspace import eventually


def test_use_is_read_from_a_real_server(tmp_path: Path) -> None:
    with exporting() as exporter:
        exporter.gpus = {("nlp", "train-0", "0"): 0.0, ("nlp", "train-0", "1"): 88.0}
        with scraping(exporter, tmp_path) as prometheus:
            text = query(2.0)

            def seen() -> bool:
                return len(prometheus.query(text)) == 2

            eventually(seen, seconds=30.0)
            found = measure(prometheus.query(text), find_pod, 0.05, SINCE)
            assert found == {"R-1001": Use(measured=2, idle=1)}
            with pytest.raises(PrometheusError, match="parse error"):
                prometheus.query("sum by (")
            with pytest.raises(PrometheusError, match="not a vector"):
                prometheus.query("1 + 1")
            assert prometheus.query("no_such_metric") == ()
            assert prometheus.query("vector(0) / 0") == ()  # no number


def test_no_server_is_no_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PrometheusError, match="no answer"):
            Prometheus(url).query("vector(1)")


def test_another_server_is_no_answer_either() -> None:
    with exporting() as exporter, pytest.raises(PrometheusError):
        Prometheus(f"http://127.0.0.1:{exporter.server_port}").query("vector(1)")


def test_what_has_no_figures_now_or_had_none_for_a_time_is_not_judged(tmp_path: Path) -> None:
    with exporting() as exporter:
        exporter.gpus = {("nlp", "old", "0"): 0.0, ("nlp", "gone", "0"): 0.0}
        with scraping(exporter, tmp_path) as prometheus:

            def pods(text: str) -> set[str]:
                return {one.labels["pod"] for one in prometheus.query(text)}

            eventually(lambda: pods(query(2.0)) == {"old", "gone"}, seconds=30.0)
            exporter.gpus = {("nlp", "old", "0"): 0.0, ("nlp", "new", "0"): 0.0}
            eventually(lambda: pods("DCGM_FI_DEV_GPU_UTIL") == {"old", "new"}, seconds=30.0)
            averages = "avg_over_time(DCGM_FI_DEV_GPU_UTIL[1h])"
            assert pods(averages) == {"old", "gone", "new"}  # as a mere average has it
            assert pods(query(3600.0)) == set()
            eventually(lambda: pods(query(2.0)) == {"old", "new"}, seconds=30.0)


def test_an_answer_that_takes_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_module, "LONGEST", -1.0)
    with exporting() as exporter, pytest.raises(PrometheusError, match="takes too long"):
        Prometheus(f"http://127.0.0.1:{exporter.server_port}").query("vector(1)")
