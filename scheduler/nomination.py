"""What one waiting workload could get now: flavors, places on nodes, targets.

A nomination changes nothing: what it tries on the books it undoes.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler.book import Charge
from scheduler.candidates import Attack, Target
from scheduler.fair_preemption import find_fair_targets
from scheduler.flavors import Assignment, Desk, Menu, Mode, Tried, assign
from scheduler.gangs import find_empty, find_places, placed_by
from scheduler.layout import Reclaim
from scheduler.model import (
    FlavorName,
    PodSet,
    PodSetAssignment,
    ResourceName,
    WaitReason,
)
from scheduler.pending import Shape
from scheduler.preemption import find_targets, is_hopeless, reach
from scheduler.quota import Amounts
from scheduler.reserved import Reserved
from scheduler.seating import Seating
from scheduler.standing import Waiting
from scheduler.state import State
from scheduler.topology import Place, Places

NOMINATION = 10
"""As many candidates as a nomination without a search costs; see `State.toil`."""


class Outcome(enum.Enum):
    """What a nomination came to."""

    FIT = "fit"
    PREEMPT = "preempt"
    LATER = "later"  # fits once those who were told to stop are gone
    HELD = "held"  # fits, but not beside a reservation
    NO_TARGETS = "no-targets"  # would fit if somebody could be stopped, but nobody may be
    NO_FIT = "no-fit"


@dataclass(slots=True, eq=False)
class Nomination:
    """One head's prospects, valid while the future book is at `version`.

    `pod_sets` are those of the workload, with the counts that it would start with; `tried` is
    where the search for flavors stopped. `spared` says that somebody could not be stopped only
    because his minimum run time is not over.
    """

    waiting: Waiting
    queue: int
    shape: Shape
    outcome: Outcome
    reason: WaitReason
    pod_sets: tuple[PodSet, ...]
    level: int = 0
    charge: Charge | None = None
    assignments: tuple[PodSetAssignment, ...] = ()
    targets: tuple[Target, ...] = ()
    flavors: tuple[dict[ResourceName, FlavorName], ...] = ()
    tried: Tried = ()
    amounts: Amounts = ()
    version: int = 0
    spared: bool = False

    @property
    def useful(self) -> bool:
        """Whether something comes of it now or once targets have left."""
        return self.outcome in (Outcome.FIT, Outcome.LATER, Outcome.PREEMPT)

    @property
    def unfinished(self) -> bool:
        """Whether the search for flavors stopped early and has flavors left to try."""
        return any(start for starts in self.tried for start in starts)


def nominate(
    state: State,
    number: int,
    waiting: Waiting,
    shape: Shape,
    *,
    again: Nomination | None = None,
) -> Nomination:
    """Work out what a workload could get in one of its queues: whole, or else reduced.

    With `again`, only the flavors of that nomination are looked at. The largest count is
    searched for by bisection over the steps between all pods and the least, shared out over
    the pod sets in proportion (Kueue's pod set reducer).
    """
    pod_sets = shape.whole
    state.spared = False
    state.toil += NOMINATION
    full = _attempt(state, number, waiting, shape, pod_sets, again)
    spare = [p.count - p.min_count if p.min_count is not None else 0 for p in pod_sets]
    full.spared = state.spared
    total = sum(spare)
    if full.useful or not total:
        return full
    best: Nomination | None = None
    low, high = 1, total + 1
    while low < high:
        step = (low + high) // 2
        reduced = tuple(
            pods if not less else replace(pods, count=pods.count - less * step // total)
            for pods, less in zip(pod_sets, spare, strict=True)
        )
        attempt = _attempt(state, number, waiting, shape, reduced, again)
        if attempt.useful:
            best, high = attempt, step
        else:
            low = step + 1
    return best or full


def _attempt(
    state: State,
    number: int,
    waiting: Waiting,
    shape: Shape,
    pod_sets: tuple[PodSet, ...],
    again: Nomination | None,
) -> Nomination:
    """What a workload could get with these counts."""
    counts = tuple(pods.count for pods in pod_sets)
    choices = state.menu(number, shape.key, waiting.workload, counts)
    if again is not None:
        choices = choices.narrowed(again.flavors)
    result = Nomination(waiting, number, shape, Outcome.NO_FIT, WaitReason.QUOTA, pod_sets)
    result.version = state.future.version
    if choices.impossible:
        plain = not state.layout.options.ignore_uncovered
        uncovered = plain and choices.uncovered is not None
        result.reason = WaitReason.MISCONFIGURED if uncovered else WaitReason.NO_FLAVOR
        return result
    start = state.scan_start(number, waiting) if again is None else None
    found = _choose(state, number, waiting, choices, start)
    result.level = found.level
    result.flavors = tuple(found.flavors)
    result.amounts = tuple(sorted(found.amounts.items()))
    result.tried = tuple(found.tried)
    result.reason = found.reason
    if found.mode is Mode.NO_FIT:
        return result
    if found.mode is Mode.FIT and _fit(state, result, found):
        return result
    if found.mode is Mode.FIT and result.outcome is not Outcome.HELD:
        result.reason = WaitReason.TOPOLOGY
    if not state.reservations.standing:
        if _placeable(state, result, found):
            _attack(state, result, found)
        return result
    return _attack_beside(state, result, found)


def _attack_beside(state: State, result: Nomination, found: Assignment) -> Nomination:
    """As without reservations, but their room helps nobody whom they bind.

    Where it would have fitted without them, that is what is told if nobody can be stopped.
    """
    held = result if result.outcome is Outcome.HELD else None
    attempt = result if held is None else replace(result, outcome=Outcome.NO_FIT)
    book = state.future
    mark = book.checkpoint()
    for reserved in state.reservations.kept_from(result.queue, result.waiting, result.level):
        book.charge(Charge(reserved.charge.queue, (), reserved.charge.places))
    if _placeable(state, attempt, found):
        _attack(state, attempt, found)
    book.rollback(mark)
    if attempt.outcome is Outcome.PREEMPT and _outstays(state, attempt):
        return replace(attempt, outcome=Outcome.HELD, reason=WaitReason.RESERVED, targets=())
    return attempt if held is None or attempt.outcome is Outcome.PREEMPT else held


def _outstays(state: State, attempt: Nomination) -> bool:
    """Whether it would take what is kept for others from those whose lease is over.

    Who has others stopped by rank keeps to the nodes that are free of reservations only. Leases
    end for whoever waits, so that here it has to fit beside them as who simply fits does.
    """
    targets = [target.running for target in attempt.targets]
    if attempt.charge is None or all(one.workload.lapsed is None for one in targets):
        return False
    kept = state.reservations
    shadows = kept.shadows(attempt.queue, attempt.waiting, attempt.level)
    for reserved, shadow in zip(
        kept.binding(attempt.queue, attempt.waiting, attempt.level), shadows, strict=True
    ):
        book = shadow.copy()
        for running in targets:
            charge = reserved.counted.get(running.workload.id)
            if charge is not None:
                book.discharge(charge)
        if not book.fits(attempt.charge):
            return True
    return False


def _choose(
    state: State, number: int, waiting: Waiting, choices: Menu, start: Tried | None
) -> Assignment:
    """The flavors, by quota alone, in the view of the future."""

    def oracle(column: int, amount: int) -> tuple[Mode, int]:
        attack = Attack(
            state=state,
            workload=waiting.workload,
            queue=number,
            amounts=((column, amount),),
            short=frozenset((column,)),
        )
        targets: tuple[Target, ...] = ()
        if state.outlook.may_have(number, waiting.workload.priority, attack.amounts):
            targets = choose_targets(attack)
        usage = list(state.future.usage) if targets else state.future.usage
        for target in targets:
            charge = target.running.charge
            state.tree.discharge(usage, charge.queue, charge.amounts)
        level, _ = state.tree.borrow_level(usage, number, column, amount)
        if not targets:
            return Mode.NO_CANDIDATES, level
        own = any(target.running.charge.queue == number for target in targets)
        return (Mode.PREEMPT if own else Mode.RECLAIM), level

    queue = state.layout.queues[number]
    fair = state.layout.fair_sharing is not None
    desk = Desk(state.tree, state.future.usage, number, queue, oracle, fair)
    return assign(desk, choices, start)


def _fit(state: State, result: Nomination, found: Assignment) -> bool:
    """Fill in a fit, or that it fits later; False if there is no placement in the future."""
    for pods, chosen in zip(result.pod_sets, found.flavors, strict=True):
        name = placed_by(state, pods, chosen)
        if name is not None and not state.outlook.has_room(pods, state.flavors[name]):
            return False
    books = state.books if state.layout.options.claims else (state.future,)
    shadows = state.reservations.shadows(result.queue, result.waiting, result.level)
    places = find_places(state, result.pod_sets, found.flavors, (*books, *shadows))
    if places is not None:
        result.charge = charge_for(state, result, places)
        result.assignments = assignments_for(result.pod_sets, found, places)
        tree = state.tree
        if not all(tree.fits(s.usage, result.queue, result.amounts) for s in shadows):
            result.outcome, result.reason = Outcome.HELD, WaitReason.RESERVED
        elif all(tree.fits(b.usage, result.queue, result.charge.amounts) for b in books[1:]):
            result.outcome = Outcome.FIT
        else:
            result.outcome, result.reason = Outcome.LATER, WaitReason.QUOTA
        return True
    if shadows and find_places(state, result.pod_sets, found.flavors, books) is not None:
        result.outcome, result.reason = Outcome.HELD, WaitReason.RESERVED
        return False
    if len(books) > 1 and find_places(state, result.pod_sets, found.flavors, books[:1]) is not None:
        result.outcome, result.reason = Outcome.LATER, WaitReason.TOPOLOGY
        return True
    return False


def find_blocker(state: State, held: Nomination) -> Reserved:
    """The first reservation beside which a nomination that is held does not fit."""
    kept, waiting = state.reservations, held.waiting
    binding = kept.binding(held.queue, waiting, held.level)
    for reserved in binding:
        book = reserved.without(waiting.workload.id)
        if not state.tree.fits(book.usage, held.queue, held.amounts):
            return reserved
        if find_places(state, held.pod_sets, held.flavors, (*state.books, book)) is None:
            return reserved
    return binding[0]  # none alone, but all of them together


def _placeable(state: State, result: Nomination, found: Assignment) -> bool:
    """Whether the gang has a placement on nodes without other work.

    If so, everything that is placed may have to be preempted for, because free capacity may
    be in pieces. What it would get there is noted as its charge, where that is to be kept
    for it if it finds no targets.
    """
    empty = find_empty(state, result.pod_sets, found.flavors)
    if empty is None:
        result.reason = WaitReason.TOPOLOGY
        return False
    if state.layout.queues[result.queue].reclaim is not Reclaim.ANY:
        result.charge = charge_for(state, result, empty)
    for pods, flavors, columns in zip(result.pod_sets, found.flavors, found.per_set, strict=True):
        if placed_by(state, pods, flavors) is not None:
            found.short.update(columns)
    return True


def _attack(state: State, result: Nomination, found: Assignment) -> None:
    """Look for targets; fill in the claim that their room would make possible.

    Where one column is all there is and quota alone found no targets for it, there is
    nothing to look for.
    """
    book = state.future
    vain = found.mode is Mode.NO_CANDIDATES and len(found.amounts) == len(result.pod_sets) == 1
    attack = Attack(
        state=state,
        workload=result.waiting.workload,
        queue=result.queue,
        amounts=result.amounts,
        short=frozenset(found.short),
    )
    if not vain and _hopeful(attack, result, found):
        attack.seating = Seating(state, result.pod_sets, found.flavors)
        result.targets = choose_targets(attack)
    if not result.targets:
        result.outcome = Outcome.NO_TARGETS
        return
    mark = book.checkpoint()
    for target in result.targets:
        book.discharge(target.running.charge)
    places = find_places(state, result.pod_sets, found.flavors, (book,))
    book.rollback(mark)
    if places is None:
        raise AssertionError("targets were found for a gang that has no placement")
    result.outcome = Outcome.PREEMPT
    result.charge = charge_for(state, result, places)
    result.assignments = assignments_for(result.pod_sets, found, places)


def _hopeful(attack: Attack, result: Nomination, found: Assignment) -> bool:
    """Whether stopping somebody could help at all, by the cheap bounds."""
    state, number, priority = attack.state, attack.queue, attack.workload.priority
    fair = state.layout.fair_sharing is not None
    if not fair and is_hopeless(state, number, priority, attack.amounts, attack.short):
        return False
    if not state.outlook.may_have(number, priority, attack.amounts):
        return False
    own, others = reach(state, number, priority, attack.amounts, attack.short)
    for pods, chosen in zip(result.pod_sets, found.flavors, strict=True):
        name = placed_by(state, pods, chosen)
        if name is None:
            continue
        if fair:  # there, queues are not walked in order
            possible = state.outlook.may_lie(number, priority, pods, state.flavors[name])
        else:
            eligible = state.nodes.eligible(state.flavors[name], pods)
            shape, excess = state.nodes.shape(pods), state.excess(number, others)
            possible = excess.may_lie(number, shape, eligible, pods.count, own)
        if not possible:
            return False
    return True


def choose_targets(attack: Attack) -> tuple[Target, ...]:
    """Whom to stop, by the algorithm that the policy asks for."""
    if attack.state.layout.fair_sharing is not None:
        return find_fair_targets(attack)
    return find_targets(attack)


def charge_for(state: State, result: Nomination, places: Places) -> Charge:
    """What the grant will take."""
    return Charge(
        result.queue,
        result.amounts,
        tuple(
            Place(nodes, state.nodes.shape(pods))
            for pods, nodes in zip(result.pod_sets, places, strict=True)
            if nodes
        ),
    )


def assignments_for(
    pod_sets: Sequence[PodSet], found: Assignment, places: Places
) -> tuple[PodSetAssignment, ...]:
    """The grant in the words of the model."""
    return tuple(
        PodSetAssignment(
            name=pods.name,
            count=pods.count,
            flavors={name: flavors[name] for name in pods.requests if name in flavors},
            nodes=nodes,
        )
        for pods, flavors, nodes in zip(pod_sets, found.flavors, places, strict=True)
    )
