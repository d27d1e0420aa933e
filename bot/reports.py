"""What a period came to, from the usage ledger and the samples: sums that anybody can check."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from bot.asks import Period
from scheduler.model import Seconds
from storage.accounts import Gauge, Grant, Outcome
from storage.records import Estimate

MOST_PEOPLE = 10
MOST_POINTS = 400  # of a line in a plot; more would not be seen
_HOUR = 3600.0
LENGTHS: Mapping[Period, Seconds] = {
    Period.DAY: 86400.0,
    Period.WEEK: 7 * 86400.0,
    Period.MONTH: 30 * 86400.0,
}
"""How far each report looks back."""
_SHORT = 600.0  # seconds; the estimates of shorter mean waits are judged by the clock alone
_GAP = 1800.0  # seconds without a sample that are a gap in a line, not a slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How long those waited who started in a period; seconds. All zero if nobody did."""

    starts: int = 0
    p50: float = 0.0
    p95: float = 0.0
    longest: float = 0.0

    @staticmethod
    def of(waited: Iterable[float]) -> Waits:
        """The figures of some waits; percentiles by the nearest rank."""
        ranked = sorted(waited)
        if not ranked:
            return Waits()
        return Waits(
            starts=len(ranked),
            p50=_percentile(ranked, 0.5),
            p95=_percentile(ranked, 0.95),
            longest=ranked[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One team, pool or person in a period. `share` is its part of all GPU-hours, 0 to 1.

    `entitled` are the GPU-hours of its own quota in the period; 0 for who has none.
    """

    name: str
    gpu_hours: float
    share: float
    waits: Waits
    preempted: int
    entitled: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The cluster at a moment: parts of all GPUs that were in use, and stranded; 0 to 1.

    `joined` is false after a gap, where nobody looked.
    """

    at: float
    used: float
    stranded: float
    joined: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """How good the expected starts were of what started in a period.

    `error` is the median in seconds; `relative` all errors together over all waits, so that a
    few seconds off an instant start weigh nothing, and None where those waited minutes only, of
    which no share says anything. `late` of `count` started later than the whole range that was
    named.
    """

    count: int
    error: float
    relative: float | None
    late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """`/gpu report`: a period in figures. Times are epoch seconds; `team` if it is about one.

    `since` is later than the period's begin where nothing is known of what was before.

    `utilisation` and `fragmentation` are means over the samples, None without any.
    """

    period: Period
    since: float
    until: float
    team: str | None
    utilisation: float | None
    fragmentation: float | None
    points: tuple[Point, ...]
    gpu_hours: float
    waits: Waits
    pools: tuple[Account, ...]
    teams: tuple[Account, ...]
    people: tuple[Account, ...]
    spends: tuple[Account, ...]
    preemptions: int
    lost: int
    starvations: int
    interventions: int
    guess: Guess | None = None
    guesses: Mapping[str, Guess] = field(default_factory=dict)
    """The same by pool, in the order of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entitled:
    """GPUs of the own quota of pools and teams, in the policy's order."""

    pools: Mapping[str, int]
    teams: Mapping[str, int]


def accounts(
    grants: Sequence[Grant],
    name: Callable[[Grant], str],
    since: dt.datetime,
    until: dt.datetime,
    entitled: Mapping[str, int] | None = None,
) -> tuple[Account, ...]:
    """GPU-hours, waits and preemptions by a name: who is entitled in that order, then by name.

    Quota counts from `since` on, as use does: see `known_since`.
    """
    owned = entitled or {}
    hours: dict[str, float] = defaultdict(float)
    waited: dict[str, list[float]] = defaultdict(list)
    preempted: dict[str, int] = defaultdict(int)
    handed = handed_over(grants)
    for grant in grants:
        one = name(grant)
        hours[one] += grant.hours(since, until)
        if since <= grant.begun < until and grant not in handed:
            waited[one].append(grant.waited)
        if grant.outcome is Outcome.PREEMPTED and _ended_in(grant, since, until):
            preempted[one] += 1
    total = sum(hours.values())
    length = (until - since).total_seconds() / _HOUR
    named = [*owned, *sorted(hours.keys() - owned.keys())]
    return tuple(
        Account(
            name=one,
            gpu_hours=hours[one],
            share=hours[one] / total if total else 0.0,
            waits=Waits.of(waited[one]),
            preempted=preempted[one],
            entitled=owned.get(one, 0) * length,
        )
        for one in named
    )


def known_since(
    gauges: Sequence[Gauge], grants: Sequence[Grant], begin: dt.datetime
) -> dt.datetime:
    """From when on a period is known: its begin, or the first sample or grant after that."""
    seen = [one.at for one in gauges[:1]] + [one.begun for one in grants]
    return max(begin, min(seen, default=begin))


def most(found: Iterable[Account], limit: int = MOST_PEOPLE) -> tuple[Account, ...]:
    """The accounts with most GPU-hours, most first, then by name."""
    return tuple(sorted(found, key=lambda one: (-one.gpu_hours, one.name))[:limit])


def all_waits(grants: Sequence[Grant], since: dt.datetime, until: dt.datetime) -> Waits:
    """The waits of everything that started in a period."""
    handed = handed_over(grants)
    return Waits.of(g.waited for g in grants if since <= g.begun < until and g not in handed)


def handed_over(grants: Sequence[Grant]) -> frozenset[Grant]:
    """Grants that go on where another part of the same ended: nobody waited for them."""
    parts = {(one.decision, one.ended) for one in grants if one.outcome is Outcome.GIVEN}
    return frozenset(one for one in grants if (one.decision, one.begun) in parts)


def count_ends(
    grants: Sequence[Grant], outcome: Outcome, since: dt.datetime, until: dt.datetime
) -> int:
    """How many grants ended in a period in some way."""
    return sum(g.outcome is outcome and _ended_in(g, since, until) for g in grants)


def judge(estimates: Sequence[Estimate]) -> Guess | None:
    """How good the estimates were of what started in a period; None if none named a time."""
    errors, waited, late = [], 0.0, 0
    for one in estimates:
        if one.error is None or one.started is None:
            continue
        errors.append(abs(one.error))
        waited += max(0.0, (one.started - one.at).total_seconds())
        late += one.high is not None and one.started > one.high
    if not errors:
        return None
    return Guess(
        count=len(errors),
        error=median(errors),
        relative=sum(errors) / waited if waited >= _SHORT * len(errors) else None,
        late=late,
    )


def judge_pools(estimates: Sequence[Estimate]) -> dict[str, Guess]:
    """How good the estimates of each pool were that has some, by its name."""
    pools: dict[str, list[Estimate]] = {}
    for one in estimates:
        pools.setdefault(one.pool, []).append(one)
    judged = ((pool, judge(pools[pool])) for pool in sorted(pools))
    return {pool: guess for pool, guess in judged if guess is not None}


def curve(gauges: Sequence[Gauge]) -> tuple[Point, ...]:
    """Use and fragmentation over time, thinned evenly to what a plot can show."""
    step = max(1, -(-len(gauges) // MOST_POINTS))
    points: list[Point] = []
    before: float | None = None
    for start in range(0, len(gauges), step):
        some = [gauge for gauge in gauges[start : start + step] if gauge.gpus]
        if not some:
            continue
        at = some[0].at.timestamp()
        points.append(
            Point(
                at=at,
                used=fmean(gauge.used / gauge.gpus for gauge in some),
                stranded=fmean(gauge.stranded / gauge.gpus for gauge in some),
                joined=before is None or at - before <= _GAP * step,
            )
        )
        before = at
    return tuple(points)


def mean(gauges: Sequence[Gauge], part: Callable[[Gauge], int]) -> float | None:
    """The mean over samples of a part of all GPUs, 0 to 1; None without samples."""
    found = [part(gauge) / gauge.gpus for gauge in gauges if gauge.gpus]
    return fmean(found) if found else None


def _ended_in(grant: Grant, since: dt.datetime, until: dt.datetime) -> bool:
    return grant.ended is not None and since <= grant.ended < until


def _percentile(ranked: Sequence[float], part: float) -> float:
    return ranked[max(0, -(-len(ranked) * round(part * 100) // 100) - 1)]
