"""Which flavor each resource of a pod set gets.

What does not depend on use (which flavors a pod set may take at all, and how much of each
column of the quota tree it would need there) is worked out once per queue and shape: a
`Menu`. `assign` then goes through the flavors in the queue's order with Kueue's rules
(`flavorassigner.go`): the search stops early where the queue's fungibility allows it, else
the best mode wins, then the lower borrowing level, then the earlier flavor.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler.layout import Flavor, Layout, Preference, Queue, Reclaim, Search
from scheduler.matching import meets, tolerates
from scheduler.model import FlavorName, PodSet, ResourceName, WaitReason, Workload
from scheduler.quota import QuotaTree


class Mode(enum.IntEnum):
    """How a flavor can serve a request, worse to better."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


@dataclass(frozen=True, slots=True)
class Option:
    """One flavor for one resource group of one pod set: (column, amount for all its pods).

    `index` is its place among all flavors of the group, `last` whether none comes after it.
    """

    flavor: FlavorName
    amounts: tuple[tuple[int, int], ...]
    resources: tuple[ResourceName, ...]
    index: int
    last: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """Per pod set, per resource group: the flavors it may take, in order.

    Pod sets that are placed together choose together: `leaders` names for each pod set the
    first of its group, whose entry counts for all of them (without leaders, each for itself).
    `uncovered` is a resource that no group of the queue covers, if that is forbidden.
    """

    groups: tuple[tuple[tuple[Option, ...], ...], ...]
    leaders: tuple[int, ...] = ()
    uncovered: ResourceName | None = None

    @property
    def impossible(self) -> bool:
        """Whether some pod set can take no flavor at all."""
        return self.uncovered is not None or any(
            not options for groups in self.groups for options in groups
        )

    @property
    def only(self) -> Option | None:
        """The one option for the one column that is asked for, where there is no other."""
        options = [o for groups in self.groups for options in groups for o in options]
        if self.uncovered is not None or len(self.groups) != 1 or len(options) != 1:
            return None
        single = options[0].last and not options[0].index and len(options[0].amounts) == 1
        return options[0] if single and len(self.groups[0]) == 1 else None

    @property
    def flavors(self) -> frozenset[FlavorName]:
        """Every flavor on the menu."""
        return frozenset(o.flavor for groups in self.groups for options in groups for o in options)

    def narrowed(self, flavors: Sequence[Mapping[ResourceName, FlavorName]]) -> Menu:
        """The same menu with only these flavors, by pod set."""
        groups = tuple(
            tuple(tuple(o for o in options if o.flavor in set(chosen.values())) for options in one)
            for one, chosen in zip(self.groups, flavors, strict=False)
        )
        return replace(self, groups=groups)


Tried = tuple[tuple[int, ...], ...]
"""Per pod set, per resource group: the flavor at which the next search begins."""


@dataclass(slots=True)
class Assignment:
    """A flavor for everything, how well that works, and what it takes of each column."""

    mode: Mode = Mode.FIT
    level: int = 0
    flavors: list[dict[ResourceName, FlavorName]] = field(default_factory=list)
    amounts: dict[int, int] = field(default_factory=dict)
    per_set: list[tuple[int, ...]] = field(default_factory=list)
    short: set[int] = field(default_factory=set)
    tried: list[tuple[int, ...]] = field(default_factory=list)
    reason: WaitReason = WaitReason.QUOTA

    @property
    def unfinished(self) -> bool:
        """Whether the search stopped early and has flavors left to try."""
        return any(start for starts in self.tried for start in starts)


Oracle = Callable[[int, int], tuple[Mode, int]]
"""(column, amount) -> what preemption could do for it, and the borrowing level afterwards."""


def menu(
    layout: Layout,
    tree: QuotaTree,
    queue: Queue,
    workload: Workload,
    counts: tuple[int, ...] | None = None,
) -> Menu:
    """Work out what a workload of this shape may take in a queue, with `counts` pods (all).

    Static, so worth keeping.
    """
    counts = counts or tuple(pods.count for pods in workload.pod_sets)
    leaders = _leaders(workload.pod_sets)
    with_levels = [f for g in queue.groups for f in g.flavors if layout.flavor(f).levels]
    all_levels = len(with_levels) == sum(len(g.flavors) for g in queue.groups)
    covered = {name for group in queue.groups for name in group.resources}
    uncovered = None
    sets: list[tuple[tuple[Option, ...], ...]] = []
    for number in range(len(workload.pod_sets)):
        together = [i for i, leader in enumerate(leaders) if leader == number]
        wanted: dict[ResourceName, int] = {}
        for i in together:
            for name, amount in workload.pod_sets[i].requests.items():
                if amount:
                    wanted[name] = wanted.get(name, 0) + amount * counts[i]
        pod_sets = [workload.pod_sets[i] for i in together]

        def fits(name: FlavorName, pod_sets: list[PodSet] = pod_sets) -> bool:
            flavor = layout.flavor(name)
            return all(admits(flavor, pods, all_levels=all_levels) for pods in pod_sets)

        groups = _groups(tree, queue, wanted, fits)
        if not layout.options.ignore_uncovered:
            uncovered = next((n for n in sorted(wanted) if n not in covered), uncovered)
        elif wanted and not groups:
            uncovered = min(wanted)
        sets.append(groups)
    return Menu(groups=tuple(sets), leaders=leaders, uncovered=uncovered)


def _leaders(pod_sets: tuple[PodSet, ...]) -> tuple[int, ...]:
    """For each pod set the first of those with which it is placed together."""
    first: dict[str, int] = {}
    return tuple(
        first.setdefault(pods.topology.group, number)
        if pods.topology is not None and pods.topology.group is not None
        else number
        for number, pods in enumerate(pod_sets)
    )


def _groups(
    tree: QuotaTree,
    queue: Queue,
    wanted: Mapping[ResourceName, int],
    fits: Callable[[FlavorName], bool],
) -> tuple[tuple[Option, ...], ...]:
    """The options of every resource group that a request touches."""
    groups = []
    for group in queue.groups:
        taken = tuple(name for name in group.resources if name in wanted)
        if taken:
            groups.append(
                tuple(
                    Option(
                        flavor=name,
                        amounts=tuple((tree.columns[name, r], wanted[r]) for r in taken),
                        resources=taken,
                        index=index,
                        last=index == len(group.flavors) - 1,
                    )
                    for index, name in enumerate(group.flavors)
                    if fits(name)
                )
            )
    return tuple(groups)


def admits(flavor: Flavor, pods: PodSet, *, all_levels: bool) -> bool:
    """Whether a flavor's taints, labels and topology let these pods in.

    Of the node selector and affinity only the label keys count that the flavor carries; the
    others are looked at node by node.
    """
    tolerations = (*pods.tolerations, *flavor.tolerations)
    if not all(tolerates(tolerations, taint) for taint in flavor.taints):
        return False
    for key, value in pods.node_selector.items():
        if flavor.node_labels.get(key, value) != value:
            return False
    carried = flavor.node_labels
    terms = [[r for r in term if r.key in carried and not r.of_name] for term in pods.affinity]
    if terms and all(terms) and not any(meets(flavor.node_labels, term) for term in terms):
        return False
    asked = pods.topology
    if asked is None:
        return all_levels or not flavor.levels
    named = [one.level for one in asked.slices] + [asked.level] * (asked.level is not None)
    return bool(flavor.levels) and all(level in flavor.levels for level in named)


@dataclass(slots=True, eq=False)
class Desk:
    """What one search needs to know of its queue: its number, the tree and its use.

    `fair` says that preemption goes by shares.
    """

    tree: QuotaTree
    usage: list[int]
    number: int
    queue: Queue
    oracle: Oracle
    fair: bool = False

    @property
    def may_borrow(self) -> bool:
        """Whether others may be stopped for a request that borrows."""
        reclaims = self.queue.reclaim is not Reclaim.NEVER
        return self.queue.borrow_within is not None or (self.fair and reclaims)

    def rate(self, column: int, amount: int) -> tuple[Mode, int, WaitReason]:
        """Mode and borrowing level of one column for `amount` in all, and what is short."""
        tree, usage, number = self.tree, self.usage, self.number
        cell = number * tree.width + column
        if amount > tree.potential[cell]:
            return Mode.NO_FIT, 0, WaitReason.EXCEEDS_LIMIT
        level, reclaimable = tree.borrow_level(usage, number, column, amount)
        if amount <= tree.available(usage, number, column):
            return Mode.FIT, level, WaitReason.QUOTA
        if amount <= tree.nominal[cell] or reclaimable or self.may_borrow:
            mode, level = self.oracle(column, amount)
            return mode, level, WaitReason.QUOTA
        return Mode.NO_FIT, level, WaitReason.QUOTA


def assign(desk: Desk, choices: Menu, start: Tried | None = None) -> Assignment:
    """Choose flavors for all pod sets, each search beginning where `start` says.

    The mode is NO_FIT as soon as one group has none.
    """
    result = Assignment()
    if choices.uncovered is not None:
        result.mode = Mode.NO_FIT
        return result
    picks: list[dict[ResourceName, FlavorName]] = []
    for number, groups in enumerate(choices.groups):
        leader = choices.leaders[number] if choices.leaders else number
        picked = picks[leader] if leader < number else {}
        tried: list[int] = []
        taken: list[int] = []
        for at, options in enumerate(groups):
            begin = start[number][at] if start and number < len(start) else 0
            found = _search(desk, options, result.amounts, begin)
            if found is None:
                result.mode = Mode.NO_FIT
                result.reason = _reason(desk, options, result.amounts, begin)
                result.tried.append((0,) * len(groups))
                return result
            result.mode = min(result.mode, found.mode)
            result.level = max(result.level, found.level)
            result.short |= found.short
            for column, amount in found.option.amounts:
                result.amounts[column] = result.amounts.get(column, 0) + amount
                taken.append(column)
            picked.update(dict.fromkeys(found.option.resources, found.option.flavor))
            tried.append(found.next)
        picks.append(picked)
        result.flavors.append(dict(picked))
        result.per_set.append(tuple(taken))
        result.tried.append(tuple(tried))
    return result


@dataclass(slots=True)
class Found:
    """The flavor for one group: how well it serves, and where the next search begins."""

    mode: Mode
    level: int
    option: Option
    short: set[int]
    next: int = 0


def _search(
    desk: Desk, options: tuple[Option, ...], earlier: Mapping[int, int], begin: int
) -> Found | None:
    """The flavor for one group, given what earlier pod sets of the workload take."""
    best: tuple[Rank, Found] | None = None
    rules = desk.queue.fungibility
    for option in options:
        if option.index < begin:
            continue
        found = Found(Mode.FIT, 0, option, set())
        worst = _rank(Mode.FIT, 0, rules.preference)
        for column, amount in option.amounts:
            mode, level, _ = desk.rate(column, amount + earlier.get(column, 0))
            if mode is Mode.NO_FIT:
                found.mode = mode
                break
            if mode is not Mode.FIT:
                found.short.add(column)
            found.level = max(found.level, level)
            worst = min(worst, _rank(mode, level, rules.preference))
        if found.mode is Mode.NO_FIT:
            continue
        found.mode, level = worst[-2], worst[-1]
        if _stops(found.mode, level, rules.when_can_borrow, rules.when_can_preempt):
            found.next = 0 if option.last else option.index + 1
            return found
        if best is None or worst > best[0]:
            best = (worst, found)
    return None if best is None else best[1]


Rank = tuple[int, int, int, Mode, int]


def _rank(mode: Mode, level: int, preference: Preference) -> Rank:
    """Better ones are larger; the last two are the mode and level themselves."""
    viable = int(mode > Mode.NO_CANDIDATES)
    if preference is Preference.PREEMPTION_OVER_BORROWING:
        return (viable, -level, int(mode), mode, level)
    return (viable, int(mode), -level, mode, level)


_SEVERITY = (WaitReason.QUOTA, WaitReason.EXCEEDS_LIMIT, WaitReason.NO_FLAVOR)


def _reason(
    desk: Desk, options: tuple[Option, ...], earlier: Mapping[int, int], begin: int
) -> WaitReason:
    """Why no flavor of a group fits: the mildest over its flavors."""
    reasons = [
        max(
            (desk.rate(column, n + earlier.get(column, 0)) for column, n in option.amounts),
            key=lambda rated: (rated[0] is Mode.NO_FIT, _SEVERITY.index(rated[2])),
        )[2]
        for option in options
        if option.index >= begin
    ]
    return min(reasons, key=_SEVERITY.index, default=WaitReason.NO_FLAVOR)


def _stops(mode: Mode, level: int, borrow: Search, preempt: Search) -> bool:
    if mode <= Mode.NO_CANDIDATES:
        return False
    if mode in (Mode.PREEMPT, Mode.RECLAIM) and preempt is Search.TRY_NEXT:
        return False
    return not (level > 0 and borrow is Search.TRY_NEXT)
