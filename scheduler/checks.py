"""Could a workload ever start? The limit that it hits if not.

Looks at the policy's limits up the cohort tree and at the nodes that are known, ready or
not, as if nobody else were there. Before the first node is known only quota is looked at.
"""

from __future__ import annotations

from scheduler.flavors import Menu, Option
from scheduler.model import GPU, LimitKind, PodSet, QueueName, Refusal, Workload
from scheduler.packing import place, shortfall
from scheduler.pending import shape_of
from scheduler.state import State
from scheduler.topology import Place, Space

ANSWERS_AT_MOST = 10_000


def check(state: State, workload: Workload) -> Refusal | None:
    """None if one of its queues could hold it one day; else the refusal of the first.

    The answer is the same for all of one shape until the nodes change, and is kept.
    """
    key = (workload.queue, workload.overflow, shape_of(workload), state.nodes.version)
    if len(state.checked) > ANSWERS_AT_MOST:
        state.checked.clear()
    if key not in state.checked:
        state.checked[key] = _check(state, workload)
    return state.checked[key]


def _check(state: State, workload: Workload) -> Refusal | None:
    first: Refusal | None = None
    for name in (workload.queue, *workload.overflow):
        refusal = _check_in(state, workload, name)
        if refusal is None:
            return None
        first = first or refusal
    return first


def _check_in(state: State, workload: Workload, name: QueueName) -> Refusal | None:
    number = state.tree.queue_index.get(name)
    if number is None:
        return Refusal(limit=LimitKind.NO_QUEUE, where=name, asked=workload.gpus, most=0)
    choices = state.menu(number, shape_of(workload), workload)
    if choices.impossible:
        return Refusal(limit=LimitKind.NO_FLAVOR, where=name, asked=workload.gpus, most=0)
    refusal = _over_quota(state, number, choices)
    if refusal is None and state.nodes.known:
        refusal = _over_nodes(state, number, workload, choices)
    return refusal


def _over_quota(state: State, number: int, choices: Menu) -> Refusal | None:
    taken: dict[int, int] = {}
    for groups in choices.groups:
        for options in groups:
            if not any(_possible(state, number, option, taken) for option in options):
                return _quota_refusal(state, number, options, taken)
            option = next(o for o in options if _possible(state, number, o, taken))
            for column, amount in option.amounts:
                taken[column] = taken.get(column, 0) + amount
    return None


def _possible(state: State, number: int, option: Option, taken: dict[int, int]) -> bool:
    first = number * state.tree.width
    return all(
        amount + taken.get(column, 0) <= state.tree.potential[first + column]
        for column, amount in option.amounts
    )


def _quota_refusal(
    state: State, number: int, options: tuple[Option, ...], taken: dict[int, int]
) -> Refusal:
    """The resource that is shortest, at the flavor that offers most of it."""
    tree = state.tree
    column, asked, most = max(
        (
            (column, amount + taken.get(column, 0), tree.potential[number * tree.width + column])
            for option in options
            for column, amount in option.amounts
            if amount + taken.get(column, 0) > tree.potential[number * tree.width + column]
        ),
        key=lambda short: (short[2], -short[0]),
    )
    node = tree.binding(tree.empty(), number, column)
    kind = LimitKind.QUEUE if node == number else LimitKind.COHORT
    return Refusal(limit=kind, where=tree.names[node], asked=asked, most=most)


def _over_nodes(state: State, number: int, workload: Workload, choices: Menu) -> Refusal | None:
    """Whether the nodes, empty, could hold the gang; pod sets see those before them."""
    space = Space.best_case(state.nodes)
    for pods, groups in zip(workload.pod_sets, choices.groups, strict=True):
        options = [
            option
            for option in (groups[0] if groups else ())
            if _possible(state, number, option, {})
        ]
        placed = [state.flavors[o.flavor] for o in options if state.flavors[o.flavor].levels]
        if not placed:
            continue
        shape = state.nodes.shape(pods)
        for flavor in placed:
            eligible = state.nodes.eligible(flavor, pods, usable_only=False)
            nodes = place((space,), eligible, shape, pods.count)
            if nodes is not None:
                space.take((Place(nodes, shape),))
                break
        else:
            return _node_refusal(state, pods, [f.name for f in placed])
    return None


def _node_refusal(state: State, pods: PodSet, flavors: list[str]) -> Refusal:
    space = Space.best_case(state.nodes)
    shape = state.nodes.shape(pods)
    each = pods.requests.get(GPU, shape[0][1])
    best = max(
        (
            shortfall(
                (space,),
                state.nodes.eligible(flavor, pods, usable_only=False),
                shape,
            )
            for flavor in (state.flavors[name] for name in state.flavors if name in flavors)
        ),
        key=lambda short: (short.pods, short.largest),
    )
    where = flavors[0]
    if best.pods == 0:
        return Refusal(limit=LimitKind.NODE, where=where, asked=each, most=best.largest)
    return Refusal(
        limit=LimitKind.CLUSTER, where=where, asked=each * pods.count, most=each * best.pods
    )
