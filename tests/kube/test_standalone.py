"""The emulated cluster as a process that runs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as kube
from kubernetes import config

from tests.fixtures_workspace import eventually
from tests.kube import standalone
from tests.kube.samples import job
from tests.kube.server import ApiServer
from tests.kube.standalone import attend, running


def test_job_starts_and_stops_without_being_told(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    with running("--nodes", "3", "--pods", "2", "--kubeconfig", str(file)) as url:
        settings: Any = config
        made = settings.new_client_from_config(str(file))
        assert made.configuration.host == url
        batch: Any = kube.BatchV1Api(made)
        core: Any = kube.CoreV1Api(made)
        assert len(core.list_node().items) == 3

        def ready() -> int | None:
            (train,) = batch.list_namespaced_job("team").items
            return train.status.ready  # type: ignore[no-any-return]

        batch.create_namespaced_job("team", job("train", pods=2))
        batch.patch_namespaced_job("train", "team", {"spec": {"suspend": False}})
        assert eventually(lambda: ready() == 2)
        batch.patch_namespaced_job("train", "team", {"spec": {"suspend": True}})
        assert eventually(lambda: len(core.list_namespaced_pod("team").items) == 2)


def test_what_is_written_while_all_look_is_looked_at_next(monkeypatch: pytest.MonkeyPatch) -> None:
    api, looks = ApiServer(), []

    def look(server: ApiServer) -> None:
        looks.append(server.cluster.store.version)
        if len(looks) == 1:
            server.add_namespace("late")

    monkeypatch.setattr(standalone, "turn", look)
    seen = -1
    for _ in range(3):
        seen = attend(api, seen)
    assert len(looks) == 2
    assert looks[1] == api.cluster.store.version == seen
