"""When a workload will start: the engine played forward until it does.

A forecast holds as far as the expected ends do and nobody else arrives. Where some of them
are a range, the engine is played three times: with all early, all likely and all late ends.

Playing is bounded by an `Effort`, counted in moments and starts, never in time: the same
question to the same engine has the same answer (only one who waits may be told more after
others were asked about). Whoever has not started by then is told how far was looked
(`horizon`).

Where an engine must not be held up for so long, a fork of it can be asked in its place.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scheduler.byhand import Ending
from scheduler.model import Basis, Refusal, Seconds, Workload, WorkloadId
from scheduler.offers import Offer, Search, Variant
from scheduler.standing import EngineError
from scheduler.timeline import Grain, Quarter, Timeline

if TYPE_CHECKING:
    from scheduler.engine import Engine

CONSIDERED_AT_MOST = 64
"""Answers kept for one state of the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much work playing may cost at most (see `Spent.work`), and how coarse it is."""

    work: int
    grain: Grain

    def allows(self, line: Timeline, besides: int = 0) -> bool:
        """Whether there is some left, with so much spent elsewhere."""
        return line.spent.work + besides < self.work


WAITING = Effort(work=2_400, grain=Grain(least=10.0, growth=0.02))
WAITING_VAGUE = Effort(work=800, grain=WAITING.grain)
"""In place of WAITING, of each of the three, where early and late ends are played, too."""
NEW = Effort(work=800, grain=Grain(least=60.0, growth=0.1))
VAGUE = Effort(work=300, grain=Grain(least=60.0, growth=0.1))
"""In place of NEW where early and late ends are played, too: those with ROUGH."""
ROUGH = Effort(work=60, grain=Grain(least=120.0, growth=0.2))


class Reach(enum.StrEnum):
    """How the answer came about; members are in order of certainty."""

    NOW = "now"  # it starts at once
    ENDS = "ends"  # it starts once others have ended, or have been stopped for it
    BEYOND = "beyond"  # it does not start as far as was looked
    ENDLESS = "endless"  # nothing is left that would end; some run without a known end
    STUCK = "stuck"  # nothing is left that would end, and still it does not start
    NEVER = "never"  # it could not start on an empty cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a workload starts: a range of times, each None if not within `horizon`.

    With the reason BEYOND, `low` is the time before which it does not start.
    `basis` is the least certain of the ends on the way. `horizon_hit` says that the bound of
    the work was reached before the likely start; `refusal` is set with the reason NEVER, and
    `hinge` where the likely start counts on the end of something that was set by hand.
    """

    workload: WorkloadId
    low: Seconds | None
    likely: Seconds | None
    high: Seconds | None
    basis: Basis
    reason: Reach
    horizon: Seconds
    horizon_hit: bool = False
    refusal: Refusal | None = None
    hinge: Ending | None = None


@dataclass(frozen=True, slots=True)
class Considered:
    """A workload as it is, and the changes with which it would start sooner."""

    forecast: Forecast
    offers: tuple[Offer, ...] = ()


class Forecaster:
    """Plays one engine forward, and keeps what was played while nothing happens to it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._revision = -1
        self._now: Seconds = 0.0
        self._until: Seconds | None = None
        self._bases: dict[Quarter, Timeline] = {}
        self._lines: dict[Quarter, Timeline] = {}
        self._considered: list[tuple[Workload, tuple[Variant, ...], Considered]] = []

    def forecast(self, workload: WorkloadId, now: Seconds) -> Forecast:
        """See `Engine.forecast`."""
        asked = self._engine.workload(workload)
        if asked is None or self._engine.holds(workload):
            raise EngineError(f"{workload} does not wait")
        refusal = self._engine.check(asked)
        self._refresh(now)
        if refusal is not None:
            return _never(workload, now, refusal)
        if self._engine.barred(asked, for_good=True):
            return _stuck(workload, now)

        effort = WAITING_VAGUE if self._base(Quarter.LIKELY).vague else WAITING
        lines = {Quarter.LIKELY: self._waiting(Quarter.LIKELY, workload, effort)}
        if lines[Quarter.LIKELY].vague:
            for quarter in (Quarter.LOW, Quarter.HIGH):
                lines[quarter] = self._waiting(quarter, workload, WAITING_VAGUE)
        return _read(lines, workload, effort)

    def _waiting(self, quarter: Quarter, workload: WorkloadId, effort: Effort) -> Timeline:
        """The line of those who wait, played until this one starts or as far as allowed."""
        line = self._lines.get(quarter)
        if line is None:
            line = self._lines[quarter] = self._base(quarter).branch(effort.grain)
        play(line, workload, effort)
        return line

    def consider(
        self, workload: Workload, now: Seconds, variants: Sequence[Variant] = ()
    ) -> Considered:
        """See `Engine.consider`."""
        self._refresh(now)
        for asked, with_variants, answer in self._considered:
            if asked == workload and with_variants == tuple(variants):
                return answer
        found = self._consider(workload, now, variants)
        if len(self._considered) < CONSIDERED_AT_MOST:
            self._considered.append((workload, tuple(variants), found))
        return found

    def _consider(
        self, workload: Workload, now: Seconds, variants: Sequence[Variant]
    ) -> Considered:
        refusal, barred = self._engine.check(workload), self._engine.barred(workload, for_good=True)
        base = self._base(Quarter.LIKELY)
        effort = VAGUE if base.vague else NEW
        line = base.branch(effort.grain) if barred else self._with(workload, Quarter.LIKELY, effort)
        dear = line.spent.work >= ROUGH.work  # then early and late ends would not be played on
        if workload.id in line.started:
            return Considered(_read({Quarter.LIKELY: line}, workload.id, effort))
        possible = [v for v in variants if not self._engine.barred(v.workload, for_good=True)]
        search = Search(base, line, workload, possible, effort.work)
        while search.goes_on() and effort.allows(line, search.spent):
            search.look()
            if not search.goes_on() or not line.step():
                break
        if refusal is not None:
            return Considered(_never(workload.id, now, refusal), search.offers())
        if barred:
            return Considered(_stuck(workload.id, now), search.offers())
        lines = {Quarter.LIKELY: line}
        effort = replace(effort, work=effort.work - search.spent)
        play(line, workload.id, effort)
        if line.vague:
            for quarter in (Quarter.LOW, Quarter.HIGH):
                if dear:
                    lines[quarter] = self._base(quarter)
                    continue
                lines[quarter] = self._with(workload, quarter, ROUGH)
                play(lines[quarter], workload.id, ROUGH)
        return Considered(_read(lines, workload.id, effort), search.offers())

    def _with(self, workload: Workload, quarter: Quarter, effort: Effort) -> Timeline:
        """The engine with a workload in it, which may be waiting already."""
        line = self._base(quarter).branch(effort.grain)
        if line.engine.workload(workload.id) is None:
            line.submit(workload)
        return line

    def _refresh(self, now: Seconds) -> None:
        """Forget what was played, if anything happened since or was to happen by now."""
        until = self._until
        unhappened = now == self._now or (until is not None and self._now < now < until)
        if self._revision != self._engine.revision or not unhappened:
            self._bases, self._lines, self._considered = {}, {}, []
            self._revision, self._now = self._engine.revision, now
            self._until = self._base(Quarter.LIKELY).next_at()

    def _base(self, quarter: Quarter) -> Timeline:
        """The engine as it stands, decided; not to be played itself."""
        base = self._bases.get(quarter)
        if base is not None:
            return base
        if quarter is Quarter.LIKELY:
            base = Timeline(self._engine.fork(learns=False), self._now, WAITING.grain)
        else:
            likely = self._base(Quarter.LIKELY)
            if likely.known is None:
                likely.known = likely.departures()
            fork = likely.engine.fork(brief=True)
            base = Timeline(fork, self._now, WAITING.grain, quarter, likely.known)
            base.started |= likely.started
        self._bases[quarter] = base
        return base


def play(line: Timeline, wanted: WorkloadId, effort: Effort) -> None:
    """Forward until it starts, nothing happens any more, or the effort is spent."""
    while wanted not in line.started and effort.allows(line):
        if not line.step():
            return


def _never(workload: WorkloadId, now: Seconds, refusal: Refusal) -> Forecast:
    return replace(_stuck(workload, now), reason=Reach.NEVER, refusal=refusal)


def _stuck(workload: WorkloadId, now: Seconds) -> Forecast:
    return Forecast(
        workload=workload,
        low=None,
        likely=None,
        high=None,
        basis=Basis.UNKNOWN,
        reason=Reach.STUCK,
        horizon=now,
    )


def _read(lines: Mapping[Quarter, Timeline], workload: WorkloadId, effort: Effort) -> Forecast:
    """What was seen of one in the lines that were played."""
    line = lines[Quarter.LIKELY]
    start = line.started.get(workload)
    early = lines.get(Quarter.LOW, line).started.get(workload, start)
    late = lines.get(Quarter.HIGH, line).started.get(workload)
    if start is None:
        spent = not effort.allows(line)
        dry = Reach.ENDLESS if line.endless else Reach.STUCK
        not_before = lines.get(Quarter.LOW, line).now if spent else None
        return Forecast(
            workload=workload,
            low=not_before if early is None else early.after,
            likely=None,
            high=None,
            basis=Basis.UNKNOWN if early is None else lines[Quarter.LOW].basis_at(early.by),
            reason=Reach.BEYOND if spent else dry,
            horizon=line.now,
            horizon_hit=spent,
        )
    assert early is not None  # noqa: S101 - at the latest, that of the line itself
    return Forecast(
        workload=workload,
        low=min(early.after, start.after),
        likely=start.likely,
        high=None if late is None else max(late.by, start.by),
        basis=line.basis_at(start.by),
        reason=Reach.NOW if start.by <= line.began else Reach.ENDS,
        horizon=line.now,
        hinge=start.hinge,
    )
