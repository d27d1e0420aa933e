"""A real Prometheus that scrapes an exporter of ours, for as long as a test needs it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

import pytest
import urllib3

from bot.idle.prometheus import Prometheus, PrometheusError
from tests.fixtures_workspace import eventually

S = TypeVar("S", bound=ThreadingHTTPServer)
REQUIRE = "GPUBOT_TEST_REQUIRE"


class Exporter(ThreadingHTTPServer):
    """What DCGM's exporter shows: the busy share of each GPU, in percent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.gpus: dict[tuple[str, str, str], float] = {}

    def page(self) -> str:
        """The figures as Prometheus reads them."""
        lines = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
        for (namespace, pod, gpu), value in self.gpus.items():
            labels = f'namespace="{namespace}",pod="{pod}",gpu="{gpu}",UUID="GPU-{pod}-{gpu}"'
            lines.append(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {value}")
        return "\n".join(lines) + "\n"


class _Page(BaseHTTPRequestHandler):
    server: Exporter

    def do_GET(self) -> None:
        body = self.server.page().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def exporting() -> Iterator[Exporter]:
    """An exporter on loopback."""
    with _serving(Exporter()) as exporter:
        yield exporter


@contextmanager
def _serving(server: S) -> Iterator[S]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def scraping(exporter: Exporter, folder: Path) -> Iterator[Prometheus]:
    """A client of a Prometheus that asks that exporter."""
    with serving(exporter, folder) as url:
        yield Prometheus(url)


@contextmanager
def serving(exporter: Exporter, folder: Path) -> Iterator[str]:
    """Prometheus, asking that exporter five times a second. Skips where it is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        if "prometheus" in os.environ.get(REQUIRE, "").split(","):
            pytest.fail("prometheus is required here and not installed")
        pytest.skip("Debian's prometheus is not installed")
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
        "scrape_configs:\n"
        "  - job_name: dcgm\n"
        "    honor_labels: true\n"
        f"    static_configs: [{{targets: ['127.0.0.1:{exporter.server_port}']}}]\n"
    )
    port = _free_port()
    process = subprocess.Popen(
        [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        client = Prometheus(url)
        eventually(lambda: _answers(client), seconds=30.0)
        yield url
    finally:
        process.terminate()
        process.wait(20)


class Switch(ThreadingHTTPServer):
    """Stands between a client and a Prometheus that is down when a test says so."""

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passed)
        self.behind, self.down = behind, False
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Passed(BaseHTTPRequestHandler):
    server: Switch

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.down:
            return  # without an answer
        kind = {"Content-Type": self.headers["Content-Type"]}
        found = urllib3.request("POST", self.server.behind + self.path, body=body, headers=kind)
        self.send_response(found.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(found.data)))
        self.end_headers()
        self.wfile.write(found.data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def switching(behind: str) -> Iterator[Switch]:
    """A switch on loopback before the Prometheus of a URL."""
    with _serving(Switch(behind)) as switch:
        yield switch


def _answers(client: Prometheus) -> bool:
    try:
        return bool(client.query("vector(1)"))
    except PrometheusError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
