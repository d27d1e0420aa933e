"""The README's commands, each carried out on an emulated cluster as far as that is possible.

A command that nothing here understands is an error: what the README says cannot rot unseen.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from typer.testing import CliRunner

from bot.cli.doctor_cluster import examine_cluster
from bot.cli.finding import Finding
from bot.cli.main import app
from bot.clusters.kubernetes.connection import Connection, Refused
from scheduler.policy import compile_policy, load_policy
from tests.deploy.manifests import FOLDER, VERSION, Document, render
from tests.kube.rights import rules_of
from tests.kube.server import ApiServer

ROOT = Path(__file__).parents[2]
SECTION = "### On Kubernetes, from an empty cluster to the first `/gpu`"
HOME = "gpubot-system"


def commands() -> Iterator[str]:
    """The commands of the section, in order."""
    text = (ROOT / "README.md").read_text()
    section = text.partition(SECTION)[2].partition("\n## ")[0]
    for block in re.findall(r"^```sh\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE):
        yield from block.splitlines()


class Walk:
    """A platform engineer before an emulated cluster; files they make go to `folder`."""

    def __init__(self, api: ApiServer, folder: Path) -> None:
        self.api, self.folder = api, folder
        self.admin = Connection(lambda: api.client("admin"))
        self.applied: dict[tuple[str, str], Document] = {}
        self.found: list[Finding] = []
        self.answer: dict[str, Any] = {}

    def run(self, command: str) -> None:
        """Carry out one command. Raises AssertionError for what cannot work."""
        if " | " in command:
            first, second = command.split(" | ")
            assert second == "kubectl apply -f -", command
            match shlex.split(first):
                case ["kubectl", "kustomize", path]:
                    assert (ROOT / path).parent == FOLDER / "overlays", path
                    self._apply(render(Path(path).name))
                case _:
                    raise AssertionError(f"no check for {command!r}")
            return
        match shlex.split(command):
            case ["docker", "build", "-f", path, "-t", _, "."]:
                self._build(ROOT / path)
            case ["docker", "push", _]:
                pass  # to a registry of their own
            case ["gpubot", *words]:
                result = CliRunner().invoke(app, [self._path(word) for word in words])
                assert result.exit_code == 0, result.output
            case ["cp", source, target]:
                shutil.copy(ROOT / source, self.folder / target)
            case ["kubectl", *words]:
                self._kubectl(words, command)
            case _:
                raise AssertionError(f"no check for {command!r}")

    def _kubectl(self, words: list[str], command: str) -> None:
        match words:
            case ["apply", "-f", path]:
                self._apply(list(yaml.safe_load_all(Path(self._path(path)).read_text())))
            case ["create", "namespace", name]:
                self.admin.post("/api/v1/namespaces", {"metadata": {"name": name}})
            case ["label", "namespace", name, mark]:
                key, _, text = mark.partition("=")
                body = {"metadata": {"labels": {key: text}}}
                self.admin.patch(f"/api/v1/namespaces/{name}", body)
            case ["-n", space, "rollout", "status", target]:
                self._deployment(space, target)
            case ["-n", space, "exec", target, "--", "gpubot", "doctor"]:
                self._deployment(space, target)
                self.found = list(examine_cluster(self._as_bot(), self._layout(), space))
            case ["-n", space, "get", "job", name, "-o", "yaml"]:
                self.answer = self.admin.get(f"/apis/batch/v1/namespaces/{space}/jobs/{name}")
            case ["-n", space, "get", "lease", name, "-o", "yaml"]:
                path = f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases/{name}"
                self.answer = self.admin.get(path)
            case _:
                raise AssertionError(f"no check for {command!r}")

    def _path(self, word: str) -> str:
        """A file of the engineer's own, or of the repository, by the name in a command."""
        for folder in (self.folder, ROOT):
            if (folder / word).is_file():
                return str(folder / word)
        assert "/" not in word, f"{word} does not exist"
        return word

    def _apply(self, documents: list[Document]) -> None:
        for one in documents:
            kubernetes_validate.validate(one, VERSION, strict=True)
            self.applied[one["kind"], one["metadata"]["name"]] = one
            self._post(one)

    def _post(self, one: Document) -> None:
        """Give the emulator what it serves; the rest was held to the schema."""
        kind = next((k for k in self.api.cluster.kinds if k.name == one["kind"]), None)
        if kind is None:
            return
        space = f"/namespaces/{one['metadata']['namespace']}" if kind.namespaced else ""
        root = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
        try:
            self.admin.post(f"{root}{space}/{kind.plural}", one)
        except Refused as error:
            if error.reason != "AlreadyExists":
                raise

    def _deployment(self, space: str, target: str) -> None:
        assert target.startswith("deployment/")
        found = self.applied["Deployment", target.removeprefix("deployment/")]
        assert found["metadata"]["namespace"] == space

    def _as_bot(self) -> Connection:
        """With the rights that were applied, as they were rendered."""
        assert ("ClusterRole", "gpubot") in self.applied
        self.api.cluster.gate.grant("bot-token", *rules_of(list(self.applied.values())))
        return Connection(lambda: self.api.client("bot"))

    def _layout(self) -> Any:
        data = next(one for (kind, _), one in self.applied.items() if kind == "ConfigMap")["data"]
        return compile_policy(load_policy(data["policy.yaml"], "policy.yaml"))

    def _build(self, dockerfile: Path) -> None:
        copied = [
            word
            for line in dockerfile.read_text().splitlines()
            if re.match("COPY (?!--from)", line)
            for word in line.split()[1:-1]
        ]
        assert copied
        assert all((ROOT / word).exists() for word in copied), copied
