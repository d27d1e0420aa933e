"""`gpubot replay`: play a recorded trace through the engine, as fast as it goes."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from scheduler.engine import Engine
from scheduler.layout import Layout, Options, Packing, build_nodes
from scheduler.policy import Policy, PolicyError, compile_policy, load_policy
from scheduler.simulation.cluster import SimulatedNodes
from scheduler.simulation.replay import Replay, Task
from scheduler.simulation.report import Report
from scheduler.simulation.tenants import (
    at_load,
    layout_for,
    nodes_for,
    resized,
    routed_tasks,
    tasks_for,
    tenant_policy,
)
from scheduler.simulation.traces import TraceError, TraceJob, overlay, read_trace

EXAMPLE = "gpubot replay --trace jobs.csv.gz --nodes 160 --gpus-per-node 8"
_NODES_AT_MOST = 100_000
_GPUS_AT_MOST = 1_024
_COPIES_AT_MOST = 1_000
_JOBS_AT_MOST = 1_000_000_000
_LOAD_AT_MOST = 10.0


class BadInput(Exception):
    """Something the person gave cannot be used; the message says what and what would do."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """One way to place work, to be compared with others."""

    packing: Packing
    defragments: bool

    @property
    def name(self) -> str:
        return f"{self.packing.value}{'+defrag' if self.defragments else ''}"

    def applied(self, options: Options) -> Options:
        return replace(options, packing=self.packing, defragment=self.defragments)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A report and what it took, reading the trace included."""

    report: Report
    layout: Layout
    variant: _Variant
    gpus: int
    wall_s: float
    peak_rss_mb: float


_Trace = Annotated[
    str, typer.Option(metavar="FILE", help="Trace in ITP or Philly columns, plain or gzip.")
]
_Nodes = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Nodes of the cluster. Default: the policy's own, or without a policy as many"
        " as the trace keeps 80 % busy.",
    ),
]
_GpusPerNode = Annotated[str, typer.Option(metavar="N", help="GPUs of each node (default 8).")]
_Policy = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Policy file. Default: one guaranteed queue a tenant in one cohort, sized by the"
        " tenant's GPU-time; idle quota is lent, and taken back by stopping who borrows.",
    ),
]
_Copies = Annotated[
    str, typer.Option(metavar="N", help="Lay N time-shifted copies over each other.")
]
_Limit = Annotated[str, typer.Option(metavar="N", help="Play the first N jobs only.")]
_Load = Annotated[
    str,
    typer.Option(
        metavar="SHARE",
        help="Submit the jobs faster or slower, so that their GPU-time is this share of the"
        " cluster's from first to last submission, such as 0.95.",
    ),
]
_Placement = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Which nodes work is given: least-free (ours), or first-fit or spread"
        " (Kubernetes' default) to compare with. Several, with commas: one table."
        " With +defrag after a name, that one defragments.",
    ),
]
_Defrag = Annotated[
    bool,
    typer.Option("--defrag", help="Move preemptible work where that makes nodes whole."),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def replay(
    trace: _Trace = "",
    *,
    nodes: _Nodes = "",
    gpus_per_node: _GpusPerNode = "",
    policy: _Policy = "",
    copies: _Copies = "1",
    limit: _Limit = "",
    load: _Load = "",
    placement: _Placement = Packing.LEAST_FREE.value,
    defrag: _Defrag = False,
    as_json: _AsJson = False,
) -> None:
    """Play a trace through engine and simulated cluster, and report waits and utilisation."""
    try:
        played = [
            _measure(
                trace=trace,
                nodes=_number("--nodes", nodes, _NODES_AT_MOST) if nodes else None,
                gpus_per_node=(
                    _number("--gpus-per-node", gpus_per_node, _GPUS_AT_MOST)
                    if gpus_per_node
                    else None
                ),
                policy=policy,
                copies=_number("--copies", copies, _COPIES_AT_MOST),
                limit=_number("--limit", limit, _JOBS_AT_MOST) if limit else None,
                load=_share("--load", load) if load else None,
                variant=variant,
            )
            for variant in _variants(placement, defrag=defrag)
        ]
    except (BadInput, TraceError, PolicyError) as error:
        told = " ".join(str(error).split())
        print(f"gpubot replay: {told}. Example: {EXAMPLE}", file=sys.stderr)
        raise typer.Exit(2) from error
    if as_json:
        reports = {m.variant.name: _as_json(m) for m in played}
        print(json.dumps(reports if len(played) > 1 else _as_json(played[0]), indent=2))
    elif len(played) > 1:
        print(_table(played))
    else:
        print(_text(played[0], own_policy=bool(policy)))


def _as_json(measured: _Measured) -> dict[str, object]:
    return measured.report.as_json(wall_s=measured.wall_s, peak_rss_mb=measured.peak_rss_mb)


def _variants(names: str, *, defrag: bool) -> list[_Variant]:
    """The placements named, each once. Raises BadInput."""
    known = [packing.value for packing in Packing]
    found = []
    for written in names.split(","):
        name, plus, extra = written.strip().partition("+")
        if name not in known or (plus and extra != "defrag"):
            told = f"{', '.join(known)}, each also with +defrag, not {written.strip()[:40]!r}"
            raise BadInput(f"--placement knows {told}")
        found.append(_Variant(Packing(name), defrag or bool(plus)))
    return list(dict.fromkeys(found))


def _measure(
    *,
    trace: str,
    nodes: int | None,
    gpus_per_node: int | None,
    policy: str,
    copies: int,
    limit: int | None,
    load: float | None,
    variant: _Variant,
) -> _Measured:
    """Read, play, and measure. Raises BadInput, TraceError, PolicyError."""
    began = time.perf_counter()
    jobs = overlay(_read(trace)[:limit], copies)
    if policy:
        compiled = compile_policy(tenant_policy(_policy(policy), jobs))
        layout = resized(compiled, nodes=nodes, gpus_per_node=gpus_per_node)
    else:
        per_node = gpus_per_node or 8
        count = nodes or nodes_for(jobs, gpus_per_node=per_node)
        layout = layout_for(jobs, nodes=count, gpus_per_node=per_node)
    layout = replace(layout, options=variant.applied(layout.options))
    cluster = SimulatedNodes(build_nodes(layout), now=jobs[0].submitted)
    gpus = cluster.figures().gpus
    if not gpus:
        raise BadInput("the policy describes no nodes with GPUs, give --nodes")
    jobs = jobs if load is None else _at_load(jobs, gpus, load)
    tasks: Iterator[Task] = (
        routed_tasks(jobs, layout) if policy else tasks_for(jobs, gpus_per_node=gpus_per_node or 8)
    )
    sampling = layout.usage.interval if layout.usage else None
    run = Replay(Engine(layout), cluster, sampling=sampling)
    with _progress(len(jobs)) as progress:
        report = run.run(tasks, progress=progress)
    if report.never_fit == report.jobs:
        raise BadInput(
            f"none of the {report.jobs} jobs of {trace} could ever start on {gpus} GPUs"
            " under this policy, give more or larger nodes"
        )
    return _Measured(report, layout, variant, gpus, time.perf_counter() - began, _peak_rss_mb())


def _at_load(jobs: list[TraceJob], gpus: int, load: float) -> list[TraceJob]:
    """See `at_load`. Raises BadInput."""
    try:
        return at_load(jobs, gpus=gpus, load=load)
    except ValueError as error:
        raise BadInput(f"--load cannot be had: {error}") from error


def _share(option: str, text: str) -> float:
    """A share of the cluster, above 0 and at most 10. Raises BadInput."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= _LOAD_AT_MOST:
        raise BadInput(f"{option} must be a share such as 0.95, not {text[:40]!r}")
    return value


def _number(option: str, text: str, most: int) -> int:
    """A whole number from 1 to `most`. Raises BadInput."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= most:
        raise BadInput(f"{option} must be a whole number from 1 to {most}, not {text[:40]!r}")
    return value


def _read(trace: str) -> list[TraceJob]:
    if not trace:
        raise BadInput("--trace is needed: a CSV file of jobs, plain or gzip")
    try:
        with Path(trace).open("rb") as file:
            return read_trace(iter(lambda: file.read(1 << 16), b""), trace)
    except (OSError, ValueError) as error:
        raise BadInput(f"the trace {trace!r} cannot be read: {_reason(error)}") from error


def _policy(path: str) -> Policy:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"the policy {path!r} cannot be read: {_reason(error)}") from error
    return load_policy(text, path)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def _progress(jobs: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on the terminal; nothing where the output goes elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = ("jobs", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("jobs", total=jobs)

        def tell(submitted: int) -> None:
            if submitted % 64 == 0 or submitted == jobs:
                bar.update(shown, completed=submitted)

        yield tell


def _peak_rss_mb() -> float:
    """The most memory this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024


def _text(measured: _Measured, *, own_policy: bool) -> str:
    report = measured.report
    made = "" if own_policy else " (made for the trace: one guaranteed queue a tenant)"
    done = f"{report.admitted} admitted, {report.finished} finished"
    left = report.jobs - report.never_fit - report.admitted
    wall = measured.wall_s
    speed = f"{report.jobs / wall:.0f} jobs/s, {report.decisions / wall:.0f} decisions/s"
    whole = f"stranded on part-used nodes; {report.whole_free:.0f} GPUs on wholly free ones"
    days = f"{report.lasted / 86_400:.1f} days in {wall:.1f} s"
    lines = [
        f"cluster        {measured.gpus} GPUs, {len(measured.layout.queues)} queues{made}",
        f"jobs           {report.jobs}: {done}, {report.never_fit} never fit, {left} still wait",
        f"played         {days} ({speed}, {measured.peak_rss_mb:.0f} MB)",
        f"utilisation    {report.utilisation:.1%}",
        f"fragmentation  {report.fragmentation:.2%} ({whole})",
        f"preemptions    {report.preemptions} ({report.gpu_hours_lost:.0f} GPU-hours lost)",
        f"partial gangs  {report.partial_gangs}",
        *_moved(report),
        "",
        *_waits(report),
    ]
    return "\n".join(lines)


def _moved(report: Report) -> Sequence[str]:
    if report.moved is None:
        return ()
    moved = report.moved
    what = f"{moved.made_whole} GPUs made whole, {moved.gpu_hours:.0f} GPU-hours run again"
    return (f"moves          {moved.moves} ({what})",)


def _table(played: Sequence[_Measured]) -> str:
    """One line a placement: what it leaves in pieces, and who waits for it."""
    first = played[0]
    heads = "".join(f"{head:>11}" for head in ("wait p95", "8 GPUs", "9-64", "preempted"))
    free = f"{'whole free':>12}"
    lines = [
        f"{first.report.jobs} jobs on {first.gpus} GPUs",
        "",
        f"{'placement':<18}{'use':>8}{'stranded':>10}{'while jobs arrive':>20}{free}{heads}",
    ]
    for each in played:
        report = each.report
        waits = (report.waits[name].p95 for name in ("all", "8", "9-64"))
        lines.append(
            f"{each.variant.name:<18}{report.utilisation:>8.1%}{report.fragmentation:>10.2%}"
            f"{report.loaded_utilisation:>11.1%}{report.loaded_fragmentation:>9.2%}"
            f"{report.whole_free:>12.0f}{''.join(f'{_span(p95):>11}' for p95 in waits)}"
            f"{report.preemptions:>11}"
        )
    return "\n".join(lines)


def _waits(report: Report) -> Sequence[str]:
    lines = [f"{'wait by GPUs':<14}{'jobs':>9}{'p50':>12}{'p95':>12}{'p99':>12}"]
    for name, waits in report.waits.items():
        cells = "".join(f"{_span(value):>12}" for value in (waits.p50, waits.p95, waits.p99))
        lines.append(f"{name:<14}{waits.n:>9}{cells}")
    return lines


def _span(seconds: float | None) -> str:
    """A length of time in the unit that suits it."""
    if seconds is None:
        return "-"
    for unit, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
