"""Whom to stop, and the proof that no smaller set would do.

Kueue's classic algorithm, node placement included. Candidates come from the own queue
(by its `within` rule) and from queues of the cohort tree that use more than their quota (by
`reclaim`). Walking from the own queue to the root, once the request lies inside the quota
of a node, all candidates outside that node are *hierarchy* candidates; those met before are
*priority* candidates, stopped while the preemptor borrows only if `borrow_within` allows.

Order of candidates:
1. hierarchy candidates, then priority candidates, then the own queue;
2. inside a queue that is ordered by usage, the work of who used more first;
3. lower priority first;
4. later start first;
5. the workload id.

They are taken in that order until the preemptor fits on named nodes; then, from the last but
one to the first, each is put back if it still fits without.

Work that is not preemptible is never a candidate, except for its own queue's workloads from
the priority that the policy names (`protected_from`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, partial

from scheduler.layout import Queue, Reclaim, Within
from scheduler.model import PreemptionRule, Workload
from scheduler.outlook import limits
from scheduler.quota import Amounts
from scheduler.state import Running, State

Fits = Callable[[], bool]


class Variant(enum.Enum):
    """By which right a candidate may be stopped."""

    OWN_QUEUE = "own-queue"
    HIERARCHY = "hierarchy"
    WHILE_BORROWING = "while-borrowing"
    WITHOUT_BORROWING = "without-borrowing"
    FAIR = "fair"


RULES = {
    Variant.OWN_QUEUE: PreemptionRule.IN_QUEUE,
    Variant.HIERARCHY: PreemptionRule.RECLAIM,
    Variant.WHILE_BORROWING: PreemptionRule.RECLAIM_WHILE_BORROWING,
    Variant.WITHOUT_BORROWING: PreemptionRule.RECLAIM,
    Variant.FAIR: PreemptionRule.FAIR_SHARING,
}


@dataclass(slots=True, eq=False)
class Target:
    """Somebody who may be or is to be stopped; `ancestor` is the lowest common cohort."""

    running: Running
    variant: Variant
    ancestor: int


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """One question: whom to stop so that `workload` fits `queue`.

    `amounts` is all that it needs, `short` the columns for which it has to preempt.
    `placeable` says whether the gang has a placement in the book as it stands.
    """

    state: State
    workload: Workload
    queue: int
    amounts: Amounts
    short: frozenset[int]
    placeable: Fits

    @property
    def policy(self) -> Queue:
        """The preemptor's queue."""
        return self.state.layout.queues[self.queue]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Three ordered lists; see the module."""

    hierarchy: tuple[Target, ...]
    priority: tuple[Target, ...]
    own: tuple[Target, ...]

    @property
    def all(self) -> tuple[Target, ...]:
        """In the order in which they are taken."""
        return (*self.hierarchy, *self.priority, *self.own)


def find_targets(attack: Attack) -> tuple[Target, ...]:
    """A minimal set of targets, in the order taken; empty if nothing would help."""
    candidates = _candidates(attack)
    if not candidates.all:
        return ()
    for borrowing in _attempts(attack, candidates):
        targets = _take(attack, candidates, borrowing=borrowing)
        if targets:
            return targets
    return ()


def _candidates(attack: Attack) -> Candidates:
    state, queue = attack.state, attack.policy
    own = of_queue(attack, attack.queue, Variant.OWN_QUEUE, attack.queue)
    hierarchy: list[Target] = []
    priority: list[Target] = []
    if queue.reclaim is not Reclaim.NEVER and state.tree.parent[attack.queue] >= 0:
        rest = [(column, amount) for column, amount in attack.amounts if column in attack.short]
        advantage, rest = _fits_in_quota(attack, attack.queue, rest)
        below = attack.queue
        for node in state.tree.path[attack.queue]:
            found = hierarchy if advantage else priority
            _collect(attack, node, below, found, advantage=advantage, ancestor=node)
            fits, rest = _fits_in_quota(attack, node, rest)
            advantage = advantage or fits
            below = node
    return Candidates(
        sort_targets(state, hierarchy), sort_targets(state, priority), sort_targets(state, own)
    )


def _fits_in_quota(
    attack: Attack, node: int, wanted: Sequence[tuple[int, int]]
) -> tuple[bool, list[tuple[int, int]]]:
    """Whether the request lies inside a node's quota, and what it cannot keep of it itself."""
    tree, usage = attack.state.tree, attack.state.future.usage
    fits = not any(tree.exceeds(usage, node, column, amount) for column, amount in wanted)
    rest = [(column, max(0, n - tree.local(usage, node, column))) for column, n in wanted]
    return fits, rest


def _collect(
    attack: Attack, node: int, skip: int, found: list[Target], *, advantage: bool, ancestor: int
) -> None:
    """Candidates of every borrowing queue under `node`, outside of `skip`."""
    tree = attack.state.tree
    for child in tree.children[node]:
        if child in (skip, attack.queue) or within_quota(attack, child):
            continue
        if child >= tree.queues:
            _collect(attack, child, skip, found, advantage=advantage, ancestor=ancestor)
        else:
            variant = Variant.HIERARCHY if advantage else Variant.WITHOUT_BORROWING
            found.extend(of_queue(attack, child, variant, ancestor))


def within_quota(attack: Attack, node: int) -> bool:
    """Whether a node does not borrow anything of what is short."""
    tree, usage = attack.state.tree, attack.state.future.usage
    return not any(tree.exceeds(usage, node, column) for column in attack.short)


def of_queue(attack: Attack, number: int, variant: Variant, ancestor: int) -> list[Target]:
    """Candidates of one queue, in order."""
    running = attack.state.running
    found = []
    ranks = attack.state.ranks[number]
    own, others = limits(attack.policy, attack.workload.priority)
    below = own if variant is Variant.OWN_QUEUE else others
    for rank in ranks:
        if rank[0] >= below:
            break
        candidate = running[rank[2]]
        if candidate.columns.isdisjoint(attack.short):
            continue
        right = _right(attack, candidate, variant)
        if right is not None:
            found.append(Target(candidate, right, ancestor))
    return found


def _right(attack: Attack, candidate: Running, variant: Variant) -> Variant | None:
    """By which right the preemptor may stop the candidate, None if by none."""
    queue, mine, theirs = attack.policy, attack.workload, candidate.workload
    if variant is Variant.OWN_QUEUE:
        if queue.within_from is not None and mine.priority < queue.within_from:
            return None
        if not theirs.preemptible and not (
            queue.protected_from is not None and mine.priority >= queue.protected_from
        ):
            return None
        lower = theirs.priority < mine.priority
        newer = theirs.priority == mine.priority and theirs.created > mine.created
        if queue.within is Within.NEVER:
            return None
        allowed = lower or (queue.within is Within.LOWER_OR_NEWER and newer)
        return variant if allowed else None
    if not theirs.preemptible:
        return None
    if queue.reclaim is Reclaim.LOWER and theirs.priority >= mine.priority:
        return None
    if variant is Variant.HIERARCHY or queue.borrow_within is None:
        return variant
    limit = queue.borrow_within.max_priority
    above = theirs.priority >= mine.priority or (limit is not None and theirs.priority > limit)
    return Variant.WITHOUT_BORROWING if above else Variant.WHILE_BORROWING


def sort_targets(state: State, found: list[Target]) -> tuple[Target, ...]:
    """In the order in which they are taken; see the module."""
    ordered = sorted(found, key=lambda target: target.running.rank)
    if not state.by_usage or not {t.running.charge.queue for t in found} & state.by_usage:
        return tuple(ordered)
    return tuple(sorted(ordered, key=cmp_to_key(partial(_compare, state))))


def _compare(state: State, one: Target, other: Target) -> int:
    """Inside a queue that is ordered by usage, who used more comes first."""
    mine, theirs = one.running, other.running
    if mine.charge.queue == theirs.charge.queue and mine.charge.queue in state.by_usage:
        use, other_use = (state.ledger.score(r.workload.team) for r in (mine, theirs))
        if use != other_use:
            return -1 if use > other_use else 1
    return -1 if mine.rank < theirs.rank else 1


def _attempts(attack: Attack, candidates: Candidates) -> tuple[bool, ...]:
    """With borrowing allowed and/or without, in the order to try."""
    forbidden = attack.policy.borrow_within is None
    others = candidates.hierarchy or candidates.priority
    if not others or (forbidden and not _under_nominal(attack)):
        return (True,)
    if forbidden and not candidates.hierarchy:
        return (False, True)
    return (True, False)


def _under_nominal(attack: Attack) -> bool:
    tree, usage = attack.state.tree, attack.state.future.usage
    first = attack.queue * tree.width
    return all(usage[first + column] < tree.nominal[first + column] for column in attack.short)


def _take(attack: Attack, candidates: Candidates, *, borrowing: bool) -> tuple[Target, ...]:
    """Take candidates in order until the preemptor fits, then put back whom it can spare.

    Once quota suffices, placement is looked at after ever longer stretches: room only grows.
    """
    book = attack.state.future
    mark = book.checkpoint()
    taken: list[Target] = []
    failed, look_at = -1, 0
    for target in candidates.all:
        if not _valid(attack, target, borrowing=borrowing):
            continue
        book.discharge(target.running.charge)
        taken.append(target)
        if failed < 0 and fits_quota(attack, borrowing=borrowing):
            failed = len(taken) - 1
            look_at = len(taken)
        if failed >= 0 and len(taken) == look_at:
            if attack.placeable():
                break
            look_at += 2 * (len(taken) - failed)
            failed = len(taken)
    if failed >= 0 and (len(taken) > failed) and attack.placeable():
        taken = _shorten(attack, taken, failed + 1)
        taken = put_back(attack, taken, borrowing=borrowing)
    else:
        taken = []
    book.rollback(mark)
    return tuple(taken)


def _shorten(attack: Attack, taken: list[Target], least: int) -> list[Target]:
    """The shortest beginning of `taken`, of `least` or more, with which there is a placement.

    All of `taken` is gone from the book, and has one.
    """
    book = attack.state.future
    low, high, at = least, len(taken), len(taken)
    while low < high:
        middle = (low + high) // 2
        for target in taken[middle:at]:
            book.charge(target.running.charge)
        for target in taken[at:middle]:
            book.discharge(target.running.charge)
        at = middle
        if attack.placeable():
            high = middle
        else:
            low = middle + 1
    for target in taken[at:high]:
        book.discharge(target.running.charge)
    return taken[:high]


def put_back(attack: Attack, taken: list[Target], *, borrowing: bool) -> list[Target]:
    """From the last but one to the first, spare everybody without whom it still fits.

    Whole stretches are tried first: if all of one can be spared at once, then each can.
    """
    book = attack.state.future
    needed = [taken[-1]]
    stretches = [taken[:-1]]
    while stretches:
        stretch = stretches.pop()
        if not stretch:
            continue
        for target in stretch:
            book.charge(target.running.charge)
        if fits_quota(attack, borrowing=borrowing) and attack.placeable():
            continue
        for target in stretch:
            book.discharge(target.running.charge)
        if len(stretch) == 1:
            needed.append(stretch[0])
        else:
            half = len(stretch) // 2
            stretches += [stretch[:half], stretch[half:]]
    return needed[::-1]


def _valid(attack: Attack, target: Target, *, borrowing: bool) -> bool:
    """Whether a candidate is still fair game after those taken before it."""
    if target.variant is Variant.OWN_QUEUE:
        return True
    if borrowing and target.variant is Variant.WITHOUT_BORROWING:
        return False
    tree = attack.state.tree
    queue = target.running.charge.queue
    if within_quota(attack, queue):
        return False
    for node in tree.path[queue]:
        if node == target.ancestor:
            return True
        if within_quota(attack, node):
            return False
    return True


def fits_quota(attack: Attack, *, borrowing: bool) -> bool:
    """Whether quota suffices in the book as it stands."""
    tree, usage = attack.state.tree, attack.state.future.usage
    for column, amount in attack.amounts:
        if not borrowing and tree.exceeds(usage, attack.queue, column, amount):
            return False
        if amount > tree.available(usage, attack.queue, column):
            return False
    return True
