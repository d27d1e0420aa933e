"""The real kubectl before an emulated cluster; it writes nothing outside of the test's folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.bot.kubeconfig import write_kubeconfig
from tests.kube.server import ApiServer

REQUIRE = "GPUBOT_TEST_REQUIRE"
LIMIT = 60  # seconds for one command
OLDEST = 27  # of 1.27, which reads OpenAPI 3; Debian 12 has 1.20, whose kustomize lacks patches


def find_kubectl() -> str:
    """The program. Skips without it, unless GPUBOT_TEST_REQUIRE names it."""
    program = shutil.which("kubectl")
    if program is None:
        lacks = "kubectl is not installed"
    elif (minor := _minor(program)) < OLDEST:
        lacks = f"kubectl is of 1.{minor}, and 1.{OLDEST} or newer is needed"
    else:
        return program
    if "kubectl" in os.environ.get(REQUIRE, "").split(","):
        pytest.fail(f"kubectl is required here: {lacks}")
    pytest.skip(lacks)


@cache
def _minor(program: str) -> int:
    """The 32 of version 1.32."""
    told = subprocess.run(
        [program, "version", "--client", "-o", "json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    ).stdout
    return int(json.loads(told)["clientVersion"]["minor"].rstrip("+"))


class Failed(Exception):
    """A command of kubectl came to nothing; the text is what it said."""


class Kubectl:
    """The kubectl of somebody.

    It keeps a token to itself over plain HTTP, so whoever asks without one is that person.
    """

    def __init__(self, api: ApiServer, folder: Path, who: str = "admin") -> None:
        self._program, self._folder = find_kubectl(), folder
        gate = api.cluster.gate
        gate.nobody = gate.people[f"{who}-token"]
        config = write_kubeconfig(folder, api.url, f"{who}-token")
        kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(config)}
        self._environment = {**kept, "KUBECACHEDIR": str(folder / "cache")}

    def __call__(self, *words: str, text: str | None = None) -> str:
        """What a command says.

        Raises:
            Failed: it ends with an error.

        """
        done = subprocess.run(
            [self._program, *words],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
            cwd=self._folder,
            env=self._environment,
        )
        if done.returncode:
            raise Failed(done.stderr)
        return done.stdout

    @contextmanager
    def following(self, *words: str) -> Iterator[Iterator[str]]:
        """The lines of a command that does not end by itself (`get -w`), while the block runs."""
        with subprocess.Popen(
            [self._program, *words],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env=self._environment,
        ) as process:
            assert process.stdout is not None
            try:
                yield (line.rstrip("\n") for line in process.stdout)
            finally:
                process.kill()
