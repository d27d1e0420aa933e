"""Engine-side benchmarks: the replay of a trace, and a cycle in which nothing is to be done.

Usage: `python tests/bench/engine.py [--trace FILE] [--nodes 160] [--runs 3]`

Printed, each the median of `--runs`:

- replay: jobs a second of wall time, reading included, and the peak memory of a process that did
  nothing else (only with `--trace`; target for the ITP trace on 160 nodes: 2,000 jobs/s
  and less than 400 MB);
- idle cycle: microseconds of `Engine.cycle` with 5,000 workloads running and 10,000 waiting
  on 1,250 nodes of 8 GPUs (target: less than 1,000), when nothing happened since the last
  one; and of a cycle after one workload finished, which has to look for what may start.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import islice

import numpy as np

from scheduler import events
from scheduler.engine import Engine
from scheduler.layout import build_nodes
from scheduler.simulation.generator import WorkGenerator
from scheduler.simulation.profiles import ITP
from scheduler.simulation.replay import Task
from scheduler.simulation.tenants import layout_for, tasks_for
from scheduler.simulation.traces import TraceJob

NODES = 1_250
RUNNING = 5_000
WAITING = 10_000


def main() -> int:
    """Run what was asked for and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trace", help="a trace file, for the replay")
    parser.add_argument("--nodes", type=int, default=160)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    if args.trace:
        runs = [replay(args.trace, args.nodes) for _ in range(args.runs)]
        _show("replay, jobs/s", [run["jobs"] / run["wall_s"] for run in runs])
        _show("replay, decisions/s", [run["decisions_per_s"] for run in runs])
        _show("replay, peak MB", [run["peak_rss_mb"] for run in runs])
    engine, now = busy_engine()
    counts = f"{len(engine.running())} running, {len(engine.pending())} waiting"
    _show(f"idle cycle, us ({counts})", idle_cycles(engine, now, args.runs))
    _show("cycle after an end, us", cycles_after_an_end(engine, now, args.runs))
    return 0


def replay(trace: str, nodes: int) -> dict[str, float]:
    """One replay by the command itself, in a process of its own."""
    command = [
        *(sys.executable, "-c", "from bot.cli.main import app; app()", "replay"),
        *("--trace", trace, "--nodes", str(nodes), "--json"),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    report: dict[str, float] = json.loads(done.stdout)
    return report


def busy_engine() -> tuple[Engine, float]:
    """An engine with `RUNNING` workloads at work and `WAITING` in line, none of which fits.

    Ten tenants submit single-GPU, multi-GPU and whole-node work until 5,000 run; what
    waits asks for whole nodes, of which none is left.
    """
    rng = np.random.default_rng(2026)
    tenants = [f"tenant-{number}" for number in range(10)]
    generator = WorkGenerator(ITP, rng, tenants=tenants)
    jobs = list(islice(generator.arrivals(0.0, jobs_per_hour=1e6), RUNNING))
    filler = NODES * 8 - sum(job.gpus for job in jobs)
    layout = layout_for(jobs, nodes=NODES, gpus_per_node=8)
    engine = Engine(layout)
    for node in build_nodes(layout):
        engine.apply(events.NodeObserved(node=node))
    _submit(engine, tasks_for(_widened(jobs, filler), gpus_per_node=8))
    engine.cycle(1.0)
    waiting = [
        TraceJob(
            id=f"w{number:05d}",
            tenant=tenants[number % len(tenants)],
            submitted=2.0,
            duration=3600.0,
            gpus=8 * (1 + number % 8),
        )
        for number in range(WAITING)
    ]
    _submit(engine, tasks_for(waiting, gpus_per_node=8))
    engine.cycle(2.0)
    return engine, 2.0


def _widened(jobs: list[TraceJob], gpus: int) -> list[TraceJob]:
    """The same jobs, single-GPU ones made two, until they fill `gpus` more (or all are)."""
    wide = []
    for job in jobs:
        grown = job.gpus == 1 and gpus > 0
        gpus -= grown
        wide.append(
            TraceJob(
                id=job.id,
                tenant=job.tenant,
                submitted=0.0,
                duration=job.duration,
                gpus=job.gpus + grown,
            )
        )
    return wide


def _submit(engine: Engine, tasks: Iterable[Task]) -> None:
    for task in tasks:
        engine.apply(events.Submitted(workload=task.workload))


def idle_cycles(engine: Engine, now: float, runs: int) -> list[float]:
    """Microseconds of a cycle when nothing has happened, `runs` medians of 1,000."""
    found = []
    for _ in range(runs):
        times = []
        for _ in range(1_000):
            now += 0.001
            began = time.perf_counter()
            engine.cycle(now)
            times.append(time.perf_counter() - began)
        found.append(statistics.median(times) * 1e6)
    return found


def cycles_after_an_end(engine: Engine, now: float, runs: int) -> list[float]:
    """Microseconds of a cycle after one workload finished, `runs` medians of 20."""
    found = []
    for _ in range(runs):
        times = []
        for _ in range(20):
            workload, _ = engine.running()[0]
            now += 1.0
            engine.apply(events.Finished(workload=workload.id, at=now))
            began = time.perf_counter()
            decisions = engine.cycle(now)
            times.append(time.perf_counter() - began)
            for preemption in decisions.preemptions:
                engine.apply(events.Evicted(workload=preemption.target, at=now))
            engine.cycle(now)
        found.append(statistics.median(times) * 1e6)
    return found


def _show(what: str, values: list[float]) -> None:
    median = statistics.median(values)
    spread = ", ".join(f"{value:,.0f}" for value in values)
    print(f"{what:<48}{median:>12,.0f}   ({spread})")  # noqa: T201 - a benchmark prints


if __name__ == "__main__":
    sys.exit(main())
