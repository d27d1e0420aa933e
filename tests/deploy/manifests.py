"""The shipped manifests as Kubernetes would get them: rendered by kustomize, read as documents."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.kubectl import find_kubectl

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
OVERLAYS = ("production", "trial")
VERSION = "1.36"
CLUSTER_WIDE = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "Namespace",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
)

Document = dict[str, Any]


def render(overlay: str) -> list[Document]:
    """The documents of an overlay. Skips without kubectl, unless GPUBOT_TEST_REQUIRE names it."""
    made = subprocess.run(
        [find_kubectl(), "kustomize", str(FOLDER / "overlays" / overlay)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr
    return [document for document in yaml.safe_load_all(made.stdout) if document]


def read(name: str) -> list[Document]:
    """The documents of one file below `deploy/kubernetes`."""
    return [one for one in yaml.safe_load_all((FOLDER / name).read_text()) if one]


def find(documents: list[Document], kind: str) -> Document:
    """The one document of a kind."""
    (found,) = [one for one in documents if one["kind"] == kind]
    return found
