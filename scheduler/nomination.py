"""What one waiting workload could get now: flavors, places on nodes, targets.

A nomination changes nothing: what it tries on the books it undoes.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.book import Book, Charge
from scheduler.flavors import Assignment, Desk, Menu, Mode, assign
from scheduler.model import (
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    ResourceName,
    WaitReason,
)
from scheduler.pending import Shape
from scheduler.preemption import Attack, Target, Variant, find_targets
from scheduler.quota import Amounts
from scheduler.state import State, Waiting
from scheduler.topology import Place, Space, place


class Outcome(enum.Enum):
    """What a nomination came to."""

    FIT = "fit"
    PREEMPT = "preempt"
    LATER = "later"  # fits once those who were told to stop are gone
    NO_TARGETS = "no-targets"  # would fit if somebody could be stopped, but nobody may be
    NO_FIT = "no-fit"


@dataclass(slots=True, eq=False)
class Nomination:
    """One head's prospects, valid while the future book is at `version`."""

    waiting: Waiting
    queue: int
    shape: Shape
    outcome: Outcome
    reason: WaitReason
    level: int = 0
    charge: Charge | None = None
    assignments: tuple[PodSetAssignment, ...] = ()
    targets: tuple[Target, ...] = ()
    version: int = 0


Places = tuple[tuple[tuple[NodeName, int], ...], ...]


def nominate(state: State, number: int, waiting: Waiting, shape: Shape) -> Nomination:
    """Work out what a workload could get in one of its queues."""
    workload = waiting.workload
    choices = state.menu(number, shape.key, workload)
    result = Nomination(waiting, number, shape, Outcome.NO_FIT, WaitReason.QUOTA)
    result.version = state.future.version
    if choices.impossible:
        result.reason = WaitReason.NO_FLAVOR
        return result
    found = _choose(state, number, waiting, choices)
    result.level = found.level
    if found.mode is Mode.NO_FIT:
        return result
    if found.mode is Mode.FIT and _fit(state, result, found):
        return result
    if found.mode is Mode.FIT:
        result.reason = WaitReason.TOPOLOGY
        found.short = set(found.amounts)
    _attack(state, result, found)
    return result


def _choose(state: State, number: int, waiting: Waiting, choices: Menu) -> Assignment:
    """The flavors, by quota alone, in the view of the future."""

    def oracle(column: int, amount: int) -> tuple[Mode, int]:
        attack = Attack(
            state=state,
            workload=waiting.workload,
            queue=number,
            amounts=((column, amount),),
            short=frozenset((column,)),
            placeable=lambda: True,
        )
        hopeful = state.outlook.may_have(number, waiting.workload.priority, attack.amounts)
        targets = find_targets(attack) if hopeful else ()
        book = state.future
        mark = book.checkpoint()
        for target in targets:
            book.discharge(target.running.charge)
        level, _ = state.tree.borrow_level(book.usage, number, column, amount)
        book.rollback(mark)
        if not targets:
            return Mode.NO_CANDIDATES, level
        own = any(target.variant is Variant.OWN_QUEUE for target in targets)
        return (Mode.PREEMPT if own else Mode.RECLAIM), level

    desk = Desk(state.tree, state.future.usage, number, state.layout.queues[number], oracle)
    return assign(desk, choices)


def _fit(state: State, result: Nomination, found: Assignment) -> bool:
    """Fill in a fit, or that it fits later; False if there is no placement in the future."""
    books = state.books
    places = find_places(state, result.waiting, found.flavors, books)
    if places is not None:
        result.charge = charge_for(state, result, found, places)
        result.assignments = assignments_for(result.waiting, found, places)
        tree = state.tree
        if all(tree.fits(b.usage, result.queue, result.charge.amounts) for b in books[1:]):
            result.outcome = Outcome.FIT
        else:
            result.outcome, result.reason = Outcome.LATER, WaitReason.QUOTA
        return True
    if len(books) > 1 and find_places(state, result.waiting, found.flavors, books[:1]) is not None:
        result.outcome, result.reason = Outcome.LATER, WaitReason.TOPOLOGY
        return True
    return False


def _attack(state: State, result: Nomination, found: Assignment) -> None:
    """Look for targets; fill in the claim that their room would make possible."""
    book = state.future
    amounts = tuple(sorted(found.amounts.items()))
    attack = Attack(
        state=state,
        workload=result.waiting.workload,
        queue=result.queue,
        amounts=amounts,
        short=frozenset(found.short),
        placeable=lambda: find_places(state, result.waiting, found.flavors, (book,)) is not None,
    )
    if _hopeful(state, result, found, amounts):
        result.targets = find_targets(attack)
    if not result.targets:
        if placeable_when_empty(state, result.waiting, found.flavors):
            result.outcome = Outcome.NO_TARGETS
            result.charge = Charge(result.queue, amounts, ())
        else:
            result.reason = WaitReason.TOPOLOGY
        return
    mark = book.checkpoint()
    for target in result.targets:
        book.discharge(target.running.charge)
    places = find_places(state, result.waiting, found.flavors, (book,))
    book.rollback(mark)
    if places is None:
        raise AssertionError("targets were found for a gang that has no placement")
    result.outcome = Outcome.PREEMPT
    result.charge = charge_for(state, result, found, places)
    result.assignments = assignments_for(result.waiting, found, places)


def _hopeful(state: State, result: Nomination, found: Assignment, amounts: Amounts) -> bool:
    """Whether stopping somebody could help at all, by the cheap bound."""
    workload = result.waiting.workload
    return state.outlook.may_have(result.queue, workload.priority, amounts) and all(
        state.outlook.may_lie(result.queue, workload.priority, pods, state.flavors[flavor])
        for pods, chosen in zip(workload.pod_sets, found.flavors, strict=True)
        if (flavor := placed_by(state, pods, chosen)) is not None
    )


def find_places(
    state: State,
    waiting: Waiting,
    flavors: Sequence[dict[ResourceName, FlavorName]],
    books: Sequence[Book],
) -> Places | None:
    """Named nodes for every pod set, each seeing those before it, or None."""
    return _solve(state, waiting, flavors, [book.space for book in books])


def placeable_when_empty(
    state: State, waiting: Waiting, flavors: Sequence[dict[ResourceName, FlavorName]]
) -> bool:
    """Whether the gang would have a placement if nobody else were there."""
    return _solve(state, waiting, flavors, [Space(state.nodes)]) is not None


def _solve(
    state: State,
    waiting: Waiting,
    flavors: Sequence[dict[ResourceName, FlavorName]],
    spaces: Sequence[Space],
) -> Places | None:
    pod_sets = waiting.workload.pod_sets
    taken: list[tuple[Place, ...]] = []
    found: list[tuple[tuple[NodeName, int], ...]] = []
    for pods, chosen in zip(pod_sets, flavors, strict=True):
        flavor = placed_by(state, pods, chosen)
        if flavor is None:
            found.append(())
            continue
        eligible = state.nodes.eligible(state.flavors[flavor], pods)
        shape = state.nodes.shape(pods)
        nodes = place(spaces, eligible, shape, pods.count, tight=state.layout.options.tight)
        if nodes is None:
            break
        found.append(nodes)
        if len(pod_sets) > 1:
            taken.append((Place(nodes, shape),))
            for space in spaces:
                space.take(taken[-1])
    for places in taken:
        for space in spaces:
            space.give(places)
    return tuple(found) if len(found) == len(pod_sets) else None


def placed_by(
    state: State, pods: PodSet, chosen: dict[ResourceName, FlavorName]
) -> FlavorName | None:
    """The flavor whose nodes a pod set lies on: the first that has a topology."""
    return next(
        (f for name in pods.requests if (f := chosen.get(name)) and state.flavors[f].levels), None
    )


def charge_for(state: State, result: Nomination, found: Assignment, places: Places) -> Charge:
    """What the grant will take."""
    pod_sets = result.waiting.workload.pod_sets
    return Charge(
        result.queue,
        tuple(sorted(found.amounts.items())),
        tuple(
            Place(nodes, state.nodes.shape(pods))
            for pods, nodes in zip(pod_sets, places, strict=True)
            if nodes
        ),
    )


def assignments_for(
    waiting: Waiting, found: Assignment, places: Places
) -> tuple[PodSetAssignment, ...]:
    """The grant in the words of the model."""
    return tuple(
        PodSetAssignment(name=pods.name, count=pods.count, flavors=flavors, nodes=nodes)
        for pods, flavors, nodes in zip(
            waiting.workload.pod_sets, found.flavors, places, strict=True
        )
    )
