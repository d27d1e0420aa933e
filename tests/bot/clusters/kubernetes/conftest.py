"""Fixtures of the Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import World
from tests.kube.server import ApiServer


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Six nodes of 8 GPUs, `n1` … `n6`, a managed namespace `team`, the rights that are shipped."""
    with ApiServer() as server:
        for number in range(1, 7):
            server.add_node(f"n{number}", labels=MODEL)
        server.add_namespace("team", **{"gpubot.dev/managed": "true"})
        server.grant_shipped_rights()
        yield server


@pytest.fixture
def world(api: ApiServer) -> Iterator[World]:
    """A cluster without a bot; a node that is not ready has failed at once."""
    made = World(api)
    yield made
    made.close()


@pytest.fixture
def house(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot over that cluster, which has looked at it once."""
    made = KubeHouse(api, tmp_path)
    made.step()
    yield made
    made.close()


@pytest.fixture
def waiting(house: KubeHouse) -> KubeHouse:
    """A group of two waits, as a Job has all of the quota."""
    house.create_job("first", pods=4)
    house.run(3)
    create(house, {"a": 8, "b": 8})
    house.run()
    assert house.state("g") is S.WAITING
    return house
