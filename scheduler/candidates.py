"""Who may be stopped for a workload, and in which order.

Candidates come from the own queue (by its `within` rule) and from queues of the cohort tree
that use more than their quota (by `reclaim`). Walking from the own queue to the root, once
the request lies inside the quota of a node, all candidates outside that node are *hierarchy*
candidates; those met before are *priority* candidates, stopped while the preemptor borrows
only if `borrow_within` allows.

Order of candidates:
1. hierarchy candidates, then priority candidates, then the own queue;
2. inside a queue that is ordered by usage, whose lease is over, then the work of who used more;
3. lower priority first;
4. where the policy goes by cost: fewer GPU-hours since the last checkpoint first;
5. later start first;
6. of replicas that started together, those that came later first;
7. the workload id.

Work that is not preemptible is never a candidate, except for its own queue's workloads from
the priority that the policy names (`protected_from`). Work whose lease is over counts as of the
lowest priority, and in its own queue may be stopped for anybody (`scheduler.lapse`).

A search mostly ends after the first few candidates, so they are not listed but walked: each
queue keeps its workloads in order, and the queues are merged as far as somebody looks.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cmp_to_key, partial
from heapq import merge
from typing import NamedTuple

from scheduler.lapse import makes_way, own
from scheduler.layout import Queue, Reclaim, Within
from scheduler.model import PreemptionRule, Workload, WorkloadId
from scheduler.outlook import limits
from scheduler.protection import cost, outranks, protects
from scheduler.quota import Amounts
from scheduler.seating import Seating
from scheduler.standing import Rank, Running
from scheduler.state import State


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


class Target(NamedTuple):
    """Somebody who may be or is to be stopped; `ancestor` is the lowest common cohort."""

    running: Running
    variant: Variant
    ancestor: int


class Source(NamedTuple):
    """A queue from which candidates come, by which right, and the lowest common cohort."""

    queue: int
    variant: Variant
    ancestor: int


@dataclass(slots=True, eq=False)
class Attack:
    """One question: whom to stop so that `workload` fits `queue`.

    `amounts` is all that it needs, `short` the columns for which it has to preempt. `seating`
    says whether the gang has a placement; None where only quota is asked about. (Not frozen:
    one is made for each head, and frozen ones are several times dearer to make.)
    """

    state: State
    workload: Workload
    queue: int
    amounts: Amounts
    short: frozenset[int]
    seating: Seating | None = None

    @property
    def policy(self) -> Queue:
        """The preemptor's queue."""
        return self.state.layout.queues[self.queue]

    def placeable(self) -> bool:
        """Whether the gang has a placement in the book as it stands."""
        if self.seating is None:
            return True
        self.seating.count()
        return self.seating.suffices()


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Where candidates come from, in the order of the module."""

    hierarchy: tuple[Source, ...]
    priority: tuple[Source, ...]
    own: tuple[Source, ...]


def find_sources(attack: Attack) -> Sources:
    """The queues whose work the preemptor might have stopped."""
    state, queue = attack.state, attack.policy
    hierarchy: list[Source] = []
    priority: list[Source] = []
    own = Source(attack.queue, Variant.OWN_QUEUE, attack.queue)
    if queue.reclaim is not Reclaim.NEVER and state.tree.parent[attack.queue] >= 0:
        rest = [(column, amount) for column, amount in attack.amounts if column in attack.short]
        advantage, rest = _fits_in_quota(attack, attack.queue, rest)
        below = attack.queue
        for node in state.tree.path[attack.queue]:
            found = hierarchy if advantage else priority
            variant = Variant.HIERARCHY if advantage else Variant.WITHOUT_BORROWING
            _collect(attack, node, below, found, variant, ancestor=node)
            fits, rest = _fits_in_quota(attack, node, rest)
            advantage = advantage or fits
            below = node
    within = queue.within is not Within.NEVER or queue.lapses
    return Sources(tuple(hierarchy), tuple(priority), (own,) if within else ())


def _fits_in_quota(
    attack: Attack, node: int, wanted: Sequence[tuple[int, int]]
) -> tuple[bool, list[tuple[int, int]]]:
    """Whether the request lies inside a node's quota, and what it cannot keep of it itself."""
    tree, usage = attack.state.tree, attack.state.future.usage
    fits = not any(tree.exceeds(usage, node, column, amount) for column, amount in wanted)
    rest = [(column, max(0, n - tree.local(usage, node, column))) for column, n in wanted]
    return fits, rest


def _collect(
    attack: Attack, node: int, skip: int, found: list[Source], variant: Variant, *, ancestor: int
) -> None:
    """Every borrowing queue under `node`, outside of `skip`."""
    tree = attack.state.tree
    for child in tree.children[node]:
        if child in (skip, attack.queue) or within_quota(attack, child):
            continue
        if child >= tree.queues:
            _collect(attack, child, skip, found, variant, ancestor=ancestor)
        else:
            found.append(Source(child, variant, ancestor))


def within_quota(attack: Attack, node: int) -> bool:
    """Whether a node does not borrow anything of what is short."""
    tree, usage = attack.state.tree, attack.state.future.usage
    first = node * tree.width
    for column in attack.short:  # noqa: SIM110 - asked for each candidate: no generator
        if usage[first + column] > tree.subtree[first + column]:
            return False
    return True


def of_queue(
    attack: Attack, source: Source, spent: Set[int] = frozenset()
) -> Iterator[tuple[Rank, Target]]:
    """Candidates of one queue, in order, with their rank; none once the queue is in `spent`."""
    number, variant, ancestor = source
    running, short, guarded = attack.state.running, attack.short, attack.state.guarded
    own, others = limits(attack.policy, attack.workload.priority)
    below = own if variant is Variant.OWN_QUEUE else others
    for rank in attack.state.ranks[number]:
        if rank[0] >= below or number in spent:
            break
        candidate = running[rank[-1]]
        if candidate.columns.isdisjoint(short):
            continue
        right = _right(attack, candidate, variant)
        if right is not None and not (guarded and _is_safe(attack, candidate, variant)):
            yield rank, Target(candidate, right, ancestor)


def _is_safe(attack: Attack, candidate: Running, variant: Variant) -> bool:
    """Whether the policy protects somebody who could otherwise be stopped."""
    own = variant is Variant.OWN_QUEUE
    return protects(attack.state, attack.workload, candidate, own=own)


def _right(attack: Attack, candidate: Running, variant: Variant) -> Variant | None:
    """By which right the preemptor may stop the candidate, None if by none."""
    queue, mine, theirs = attack.policy, attack.workload, candidate.workload
    if variant is Variant.OWN_QUEUE:
        return variant if _may_stop_within(queue, mine, theirs) else None
    if not theirs.preemptible:
        return None
    if queue.name in (theirs.queue, *theirs.overflow) and _may_stop_within(queue, theirs, mine):
        return None  # requeued, it could overflow to this queue and stop the preemptor in turn
    if queue.reclaim is Reclaim.LOWER and not outranks(mine, theirs):
        return None
    if variant is Variant.HIERARCHY or queue.borrow_within is None:
        return variant
    limit = queue.borrow_within.max_priority
    before = own(theirs)  # who borrows takes no advantage of a lease that is over
    above = not outranks(mine, before) or (limit is not None and before.priority > limit)
    return Variant.WITHOUT_BORROWING if above else Variant.WHILE_BORROWING


def _may_stop_within(queue: Queue, mine: Workload, theirs: Workload) -> bool:
    """Whether `mine` may stop `theirs` where both are in the same queue."""
    if queue.lapses and makes_way(theirs, mine):
        return True
    if queue.within is Within.NEVER:
        return False
    if queue.within_from is not None and mine.priority < queue.within_from:
        return False
    guarded = queue.protected_from is None or mine.priority < queue.protected_from
    if guarded and not theirs.preemptible:
        return False
    newer = not mine.barred and theirs.priority == mine.priority and theirs.created > mine.created
    return outranks(mine, theirs) or (newer and queue.within is Within.LOWER_OR_NEWER)


def in_order(attack: Attack, sources: Sequence[Source], spent: Set[int]) -> Iterator[Target]:
    """The candidates of some queues, in order. Of queues in `spent`, none may be missed."""
    state = attack.state
    by_cost = state.layout.options.by_cost
    if by_cost or (state.by_usage and any(s.queue in state.by_usage for s in sources)):
        found = [target for source in sources for _, target in of_queue(attack, source)]
        return iter(sort_targets(state, found))
    if len(sources) == 1:
        return (target for _, target in of_queue(attack, sources[0], spent))
    walks = [of_queue(attack, source, spent) for source in sources]
    return (target for _, target in merge(*walks))


def sort_targets(state: State, found: list[Target]) -> tuple[Target, ...]:
    """In the order in which they are taken; see the module."""
    ordered = sorted(found, key=lambda target: _rank(state, target.running))
    if not state.by_usage or not {t.running.charge.queue for t in found} & state.by_usage:
        return tuple(ordered)
    return tuple(sorted(ordered, key=cmp_to_key(partial(_compare, state))))


def _compare(state: State, one: Target, other: Target) -> int:
    """Inside a queue that is ordered by usage, who used more comes first, after the lapsed."""
    mine, theirs = one.running, other.running
    alike = (mine.workload.lapsed is None) is (theirs.workload.lapsed is None)
    if alike and mine.charge.queue == theirs.charge.queue and mine.charge.queue in state.by_usage:
        use, other_use = (state.ledger.score(r.workload.team) for r in (mine, theirs))
        if use != other_use:
            return -1 if use > other_use else 1
    return -1 if _rank(state, mine) < _rank(state, theirs) else 1


def _rank(state: State, running: Running) -> tuple[int, float, float, int, WorkloadId]:
    """Order among targets that are otherwise equal: 3. to 7. of the module."""
    priority, start, replica, one = running.rank
    lost = cost(running, state.now) if state.layout.options.by_cost else 0.0
    return (priority, lost, start, replica, one)
