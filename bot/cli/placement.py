"""`gpubot bench placement`: how long one takes, by size of the cluster and how full it is.

Printed for each: the median in microseconds of a 1-GPU pod, of 8 pods of 8 GPUs in one rack,
of 64 x 8 that prefer one block, and of 64 x 8 anywhere, on nodes of 8 GPUs in racks of 25 and
blocks of 250, empty, half full and 97 % full; `-` where there is no placement (the time is
then that of finding out). Target at 1,250 nodes: less than 200, and growth no faster than the
number of nodes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np
import typer

from scheduler.gangs import place_together
from scheduler.layout import HOSTNAME, Flavor
from scheduler.model import (
    GPU,
    PODS,
    FlavorName,
    Node,
    NodeName,
    PodSet,
    TopologyMode,
    TopologyRequest,
)
from scheduler.topology import Nodes, Place, Space

BLOCK, RACK = "example.com/block", "example.com/rack"
FLAVOR = Flavor(name=FlavorName("h100"), levels=(BLOCK, RACK, HOSTNAME))
IN_RACK = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)
NEAR = TopologyRequest(mode=TopologyMode.PREFERRED, level=BLOCK)
ASKS = {
    "1 x 1": PodSet(count=1, requests={GPU: 1}),
    "8 x 8, one rack": PodSet(count=8, requests={GPU: 8}, topology=IN_RACK),
    "64 x 8, a block preferred": PodSet(count=64, requests={GPU: 8}, topology=NEAR),
    "64 x 8, anywhere": PodSet(count=64, requests={GPU: 8}),
}
SIZES = (1, 1, 1, 2, 4, 8, 8)


def run_bench_placement(sizes: Sequence[int], runs: int) -> None:
    """Print one line for each cluster as soon as it is measured."""
    typer.echo("nodes  full  " + "  ".join(f"{name:>26}" for name in ASKS))
    for count in sizes:
        for share in (0.0, 0.5, 0.97):
            nodes, space = cluster(count, share)
            cells = (measure(nodes, space, pods, runs) for pods in ASKS.values())
            line = "  ".join(f"{f'{micros:.0f} us{mark}':>26}" for micros, mark in cells)
            typer.echo(f"{count:>5}  {share:>4.0%}  {line}")


def cluster(count: int, share: float) -> tuple[Nodes, Space]:
    """Nodes of which a share of the GPUs is taken, in pieces of the usual sizes, at random."""
    nodes = Nodes()
    for number in range(count):
        name = f"n{number:05d}"
        labels = {BLOCK: f"b{number // 250:03d}", RACK: f"r{number // 25:04d}", HOSTNAME: name}
        nodes.observe(Node(name=NodeName(name), labels=labels, capacity={GPU: 8, PODS: 110}))
    space = Space(nodes)
    nodes.settle([space])
    rng = np.random.default_rng(2026)
    row, left = nodes.rows[GPU], int(share * count * 8)
    while left > 0:
        number, size = int(rng.integers(count)), int(rng.choice(SIZES))
        taken = min(size, left, int(space.free[row, number]))
        if taken:
            space.take((Place(((nodes.names[number], 1),), ((row, taken), (0, 1))),))
            left -= taken
    return nodes, space


def measure(nodes: Nodes, space: Space, pods: PodSet, runs: int) -> tuple[float, str]:
    """Median time in microseconds, and a mark where there is no placement."""
    times = []
    found = place_together(nodes, FLAVOR, [pods], [space])
    for _ in range(runs):
        start = time.perf_counter()
        place_together(nodes, FLAVOR, [pods], [space])
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6, "" if found else " -"
