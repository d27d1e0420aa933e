"""Fixtures of LeaderWorkerSets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.server import ApiServer


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Six nodes of 8 GPUs in a managed namespace, with LeaderWorkerSet and the shipped policies."""
    with ApiServer() as server:
        for number in range(1, 7):
            server.add_node(f"n{number}", labels=MODEL)
        server.serve_leader_worker_sets()
        server.policies.install_shipped()
        server.add_namespace(TEAM, **{"gpubot.dev/managed": "true"})
        server.grant_shipped_rights()
        yield server


@pytest.fixture
def house(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    made = KubeHouse(api, tmp_path)
    made.step()
    yield made
    made.close()
