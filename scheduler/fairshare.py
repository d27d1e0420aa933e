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
from copy import copy

from scheduler.layout import Layout, UsageRules
from scheduler.model import ResourceName, Seconds, TeamName, Usage
from scheduler.quantities import CPU
from scheduler.quota import Amounts, QuotaTree

_HOUR = 3600.0


class UsageLedger:
    """What every team is charged with, by resource. Without rules it stays at zero for all.

    Amounts are in base units, chips of a flavor with another weight counting that much more.
    """

    def __init__(self, layout: Layout, tree: QuotaTree) -> None:
        self.rules: UsageRules | None = layout.usage
        self._team_weights: dict[TeamName, float] = {t.name: t.weight for t in layout.teams}
        self._team_weights |= {local.team: local.weight for local in layout.local_queues}
        self.resources: tuple[ResourceName, ...] = tuple(dict.fromkeys(r for _, r in tree.pairs))
        self._rows: Sequence[int] = [self.resources.index(r) for _, r in tree.pairs]
        flavors = {flavor.name: flavor.weight for flavor in layout.flavors}
        self._chips: Sequence[float] = [flavors.get(flavor, 1.0) for flavor, _ in tree.pairs]
        self._weights: Sequence[float] = _weights(self.rules, self.resources)
        self._average: dict[TeamName, list[float]] = {
            team: [0.0] * len(self.resources) for team in self._team_weights
        }
        self._scores: dict[TeamName, float] = {}
        self._sampled: dict[TeamName, Seconds] = {}
        self._held: dict[TeamName, list[float]] = {}
        self._due: Seconds = -math.inf

    def copy(self) -> UsageLedger:
        """An independent ledger with the same use."""
        other: UsageLedger = copy(self)
        other._average = {team: average.copy() for team, average in self._average.items()}
        other._held = {team: held.copy() for team, held in self._held.items()}
        other._scores, other._sampled = self._scores.copy(), self._sampled.copy()
        return other

    def score(self, team: TeamName) -> float:
        """What orders teams: the weighted average at the last sample, over the team's weight."""
        score = self._scores.get(team)
        if score is None:
            weight = self._team_weights.get(team, 1.0)
            average = self._weigh(self._average.get(team, ()))
            score = self._scores[team] = average / weight if weight > 0 else math.inf
        return score

    def hold(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """A workload starts (or was running already) and is counted from now on."""
        self._change(team, amounts, 1, now)

    def let_go(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """A workload's use ends."""
        self._change(team, amounts, -1, now)

    def _change(self, team: TeamName, amounts: Amounts, sign: int, now: Seconds) -> None:
        if self.rules is None:
            return
        if self.rules.exact:
            self._sample(team, now)
        held = self._held.setdefault(team, [0.0] * len(self.resources))
        for column, amount in amounts:
            held[self._rows[column]] += sign * self._chips[column] * amount

    def enter(self, team: TeamName, amounts: Amounts, now: Seconds) -> None:
        """Charge the entry penalty of an admission."""
        if self.rules is None:
            return
        self._sample(team, now)
        entry = 1.0 - self._decay(self.rules.interval)
        for column, amount in amounts:
            self._average[team][self._rows[column]] += self._chips[column] * amount * entry

    def due(self, now: Seconds) -> bool:
        """Whether a sampling interval has passed since everyone was sampled."""
        return self.rules is not None and now >= self._due

    def next_sample(self) -> Seconds | None:
        """When the first team is due, one interval after its last sample."""
        if self.rules is None or not self._sampled:
            return None
        return min(self._sampled.values()) + self.rules.interval

    def sample_due(self, now: Seconds) -> None:
        """Bring the averages of those teams up to `now` whose interval has passed."""
        if self.rules is not None:
            for team in sorted({*self._average, *self._held}):
                if self._sampled.get(team, -math.inf) + self.rules.interval <= now:
                    self._sample(team, now)

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
            Usage(team=team, chip_hours=self._chip_hours(self._weigh(self._at(team, now))), at=now)
            for team in sorted({*self._average, *self._held})
        )

    def consumed(self, team: TeamName) -> Mapping[ResourceName, float]:
        """What a team was charged with at its last sample, in base units by resource."""
        return dict(zip(self.resources, self._average.get(team, ()), strict=False))

    def restore(self, usage: Usage) -> None:
        """Take over what storage remembers of a team, as if it all were of one resource."""
        if self.rules is not None:
            weight, row = max((weight, -row) for row, weight in enumerate(self._weights))
            average = [0.0] * len(self.resources)
            average[-row] = usage.chip_hours / self._chip_hours(1.0) / weight if weight else 0.0
            self._put(usage.team, average, usage.at)

    def restore_consumed(
        self, team: TeamName, amounts: Mapping[ResourceName, float], at: Seconds
    ) -> None:
        """Take over what a team was charged with, by resource."""
        self._put(team, [float(amounts.get(name, 0)) for name in self.resources], at)

    def _put(self, team: TeamName, average: list[float], at: Seconds) -> None:
        self._average[team] = average
        self._sampled[team] = at
        self._scores.pop(team, None)

    def _sample(self, team: TeamName, now: Seconds) -> None:
        self._put(team, self._at(team, now), max(now, self._sampled.get(team, now)))

    def _at(self, team: TeamName, now: Seconds) -> list[float]:
        nothing = [0.0] * len(self.resources)
        average = self._average.get(team, nothing)
        passed = now - self._sampled.get(team, now)
        if passed <= 0:
            return average
        kept = self._decay(passed)
        held = self._held.get(team, nothing)
        return [a * kept + h * (1.0 - kept) for a, h in zip(average, held, strict=True)]

    def _weigh(self, amounts: Sequence[float]) -> float:
        return sum(w * a for w, a in zip(self._weights, amounts, strict=False))

    def _decay(self, passed: Seconds) -> float:
        assert self.rules is not None  # noqa: S101 - narrows; callers have asked
        if self.rules.half_life <= 0:
            return 0.0
        return float(0.5 ** (passed / self.rules.half_life))

    def _chip_hours(self, average: float) -> float:
        assert self.rules is not None  # noqa: S101 - narrows; callers have asked
        return average * self.rules.half_life / math.log(2) / _HOUR


def _weights(rules: UsageRules | None, resources: Sequence[ResourceName]) -> list[float]:
    """The weight of one base unit of each resource; CPU is weighed by cores."""
    if rules is None:
        return [0.0] * len(resources)
    return [
        rules.weights.get(name, rules.other_weight) / (1000 if name == CPU else 1)
        for name in resources
    ]
