"""Decayed usage per team: who used much lately stands behind who used little.

Held chips are averaged with a half-life: over a time d in which a team holds c chips,
`average <- average * k + c * (1 - k)` with `k = 0.5 ** (d / half_life)`; this is the update
of Kueue's usage-based admission. The same number in chip-hours (use since ever, each hour
halved per half-life) is the average times half_life / ln 2.

At admission a team is charged an entry penalty, the average that the new workload would
cause in one sampling interval, so that two requests of one team in the same instant do not
both go by the old number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scheduler.layout import Layout, UsageRules
from scheduler.model import Seconds, TeamName, Usage
from scheduler.quota import Amounts, QuotaTree

_HOUR = 3600.0


class UsageLedger:
    """Chip-hours of every team. Without rules it stays at zero for all."""

    def __init__(self, layout: Layout, tree: QuotaTree) -> None:
        self.rules: UsageRules | None = layout.usage
        self._team_weights: Mapping[TeamName, float] = {t.name: t.weight for t in layout.teams}
        self._column_weights: Sequence[float] = _column_weights(layout, tree)
        self._average: dict[TeamName, float] = {t.name: 0.0 for t in layout.teams}
        self._sampled: dict[TeamName, Seconds] = {}
        self._held: dict[TeamName, list[int]] = {}
        self._due: Seconds = -math.inf

    def score(self, team: TeamName) -> float:
        """What orders teams: the average at the last sample, over the team's weight."""
        average = self._average.get(team, 0.0)
        weight = self._team_weights.get(team, 1.0)
        return average / weight if weight > 0 else math.inf

    def hold(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """A workload starts (or was running already) and is counted from now on."""
        if self.rules is None:
            return
        if self.rules.exact:
            self._sample(team, now)
        held = self._held.setdefault(team, [0] * len(self._column_weights))
        for column, amount in amounts:
            held[column] += amount

    def let_go(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """A workload's use ends."""
        if self.rules is None:
            return
        if self.rules.exact:
            self._sample(team, now)
        for column, amount in amounts:
            self._held[team][column] -= amount

    def enter(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """Charge the entry penalty of an admission."""
        if self.rules is None:
            return
        self._sample(team, now)
        chips = sum(self._column_weights[column] * amount for column, amount in amounts)
        self._average[team] += chips * (1.0 - self._decay(self.rules.interval))

    def due(self, now: Seconds) -> bool:
        """Whether a sampling interval has passed since everyone was sampled."""
        return self.rules is not None and now >= self._due

    def sample(self, now: Seconds) -> tuple[Usage, ...]:
        """Bring every team's average up to `now`."""
        if self.rules is None:
            return ()
        for team in sorted({*self._average, *self._held}):
            self._sample(team, now)
        self._due = now + self.rules.interval
        return self.report(now)

    def report(self, now: Seconds) -> tuple[Usage, ...]:
        """Chip-hours as of `now`, by team name; changes nothing."""
        return tuple(
            Usage(team=team, chip_hours=self._chip_hours(self._at(team, now)), at=now)
            for team in sorted({*self._average, *self._held})
        )

    def restore(self, usage: Usage) -> None:
        """Take over what storage remembers of a team."""
        if self.rules is not None:
            self._average[usage.team] = usage.chip_hours / self._chip_hours(1.0)
            self._sampled[usage.team] = usage.at

    def _sample(self, team: TeamName, now: Seconds) -> None:
        self._average[team] = self._at(team, now)
        self._sampled[team] = max(now, self._sampled.get(team, now))

    def _at(self, team: TeamName, now: Seconds) -> float:
        average = self._average.get(team, 0.0)
        passed = now - self._sampled.get(team, now)
        if passed <= 0:
            return average
        kept = self._decay(passed)
        held = self._held.get(team, ())
        chips = sum(w * h for w, h in zip(self._column_weights, held, strict=False))
        return average * kept + chips * (1.0 - kept)

    def _decay(self, passed: Seconds) -> float:
        assert self.rules is not None  # noqa: S101 - narrows; callers have asked
        if self.rules.half_life <= 0:
            return 0.0
        return float(0.5 ** (passed / self.rules.half_life))

    def _chip_hours(self, average: float) -> float:
        assert self.rules is not None  # noqa: S101 - narrows; callers have asked
        return average * self.rules.half_life / math.log(2) / _HOUR


def _column_weights(layout: Layout, tree: QuotaTree) -> list[float]:
    if layout.usage is None:
        return [0.0] * tree.width
    flavors = {flavor.name: flavor.weight for flavor in layout.flavors}
    rules = layout.usage
    return [
        rules.weights.get(resource, rules.other_weight) * flavors.get(flavor, 1.0)
        for flavor, resource in tree.pairs
    ]
