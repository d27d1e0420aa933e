"""Balanced placement: a preferred domain's slices in parts as equal as can be.

Kueue's `TASBalancedPlacement`, for pod sets without a leader:

1. Siblings of the preferred level (the children of one domain above it) are looked at
   together, or their children if slices lie deeper. Filling those with most slices first
   says how many are needed at least; the *threshold* is the largest part that each of so
   many can be given.
2. The siblings with the highest threshold are taken; of equals, those that need the fewest
   domains, then the first.
3. Among domains that can take the threshold, as few as suffice with the least to spare are
   chosen. Each gets the threshold; what is left goes to those with most slices first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduler.counting import Counts
from scheduler.domains import Indices, Ints


@dataclass(frozen=True, slots=True)
class Balanced:
    """Slices per domain of a level."""

    level: int
    domains: tuple[int, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Option:
    """Siblings with their slices, and the parts among which these are shared out."""

    threshold: int
    siblings: Indices
    slices: Ints
    parts: Indices
    part_slices: Ints
    holders: Ints


def balance(counts: Counts) -> Balanced | None:
    """Equal parts for a preferred level, or None where the usual way has to do."""
    demand = counts.demand
    if demand.required or demand.unconstrained or demand.leader is not None or not demand.needed:
        return None
    best: tuple[int, int] = (0, 0)
    chosen: _Option | None = None
    for siblings in _families(counts):
        option = _look_at(counts, siblings)
        if option is None:
            continue
        rank = (option.threshold, -_fewest(option.slices, demand.needed)[0])
        if rank > best:
            best, chosen = rank, option
    return None if chosen is None else _share_equally(counts, chosen)


def _families(counts: Counts) -> list[Indices]:
    level = counts.demand.level
    if level == 0:
        return [np.arange(counts.domains.size(0))]
    above = range(counts.domains.size(level - 1))
    return [counts.domains.children(level - 1, [domain]) for domain in above]


def _look_at(counts: Counts, siblings: Indices) -> _Option | None:
    """What one family could do, with what is below its threshold left out."""
    demand, domains = counts.demand, counts.domains
    deeper = demand.level < demand.slice_level
    parts = domains.children(demand.level, siblings.tolist()) if deeper else siblings
    part_slices = counts.at(demand.level + deeper).slices[parts]
    number, last = _fewest(part_slices, demand.needed)
    if not number:
        return None
    threshold = min(demand.needed // number, last)
    if not threshold:
        return None
    kept = part_slices >= threshold
    if deeper:
        starts = domains.starts[demand.level][siblings]
        slices = np.add.reduceat(np.where(kept, part_slices, 0), starts - starts[0])
        parts, part_slices = parts[kept], part_slices[kept]
        holders = np.searchsorted(domains.starts[demand.level], parts, side="right") - 1
    else:
        siblings = parts = holders = parts[kept]
        slices = part_slices = part_slices[kept]
    if not _fewest(slices, demand.needed)[0]:
        return None
    return _Option(threshold, siblings, slices, parts, part_slices, holders)


def _fewest(slices: Ints, needed: int) -> tuple[int, int]:
    """How many domains suffice, most slices first, and what the last holds; 0 if none do."""
    most = int(slices.max()) if len(slices) else 0
    if most >= needed:
        return 1, most
    ordered = np.sort(slices)[::-1]
    filled = np.cumsum(ordered)
    if not len(filled) or filled[-1] < needed:
        return 0, 0
    last = int(np.searchsorted(filled, needed))
    return last + 1, int(ordered[last])


def _share_equally(counts: Counts, option: _Option) -> Balanced | None:
    demand = counts.demand
    parts, slices = option.parts, option.part_slices
    deeper = demand.level < demand.slice_level
    if deeper:
        chosen = option.siblings[_smallest_set(option.slices, demand.needed)]
        inside = np.zeros(counts.domains.size(demand.level), dtype=np.bool_)
        inside[chosen] = True
        inside = inside[option.holders]
        parts, slices = parts[inside], slices[inside]
    picked = _smallest_set(slices, demand.needed)
    if not len(picked) or demand.needed < len(picked) * option.threshold:
        return None
    picked = picked[np.argsort(-slices[picked], kind="stable")]
    spare = np.cumsum(slices[picked] - option.threshold)
    extra = demand.needed - len(picked) * option.threshold
    given = np.diff(np.minimum(spare, extra), prepend=0)
    return Balanced(
        demand.level + deeper,
        tuple(parts[picked].tolist()),
        tuple((given + option.threshold).tolist()),
    )


def _smallest_set(slices: Ints, needed: int) -> Indices:
    """As few domains as suffice, with the smallest total that does; none if nothing does.

    A table of which totals can be had with how many domains, filled domain by domain; each
    cell remembers the domain that first reached it. Of equal domains no more than could be
    taken are looked at.
    """
    number, _ = _fewest(slices, needed)
    if number <= 1:
        enough = np.where(slices >= needed, slices, np.iinfo(np.int64).max)
        return np.array([enough.argmin()] if number else [], dtype=np.intp)
    most = int(np.sort(slices)[::-1][:number].sum())
    reached = np.full((number + 1, most + 1), -1, dtype=np.int64)
    reached[0, 0] = len(slices)
    seen: dict[int, int] = {}
    for domain, amount in enumerate(slices.tolist()):
        seen[amount] = seen.get(amount, 0) + 1
        if seen[amount] > number:
            continue
        before = reached[:-1, : most + 1 - amount] >= 0
        target = reached[1:, amount:]
        target[before & (target < 0)] = domain
    totals = np.flatnonzero(reached[number, needed:] >= 0)
    if not len(totals):
        return np.zeros(0, dtype=np.intp)
    total, picked = needed + int(totals[0]), []
    for left in range(number, 0, -1):
        domain = int(reached[left, total])
        picked.append(domain)
        total -= int(slices[domain])
    return np.array(sorted(picked), dtype=np.intp)
