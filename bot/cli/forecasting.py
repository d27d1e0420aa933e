"""`gpubot bench forecast`: how long it takes to say when work would start, and what would help.

The engine alone, in two worlds of 1,250 and more nodes of 8 GPUs with thousands who run and ten
thousand who wait. In that of *tenants*, ten of them share all: 5,000 workloads run, with
declared ends spread over two days, and 10,000 of one to eight whole nodes wait; somebody new asks
with seven variants. The other is on the shipped policy, see `bot.cli.mixed`.

*Cold* is after something has happened (one end, and what follows), *warm* with nothing since the
last question. Limits are for times of the processor, so that what else runs on the machine counts
little; times of the clock on the wall are beside them. As the process that looks
ahead does, garbage is collected between questions only, and the world is no part of it.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np
from rich.console import Console
from rich.table import Table

from bot.cli.mixed import Mixed
from bot.memory import settle_memory
from scheduler.engine import Engine
from scheduler.events import Evicted, Finished, NodeObserved, Submitted
from scheduler.layout import build_nodes
from scheduler.model import Seconds, Workload
from scheduler.offers import OfferKind, Variant
from scheduler.simulation.generator import WorkGenerator
from scheduler.simulation.profiles import ITP
from scheduler.simulation.tenants import layout_for, tasks_for
from scheduler.simulation.traces import TraceJob

NODES, NODE_GPUS = 1_250, 8
RUNNING, WAITING = 5_000, 10_000
TENANTS = 10
LIMIT = 0.300  # seconds
SEED = 2026
SETTLED = 500
"""Cycles in which the engine comes to rest after anything."""


class World(Protocol):
    """An engine with a crowd in it, and people who ask."""

    engine: Engine
    now: Seconds

    def let_one_end(self, number: int) -> None:
        """Something happens."""

    def question(self, number: int) -> tuple[Workload, list[Variant]]:
        """Somebody's wish, and what could be proposed instead."""


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that one question took: of the processor, and by the clock on the wall."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of question, what each took, and the limit, if there is one."""

    what: str
    took: Sequence[Took]
    limit: float | None = None

    @property
    def ratio(self) -> float:
        """1.0 is the limit itself; less is better. The slowest but one in twenty counts."""
        return 0.0 if self.limit is None else _p95([one.cpu for one in self.took]) / self.limit

    def row(self) -> tuple[str, ...]:
        """For the table: milliseconds of the processor, then on the wall."""
        cpu, wall = [one.cpu for one in self.took], [one.wall for one in self.took]
        figures = (statistics.median(cpu), _p95(cpu), statistics.median(wall), _p95(wall))
        told = tuple(f"{figure * 1000:.0f} ms" for figure in figures)
        if self.limit is None:
            return (self.what, *told, "", "", "")
        on_wall = _p95(wall) / self.limit
        limit = f"{self.limit * 1000:g} ms"
        return (self.what, *told, limit, f"{self.ratio:.2f}", f"{on_wall:.2f}")


def run_bench_forecast(rounds: int) -> bool:
    """Measure, print, and say whether the limit was kept."""
    console = Console()
    worlds: tuple[tuple[str, Callable[[], World]], ...] = (
        ("ten tenants", Crowd),
        ("the shipped policy", Mixed),
    )
    kept = [_measure(console, name, make(), rounds) for name, make in worlds]
    return all(kept)


def _measure(console: Console, name: str, world: World, rounds: int) -> bool:
    figures = world.engine.figures()
    console.print(
        f"{name}: {figures.running:,} running, {figures.pending:,} waiting, {figures.nodes:,} nodes"
    )
    settle_memory()  # as the process that looks ahead does
    measured = [
        Figure("a fork", [_timed(world.engine.fork) for _ in range(rounds)]),
        *_ask(world, rounds, console),
    ]
    table = Table(
        *("what", "median", "p95", "wall, median", "wall, p95"),
        *("limit", "ratio to limit", "on the wall"),
    )
    for one in measured:
        table.add_row(*one.row())
    console.print(table)
    return all(one.ratio <= 1.0 for one in measured)


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _timed(act: Callable[[], object]) -> Took:
    gc.collect()
    gc.disable()
    cpu, wall = time.process_time(), time.perf_counter()
    act()
    took = Took(time.process_time() - cpu, time.perf_counter() - wall)
    gc.enable()
    return took


def _ask(world: World, rounds: int, console: Console) -> list[Figure]:
    """Time each kind of question, and say what the answers came to."""
    cold, warm, waits = [], [], []
    told = offers = 0
    ahead = []
    for number in range(rounds):
        world.let_one_end(number)
        asked, variants = world.question(number)
        engine, now = world.engine, world.now
        cold.append(_timed(partial(engine.consider, asked, now, variants)))
        other, others = world.question(rounds + number)
        warm.append(_timed(partial(engine.consider, other, now, others)))
        found = engine.consider(asked, now, variants)
        told += found.forecast.likely is not None
        ahead += [found.forecast.horizon - now] if found.forecast.horizon_hit else []
        offers += len(found.offers)
        pending = engine.pending()
        waiting = pending[(number * 997) % len(pending)]
        waits.append(_timed(partial(engine.forecast, waiting.id, now)))
    far = statistics.median(ahead) / 60 if ahead else 0.0
    console.print(
        f"{told} of {rounds} told a start, {offers / rounds:.1f} offers a question; "
        f"the others not before {far:.0f} min"
    )
    return [
        Figure("a new workload and its offers, cold", cold, LIMIT),
        Figure("a new workload and its offers, warm", warm, LIMIT),
        Figure("one that waits", waits),
    ]


class Crowd:
    """An engine with a full cluster and a long queue, and people who ask."""

    def __init__(self) -> None:
        rng = np.random.default_rng(SEED)
        self._tenants = [f"tenant-{number}" for number in range(TENANTS)]
        generator = WorkGenerator(ITP, rng, tenants=self._tenants)
        jobs = list(islice(generator.arrivals(0.0, jobs_per_hour=1e6), RUNNING))
        spare = NODES * NODE_GPUS - sum(job.gpus for job in jobs)
        running = []
        for job in jobs:
            more = job.gpus == 1 and spare > 0  # until they fill the cluster
            spare -= more
            lasts = float(rng.uniform(600.0, 48 * 3600.0))
            running.append(replace(job, submitted=0.0, gpus=job.gpus + more, duration=lasts))
        waiting = [
            TraceJob(
                id=f"w{number:05d}",
                tenant=self._tenants[number % TENANTS],
                submitted=2.0,
                duration=float(rng.uniform(600.0, 12 * 3600.0)),
                gpus=NODE_GPUS * (1 + number % 8),
            )
            for number in range(WAITING)
        ]
        layout = layout_for(jobs, nodes=NODES, gpus_per_node=NODE_GPUS)
        self.engine = Engine(layout)
        self.now: Seconds = 0.0
        for node in build_nodes(layout):
            self.engine.apply(NodeObserved(node=node))
        for some in (running, waiting):
            for workload in _workloads(some):
                self.engine.apply(Submitted(workload=workload))
            self.now += 5.0
            self.engine.cycle(self.now)
        self.settle()

    def settle(self) -> None:
        """Let everybody go who was told to stop, until nobody is."""
        for _ in range(SETTLED):
            for one in self.engine.leaving():
                self.engine.apply(Evicted(workload=one, at=self.now))
            if not self.engine.cycle(self.now):
                return
        raise RuntimeError("the engine does not come to rest")

    def let_one_end(self, number: int) -> None:
        """Something happens: a workload ends, and somebody may start."""
        running = self.engine.running()
        workload, _ = running[number * 97 % len(running)]
        self.now += 5.0
        self.engine.apply(Finished(workload=workload.id, at=self.now))
        self.settle()

    def question(self, number: int) -> tuple[Workload, list[Variant]]:
        """Somebody's wish, with what could be proposed instead."""
        gpus = NODE_GPUS * (1, 2, 4, 8)[number % 4]
        asked = TraceJob(
            id=f"new-{number}",
            tenant=self._tenants[number % TENANTS],
            submitted=self.now,
            duration=8 * 3600.0,
            gpus=gpus,
        )
        elsewhere = self._tenants[(number + 1) % TENANTS]
        kinds = {
            OfferKind.SHORTER_LEASE: (replace(asked, duration=1800.0),),
            OfferKind.OTHER_MODEL: (replace(asked, tenant=elsewhere),),
            OfferKind.FEWER_GPUS: tuple(replace(asked, gpus=few) for few in (gpus // 2, 4, 2, 1)),
        }
        (workload,) = _workloads([asked])
        variants = [
            Variant(kind=kind, workload=one)
            for kind, jobs in kinds.items()
            for one in _workloads(jobs)
        ]
        stays = Variant(kind=OfferKind.PREEMPTIBLE, workload=replace(workload, preemptible=True))
        return workload, [*variants, stays]


def _workloads(jobs: Sequence[TraceJob]) -> list[Workload]:
    """Each with its run time declared."""
    tasks = tasks_for(jobs, gpus_per_node=NODE_GPUS)
    return [replace(task.workload, duration=task.run_for) for task in tasks]
