"""The README's commands for Kubernetes, each carried out on an emulated cluster by kubectl.

What cannot be done here stands in for itself: the build of the image is held to the files that it
copies, and a command in a pod is run with the rights that were applied. A command that nothing here
understands is an error: what the README says cannot rot unseen.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from bot.cli.doctor_cluster import examine_cluster
from bot.cli.finding import Finding
from bot.cli.main import app
from bot.clusters.kubernetes.connection import Connection
from scheduler.policy import compile_policy, load_policy
from tests.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from tests.kube.rights import rules_of
from tests.kube.server import ApiServer
from tests.kube.standalone import turn
from tests.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
SECTION = "### On Kubernetes, from an empty cluster to the first `/gpu`"
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$|`(kubectl [^`]+)`", flags=re.DOTALL | re.MULTILINE)


def commands() -> Iterator[str]:
    """The commands of the section and of the page behind it, in order.

    Their blocks, and those of kubectl within the text.
    """
    text = (ROOT / "README.md").read_text()
    section = text.partition(SECTION)[2].partition("\n## ")[0]
    section += (ROOT / "deploy" / "kubernetes" / "README.md").read_text()
    for block, said in _COMMANDS.findall(section):
        yield from block.splitlines() if block else [" ".join(said.split())]


class Walk:
    """A platform engineer before an emulated cluster, in a copy of the repository at `folder`."""

    def __init__(self, api: ApiServer, folder: Path) -> None:
        self.api, self.folder = api, folder
        self.kubectl = Kubectl(api, folder)
        self.admin = Connection(lambda: api.client("admin"))
        self.found: list[Finding] = []
        self.said = ""
        (folder / "deploy").symlink_to(ROOT / "deploy")

    @property
    def answer(self) -> Any:
        """What was said last, read as YAML."""
        return yaml.safe_load(self.said)

    def run(self, command: str) -> None:
        """Carry out one command, and let the cluster do what follows from it.

        Raises:
            AssertionError: nothing here knows the command, or it cannot work.
            Failed: kubectl says no.

        """
        said: str | None = None
        for part in command.split(" | "):
            said = self._run(shlex.split(part), said)
        self.said = said or ""
        turn(self.api)

    def _run(self, words: list[str], given: str | None) -> str:
        match words:
            case ["docker", "build", "-f", path, "-t", _, "."]:
                self._build(ROOT / path)
            case ["docker", "push", _]:
                pass  # to a registry of their own
            case ["gpubot", *options]:
                with chdir(self.folder):
                    result = CliRunner().invoke(app, options)
                assert result.exit_code == 0, result.output
            case ["cp", source, target]:
                shutil.copy(self.folder / source, self.folder / target)
            case ["kubectl", "-n", space, "exec", target, "--", "gpubot", "doctor"]:
                self._examine(space, target)
            case ["kubectl", *options]:
                return self.kubectl(*options, text=given)
            case _:
                raise AssertionError(f"no check for {words}")
        return ""

    def _examine(self, space: str, target: str) -> None:
        """The doctor, in a pod that runs, with the rights and the policy that were applied."""
        deployment = yaml.safe_load(self.kubectl("-n", space, "get", target, "-o", "yaml"))
        assert deployment["status"].get("readyReplicas"), f"nothing of {target} runs"
        volumes = deployment["spec"]["template"]["spec"]["volumes"]
        (name,) = [each["configMap"]["name"] for each in volumes if "configMap" in each]
        files = yaml.safe_load(self.kubectl("-n", space, "get", "configmap", name, "-o", "yaml"))
        layout = compile_policy(load_policy(files["data"]["policy.yaml"], "policy.yaml"))
        self.found = list(examine_cluster(self._as_bot(), layout, space))

    def _as_bot(self) -> Connection:
        kinds = (ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING)
        store = self.api.cluster.store
        applied = [one.document() for kind in kinds for one in store.all(kind)]
        self.api.cluster.gate.grant("bot-token", *rules_of(applied))
        return Connection(lambda: self.api.client("bot"))

    def _build(self, dockerfile: Path) -> None:
        copied = [
            word
            for line in dockerfile.read_text().splitlines()
            if re.match("COPY (?!--from)", line)
            for word in line.split()[1:-1]
        ]
        assert copied
        assert all((ROOT / word).exists() for word in copied), copied
