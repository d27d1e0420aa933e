"""Which flavor each resource of a pod set gets.

What does not depend on use (which flavors a pod set may take at all, and how much of each
column of the quota tree it would need there) is worked out once per queue and shape: a
`Menu`. `assign` then goes through the flavors in the queue's order with Kueue's rules
(`flavorassigner.go`): the search stops early where the queue's fungibility allows it, else
the best mode wins, then the lower borrowing level, then the earlier flavor.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scheduler.layout import Flavor, Layout, Preference, Queue, Search
from scheduler.model import FlavorName, PodSet, ResourceName, Workload
from scheduler.quota import QuotaTree
from scheduler.topology import tolerates


class Mode(enum.IntEnum):
    """How a flavor can serve a request, worse to better."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


@dataclass(frozen=True, slots=True)
class Option:
    """One flavor for one resource group of one pod set: (column, amount for all its pods)."""

    flavor: FlavorName
    amounts: tuple[tuple[int, int], ...]
    resources: tuple[ResourceName, ...]


@dataclass(frozen=True, slots=True)
class Menu:
    """Per pod set, per resource group: the flavors it may take, in order.

    `uncovered` is a resource that no group of the queue covers, if that is forbidden.
    """

    groups: tuple[tuple[tuple[Option, ...], ...], ...]
    uncovered: ResourceName | None = None

    @property
    def impossible(self) -> bool:
        """Whether some pod set can take no flavor at all."""
        return self.uncovered is not None or any(
            not options for groups in self.groups for options in groups
        )

    @property
    def flavors(self) -> frozenset[FlavorName]:
        """Every flavor on the menu."""
        return frozenset(o.flavor for groups in self.groups for options in groups for o in options)


@dataclass(slots=True)
class Assignment:
    """A flavor for everything, how well that works, and what it takes of each column."""

    mode: Mode = Mode.FIT
    level: int = 0
    flavors: list[dict[ResourceName, FlavorName]] = field(default_factory=list)
    amounts: dict[int, int] = field(default_factory=dict)
    short: set[int] = field(default_factory=set)


Oracle = Callable[[int, int], tuple[Mode, int]]
"""(column, amount) -> what preemption could do for it, and the borrowing level afterwards."""


def menu(layout: Layout, tree: QuotaTree, queue: Queue, workload: Workload) -> Menu:
    """Work out what a workload of this shape may take in a queue. Static, so worth keeping."""
    uncovered = None
    sets = []
    columns = tree.columns
    with_levels = [f for g in queue.groups for f in g.flavors if layout.flavor(f).levels]
    all_levels = len(with_levels) == sum(len(g.flavors) for g in queue.groups)
    for pods in workload.pod_sets:
        wanted = {name: amount * pods.count for name, amount in pods.requests.items() if amount}
        groups = []
        for group in queue.groups:
            taken = tuple(name for name in group.resources if name in wanted)
            if not taken:
                continue
            groups.append(
                tuple(
                    Option(
                        flavor=name,
                        amounts=tuple((columns[name, r], wanted[r]) for r in taken),
                        resources=taken,
                    )
                    for name in group.flavors
                    if admits(layout.flavor(name), pods, all_levels=all_levels)
                )
            )
        covered = {name for group in queue.groups for name in group.resources}
        if not layout.options.ignore_uncovered:
            uncovered = next((n for n in sorted(wanted) if n not in covered), uncovered)
        elif wanted and not groups:
            uncovered = min(wanted)
        sets.append(tuple(groups))
    return Menu(groups=tuple(sets), uncovered=uncovered)


def admits(flavor: Flavor, pods: PodSet, *, all_levels: bool) -> bool:
    """Whether a flavor's taints, labels and topology let these pods in.

    Of the node selector only the label keys count that the flavor carries; the others are
    looked at node by node.
    """
    tolerations = (*pods.tolerations, *flavor.tolerations)
    if not all(tolerates(tolerations, taint) for taint in flavor.taints):
        return False
    for key, value in pods.node_selector.items():
        if flavor.node_labels.get(key, value) != value:
            return False
    asked = pods.topology
    if asked is None:
        return all_levels or not flavor.levels
    return bool(flavor.levels) and (asked.level is None or asked.level in flavor.levels)


@dataclass(frozen=True, slots=True)
class Desk:
    """What one search needs to know of its queue: its number, the tree and its use."""

    tree: QuotaTree
    usage: list[int]
    number: int
    queue: Queue
    oracle: Oracle

    def rate(self, column: int, amount: int) -> tuple[Mode, int]:
        """Mode and borrowing level of one column for `amount` in all."""
        tree, usage, number = self.tree, self.usage, self.number
        cell = number * tree.width + column
        if amount > tree.potential[cell]:
            return Mode.NO_FIT, 0
        level, reclaimable = tree.borrow_level(usage, number, column, amount)
        if amount <= tree.available(usage, number, column):
            return Mode.FIT, level
        if amount <= tree.nominal[cell] or reclaimable or self.queue.borrow_within is not None:
            return self.oracle(column, amount)
        return Mode.NO_FIT, level


def assign(desk: Desk, choices: Menu) -> Assignment:
    """Choose flavors for all pod sets. The mode is NO_FIT as soon as one group has none."""
    result = Assignment()
    if choices.impossible:
        result.mode = Mode.NO_FIT
        return result
    for groups in choices.groups:
        picked: dict[ResourceName, FlavorName] = {}
        for options in groups:
            mode, level, option, short = _search(desk, options, result.amounts)
            result.mode = min(result.mode, mode)
            result.level = max(result.level, level)
            result.short |= short
            for column, amount in option.amounts:
                result.amounts[column] = result.amounts.get(column, 0) + amount
            picked.update(dict.fromkeys(option.resources, option.flavor))
        result.flavors.append(picked)
        if result.mode is Mode.NO_FIT:
            break
    return result


def _search(
    desk: Desk, options: tuple[Option, ...], earlier: Mapping[int, int]
) -> tuple[Mode, int, Option, set[int]]:
    """The flavor for one group, given what earlier pod sets of the workload take."""
    best: tuple[tuple[int, int, int], Mode, int, Option, set[int]] | None = None
    rules = desk.queue.fungibility
    for option in options:
        mode, level, short = Mode.FIT, 0, set[int]()
        for column, amount in option.amounts:
            one, height = desk.rate(column, amount + earlier.get(column, 0))
            if one is not Mode.FIT:
                short.add(column)
            mode, level = min(mode, one), max(level, height)
            if mode is Mode.NO_FIT:
                break
        if _stops(mode, level, rules.when_can_borrow, rules.when_can_preempt):
            return mode, level, option, short
        if rules.preference is Preference.PREEMPTION_OVER_BORROWING and mode > Mode.NO_CANDIDATES:
            rank = (int(Mode.FIT), -level, int(mode))
        else:
            rank = (int(mode), -level, 0)
        if best is None or rank > best[0]:
            best = (rank, mode, level, option, short)
    assert best is not None  # noqa: S101 - a menu without options is caught before
    return best[1:]


def _stops(mode: Mode, level: int, borrow: Search, preempt: Search) -> bool:
    if mode <= Mode.NO_CANDIDATES:
        return False
    if mode in (Mode.PREEMPT, Mode.RECLAIM) and preempt is Search.TRY_NEXT:
        return False
    return not (level > 0 and borrow is Search.TRY_NEXT)
