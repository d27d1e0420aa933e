"""A report as a PNG: use over time, waits by pool, GPU-hours by team.

What a mark means shows twice, by colour and by line or hatching. Each picture has a figure of
its own and draws on the Agg canvas; the same view gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import io
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bot.asks import Period
from bot.chat.markup import plain
from bot.chat.picture import DPI, DRAWING, INK
from bot.chat.words import Words
from bot.reports import Account, Point, ReportView

WIDTH = 1100
MOST_BARS = 12
BLUE, ORANGE, GREY = "#1f6fb2", "#d95f02", "#8c8c8c"
_TICKS = {
    Period.DAY: (4 * 3600, "%H:%M"),
    Period.WEEK: (86400, "%m-%d"),
    Period.MONTH: (5 * 86400, "%m-%d"),
}
_STEPS = (1, 10, 60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000)
MOST_TICKS = 8
ROOM = 1.12  # of the longest bar: its figure stands at its end
_ROW = 34  # pixels of a bar with its neighbours


def draw_report(view: ReportView, words: Words) -> bytes:
    """The PNG of a report."""
    pools = [one for one in view.pools if one.waits.starts][:MOST_BARS]
    teams = [one for one in view.teams if one.gpu_hours or one.entitled][:MOST_BARS]
    heights = [300, 110 + _ROW * max(1, len(pools)), 110 + _ROW * max(1, len(teams))]
    with DRAWING:
        figure = Figure(
            figsize=(WIDTH / DPI, sum(heights) / DPI),
            dpi=DPI,
            facecolor="white",
            layout="constrained",
        )
        FigureCanvasAgg(figure)
        use, waits, hours = figure.subplots(3, 1, height_ratios=heights)
        _draw_use(use, view, words)
        _draw_waits(waits, pools, words)
        _draw_hours(hours, teams, words)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
        return out.getvalue()


def _head(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=10, colors=INK)


def _draw_use(axes: Axes, view: ReportView, words: Words) -> None:
    _head(axes, words.plot_use_title)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
    axes.set_xlim(_day(view.since), _day(view.until))
    if not view.points:
        _say_nothing(axes, words)
        return
    for number, run in enumerate(_runs(view.points)):
        at = [_day(point.at) for point in run]
        label = number == 0
        axes.plot(
            at, [p.used for p in run], color=BLUE, linewidth=1.8,
            label=words.plot_use if label else None, marker="." if len(run) == 1 else None,
        )  # fmt: skip
        axes.plot(
            at, [p.stranded for p in run], color=ORANGE, linewidth=1.8, linestyle=(0, (4, 2)),
            label=words.plot_stranded if label else None, marker="." if len(run) == 1 else None,
        )  # fmt: skip
    _dates(axes, view)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="upper right", fontsize=10, ncols=2, frameon=False, bbox_to_anchor=(1.0, 1.18))


def _dates(axes: Axes, view: ReportView) -> None:
    """Ticks on whole hours or days, in UTC."""
    step, form = _TICKS[view.period]
    first = math.ceil(view.since / step)
    ticks = [number * step for number in range(first, math.floor(view.until / step) + 1)]
    names = [dt.datetime.fromtimestamp(at, dt.UTC).strftime(form) for at in ticks]
    axes.set_xticks([_day(at) for at in ticks], names)


def _runs(points: Sequence[Point]) -> list[list[Point]]:
    """Stretches without a gap."""
    runs: list[list[Point]] = []
    for point in points:
        if not runs or not point.joined:
            runs.append([])
        runs[-1].append(point)
    return runs


def _draw_waits(axes: Axes, pools: Sequence[Account], words: Words) -> None:
    _head(axes, words.plot_waits_title)
    if not pools:
        _say_nothing(axes, words)
        return
    rows = range(len(pools))
    longest = max(max(pool.waits.p95, 1.0) for pool in pools)
    for shift, waited, colour, hatch, label in (
        (-0.2, [pool.waits.p50 for pool in pools], BLUE, "", words.plot_half),
        (0.2, [pool.waits.p95 for pool in pools], "#b9d4ec", "///", words.plot_most),
    ):
        bars = axes.barh(
            [row + shift for row in rows], waited, height=0.36, color=colour, hatch=hatch,
            edgecolor=BLUE, linewidth=0.8, label=label,
        )  # fmt: skip
        axes.bar_label(bars, [words.plot_span(one) for one in waited], padding=4, fontsize=9)
    _rows(axes, [pool.name for pool in pools], longest)
    step = next((one for one in _STEPS if longest / one <= MOST_TICKS), _STEPS[-1])
    ticks = [number * step for number in range(int(longest * ROOM // step) + 1)]
    axes.set_xticks(ticks, [words.plot_span(at) for at in ticks])
    axes.legend(loc="upper right", fontsize=10, ncols=2, frameon=False, bbox_to_anchor=(1.0, 1.2))


def _draw_hours(axes: Axes, teams: Sequence[Account], words: Words) -> None:
    _head(axes, words.plot_hours_title)
    if not teams:
        _say_nothing(axes, words)
        return
    rows = range(len(teams))
    used = [team.gpu_hours for team in teams]
    bars = axes.barh(rows, used, height=0.55, color=BLUE, label=words.plot_used)
    axes.bar_label(bars, [words.plot_hours(one) for one in used], padding=4, fontsize=9)
    own = [(row, team.entitled) for row, team in zip(rows, teams, strict=True) if team.entitled]
    if own:
        axes.plot(
            [hours for _, hours in own], [row for row, _ in own], linestyle="none", marker="|",
            markersize=22, markeredgewidth=2.6, color=ORANGE, label=words.plot_entitled,
        )  # fmt: skip
    _rows(axes, [team.name for team in teams], max([*used, *(hours for _, hours in own), 1.0]))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda hours, _: words.plot_hours(hours)))
    axes.legend(loc="upper right", fontsize=10, ncols=2, frameon=False, bbox_to_anchor=(1.0, 1.2))


def _rows(axes: Axes, names: Sequence[str], longest: float) -> None:
    """Names down the side, the first on top, with room for the figures at the bars' ends."""
    axes.set_yticks(range(len(names)), [plain(name, 28) for name in names], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, longest * ROOM)


def _say_nothing(axes: Axes, words: Words) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5, 0.5, words.plot_nothing, transform=axes.transAxes, ha="center", va="center",
        color=GREY, fontsize=12,
    )  # fmt: skip


def _day(at: float) -> float:
    """A moment in days since the epoch: small numbers that do not lose their minutes."""
    return at / 86400.0
