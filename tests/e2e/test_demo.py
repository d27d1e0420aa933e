"""`gpubot demo` as a newcomer meets it: a page, an admission, a kill, and on it goes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.demo import SUGGESTIONS
from bot.cli.main import app
from bot.workspace.visitor import Visitor
from tests.fixtures_workspace import GENERAL, ONCALL, eventually

GPUBOT = [sys.executable, "-c", "from bot.cli.main import app; app()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
SECONDS = 60.0


class Demo:
    """A running demo; everything it prints is read."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.printed: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.visitor = Visitor(eventually(self._address, seconds=SECONDS), "U0ADA")

    def _address(self) -> str | None:
        found = re.search(r"http://\S+", self.text)
        assert found or self.process.poll() is None, self.text
        return found[0] if found else None

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)

    @property
    def text(self) -> str:
        return "".join(self.printed)

    def ask(self, command: str) -> str:
        """Say a command; what the bot answers in private."""
        seen = {message["ts"] for message in self.visitor.private(GENERAL)}
        self.visitor.say(GENERAL, command)
        answer = eventually(
            lambda: next((m for m in self.visitor.private(GENERAL) if m["ts"] not in seen), None),
            seconds=SECONDS,
        )
        return str(answer["text"])

    def busy(self) -> int:
        """GPUs in use."""
        found = re.search(r"([\d,]+) of [\d,]+ GPUs in use", self.ask("/gpu status"))
        return int(found[1].replace(",", "")) if found else 0


@contextmanager
def _demo(folder: Path, *more: str) -> Iterator[Demo]:
    command = [*GPUBOT, "demo", "--state", str(folder), "--port", "0", "--no-browser", *more]
    with subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        demo = Demo(process)
        try:
            yield demo
        finally:
            if process.poll() is None:
                process.kill()
            demo.reader.join()


@pytest.mark.timeout(300)
def test_a_newcomers_first_minutes_a_kill_and_the_way_on(tmp_path: Path) -> None:
    with _demo(tmp_path) as demo:
        first = demo.ask(SUGGESTIONS[0].command)
        assert "admitted" in first
        eventually(lambda: demo.busy() > 9_300, seconds=SECONDS)
        hero = demo.ask("/gpu 100 nodes h100 24h priority high name hero")
        eventually(
            lambda: [m for m in demo.visitor.messages(ONCALL) if "Preemption" in m["text"]],
            seconds=SECONDS,
        )
        request = re.search(r"R-\d+", hero)
        assert request is not None
        assert request[0] in demo.ask(f"/gpu why {request[0]}")
        demo.process.send_signal(signal.SIGKILL)
        demo.process.wait()
    with _demo(tmp_path) as demo:
        assert request[0] in demo.ask("/gpu mine")
        assert demo.busy() > 9_000
        assert "nobody decided" not in demo.text
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(timeout=SECONDS) == 0
        assert "Traceback" not in demo.text, demo.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--trace", "no-such-file.csv"], "no-such-file.csv"),
        (["--speed", "-1"], "--speed"),
        (["--port", "80000"], "--port 80000 is not between 0 and 65535"),
        (["--port", "-1"], "--port -1 is not between 0 and 65535"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(tmp_path: Path, options: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["demo", "--state", str(tmp_path), *options])
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert isinstance(done.exception, SystemExit)
