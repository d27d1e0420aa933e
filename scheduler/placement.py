"""Where the pods of one demand go: a level, its domains, and from there down to the leaves.

Kueue's topology-aware placement (`tas_flavor_snapshot.go`):

- *One domain.* `required` stays at the demanded level; `preferred` goes up level by level.
  Among the domains that hold everything, the one with the fewest slices is taken (*best fit*;
  for unconstrained work that is the fullest, *least free capacity*).
- *Several domains.* Most slices first, and as soon as one holds all that is left, the best fit
  for it. Unconstrained: fewest slices first, filled up one after the other.
- *Descent.* The children of all chosen domains are consumed in the same way down to the slice
  level. Below it each domain shares its pods out among its own children, fewest pods first.
- *Leader.* The first domain in the order that can hold it, and without whose lost room the
  rest still suffices, comes to the front.

Ties are broken by fewest pods, then by the order of level values. With `tight`, ties among
single leaves go to the least free capacity first, in the leaf and then in what lies around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduler.balance import Balanced, balance
from scheduler.counting import Counts, Demand, Level
from scheduler.domains import Indices, Ints

Share = tuple[tuple[int, int], ...]
"""(domain or leaf, how many), in the order in which they were taken."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Pods per leaf, in the order of leaves, and the leaf of the leader."""

    leaves: Share
    leader: int | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """Domains of one level with what each got, and the one with the leader."""

    domains: list[int]
    amounts: list[int]
    leader: int | None = None


def place(counts: Counts, *, tight: bool = False, balanced: bool = False) -> Placed | None:
    """Leaves for everything, or None if there is no placement.

    With `balanced`, what prefers a level is shared out in equal parts if it can be.
    """
    demand = counts.demand
    if not counts.domains.size(0) or (not demand.count and demand.leader is None):
        return None if demand.count or demand.leader is not None else Placed(())
    parts = balance(counts) if balanced else None
    if parts is not None:
        return _hand_down(counts, parts)
    chosen = _choose(counts, tight=tight)
    if chosen is None:
        return None
    level, taken = chosen
    return _descend(counts, level, taken)


def _choose(counts: Counts, *, tight: bool) -> tuple[int, _Taken] | None:
    """The level, and what its domains get."""
    demand, level = counts.demand, counts.demand.level
    while True:
        here = counts.at(level)
        one = _find_one(counts, level, here, tight=tight)
        if one is not None:
            leader = one if demand.leader is not None else None
            return level, _Taken([one], [demand.needed], leader)
        if demand.required:
            return None
        if demand.unconstrained or level == 0:
            everything = np.arange(len(here.slices))
            taken = _consume(
                here,
                everything,
                demand,
                counts.lead_room if tight and level == counts.domains.lowest else None,
            )
            return None if taken is None else (level, taken)
        level -= 1


def _find_one(counts: Counts, level: int, here: Level, *, tight: bool) -> int | None:
    """The domain that holds everything with the least to spare."""
    slices = here.slices_beside
    enough = slices >= counts.demand.needed
    if here.leads is not None:
        enough &= here.leads
    candidates = np.flatnonzero(enough)
    if not len(candidates):
        return None
    candidates = _least(candidates, slices)
    if len(candidates) > 1 and here.pods_beside is not slices:
        candidates = _least(candidates, here.pods_beside)
    if tight and len(candidates) > 1 and level == counts.domains.lowest:
        candidates = _tightest(counts, candidates)
    return int(candidates[0])


def _least(candidates: Indices, values: Ints) -> Indices:
    """Those candidates whose value is smallest."""
    mine = values[candidates]
    least: Indices = candidates[mine == mine.min()]
    return least


def _tightest(counts: Counts, candidates: Indices) -> Indices:
    """Among leaves, those with the least free capacity in them, and then around them."""
    domains, free = counts.domains, counts.lead_room
    candidates = _least(candidates, free)
    for level in reversed(range(domains.lowest)):
        if len(candidates) == 1:
            break
        leaves = domains.leaves[level]
        around = np.add.reduceat(free, leaves)
        holders = np.searchsorted(leaves, candidates, side="right") - 1
        mine = around[holders]
        candidates = candidates[mine == mine.min()]
    return candidates


def _consume(
    here: Level, among: Indices, demand: Demand, ties: Ints | None = None
) -> _Taken | None:
    """Slices of one level for the whole demand, None if they do not suffice.

    `ties` breaks ties of unconstrained work in place of pods.
    """
    slices = here.slices[among]
    best = not demand.unconstrained
    if here.leads is None:
        order = _order(here, among, slices, demand, ties)
        return _fill(among[order], slices[order], demand.needed, best=best)
    order = _order(here, among, slices, demand, None)
    beside = np.where(here.leads[among], here.slices_beside[among], -1)
    return _lead(among[order], slices[order], beside[order], demand, demand.needed, best=best)


def _lead(
    ordered: Indices, amounts: Ints, beside: Ints, demand: Demand, needed: int, *, best: bool
) -> _Taken | None:
    """Seat the leader first, then fill; arguments as for `_fill`.

    `beside` is what each domain holds beside the leader, -1 where the leader does not fit.
    """
    able = np.flatnonzero((beside >= 0) & (amounts.sum() - (amounts - beside) >= needed))
    if not len(able):
        return None
    front = able[0]
    if not demand.unconstrained and beside[front] >= needed:
        enough = able[beside[able] >= needed]
        front = enough[np.argmin(beside[enough])]
    leader, first = int(ordered[front]), min(int(beside[front]), needed)
    if first == needed:
        return _Taken([leader], [first], leader)
    rest = _fill(np.delete(ordered, front), np.delete(amounts, front), needed - first, best=best)
    if rest is None:
        return None
    return _Taken([leader, *rest.domains], [first, *rest.amounts], leader)


def _order(here: Level, among: Indices, slices: Ints, demand: Demand, ties: Ints | None) -> Indices:
    """Most slices first (unconstrained: fewest), then fewest pods, then level values."""
    lead = slices if demand.unconstrained else -slices
    if ties is not None:
        return np.lexsort((ties[among], lead))
    if here.pods is here.slices:
        return np.argsort(lead, kind="stable")
    return np.lexsort((here.pods[among], lead))


def _fill(ordered: Indices, amounts: Ints, needed: int, *, best: bool) -> _Taken | None:
    """Take domains in order; with `best`, the last one is the best fit for what is left.

    `amounts` are those of the domains in the same order: descending with `best`, else
    ascending.
    """
    filled = np.cumsum(amounts)
    if not len(filled) or filled[-1] < needed:
        return None
    if best:
        last = int(np.argmax(amounts >= needed - (filled - amounts)))
    else:
        last = int(np.searchsorted(filled, needed))
    left = needed - int(filled[last] - amounts[last])
    at = last
    if best:
        tail = amounts[last:]
        smallest = tail[int(np.count_nonzero(tail >= left)) - 1]
        at = last + int(np.count_nonzero(tail > smallest))
    begin = 0 if best else int(np.searchsorted(amounts, 1))
    domains = [*ordered[begin:last].tolist(), int(ordered[at])]
    return _Taken(domains, [*amounts[begin:last].tolist(), left])


def _hand_down(counts: Counts, parts: Balanced) -> Placed | None:
    """Every domain hands its own slices to its children, down to the slice level."""
    level, taken = parts.level, _Taken([*parts.domains], [*parts.amounts])
    while level < counts.demand.slice_level:
        below = counts.at(level + 1)
        domains: list[int] = []
        amounts: list[int] = []
        for domain, needed in zip(taken.domains, taken.amounts, strict=True):
            among = counts.domains.children(level, [domain])
            among = among[_order(below, among, below.slices[among], counts.demand, None)]
            part = _fill(among, below.slices[among], needed, best=True)
            if part is None:
                return None
            domains += part.domains
            amounts += part.amounts
        level, taken = level + 1, _Taken(domains, amounts)
    return _descend(counts, level, taken)


def _descend(counts: Counts, level: int, taken: _Taken) -> Placed | None:
    """From the chosen level down to the leaves."""
    demand, domains = counts.demand, counts.domains
    found: _Taken | None = taken
    while level < demand.slice_level:
        among = domains.children(level, taken.domains)
        level += 1
        found = _consume(counts.at(level), among, demand)
        if found is None:
            return None
        taken = found
    size = demand.slice_size
    taken = _Taken(taken.domains, [amount * size for amount in taken.amounts], taken.leader)
    while level < domains.lowest:
        found = _share_out(counts, level, taken)
        if found is None:
            return None
        taken = found
        level += 1
    pairs = zip(taken.domains, taken.amounts, strict=True)
    return Placed(tuple(sorted((d, n) for d, n in pairs if n)), taken.leader)


def _share_out(counts: Counts, level: int, taken: _Taken) -> _Taken | None:
    """Every domain's pods among its own children, in multiples of their inner layer."""
    demand = counts.demand
    size = (demand.inner or {}).get(level + 1, 1)
    here = counts.at(level + 1)
    domains: list[int] = []
    amounts: list[int] = []
    leader: int | None = None
    for domain, pods in zip(taken.domains, taken.amounts, strict=True):
        among = counts.domains.children(level, [domain])
        among = among[np.argsort(here.pods[among], kind="stable")]
        whole = here.pods[among] // size
        part: _Taken | None
        if domain == taken.leader and here.leads is not None:
            beside = np.where(here.leads[among], here.pods_beside[among] // size, -1)
            part = _lead(among, whole, beside, demand, pods // size, best=False)
            leader = None if part is None else part.leader
        else:
            part = _fill(among, whole, pods // size, best=False) if pods else _Taken([], [])
        if part is None:
            return None
        domains += part.domains
        amounts += [amount * size for amount in part.amounts]
    return _Taken(domains, amounts, leader)
