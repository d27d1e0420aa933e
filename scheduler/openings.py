"""The earliest time at which a waiting workload fits, given the ends of those who run.

With each end the room grows, so the first moment at which there is quota and a placement is
found by bisection over the ends. Reservations that stand count as taken all the time until
they would end. Nobody is stopped for it, except those who have to make way anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from scheduler.book import Book, Charge
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
    """When and where there is room. `stay` is who still holds something then."""

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
    """By bisection: with `low` groups of ends gone it does not fit, with `high` it does.

    With `soft`, those who yield to it are gone as soon as they may be stopped.
    """
    now, book = state.now, state.future.copy()
    ends = _ends(state, number, waiting, book, soft=soft)
    finite = [end for end in ends if end.at < math.inf]
    groups = [list(same) for _, same in groupby(finite, key=lambda end: end.at)]
    passed = sum(1 for same in groups if same[0].at <= now)
    _let_go(book, groups[:passed])
    found = _fit(state, number, waiting, shape, book)
    low, high = passed, passed
    if found is None:
        high = len(groups)
        mark = book.checkpoint()
        _let_go(book, groups[low:high])
        found = _fit(state, number, waiting, shape, book)
        book.rollback(mark)
        if found is None:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        mark = book.checkpoint()
        _let_go(book, groups[low:middle])
        earlier = _fit(state, number, waiting, shape, book)
        if earlier is None:
            low = middle
        else:
            found, high = earlier, middle
            book.rollback(mark)
    _let_go(book, groups[low:high])
    at = groups[high - 1][0].at if high > passed else now
    gone = [end for same in groups[:high] for end in same]
    charge, assignment = found
    return Opening(
        at=at,
        charge=charge,
        domain=_domain(state, shape, assignment, charge),
        borrowing=assignment.level > 0,
        basis=_basis(gone, charge),
        stay=_stay(state, ends, frozenset(end.one for end in gone)),
        book=book,
    )


def _ends(state: State, number: int, waiting: Waiting, book: Book, *, soft: bool) -> list[End]:
    """All who run, and the other reservations, which are charged to `book`: by end, then id."""
    ends = []
    for one, running in state.running.items():
        if running.expected:
            at, basis = expected_end(state, running, number, soft=soft)
            ends.append(End(at, one, running.charge, basis))
    for one, reserved in state.reservations.standing.items():
        if one != waiting.workload.id:
            book.charge(reserved.charge)
            until = reserved.told.at + reserved.ends
            ends.append(End(until, one, reserved.charge, reserved.told.basis))
    ends.sort(key=lambda end: (end.at, end.one))
    return ends


def _let_go(book: Book, groups: Sequence[Sequence[End]]) -> None:
    for same in groups:
        for end in same:
            book.discharge(end.charge)


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


def _stay(state: State, ends: Sequence[End], gone: frozenset[WorkloadId]) -> Counted:
    """Who holds something then: those who have not ended, and those with a claim."""
    stay = {end.one: end.charge for end in ends if end.one not in gone}
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
