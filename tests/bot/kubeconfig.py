"""The file by which kubectl, and the bot outside of a cluster, find an API server."""

from __future__ import annotations

from pathlib import Path

import yaml


def write_kubeconfig(folder: Path, server: str, token: str) -> Path:
    """A file with one cluster and one user, in the folder."""
    path = folder / "kubeconfig"
    names = {"cluster": "here", "user": "me"}
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": names}],
        "current-context": "here",
    }
    path.write_text(yaml.safe_dump(found))
    return path
