"""Where a gang goes, given how much is free on each node.

Order of nodes for a gang (least free capacity first, so that whole nodes stay whole):
1. the smallest node that holds all pods of the set, if there is one;
2. else nodes are filled one after the other, those that hold the fewest pods first;
3. with `tight`, among equals the one with the least free capacity of the set's first resource;
4. the node name.

No order that does not know what comes strands least always. This one never strands more than
first-fit while pods come one by one, nobody ends and each size divides the larger ones
(`test_least_free_never_strands_more_than_the_others` in `tests/scheduler/test_packing.py`). With
other sizes, or with gangs of several pods, first-fit can strand less: the counterexamples are
`test_first_fit_can_strand_less`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.counting import Shape
from scheduler.domains import Indices, Ints
from scheduler.model import NodeName
from scheduler.topology import AMPLE, Space

_NEVER = np.iinfo(np.int64).max
"""Stands after every node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """Why pods cannot be placed: how many could be, what is free in all and on one node.

    `outside` is what pods outside our care hold of the same resource on these nodes.
    """

    pods: int
    nodes: int
    free: int
    largest: int
    outside: int


def place(
    spaces: Sequence[Space], eligible: Indices, shape: Shape, count: int, *, tight: bool = True
) -> tuple[tuple[NodeName, int], ...] | None:
    """Nodes for `count` pods that have room in every one of `spaces`, or None.

    `eligible` holds node columns in name order. See the module for the order of nodes.
    """
    if not len(eligible):
        return None
    nodes, (row, each) = spaces[0].nodes, shape[0]
    lead = _room(spaces, row, eligible)
    pods = lead // each
    others = [(r, amount) for r, amount in shape[1:] if r or not nodes.roomy]
    for row, amount in others:
        np.minimum(pods, _room(spaces, row, eligible) // amount, out=pods)
    enough = pods >= count
    if enough.any():
        order = pods
        if tight:  # with one resource, who has the least free of it also holds the fewest pods
            order = pods * AMPLE + np.minimum(lead, AMPLE - 1) if others else lead
        best = int(np.where(enough, order, _NEVER).argmin())
        return ((nodes.names[eligible[best]], count),)
    if int(np.maximum(pods, 0).sum()) < count:
        return None
    return _fill(nodes.names, eligible, pods, count, lead=lead if tight else None)


def place_as_compared(
    spaces: Sequence[Space], eligible: Indices, shape: Shape, count: int, *, spread: bool
) -> tuple[tuple[NodeName, int], ...] | None:
    """Nodes as other schedulers choose them, to compare with: by name, or the emptiest first.

    There is a placement whenever `place` finds one. With `spread` each pod goes to the node
    of which the smallest share is used, the first by name among equals, as the LeastAllocated
    scoring of Kubernetes' scheduler does; else to the first node with room.
    """
    nodes, left = spaces[0].nodes, room(spaces, shape, eligible)
    if int(left.sum()) < count:
        return None
    taken = np.zeros_like(left)
    if spread:
        row, each = shape[0]
        whole = np.maximum(nodes.capacity[row][eligible], 1)
        free = _room(spaces, row, eligible).astype(np.float64)
        for _ in range(count):
            best = int(np.where(left > taken, free / whole, -1.0).argmax())
            taken[best] += 1
            free[best] -= each
    else:
        before = np.cumsum(left) - left
        taken = np.clip(count - before, 0, left)
    some = np.flatnonzero(taken)
    return tuple((nodes.names[eligible[at]], int(taken[at])) for at in some)


def _fill(
    names: Sequence[NodeName], eligible: Indices, pods: Ints, count: int, *, lead: Ints | None
) -> tuple[tuple[NodeName, int], ...]:
    """Nodes filled one after the other; `pods` is what each takes, in all `count` or more."""
    some = np.flatnonzero(pods > 0)
    keys = (pods[some],) if lead is None else (lead[some], pods[some])
    some = some[np.lexsort(keys)]
    filled = np.cumsum(pods[some])
    last = int(np.searchsorted(filled, count))
    taken = pods[some[: last + 1]]
    taken[last] -= filled[last] - count
    pairs = sorted(zip(eligible[some[: last + 1]].tolist(), taken.tolist(), strict=True))
    return tuple((names[column], pods_there) for column, pods_there in pairs)


def shortfall(spaces: Sequence[Space], eligible: Indices, shape: Shape) -> Shortfall:
    """What the eligible nodes could still take of one pod set."""
    if not len(eligible):
        return Shortfall(pods=0, nodes=0, free=0, largest=0, outside=0)
    lead = np.maximum(_room(spaces, shape[0][0], eligible), 0)
    pods = lead // shape[0][1]
    for row, amount in shape[1:]:
        pods = np.minimum(pods, np.maximum(_room(spaces, row, eligible), 0) // amount)
    return Shortfall(
        pods=int(pods.sum()),
        nodes=len(eligible),
        free=int(lead.sum()),
        largest=int(lead.max()),
        outside=spaces[0].nodes.held_outside(shape[0][0], eligible),
    )


def room(spaces: Sequence[Space], shape: Shape, columns: Indices, *, less: Shape = ()) -> Ints:
    """How many pods fit in each of `columns`, in every space, beside a pod of shape `less`."""
    taken = dict(less)
    counts = [
        (_room(spaces, row, columns) - taken.get(row, 0)).clip(min=0) // amount
        for row, amount in shape
    ]
    least: Ints = np.minimum.reduce(counts)
    return least


def _room(spaces: Sequence[Space], row: int, eligible: Indices) -> Ints:
    room = spaces[0].room(row, eligible)
    for space in spaces[1:]:
        room = np.minimum(room, space.room(row, eligible))
    return room
