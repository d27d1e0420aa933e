"""What `gpubot replay` prints: one run in full, or one line each of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler.layout import BackfillRules, Layout, Packing
from scheduler.simulation.report import Report

BACKFILL_AFTER = 3600.0
"""With backfilling, room is kept for who has waited so long."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to place work, to be compared with others."""

    packing: Packing
    defragments: bool
    backfills: bool = False

    @property
    def name(self) -> str:
        extras = (("+defrag", self.defragments), ("+backfill", self.backfills))
        return self.packing.value + "".join(extra for extra, on in extras if on)

    def applied(self, layout: Layout, *, gpus_per_node: int) -> Layout:
        """The layout with this placement; it keeps room for gangs of more than one node."""
        options = replace(layout.options, packing=self.packing, defragment=self.defragments)
        queues = layout.queues
        if self.backfills:
            rules = BackfillRules(after=BACKFILL_AFTER, least=gpus_per_node + 1)
            queues = tuple(replace(queue, backfill=rules) for queue in queues)
        return replace(layout, options=options, queues=queues)


@dataclass(frozen=True, slots=True)
class Played:
    """A report and what it took, reading the trace included."""

    report: Report
    layout: Layout
    variant: Variant
    gpus: int
    wall_s: float
    peak_rss_mb: float


def text(measured: Played, *, own_policy: bool) -> str:
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
        *_apart(report),
        "",
        *_waits(report),
        *_estimates(report),
    ]
    return "\n".join(lines)


def _apart(report: Report) -> Iterator[str]:
    """What there is to say only of some runs."""
    if report.moved is not None:
        moved = report.moved
        what = f"{moved.made_whole} GPUs made whole, {moved.gpu_hours:.0f} GPU-hours run again"
        yield f"moves          {moved.moves} ({what})"
    if report.mended is not None:
        mended = report.mended
        gangs = f"{mended.repaired} gangs given other nodes, {mended.stopped} stopped"
        lost = f"{mended.gpu_hours:.0f} GPU-hours lost"
        yield f"node failures  {mended.failures} ({gangs}, {lost})"
    for level in report.levels:
        name = f"by {level.level.rsplit('/', 1)[-1]}"
        free = f"{level.whole_free:.1f} of {level.domains} wholly free"
        yield f"{name:<15}{free}, room for a gang of {level.largest:.0f} GPUs in one (time means)"


def _estimates(report: Report) -> Iterator[str]:
    """How far the starts that were foretold lay from those that came."""
    if report.estimates is None:
        return
    heads = ("error p50", "of the wait", "in range", "not overtaken", "none told")
    yield ""
    yield f"{'starts told':<14}{'jobs':>9}{''.join(f'{head:>15}' for head in heads)}"
    for name, one in report.estimates.items():
        shares = [
            "-" if share is None else f"{share:.1%}"
            for share in (one.share, one.inside, one.undisturbed)
        ]
        cells = (_span(one.error), *shares, str(one.silent))
        yield f"{name:<14}{one.asked:>9}{''.join(f'{cell:>15}' for cell in cells)}"


def table(played: Sequence[Played]) -> str:
    """One line a placement: what it leaves in pieces, and who waits for it."""
    first = played[0]
    heads = "".join(f"{head:>11}" for head in ("wait p95", "8 GPUs", "9-64", "mean", "preempted"))
    free = f"{'whole free':>12}"
    lines = [
        f"{first.report.jobs} jobs on {first.gpus} GPUs",
        "",
        f"{'placement':<18}{'use':>8}{'stranded':>10}{'while jobs arrive':>20}{free}{heads}",
    ]
    for each in played:
        report = each.report
        waits = [report.waits[name].p95 for name in ("all", "8", "9-64")]
        waits.append(report.waits["9-64"].mean)
        lines.append(
            f"{each.variant.name:<18}{report.utilisation:>8.1%}{report.fragmentation:>10.2%}"
            f"{report.loaded_utilisation:>11.1%}{report.loaded_fragmentation:>9.2%}"
            f"{report.whole_free:>12.0f}{''.join(f'{_span(wait):>11}' for wait in waits)}"
            f"{report.preemptions:>11}"
        )
    return "\n".join(lines)


def _waits(report: Report) -> Sequence[str]:
    lines = [f"{'wait by GPUs':<14}{'jobs':>9}{'mean':>12}{'p50':>12}{'p95':>12}{'p99':>12}"]
    for name, waits in report.waits.items():
        shown = (waits.mean, waits.p50, waits.p95, waits.p99)
        cells = "".join(f"{_span(value):>12}" for value in shown)
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
