"""The earliest time at which a waiting workload fits, given the ends of those who run.

With each end the room grows, so the first moment at which there is quota and a placement is
found by bisection over the ends. Reservations that stand count as taken all the time until
they would end. Nobody is stopped for it, except those who have to make way anyway.

What everybody gives back is laid out once in arrays, in the order of the ends; the books of
any moment are then two sums.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.book import Book, Charge
from scheduler.domains import Ints
from scheduler.flavors import Assignment, Desk, Menu, Mode, assign
from scheduler.gangs import placed_by, solve
from scheduler.model import Basis, Seconds, WorkloadId
from scheduler.pending import Shape
from scheduler.reserved import expected_end
from scheduler.standing import Waiting
from scheduler.state import State
from scheduler.topology import Place

_CERTAINTY = tuple(Basis)

Counted = dict[WorkloadId, Charge]


@dataclass(frozen=True, slots=True)
class End:
    """Somebody is gone by then, as far as `basis` goes."""

    at: Seconds
    one: WorkloadId
    charge: Charge
    basis: Basis


@dataclass(frozen=True, slots=True)
class Opening:
    """When and where there is room. `stay` is who still holds something then, `book` the sum."""

    at: Seconds
    charge: Charge
    domain: str
    borrowing: bool
    basis: Basis
    stay: Counted
    book: Book


def find_opening(state: State, waiting: Waiting) -> Opening | None:
    """The earliest over its queues, home first among equals; None if the ends do not suffice."""
    found = []
    for number, shape in waiting.shapes:
        if state.queues[number].paused:
            continue
        opening = _find(state, number, waiting, shape, soft=True)
        if opening is not None and opening.borrowing:  # then nobody has to make way for it
            opening = _find(state, number, waiting, shape, soft=False)
        if opening is not None:
            found.append(opening)
    return min(found, key=lambda opening: opening.at, default=None)


def _find(
    state: State, number: int, waiting: Waiting, shape: Shape, *, soft: bool
) -> Opening | None:
    """By bisection over the moments at which somebody ends.

    With `soft`, those who yield to it are gone as soon as they may be stopped.
    """
    now, outlook = state.now, _Departures(state, _ends(state, number, waiting, soft=soft))
    moments = sorted({max(now, end.at) for end in outlook.ends if end.at < math.inf} | {now})

    def fit(at: Seconds) -> tuple[Charge, Assignment] | None:
        return _fit(state, number, waiting, shape, outlook.book(at))

    low, high, found = -1, 0, fit(now)
    if found is None:
        low, high, found = 0, len(moments) - 1, fit(moments[-1])
    while found is not None and high - low > 1:
        middle = (low + high) // 2
        earlier = fit(moments[middle])
        if earlier is None:
            low = middle
        else:
            high, found = middle, earlier
    if found is None:
        return None
    charge, assignment = found
    gone = outlook.ends[: outlook.gone(moments[high])]
    return Opening(
        at=moments[high],
        charge=charge,
        domain=_domain(state, shape, assignment, charge),
        borrowing=assignment.level > 0,
        basis=_basis(gone, charge),
        stay=_stay(state, outlook.ends[len(gone) :]),
        book=outlook.book(moments[high]),
    )


def _ends(state: State, number: int, waiting: Waiting, *, soft: bool) -> list[End]:
    """All who run, and the other reservations, by end and id."""
    ends = []
    for one, running in state.running.items():
        if running.expected:
            at, basis = expected_end(state, running, number, waiting.workload, soft=soft)
            ends.append(End(at, one, running.charge, basis))
    for one, reserved in state.reservations.standing.items():
        if one != waiting.workload.id and one in state.waiting:
            until = reserved.told.at + reserved.ends
            ends.append(End(until, one, reserved.charge, reserved.told.basis))
    ends.sort(key=lambda end: (end.at, end.one))
    return ends


class _Departures:
    """What is free at any moment if everybody goes at his end. `ends` are in order.

    Of quota, what stays is counted up the tree anew: by queue and column at the leaves.
    """

    def __init__(self, state: State, ends: list[End]) -> None:
        self._state = state
        self.ends = ends
        self._times = [end.at for end in ends]
        width = state.nodes.capacity.shape[1]
        index, wide = state.nodes.index, state.tree.width
        cells: list[int] = []
        given: list[int] = []
        leaves: list[int] = []
        used: list[int] = []
        self._cells_to, self._leaves_to = [0], [0]
        for end in ends:
            for place in end.charge.places:
                for name, count in place.nodes:
                    column = index[name]
                    for row, amount in place.shape:
                        cells.append(row * width + column)
                        given.append(count * amount)
            for column, amount in end.charge.amounts:
                leaves.append(end.charge.queue * wide + column)
                used.append(amount)
            self._cells_to.append(len(cells))
            self._leaves_to.append(len(leaves))
        self._cells, self._given = _ints(cells), _ints(given)
        self._leaves, self._used = _ints(leaves), _ints(used)
        self._claims = [claim.charge for claim in state.claims.values()]
        free = state.nodes.capacity.copy()
        flat = free.reshape(-1)
        np.subtract.at(flat, self._cells, self._given)
        self._free = free
        for charge in self._claims:
            for place in charge.places:
                for name, count in place.nodes:
                    for row, amount in place.shape:
                        free[row, index[name]] -= count * amount

    def gone(self, at: Seconds) -> int:
        """How many have ended by then."""
        return bisect_right(self._times, at)

    def book(self, at: Seconds) -> Book:
        """The books of that moment."""
        tree, gone = self._state.tree, self.gone(at)
        first, start = self._cells_to[gone], self._leaves_to[gone]
        book = self._state.future.copy()
        free = self._free.copy()
        np.add.at(free.reshape(-1), self._cells[:first], self._given[:first])
        book.space.lay_out(free)
        held = np.zeros(tree.queues * tree.width, dtype=np.int64)
        np.add.at(held, self._leaves[start:], self._used[start:])
        staying = [
            Charge(leaf // tree.width, ((leaf % tree.width, int(held[leaf])),), ())
            for leaf in np.flatnonzero(held).tolist()
        ]
        book.recount(tree, [*staying, *self._claims])
        return book


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _fit(
    state: State, number: int, waiting: Waiting, shape: Shape, book: Book
) -> tuple[Charge, Assignment] | None:
    """What it would take with all its pods; None if it cannot have it."""
    queue, workload = state.layout.queues[number], waiting.workload
    choices = state.menu(number, shape.key, workload)
    if choices.impossible:
        return None
    fair = state.layout.fair_sharing is not None
    desk = Desk(state.tree, book.usage, number, queue, lambda _c, _n: (Mode.NO_FIT, 0), fair)
    for found in _assignments(desk, choices):
        places = solve(state, shape.whole, found.flavors, [book.space])
        if places is not None:
            lies = zip(shape.whole, places, strict=True)
            taken = tuple(Place(lie, state.nodes.shape(pods)) for pods, lie in lies if lie)
            return Charge(number, tuple(sorted(found.amounts.items())), taken), found
    return None


def _assignments(desk: Desk, choices: Menu) -> Iterator[Assignment]:
    """Flavors with quota, one choice after the other, in the order in which they are searched."""
    start = None
    while True:
        found = assign(desk, choices, start)
        if found.mode is not Mode.FIT:
            return
        yield found
        if not found.unfinished:
            return
        start = tuple(found.tried)


def _stay(state: State, ends: Sequence[End]) -> Counted:
    """Who holds something then: those who have not ended, and those with a claim."""
    stay = {end.one: end.charge for end in ends}
    return stay | {one: claim.charge for one, claim in state.claims.items()}


def _basis(gone: Sequence[End], charge: Charge) -> Basis:
    """The least certain end among those whose nodes or whose queue's quota it takes over."""
    nodes = {name for place in charge.places for name, _ in place.nodes}
    columns = {column for column, amount in charge.amounts if amount}
    mine = [
        end.basis
        for end in gone
        if any(name in nodes for place in end.charge.places for name, _ in place.nodes)
        or (
            end.charge.queue == charge.queue
            and any(amount and column in columns for column, amount in end.charge.amounts)
        )
    ]
    return max(mine, key=_CERTAINTY.index, default=Basis.DECLARED)


def _domain(state: State, shape: Shape, found: Assignment, charge: Charge) -> str:
    """The lowest topology domain above the nodes that holds all of them; empty without one."""
    name = placed_by(state, shape.whole[0], found.flavors[0])
    known = [state.nodes.known.get(node) for place in charge.places for node, _ in place.nodes]
    if name is None or not known:
        return ""
    for level in reversed(state.flavors[name].levels[:-1]):
        values = {None if node is None else node.labels.get(level) for node in known}
        if len(values) == 1 and None not in values:
            return f"{level}={values.pop()}"
    return ""
