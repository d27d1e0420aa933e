"""Where a gang goes in a tree of topology domains: blocks, racks, hosts, or any labels.

The algorithm is Kueue's (`tas_flavor_snapshot.go`), in whole slices of pods:

1. *Count.* For each lowest domain: how many pods fit, whether the leader's pod fits, and how
   many pods fit beside it. Sums go up the tree; at the slice level pods become slices.
2. *Choose a level.* Required: one domain of that level. Preferred: one domain of that level,
   else of a level above, else several of the top level. Unconstrained: one of the lowest
   level, else several. One domain that holds everything is the one with the fewest slices that
   do (best fit), then the fewest pods, then the path of level values.
3. *Descend.* The children of all chosen domains together are taken in order: most slices first
   (unconstrained: fewest first), then fewest pods, then the path; as soon as the next one
   holds all that is left, the best fit is taken for it. Below the slice level each domain hands its
   pods to its own children, fewest first.

All orders end in the path of level values, which names one domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler.model import TopologyMode

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEVER = np.int64(1 << 60)


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The domains of one flavor, in the order of their paths, level by level from the top.

    `columns` are the node columns of the lowest domains. `starts[n]` holds for each domain of
    level n the first of its children on level n + 1; children of one domain are neighbours.
    """

    labels: tuple[str, ...]
    columns: NDArray[np.intp]
    starts: tuple[NDArray[np.intp], ...]

    @property
    def lowest(self) -> int:
        """The number of the lowest level."""
        return len(self.labels) - 1

    def children(self, level: int, domain: int) -> range:
        """The children of a domain, as numbers on the next level."""
        starts = self.starts[level]
        end = starts[domain + 1] if domain + 1 < len(starts) else self._size(level + 1)
        return range(int(starts[domain]), int(end))

    def _size(self, level: int) -> int:
        return len(self.columns) if level == self.lowest else len(self.starts[level])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is looked for: `count` pods in slices of `size` that share a domain of `slice_level`.

    `level` is the level of `mode`. `inner` gives for a level below the slice level the size
    in whose multiples pods are handed out there.
    """

    count: int
    mode: TopologyMode
    level: int
    size: int
    slice_level: int
    inner: Mapping[int, int] = field(default_factory=dict)
    leader: bool = False

    @property
    def needed(self) -> int:
        """Slices needed."""
        return self.count // self.size

    @property
    def least_first(self) -> bool:
        """Whether the smallest domains are filled up first."""
        return self.mode is TopologyMode.UNCONSTRAINED


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What the domains of one level could take, the leader counted and not."""

    pods: Ints
    beside: Ints
    leader: Flags
    slices: Ints
    slices_beside: Ints


Taken = tuple[dict[int, int], int | None]
"""Units by domain, and the domain of the leader."""


def find_domains(levels: Levels, ask: Ask, pods: Ints, beside: Ints, leader: Flags) -> Taken | None:
    """Pods by lowest domain, and the leader's domain; None if there is no placement.

    `pods` and `beside` say how many pods fit in each lowest domain, `beside` with the leader
    there where it fits (`leader`).
    """
    if not len(levels.columns) or ask.count % ask.size:
        return None
    counts = _count(levels, ask, pods, beside, leader)
    chosen = _choose(ask, counts)
    if chosen is None:
        return None
    level, (domains, seat) = chosen
    while level < ask.slice_level:
        below = [child for domain in domains for child in levels.children(level, domain)]
        if seat is not None and seat not in domains:
            below += levels.children(level, seat)
        level += 1
        found = _consume(_slices(counts[level], below), ask.needed, ask)
        if found is None:
            return None
        domains, seat = found
    shares = {domain: slices * ask.size for domain, slices in domains.items()}
    while level < levels.lowest:
        shares, seat = _hand_down(levels, ask, counts[level + 1], level, shares, seat)
        level += 1
    return {domain: n for domain, n in sorted(shares.items()) if n}, seat


def _count(levels: Levels, ask: Ask, pods: Ints, beside: Ints, leader: Flags) -> list[Counts]:
    """What each domain could take, from the lowest level to the top."""
    counts: list[Counts] = []
    slices = slices_beside = np.zeros(0, dtype=np.int64)
    for level in range(levels.lowest, -1, -1):
        if level < levels.lowest:
            starts, unit = levels.starts[level], ask.inner.get(level + 1, 1)
            whole, whole_beside = pods // unit * unit, beside // unit * unit
            pods = np.add.reduceat(whole, starts)
            beside = pods - _least(whole - whole_beside, leader, starts)
            if level < ask.slice_level:
                gap = _least(slices - slices_beside, leader, starts)
                slices = np.add.reduceat(slices, starts)
                slices_beside = slices - gap
            leader = np.logical_or.reduceat(leader, starts)
        if level == ask.slice_level:
            slices, slices_beside = pods // ask.size, beside // ask.size
        counts.append(Counts(pods, beside, leader, slices, slices_beside))
    return counts[::-1]


def _least(lost: Ints, leader: Flags, starts: NDArray[np.intp]) -> Ints:
    """The least that the leader costs in any child that can hold it, 0 if none can."""
    least = np.minimum.reduceat(np.where(leader, lost, _NEVER), starts)
    return np.where(least == _NEVER, 0, least)


def _choose(ask: Ask, counts: Sequence[Counts]) -> tuple[int, Taken] | None:
    """The level, and the domains of it that hold everything."""
    for level in range(ask.level, -1, -1):
        single = _best_single(counts[level], ask)
        if single is not None:
            return level, ({single: ask.needed}, single if ask.leader else None)
        if ask.mode is not TopologyMode.PREFERRED:
            break
    if ask.mode is TopologyMode.REQUIRED:
        return None
    level = ask.level if ask.mode is TopologyMode.UNCONSTRAINED else 0
    every = range(len(counts[level].pods))
    found = _consume(_slices(counts[level], every), ask.needed, ask)
    return None if found is None else (level, found)


def _best_single(counts: Counts, ask: Ask) -> int | None:
    """The domain that holds everything with the fewest slices to spare."""
    holds = counts.slices_beside >= ask.needed
    if ask.leader:
        holds &= counts.leader
    able = np.flatnonzero(holds)
    if not len(able):
        return None
    order = np.lexsort((able, counts.beside[able], counts.slices_beside[able]))
    return int(able[order[0]])


@dataclass(frozen=True, slots=True)
class Offer:
    """What a domain could take, in the units that are looked for; `pods` breaks ties."""

    domain: int
    units: int
    beside: int
    pods: int
    leader: bool


def _slices(counts: Counts, domains: Sequence[int]) -> list[Offer]:
    return [
        Offer(
            domain,
            int(counts.slices[domain]),
            int(counts.slices_beside[domain]),
            int(counts.pods[domain]),
            bool(counts.leader[domain]),
        )
        for domain in domains
    ]


def _consume(
    offers: list[Offer], needed: int, ask: Ask, *, seat: bool | None = None, handing: bool = False
) -> Taken | None:
    """Take from domains in order until nothing is left; None if they do not suffice.

    `seat` says whether the leader goes here too. `handing` is the order below the slice
    level: fewest first, but with the best fit.
    """
    least = ask.least_first or handing
    order = sorted(offers, key=lambda o: (o.units if least else -o.units, o.pods, o.domain))
    leader = ask.leader if seat is None else seat
    if leader:
        total = sum(offer.units for offer in order)
        first = next(
            (o for o in order if o.leader and total - (o.units - o.beside) >= needed), None
        )
        if first is None:
            return None
        order.remove(first)
        order.insert(0, first)
    taken: dict[int, int] = {}
    place: int | None = None
    left = needed
    for number, offer in enumerate(order):
        if left == 0 and (place is not None or not leader):
            break
        seating = leader and place is None
        if handing or not ask.least_first:
            offer = _best_fit(order[number:], left, seating=seating)  # noqa: PLW2901 - see above
        size = min(offer.beside if seating else offer.units, left)
        if seating:
            place = offer.domain
        if size:
            taken[offer.domain] = taken.get(offer.domain, 0) + size
        left -= size
    return (taken, place) if left == 0 else None


def _best_fit(order: Sequence[Offer], left: int, *, seating: bool) -> Offer:
    """The next in order; the tightest that holds all that is left, if the next one does."""

    def units(offer: Offer) -> int:
        return offer.beside if seating else offer.units

    if units(order[0]) < left:
        return order[0]
    able = [o for o in order if units(o) >= left and (o.leader or not seating)]
    return min(able, key=units)


def _hand_down(
    levels: Levels,
    ask: Ask,
    counts: Counts,
    level: int,
    shares: Mapping[int, int],
    seat: int | None,
) -> Taken:
    """Below the slice level: each domain's pods go to its own children, in whole units."""
    unit = ask.inner.get(level + 1, 1)
    handed: dict[int, int] = {}
    place: int | None = None
    parents = dict(shares)
    if seat is not None:
        parents.setdefault(seat, 0)
    for domain, pods in sorted(parents.items()):
        offers = [
            Offer(
                child,
                int(counts.pods[child]) // unit,
                int(counts.beside[child]) // unit,
                int(counts.pods[child]),
                bool(counts.leader[child]),
            )
            for child in levels.children(level, domain)
        ]
        found = _consume(offers, pods // unit, ask, seat=domain == seat, handing=True)
        assert found is not None  # noqa: S101 - a parent holds what its children do
        for child, units in found[0].items():
            handed[child] = units * unit
        if domain == seat:
            place = found[1]
    return handed, place
