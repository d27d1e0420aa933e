"""The client against a real server, and against answers that are none."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bot.idle.measure import QUERY, Use, measure
from bot.idle.prometheus import Prometheus, PrometheusError
from tests.bot.idle.server import exporting, scraping
from tests.fixtures_workspace import eventually


def test_use_is_read_from_a_real_server(tmp_path: Path) -> None:
    with exporting() as exporter:
        exporter.gpus = {("nlp", "train-0", "0"): 0.0, ("nlp", "train-0", "1"): 88.0}
        with scraping(exporter, tmp_path) as prometheus:
            query = QUERY.format(window="30s")

            def seen() -> bool:
                return len(prometheus.query(query)) == 2

            eventually(seen, seconds=30.0)
            found = measure(prometheus.query(query), lambda _ns, pod: f"R-{pod}", 0.05)
            assert found == {"R-train-0": Use(measured=2, idle=1)}
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
