"""What every cluster's tests need: a rig for each implementation, driven the same way.

`test_contract.py` says what a rig must offer (its `Rig` protocol). A new implementation joins
the suite by adding its name to `RIGS` and its rig to the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clusters.simulated import SimulatedCluster
from scheduler.model import GPU, Node, NodeName, Seconds
from scheduler.simulation.cluster import Outage
from tests.bot.clusters.kubernetes.rig import KubernetesRig
from tests.kube.server import ApiServer

START_DELAY = 5.0
STOP_TIME = 20.0


class SimulatedRig:
    """Drives a `SimulatedCluster` by hand."""

    def __init__(self, path: Path | None) -> None:
        self.now: Seconds = 1000.0
        nodes = [Node(name=NodeName(f"n{i}"), capacity={GPU: 8}) for i in range(1, 5)]
        self.cluster = SimulatedCluster(
            nodes, path=path, start_delay=START_DELAY, stop_time=STOP_TIME
        )

    def wait(self, seconds: Seconds) -> None:
        self.now += seconds

    def lose_node(self, name: str) -> None:
        self.cluster.fail_node(Outage(NodeName(name), self.now), self.now)

    def cut_off(self, *, unreachable: bool) -> None:
        self.cluster.unreachable = unreachable

    def close(self) -> None:
        self.cluster.close()


RIGS = ("simulated", "simulated-with-journal", "kubernetes")


@pytest.fixture(params=RIGS)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SimulatedRig | KubernetesRig]:
    """One rig of each implementation, in turn."""
    if request.param == "kubernetes":
        with ApiServer() as api:
            for number in range(1, 5):
                api.add_node(f"n{number}")
            api.add_namespace("team")
            driven = KubernetesRig(api)
            yield driven
            driven.close()
        return
    path = tmp_path / "journal" if request.param == "simulated-with-journal" else None
    made = SimulatedRig(path)
    yield made
    made.close()
