"""Who waits, in which order, and who need not be tried again yet.

Order inside a queue:
1. where the queue is ordered by usage: the team's usage, lower first;
2. in a best-effort queue, the workload that waits for its targets to leave;
3. priority, higher first;
4. creation time, older first;
5. the workload id.

What waits is kept by *shape* (equal priority, pods and requests): when one workload of a shape
finds no room, none behind it of the same shape would, so the whole shape is parked, and
newcomers of that shape with it, until capacity is released in the cohort tree.

A workload with overflow queues also stands in those, and counts there while its shape is
parked at home.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from scheduler.flavors import Menu
from scheduler.layout import Order, Queue, Strategy
from scheduler.model import FlavorName, Seconds, TeamName, Workload, WorkloadId

if TYPE_CHECKING:
    from scheduler.turns import UserLedger

Key = tuple[int, float, WorkloadId]
Score = Callable[[TeamName], float]
PodsKey = tuple[object, ...]

_EVERYONE = TeamName("")


def order_key(workload: Workload) -> Key:
    """Priority, higher first; creation, older first; id."""
    return (-workload.priority, workload.created, workload.id)


def shape_of(workload: Workload) -> PodsKey:
    """What makes two workloads equal for admission: standing, pods, requests, constraints."""
    return (
        workload.priority,
        workload.raised,
        workload.barred,
        workload.rest,
        tuple(
            (
                pods.name,
                pods.count,
                pods.min_count,
                tuple(sorted(pods.requests.items())),
                tuple(sorted(pods.node_selector.items())),
                pods.affinity,
                pods.tolerations,
                pods.topology,
            )
            for pods in workload.pod_sets
        ),
    )


class Shape:
    """Workloads of one shape in one queue. `home` is the shape they have in their home queue.

    `menu` and `pod_sets` are those of the least that the workloads would start with, `whole`
    the pod sets in full: one object for all of the shape, so that answers can be kept by it.
    `only` is set where one pod set, in full, may take one flavor, for one column of quota.
    Where a reservation holds it back, `longest` is how long a workload of the shape may run to be
    tried all the same. Who is `resting` is parked until that is over.
    """

    __slots__ = (
        "count",
        "flavors",
        "home",
        "key",
        "longest",
        "menu",
        "only",
        "parked",
        "pod_sets",
        "priority",
        "raised",
        "resting",
        "whole",
    )

    def __init__(self, key: PodsKey, home: Shape | None, menu: Menu, workload: Workload) -> None:
        self.key = key
        self.home = home
        self.menu = menu
        self.flavors = menu.flavors
        self.whole = workload.pod_sets
        self.pod_sets = tuple(
            pods if pods.min_count is None else replace(pods, count=pods.min_count)
            for pods in workload.pod_sets
        )
        self.only = menu.only if self.pod_sets == self.whole else None
        self.priority = workload.priority
        self.raised = workload.raised
        self.resting = workload.rest is not None
        self.parked = self.resting
        self.longest: Seconds | None = None
        self.count = 0

    def copy(self, home: Shape | None) -> Shape:
        """The same shape in a copy of its queue, with the copy of its home."""
        other = copy(self)
        other.home = home
        return other

    @property
    def active(self) -> bool:
        """Whether the next of this shape should be tried here."""
        return not self.parked and (self.home is None or self.home.parked)


class Line:
    """One team's waiting workloads of one shape, in order."""

    __slots__ = ("keys", "shape", "spans", "team")

    def __init__(self, team: TeamName, shape: Shape) -> None:
        self.team = team
        self.shape = shape
        self.keys: list[Key] = []
        self.spans: list[tuple[Seconds, Key]] = []

    @property
    def first(self) -> Key | None:
        """The first that should be tried; None if a reservation holds all of them back."""
        longest = self.shape.longest
        if longest is None:
            return self.keys[0]
        short = bisect_right(self.spans, longest, key=itemgetter(0))
        return min((key for _, key in self.spans[:short]), default=None)

    def copy(self, shape: Shape) -> Line:
        """The same line for the copy of its shape."""
        other = Line(self.team, shape)
        other.keys, other.spans = self.keys.copy(), self.spans.copy()
        return other


class PendingQueue:
    """The waiting side of one queue."""

    def __init__(self, queue: Queue) -> None:
        self.by_usage = queue.order is Order.USAGE
        self.strict = queue.strategy is Strategy.STRICT
        self.per_flavor = self.strict and queue.strict_per_flavor
        self.paused = False
        self.sticky: WorkloadId | None = None
        self.count = 0
        self.at_home = 0
        self.shapes: dict[tuple[PodsKey, Shape | None], Shape] = {}
        self.woken = False
        self.fresh = False
        self._first: tuple[Key, Shape] | None = None
        self._lines: dict[TeamName, dict[Shape, Line]] = {}

    def shape(self, key: PodsKey, home: Shape | None, menu: Menu, workload: Workload) -> Shape:
        """The shape object of a key, made when first seen."""
        shape = self.shapes.get((key, home))
        if shape is None:
            shape = self.shapes[key, home] = Shape(key, home, menu, workload)
        return shape

    def fork(self, twin: Callable[[Shape], Shape], users: UserLedger) -> PendingQueue:
        """An independent queue; `twin` gives the copy of a shape, `users` is for turns."""
        del users
        other = copy(self)
        other.split(twin)
        return other

    def split(self, twin: Callable[[Shape], Shape]) -> None:
        """A shallow copy stops sharing what can change."""
        self.shapes = {
            (key, None if home is None else twin(home)): twin(shape)
            for (key, home), shape in self.shapes.items()
        }
        if self._first is not None:
            self._first = (self._first[0], twin(self._first[1]))
        self._lines = {
            team: {(mine := twin(shape)): line.copy(mine) for shape, line in lines.items()}
            for team, lines in self._lines.items()
        }

    def account(self, workload: Workload) -> TeamName:
        """Who stands in line: the team, where the queue goes by usage."""
        return workload.team if self.by_usage else _EVERYONE

    def lines(self) -> Iterator[Line]:
        """All lines, in no order that counts."""
        return (line for lines in self._lines.values() for line in lines.values())

    def add(self, workload: Workload, shape: Shape, lasts: Seconds = math.inf) -> bool:
        """A workload joins, taken to run so long. Whether its shape is tried again for it."""
        team = self.account(workload)
        line = self._lines.setdefault(team, {}).setdefault(shape, Line(team, shape))
        insort(line.keys, order_key(workload))
        if lasts < math.inf:
            insort(line.spans, (lasts, order_key(workload)))
        self.fresh = False
        self.count += 1
        shape.count += 1
        self.at_home += shape.home is None
        again = shape.parked and shape.longest is not None and lasts <= shape.longest
        shape.parked = shape.parked and not again
        return again

    def remove(self, workload: Workload, shape: Shape, lasts: Seconds = math.inf) -> None:
        """A workload leaves. It must have been added with the same shape and time to run."""
        team = self.account(workload)
        lines = self._lines[team]
        keys = lines[shape].keys
        key = order_key(workload)
        at = bisect_left(keys, key)
        assert keys[at] == key, f"{workload.id} is not where it was put"  # noqa: S101 - an own bug
        del keys[at]
        if lasts < math.inf:
            spans = lines[shape].spans
            del spans[bisect_left(spans, (lasts, key))]
        self.fresh = False
        if self.sticky == workload.id:
            self.sticky = None
        self.count -= 1
        shape.count -= 1
        self.at_home -= shape.home is None
        if not keys:
            del lines[shape]
            if not lines:
                del self._lines[team]

    def head(self, score: Score) -> tuple[Key, Shape] | None:
        """The first workload that should be tried, or None while all are parked.

        Remembered until `fresh` is unset: whoever changes a score or parks a shape that is
        somebody's home does that.
        """
        if self.paused:
            return None
        if not self.fresh:
            self._first = self._head_per_flavor(score) if self.per_flavor else self._head(score)
            self.fresh = True
        return self._first

    def _head(self, score: Score) -> tuple[Key, Shape] | None:
        best: tuple[Key, Shape] | None = None
        lowest = 0.0
        for team, lines in self._lines.items():
            mine = score(team) if self.by_usage else 0.0
            if best is not None and mine > lowest:
                continue
            for shape, line in lines.items():
                if not shape.active:
                    continue
                key = line.first
                if key is None:
                    continue
                if best is None or (mine, key) < (lowest, best[0]):
                    best, lowest = (key, shape), mine
        return best if self.sticky is None else self._stick(best, lowest, score)

    def _stick(
        self, best: tuple[Key, Shape] | None, lowest: float, score: Score
    ) -> tuple[Key, Shape] | None:
        """The workload that waits for its targets, unless less usage stands before it."""
        for team, lines in self._lines.items():
            if best is None or (self.by_usage and score(team) > lowest):
                continue
            for shape, line in lines.items():
                if shape.active:
                    for key in line.keys:
                        if key[2] == self.sticky:
                            return key, shape
        return best

    def stick(self, workload: WorkloadId) -> None:
        """From now on this one comes first, in place of whoever did."""
        if not self.strict:
            self.sticky = workload
            self.fresh = False

    def _head_per_flavor(self, score: Score) -> tuple[Key, Shape] | None:
        """A strict head that waits holds back those behind it that share a flavor with it."""
        firsts = sorted(
            (
                (score(team) if self.by_usage else 0.0, line.keys[0], line)
                for team, lines in self._lines.items()
                for line in lines.values()
            ),
            key=lambda first: first[:2],
        )
        held: set[FlavorName] = set()
        for _, _, line in firsts:
            shape, first = line.shape, line.first
            if shape.resting:
                continue
            if not shape.active or first is None:
                held |= shape.flavors
            elif not held & shape.flavors:
                return first, shape
        return None

    def hold_back(self, shape: Shape, longest: Seconds) -> bool:
        """A reservation holds back all of a shape that run longer. Whether that is all it has."""
        self.fresh = False
        shape.longest = longest
        return not any(
            lines[shape].first is not None for lines in self._lines.values() if shape in lines
        )

    def unpark(self, worth: Callable[[Shape], bool]) -> None:
        """After a release (`woken`), try again whatever is worth trying.

        Shapes that nobody has any more are forgotten.
        """
        self.shapes = {key: shape for key, shape in self.shapes.items() if shape.count}
        for shape in self.shapes.values():
            if shape.parked and not shape.resting and worth(shape):
                shape.parked = False
            if not shape.parked:
                shape.longest = None
        self.woken = self.fresh = False

    def keys(self, score: Score) -> Iterator[WorkloadId]:
        """All who have their home here, in order, parked or not."""
        entries = [
            (score(team) if self.by_usage else 0.0, key)
            for team, lines in self._lines.items()
            for line in lines.values()
            if line.shape.home is None
            for key in line.keys
        ]
        entries.sort()
        return (key[2] for _, key in entries)
