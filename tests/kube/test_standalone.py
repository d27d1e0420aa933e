"""The emulated cluster as a process that runs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubernetes import client as kube
from kubernetes import config

from tests.fixtures_workspace import eventually
from tests.kube.samples import job
from tests.kube.standalone import running


def test_job_starts_and_stops_without_being_told(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    with running("--nodes", "3", "--pods", "2", "--kubeconfig", str(file)) as url:
        settings: Any = config
        made = settings.new_client_from_config(str(file))
        assert made.configuration.host == url
        batch: Any = kube.BatchV1Api(made)
        core: Any = kube.CoreV1Api(made)
        assert len(core.list_node().items) == 3
        batch.create_namespaced_job("team", job("train", pods=2))
        batch.patch_namespaced_job("train", "team", {"spec": {"suspend": False}})
        assert eventually(lambda: batch.read_namespaced_job("train", "team").status.ready == 2)
        batch.patch_namespaced_job("train", "team", {"spec": {"suspend": True}})
        assert eventually(lambda: len(core.list_namespaced_pod("team").items) == 2)
