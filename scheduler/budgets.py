"""Priority budgets: so that not everything is urgent, a team may have so many GPUs of a class.

What runs and what waits counts alike, in the class that it has. A request beyond the budget of the
class it asks for gets the next lower class whose budget holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.layout import Layout
from scheduler.model import LimitKind, Priority, Refusal, TeamName, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The class that a request may have.

    `has` and `most` are the team's GPUs in the class asked for, without the request, and its
    budget there, None without one.
    """

    given: Priority
    asked: Priority
    has: int
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """GPUs that a team has in a class, running and waiting, and may have at most."""

    priority: Priority
    has: int
    most: int

    @property
    def left(self) -> int:
        """What can still be asked for in it."""
        return max(0, self.most - self.has)


def budgets_of(layout: Layout, team: TeamName) -> Mapping[Priority, int]:
    """The budgets of a team; a team that the policy does not know has none."""
    return next((t.budgets for t in layout.teams if t.name == team), {})


def standing(workloads: tuple[Workload, ...], team: TeamName) -> dict[Priority, int]:
    """GPUs of a team by class."""
    found = dict.fromkeys(Priority, 0)
    for workload in workloads:
        if workload.team == team:
            found[workload.priority_class] += workload.gpus
    return found


def grade(
    layout: Layout, has: Mapping[Priority, int], team: TeamName, asked: Priority, gpus: int
) -> Grade | Refusal:
    """The highest class, from the one asked for down, whose budget holds the request.

    `has` are the GPUs of the team by class. The refusal names the lowest class.
    """
    budgets = budgets_of(layout, team)
    classes = list(Priority)
    for given in reversed(classes[: classes.index(asked) + 1]):
        most = budgets.get(given)
        if most is None or has.get(given, 0) + gpus <= most:
            return Grade(given=given, asked=asked, has=has.get(asked, 0), most=budgets.get(asked))
    lowest = classes[0]
    left = max(0, budgets[lowest] - has.get(lowest, 0))
    return Refusal(limit=LimitKind.BUDGET, where=team, asked=gpus, most=left)
