"""Whom to stop where fair sharing is on: the work of those who borrow the most.

Kueue's algorithm (`fair_strategy.go`). The preemptor's use is counted as if it ran already.
From the root of the tree the walk goes to the child with the highest share, down to a queue:
- a queue is passed over once it does not borrow (the preemptor's own stays) or has no
  candidates left, a cohort once it does not borrow (the preemptor's ancestors stay);
- of a cohort and a queue with equal shares the cohort is taken, of two queues the one with
  the first candidate, of two cohorts the first by number.

In the preemptor's own queue the first candidate is taken; so it is in another queue if the
preemptor's stays inside its nominal quota. Else the shares of the two nodes just below the
lowest common cohort are compared, by the first strategy; who passes is taken, and the walk
starts again at the root. If that does not suffice, those who did not pass are walked once
more by the second strategy, one for each queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scheduler.book import Charge
from scheduler.candidates import (
    Attack,
    Source,
    Target,
    Variant,
    of_queue,
    sort_targets,
    within_quota,
)
from scheduler.layout import FairStrategy, Reclaim
from scheduler.preemption import fits_quota, put_back
from scheduler.shares import Share
from scheduler.state import State


def find_fair_targets(attack: Attack) -> tuple[Target, ...]:
    """A minimal set of targets, in the order taken; empty if nothing would help."""
    candidates = _candidates(attack)
    if not candidates:
        return ()
    book = attack.state.future
    mark = book.checkpoint()
    search = Search(attack, Charge(attack.queue, attack.amounts, ()))
    book.charge(search.own_use)
    found = search.run(candidates)
    book.discharge(search.own_use)
    taken = put_back(attack, search.taken, borrowing=True) if found else []
    book.rollback(mark)
    return tuple(taken)


def _candidates(attack: Attack) -> list[Target]:
    """Everybody the policies allow: in queues that borrow what is short, then in the own."""
    state, queue = attack.state, attack.policy
    others: list[Target] = []
    if queue.reclaim is not Reclaim.NEVER:
        for number in state.tree.tree_queues[state.tree.root[attack.queue]]:
            if number != attack.queue and not within_quota(attack, number):
                ancestor = _common(state, attack.queue, number)
                source = Source(number, Variant.HIERARCHY, ancestor)
                others += (target for _, target in of_queue(attack, source))
    source = Source(attack.queue, Variant.OWN_QUEUE, attack.queue)
    own = [target for _, target in of_queue(attack, source)]
    return [*sort_targets(state, others), *sort_targets(state, own)]


def _common(state: State, queue: int, other: int) -> int:
    """The lowest cohort that contains both queues of one tree."""
    return next(node for node in state.tree.path[other] if node in state.tree.path[queue])


@dataclass(slots=True)
class Search:
    """A search for targets. `own_use` is the preemptor's, counted while shares are compared."""

    attack: Attack
    own_use: Charge
    taken: list[Target] = field(default_factory=list)
    missed: list[Target] = field(default_factory=list)

    def run(self, candidates: list[Target]) -> bool:
        """Take targets until the preemptor fits; whether it does."""
        strategies = self.attack.state.layout.fair_sharing or tuple(FairStrategy)
        if self._first(candidates, strategies[0]):
            return True
        return len(strategies) > 1 and self._second()

    def _first(self, candidates: list[Target], strategy: FairStrategy) -> bool:
        walk = Walk(self.attack, candidates)
        inside = self._inside_nominal()
        for queue in walk.queues():
            if queue == self.attack.queue or inside:
                if self._take(walk.pop(queue)):
                    return True
            elif self._first_that_passes(walk, queue, strategy):
                return True
        return False

    def _first_that_passes(self, walk: Walk, queue: int, strategy: FairStrategy) -> bool:
        """Take the first candidate of a queue that the strategy allows; whether it suffices."""
        mine, before = self._share(queue, own=True), self._share(queue)
        book = self.attack.state.future
        while walk.has(queue):
            target = walk.pop(queue)
            if strategy is FairStrategy.INITIAL:
                passes = mine.rank < before.rank
            else:
                book.discharge(target.running.charge)
                passes = mine.rank <= self._share(queue).rank
                book.charge(target.running.charge)
            if passes:
                return self._take(target, Variant.FAIR)
            self.missed.append(target)
        return False

    def _second(self) -> bool:
        walk = Walk(self.attack, self.missed)
        for queue in walk.queues():
            passes = self._share(queue, own=True).rank < self._share(queue).rank
            target = walk.pop(queue)
            if passes and self._take(target, Variant.FAIR):
                return True
            walk.drop(queue)
        return False

    def _take(self, target: Target, variant: Variant | None = None) -> bool:
        """Take a target; whether the preemptor fits now."""
        if variant is not None:
            target = Target(target.running, variant, target.ancestor)
        self.taken.append(target)
        book = self.attack.state.future
        book.discharge(target.running.charge)
        book.discharge(self.own_use)
        fits = fits_quota(self.attack, borrowing=True) and self.attack.placeable()
        book.charge(self.own_use)
        return fits

    def _inside_nominal(self) -> bool:
        """Whether the own queue, request included, stays inside what it was given."""
        tree, usage = self.attack.state.tree, self.attack.state.future.usage
        first = self.attack.queue * tree.width
        return all(
            usage[first + column] <= tree.nominal[first + column] for column in self.attack.short
        )

    def _share(self, queue: int, *, own: bool = False) -> Share:
        """The share just below the common cohort, on the target's side or on the own."""
        state = self.attack.state
        common = _common(state, self.attack.queue, queue)
        node = self.attack.queue if own else queue
        while state.tree.parent[node] != common:
            node = state.tree.parent[node]
        return state.shares.of(state.future.usage, node)


class Walk:
    """The queues from which to take next; each must be popped or dropped before the next."""

    def __init__(self, attack: Attack, candidates: Iterable[Target]) -> None:
        self._state = attack.state
        self._queue = attack.queue
        self._ancestors = set(attack.state.tree.path[attack.queue])
        self._left: dict[int, list[tuple[int, Target]]] = {}
        for place, target in enumerate(candidates):
            self._left.setdefault(target.running.charge.queue, []).append((place, target))
        self._pruned: set[int] = set()

    def has(self, queue: int) -> bool:
        """Whether a queue has candidates left."""
        return bool(self._left.get(queue))

    def pop(self, queue: int) -> Target:
        """The next candidate of a queue."""
        return self._left[queue].pop(0)[1]

    def drop(self, queue: int) -> None:
        """Pass over a queue from now on."""
        self._pruned.add(queue)

    def queues(self) -> Iterator[int]:
        """The queue with the highest share, again and again until all are passed over."""
        root = self._state.tree.root[self._queue]
        while root == self._queue and self.has(root):
            yield root
        while root != self._queue and root not in self._pruned:
            queue = self._descend(root)
            if queue is not None:
                yield queue

    def _descend(self, cohort: int) -> int | None:
        tree, usage = self._state.tree, self._state.future.usage
        best: tuple[tuple[int, float], int, int] | None = None
        best_child = -1
        for child in tree.children[cohort]:
            if child in self._pruned:
                continue
            share = self._state.shares.of(usage, child)
            if self._is_over(child, share):
                self._pruned.add(child)
                continue
            is_queue = child < tree.queues
            place = -self._left[child][0][0] if is_queue else -child
            rank = (share.rank, int(not is_queue), place)
            if best is None or rank > best:
                best, best_child = rank, child
        if best is None:
            self._pruned.add(cohort)
            return None
        return best_child if best_child < tree.queues else self._descend(best_child)

    def _is_over(self, child: int, share: Share) -> bool:
        """Whether nothing more is to be had from a child."""
        if child < self._state.tree.queues:
            return (not share.borrowed and child != self._queue) or not self.has(child)
        return not share.borrowed and child not in self._ancestors
