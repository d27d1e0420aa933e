"""`gpubot bench kueue-baseline`, `kueue-large` and `kueue-tas`: Kueue's own load, in real time."""

from __future__ import annotations

import json
import resource
import time

import typer

from scheduler.simulation.suite import SUITES, Play, Suite

_SHORTEST_SLEEP = 0.001
"""Events closer together than this are taken together; the clock is not finer."""


def run_suite(name: str, *, as_json: bool) -> None:
    """Play a suite against the clock on the wall and report what it took."""
    suite = SUITES[name]
    play = Play(suite, time.process_time)
    began, cpu = time.perf_counter(), time.process_time()
    while not play.done:
        play.advance(time.perf_counter() - began)
        if not play.done:
            ahead = play.next - (time.perf_counter() - began)
            if ahead > 0:
                time.sleep(max(ahead, _SHORTEST_SLEEP))
    figures = figures_of(suite, play) | {
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for key, value in figures.items():
        typer.echo(f"{key:<28} {value}")


def figures_of(suite: Suite, play: Play) -> dict[str, float | str]:
    """What a finished play came to, the limit beside it."""
    measures = play.measures
    quota = suite.nominal * suite.cohorts * suite.queues
    figures: dict[str, float | str] = {
        "suite": suite.name,
        "workloads": sum(map(len, measures.waits.values())),
        "wall_s": round(measures.wall, 2),
        "limit_s": round(suite.limit, 2),
        "ratio": round(measures.wall / suite.limit, 3),
        "utilisation": round(measures.busy / (measures.wall * quota), 3),
        "preemptions": measures.preemptions,
        "engine_cpu_s": round(measures.inside, 2),
    }
    for kind, waits in measures.waits.items():
        figures[f"admission_{kind}_s"] = round(sum(waits) / len(waits), 2)
    return figures
