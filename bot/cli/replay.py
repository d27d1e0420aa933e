"""`gpubot replay`: play a recorded trace through the engine, as fast as it goes."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from bot.cli.played import Played, Variant, table, text
from scheduler.engine import Engine
from scheduler.layout import Layout, Packing, build_nodes
from scheduler.model import GPU
from scheduler.policy import Policy, PolicyError, compile_policy, load_policy
from scheduler.routing import DEFAULT_NODE_SIZE
from scheduler.simulation.cluster import SimulatedNodes
from scheduler.simulation.estimates import Estimates
from scheduler.simulation.outages import spread_outages
from scheduler.simulation.replay import Replay, Task
from scheduler.simulation.tenants import (
    Racks,
    at_load,
    declaring,
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
_FAILURES_AT_MOST = 1_000_000


class BadInput(Exception):
    """Something the person gave cannot be used; the message says what and what would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What to play, on which cluster, under which policy."""

    trace: str
    nodes: int | None
    gpus_per_node: int | None
    racks: Racks | None
    policy: str
    copies: int
    limit: int | None
    load: float | None
    failures: int
    estimates: int | None
    undeclared: bool
    declared: float | None


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
_Rack = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Stand the nodes in racks of N; work of several nodes then prefers one rack.",
    ),
]
_Block = Annotated[str, typer.Option(metavar="N", help="Racks of each block.")]
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
_Failures = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Let N nodes fail while jobs arrive, each for a day. Gangs get other nodes, or"
        " are stopped and start again.",
    ),
]
_Placement = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Which nodes work is given: least-free (ours), or first-fit or spread"
        " (Kubernetes' default) to compare with. Several, with commas: one table."
        " With +defrag after a name, that one defragments; with +backfill, it keeps room for"
        " gangs of several nodes that have waited for an hour.",
    ),
]
_Declared = Annotated[
    str,
    typer.Option(
        metavar="FACTOR",
        help="Let each job say at submission how long it will run: its run time times this,"
        " such as 1 or 1.5. Default: none says.",
    ),
]
_Backfill = Annotated[
    bool,
    typer.Option(
        "--backfill",
        help="Keep room for gangs of several nodes that have waited for an hour; what ends"
        " before goes ahead.",
    ),
]
_Defrag = Annotated[
    bool,
    typer.Option("--defrag", help="Move preemptible work where that makes nodes whole."),
]
_Estimates = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Of the jobs that wait, ask for each N-th when it will start, and compare with when"
        " it does. The jobs declare how long they run.",
    ),
]
_Undeclared = Annotated[
    bool,
    typer.Option("--undeclared", help="With --estimates: go by how long earlier jobs ran."),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def replay(
    trace: _Trace = "",
    *,
    nodes: _Nodes = "",
    gpus_per_node: _GpusPerNode = "",
    rack: _Rack = "",
    block: _Block = "",
    policy: _Policy = "",
    copies: _Copies = "1",
    limit: _Limit = "",
    load: _Load = "",
    failures: _Failures = "",
    declared: _Declared = "",
    placement: _Placement = Packing.LEAST_FREE.value,
    defrag: _Defrag = False,
    estimates: _Estimates = "",
    undeclared: _Undeclared = False,
    backfill: _Backfill = False,
    as_json: _AsJson = False,
) -> None:
    """Play a trace through engine and simulated cluster, and report waits and utilisation."""
    try:
        asked = _Asked(
            trace=trace,
            nodes=_if_given("--nodes", nodes, _NODES_AT_MOST),
            gpus_per_node=_if_given("--gpus-per-node", gpus_per_node, _GPUS_AT_MOST),
            racks=_racks(rack, block, policy),
            policy=policy,
            copies=_number("--copies", copies, _COPIES_AT_MOST),
            limit=_if_given("--limit", limit, _JOBS_AT_MOST),
            load=_share("--load", load) if load else None,
            failures=_if_given("--failures", failures, _FAILURES_AT_MOST) or 0,
            estimates=_if_given("--estimates", estimates, _JOBS_AT_MOST),
            undeclared=undeclared,
            declared=_share("--declared", declared) if declared else None,
        )
        variants = _variants(placement, defrag=defrag, backfill=backfill)
        played = [_measure(asked, variant) for variant in variants]
    except (BadInput, TraceError, PolicyError) as error:
        told = " ".join(str(error).split())
        print(f"gpubot replay: {told}. Example: {EXAMPLE}", file=sys.stderr)
        raise typer.Exit(2) from error
    if as_json:
        reports = {m.variant.name: _as_json(m) for m in played}
        print(json.dumps(reports if len(played) > 1 else _as_json(played[0]), indent=2))
    elif len(played) > 1:
        print(table(played))
    else:
        print(text(played[0], own_policy=bool(policy)))


def _as_json(measured: Played) -> dict[str, object]:
    return measured.report.as_json(wall_s=measured.wall_s, peak_rss_mb=measured.peak_rss_mb)


def _variants(names: str, *, defrag: bool, backfill: bool) -> list[Variant]:
    """The placements named, each once. Raises BadInput."""
    known = [packing.value for packing in Packing]
    found = []
    for written in names.split(","):
        name, *extras = written.strip().split("+")
        if name not in known or not set(extras) <= {"defrag", "backfill"}:
            told = f"{', '.join(known)}, each also with +defrag and +backfill"
            raise BadInput(f"--placement knows {told}, not {written.strip()[:40]!r}")
        with_defrag, with_backfill = "defrag" in extras, "backfill" in extras
        found.append(Variant(Packing(name), defrag or with_defrag, backfill or with_backfill))
    return list(dict.fromkeys(found))


def _measure(asked: _Asked, variant: Variant) -> Played:
    """Read, play, and measure. Raises BadInput, TraceError, PolicyError."""
    began = time.perf_counter()
    jobs = overlay(_read(asked.trace)[: asked.limit], asked.copies)
    layout = _layout(asked, jobs)
    nodes = build_nodes(layout)
    largest = max((node.capacity.get(GPU, 0) for node in nodes), default=0)
    layout = variant.applied(layout, gpus_per_node=largest)
    gpus = sum(node.capacity.get(GPU, 0) for node in nodes)
    if not gpus:
        raise BadInput("the policy describes no nodes with GPUs, give --nodes")
    jobs = jobs if asked.load is None else _at_load(jobs, gpus, asked.load)
    cluster = SimulatedNodes(
        nodes,
        now=jobs[0].submitted,
        outages=spread_outages(
            [node.name for node in nodes],
            asked.failures,
            first=jobs[0].submitted,
            last=jobs[-1].submitted,
        ),
        mendable=True,
        levels=max((flavor.levels[:-1] for flavor in layout.flavors), key=len),
    )
    sampling = layout.usage.interval if layout.usage else None
    estimates = None if asked.estimates is None else Estimates(asked.estimates)
    run = Replay(Engine(layout), cluster, sampling=sampling, estimates=estimates)
    with _progress(len(jobs)) as progress:
        report = run.run(_tasks(asked, jobs, layout), progress=progress)
    if report.never_fit == report.jobs:
        raise BadInput(
            f"none of the {report.jobs} jobs of {asked.trace} could ever start on {gpus} GPUs"
            " under this policy, give more or larger nodes"
        )
    return Played(report, layout, variant, gpus, time.perf_counter() - began, _peak_rss_mb())


def _layout(asked: _Asked, jobs: list[TraceJob]) -> Layout:
    """The policy given, or one made for the trace. Raises BadInput, PolicyError."""
    if asked.policy:
        compiled = compile_policy(tenant_policy(_policy(asked.policy), jobs))
        return resized(compiled, nodes=asked.nodes, gpus_per_node=asked.gpus_per_node)
    per_node = asked.gpus_per_node or DEFAULT_NODE_SIZE
    count = asked.nodes or nodes_for(jobs, gpus_per_node=per_node)
    return layout_for(jobs, nodes=count, gpus_per_node=per_node, racks=asked.racks)


def _tasks(asked: _Asked, jobs: list[TraceJob], layout: Layout) -> Iterator[Task]:
    tasks = _plain_tasks(asked, jobs, layout)
    factor = asked.declared
    if factor is None and asked.estimates is not None and not asked.undeclared:
        factor = 1.0
    return tasks if factor is None else declaring(tasks, factor)


def _plain_tasks(asked: _Asked, jobs: list[TraceJob], layout: Layout) -> Iterator[Task]:
    if asked.policy:
        return routed_tasks(jobs, layout)
    per_node = asked.gpus_per_node or DEFAULT_NODE_SIZE
    return tasks_for(jobs, gpus_per_node=per_node, racks=asked.racks)


def _racks(rack: str, block: str, policy: str) -> Racks | None:
    """How the nodes stand; None where nothing was said. Raises BadInput."""
    if not rack and not block:
        return None
    if policy:
        raise BadInput("--rack and --block go without --policy, which names its own levels")
    if not rack:
        raise BadInput("--block counts racks, give the nodes of a rack with --rack too")
    nodes = _number("--rack", rack, _NODES_AT_MOST)
    return Racks(nodes, _number("--block", block, _NODES_AT_MOST) if block else None)


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


def _if_given(option: str, text: str, most: int) -> int | None:
    return _number(option, text, most) if text else None


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
