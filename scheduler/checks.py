"""Could a workload ever start? The limit that it hits if not.

Looks at the policy's limits up the cohort tree and at the nodes that are known, ready or
not, as if nobody else were there. Before the first node is known only quota is looked at.
Quota that people have lowered for a while makes nobody impossible: that is waited for.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.flavors import Menu, Option
from scheduler.gangs import demand_of, find_largest, group, place_together
from scheduler.layout import Flavor
from scheduler.model import GPU, LimitKind, PodSet, QueueName, Refusal, Workload
from scheduler.packing import shortfall
from scheduler.pending import shape_of
from scheduler.quota import QuotaTree
from scheduler.state import State
from scheduler.topology import Place, Space

ANSWERS_AT_MOST = 10_000


def check(state: State, workload: Workload) -> Refusal | None:
    """None if one of its queues could hold it one day; else the refusal of the first.

    The answer is the same for all of one shape until the nodes change, and is kept.
    """
    return _kept(state, workload, state.ceiling)


def is_barred(state: State, workload: Workload) -> bool:
    """Whether it could not start with quota as it stands now, whatever others do."""
    return _kept(state, workload, state.tree) is not None


def _kept(state: State, workload: Workload, tree: QuotaTree) -> Refusal | None:
    shape, highest = shape_of(workload), tree is state.ceiling
    key = (workload.queue, workload.overflow, shape, state.nodes.version, highest)
    if len(state.checked) > ANSWERS_AT_MOST:
        state.checked.clear()
    if key not in state.checked:
        state.checked[key] = _check(state, workload, tree)
    return state.checked[key]


def _check(state: State, workload: Workload, tree: QuotaTree) -> Refusal | None:
    first: Refusal | None = None
    for name in (workload.queue, *workload.overflow):
        refusal = _check_in(state, workload, name, tree)
        if refusal is None:
            return None
        first = first or refusal
    return first


def _check_in(state: State, workload: Workload, name: QueueName, tree: QuotaTree) -> Refusal | None:
    number = tree.queue_index.get(name)
    if number is None:
        return Refusal(limit=LimitKind.NO_QUEUE, where=name, asked=workload.gpus, most=0)
    choices = state.menu(number, shape_of(workload), workload)
    if choices.impossible:
        return Refusal(limit=LimitKind.NO_FLAVOR, where=name, asked=workload.gpus, most=0)
    refusal = _over_quota(tree, number, choices)
    if refusal is None and state.nodes.known:
        refusal = _over_nodes(state, tree, number, workload, choices)
    return refusal


def _over_quota(tree: QuotaTree, number: int, choices: Menu) -> Refusal | None:
    taken: dict[int, int] = {}
    for groups in choices.groups:
        for options in groups:
            if not any(_possible(tree, number, option, taken) for option in options):
                return _quota_refusal(tree, number, options, taken)
            option = next(o for o in options if _possible(tree, number, o, taken))
            for column, amount in option.amounts:
                taken[column] = taken.get(column, 0) + amount
    return None


def _possible(tree: QuotaTree, number: int, option: Option, taken: dict[int, int]) -> bool:
    first = number * tree.width
    return all(
        amount + taken.get(column, 0) <= tree.potential[first + column]
        for column, amount in option.amounts
    )


def _quota_refusal(
    tree: QuotaTree, number: int, options: tuple[Option, ...], taken: dict[int, int]
) -> Refusal:
    """The resource that is shortest, at the flavor that offers most of it."""
    column, asked, most = max(
        (
            (column, amount + taken.get(column, 0), tree.potential[number * tree.width + column])
            for option in options
            for column, amount in option.amounts
            if amount + taken.get(column, 0) > tree.potential[number * tree.width + column]
        ),
        key=lambda short: (short[2], -short[0]),
    )
    node, _ = tree.binding(tree.empty(), number, column, most + 1)  # what caps it at `most`
    kind = LimitKind.QUEUE if node == number else LimitKind.COHORT
    return Refusal(limit=kind, where=tree.names[node], asked=asked, most=most)


def _over_nodes(
    state: State, tree: QuotaTree, number: int, workload: Workload, choices: Menu
) -> Refusal | None:
    """Whether the nodes, empty, could hold the gang; pod sets see those before them."""
    space = Space.best_case(state.nodes)
    for members in group(workload.pod_sets):
        groups = choices.groups[min(members)]
        options = [
            option
            for option in (groups[0] if groups else ())
            if _possible(tree, number, option, {})
        ]
        placed = [state.flavors[o.flavor] for o in options if state.flavors[o.flavor].levels]
        if not placed:
            continue
        pod_sets = [_least(workload.pod_sets[i]) for i in members]
        for flavor in placed:
            part = place_together(state.nodes, flavor, pod_sets, (space,), usable_only=False)
            if part is not None:
                shapes = [state.nodes.shape(pods) for pods in pod_sets]
                space.take(tuple(Place(s, shape) for s, shape in zip(part, shapes, strict=True)))
                break
        else:
            if (senseless := _slices_refusal(state, pod_sets[0], placed)) is not None:
                return senseless
            alone = Space.best_case(state.nodes)
            if any(
                place_together(state.nodes, flavor, pod_sets, (alone,), usable_only=False)
                for flavor in placed
            ):
                return _sum_refusal(state, workload, placed)
            return _node_refusal(state, pod_sets, [f.name for f in placed])
    return None


def _slices_refusal(state: State, pods: PodSet, flavors: list[Flavor]) -> Refusal | None:
    """Slices that do not divide the pods, or each other, or lie above the level asked for."""
    asked = pods.topology
    if asked is None or not asked.slices:
        return None
    shape = state.nodes.shape(pods)
    if any(demand_of(pods, flavor, shape) is not None for flavor in flavors):
        return None
    first = asked.slices[0]
    where = first.level.rpartition("/")[2]
    return Refusal(limit=LimitKind.SLICES, where=where, asked=pods.count, most=first.size)


def _sum_refusal(state: State, workload: Workload, flavors: list[Flavor]) -> Refusal:
    """Each pod set could lie somewhere, but not all of them together."""
    space, row = Space.best_case(state.nodes), state.nodes.row(GPU)
    most = max(
        int(space.room(row, state.nodes.domains(flavor, usable_only=False).columns).sum())
        for flavor in flavors
    )
    where = flavors[0].name
    return Refusal(limit=LimitKind.CLUSTER, where=where, asked=workload.gpus, most=most)


def _least(pods: PodSet) -> PodSet:
    """The smallest number of pods that a pod set would start with."""
    return pods if pods.min_count is None else replace(pods, count=pods.min_count)


def _node_refusal(state: State, pod_sets: list[PodSet], names: list[str]) -> Refusal:
    """What the nodes lack: one that is large enough, enough of them, or enough in one domain."""
    space = Space.best_case(state.nodes)
    pods = pod_sets[0]
    shape = state.nodes.shape(pods)
    each = pods.requests.get(GPU, shape[0][1])
    flavors = [state.flavors[name] for name in state.flavors if name in names]
    best = max(
        (
            shortfall((space,), state.nodes.eligible(flavor, pods, usable_only=False), shape)
            for flavor in flavors
        ),
        key=lambda short: (short.pods, short.largest),
    )
    if best.pods == 0:
        return Refusal(limit=LimitKind.NODE, where=names[0], asked=each, most=best.largest)
    asked = each * pods.count
    if best.pods >= pods.count:
        found = [
            find_largest(state.nodes, flavor, pod_sets, (space,), usable_only=False)
            for flavor in flavors
        ]
        large = [one for one in found if one is not None]
        if large:
            most = max(large, key=lambda one: one.pods)
            where = most.level.rpartition("/")[2]
            return Refusal(limit=LimitKind.DOMAIN, where=where, asked=asked, most=each * most.pods)
    return Refusal(limit=LimitKind.CLUSTER, where=names[0], asked=asked, most=each * best.pods)
