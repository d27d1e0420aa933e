"""The order of the heads of one pass where fair sharing is on: a tournament in each tree.

In each cohort the winners of the child cohorts and the heads of the queues meet. A head's
node below the cohort is looked at with the head's use added; it wins
1. if it does not borrow what the head asks for;
2. with the lower share;
3. by priority, higher first;
4. by creation, older first, and the workload id.

After each head the tournament is held again, because what was decided changes the shares
(Kueue's `fair_sharing_iterator.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler.nomination import Nomination
from scheduler.pending import Key, order_key
from scheduler.state import State

Rank = tuple[bool, tuple[int, float], Key]


def hold_contest(state: State, nominations: Iterable[Nomination]) -> Iterator[Nomination]:
    """Heads one by one; each is to be decided before the next is asked for."""
    trees: dict[int, dict[int, Nomination]] = {}
    for nomination in sorted(nominations, key=lambda one: one.queue):
        root = state.tree.root[nomination.queue]
        trees.setdefault(root, {})[nomination.queue] = nomination
    for root, heads in trees.items():
        while heads:
            winner = heads[root] if root in heads else _winner(state, root, heads)
            assert winner is not None  # noqa: S101 - there are heads in this tree
            del heads[winner.queue]
            yield winner


def _winner(state: State, cohort: int, heads: dict[int, Nomination]) -> Nomination | None:
    best: tuple[Rank, Nomination] | None = None
    for child in state.tree.children[cohort]:
        head = heads.get(child) if child < state.tree.queues else _winner(state, child, heads)
        if head is not None:
            rank = _rank(state, child, head)
            if best is None or rank < best[0]:
                best = (rank, head)
    return None if best is None else best[1]


def _rank(state: State, node: int, head: Nomination) -> Rank:
    usage = state.future.usage
    state.tree.charge(usage, head.queue, head.amounts)
    share = state.shares.of(usage, node)
    state.tree.discharge(usage, head.queue, head.amounts)
    asked = {column for column, amount in head.amounts if amount > 0}
    return (
        not asked.isdisjoint(share.borrowed),
        share.rank,
        order_key(head.waiting.workload),
    )
