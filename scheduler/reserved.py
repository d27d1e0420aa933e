"""The reservations that stand, and what newcomers may take beside them.

Of each reservation the engine keeps a *shadow*: the books as they will stand when it begins.
In it count those who run beyond that moment, those with a claim, other reservations that
last at that moment, and the reserved workload itself. A newcomer who ends later has to fit
in the shadow as well as in the present; one who ends before may take the very nodes that are
kept. So topology and quota are looked at in the same way as everywhere else.

A reservation binds work of the same or a lower priority, and any that is barred
(`scheduler.lapse`). It does not bind

- work that the reserved workload may stop when its time comes (see `yields`), as far as it may
  be stopped by then;
- work inside its own quota, where the reserved workload would borrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scheduler.book import Book, Charge
from scheduler.lapse import makes_way
from scheduler.layout import BackfillRules, Reclaim
from scheduler.model import Basis, PodSet, Reservation, Seconds, Workload, WorkloadId
from scheduler.quota import QuotaTree
from scheduler.topology import Nodes

if TYPE_CHECKING:
    from scheduler.standing import Running, Waiting
    from scheduler.state import State

HOUR = 3600.0
OVERRUN = 600.0
"""So long after a planned time room is kept all the same: ends are not kept to the second."""


@dataclass(slots=True, eq=False)
class Reserved:
    """One reservation, with its shadow and who counts in that. `shadow` holds its own charge.

    `planned` is when the plan was made, `loose` says that somebody went sooner than was known
    then. `ends` is when the reserved workload would end, counted from its start; `pod_sets` is
    what it asked for.
    """

    told: Reservation
    charge: Charge
    priority: int
    borrowing: bool
    ends: Seconds
    shadow: Book
    counted: dict[WorkloadId, Charge]
    planned: Seconds
    pod_sets: tuple[PodSet, ...]
    loose: bool = False

    def count(self, one: WorkloadId, charge: Charge | None) -> None:
        """From now on somebody counts with this charge, or not at all."""
        before = self.counted.get(one)
        if before is charge:
            return
        if before is not None:
            del self.counted[one]
            self.shadow.discharge(before)
        if charge is not None:
            self.counted[one] = charge
            self.shadow.charge(charge)

    def without(self, one: WorkloadId) -> Book:
        """The shadow as if somebody did not count."""
        charge = self.counted.get(one)
        if charge is None:
            return self.shadow
        book = self.shadow.copy()
        book.discharge(charge)
        return book

    def copy(self, nodes: Nodes, versions: Iterator[int]) -> Reserved:
        """The same reservation over a copy of the nodes; see `Book.fork`."""
        shadow, counted = self.shadow.fork(nodes, versions), self.counted.copy()
        return replace(self, shadow=shadow, counted=counted)


class Reservations:
    """What stands, in the order in which it was made, and who may be given more.

    `ripe` are those who wait and have waited long enough, `lapses` how often somebody did not
    make use of a reservation, `heroes` who runs thanks to one, `vain` when a next try is due
    for somebody for whom there was no time, `news` that somebody is due who was not before.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.on = any(queue.backfill is not None for queue in state.layout.queues)
        self.standing: dict[WorkloadId, Reserved] = {}
        self.ripe: set[WorkloadId] = set()
        self.lapses: dict[WorkloadId, int] = {}
        self.heroes: set[WorkloadId] = set()
        self.vain: dict[WorkloadId, Seconds] = {}
        self.news = False
        self.most: dict[int, int] = {}
        self._touched: dict[WorkloadId, None] = {}

    def copy(self, state: State, versions: Iterator[int]) -> Reservations:
        """The same reservations for a copy of the state; see `Book.fork`."""
        other = Reservations(state)
        other.standing = {one: r.copy(state.nodes, versions) for one, r in self.standing.items()}
        other.ripe, other.heroes = self.ripe.copy(), self.heroes.copy()
        other.lapses, other.vain, other.news = self.lapses.copy(), self.vain.copy(), self.news
        other._touched = self._touched.copy()
        return other

    def rules(self, workload: Workload) -> BackfillRules | None:
        """The rules of the queue that is its home, if it is large enough for them."""
        number = self._state.tree.queue_index[workload.queue]
        rules = self._state.layout.queues[number].backfill
        return rules if rules is not None and workload.gpus >= rules.least else None

    def open_realms(self) -> set[int]:
        """Where the policy allows more reservations than stand."""
        state = self._state
        if self.on and not self.most:
            for number, queue in enumerate(state.layout.queues):
                if queue.backfill is not None:
                    realm = state.realm[number]
                    self.most[realm] = max(queue.backfill.most, self.most.get(realm, 0))
        return {realm for realm, most in self.most.items() if self.count(realm) < most}

    def count(self, realm: int) -> int:
        """How many reservations stand in a realm."""
        mine = (self._state.realm[one.charge.queue] for one in self.standing.values())
        return sum(one == realm for one in mine)

    def forget(self, one: WorkloadId) -> None:
        """Somebody is gone for good."""
        self.ripe.discard(one)
        self.heroes.discard(one)
        self.lapses.pop(one, None)
        self.vain.pop(one, None)

    def stopped(self, one: WorkloadId, *, own_failure: bool) -> None:
        """Somebody who ran is to wait again. To fail by himself counts as a lapse."""
        if one in self.heroes:
            self.heroes.discard(one)
            if own_failure:
                self.lapses[one] = self.lapses.get(one, 0) + 1

    def lasts(self, workload: Workload) -> Seconds:
        """How long somebody who waits is taken to run: for ever where nothing is known."""
        if not self.on:
            return math.inf
        high = self._state.history.expected(workload).high
        return math.inf if high is None else high

    # -- keeping shadows true --------------------------------------------------------

    def touch(self, one: WorkloadId) -> None:
        """Somebody starts, ends, moves, is told to stop, or is promised capacity."""
        if self.standing:
            self._touched[one] = None

    def settle(self) -> None:
        """Let the shadows count what has changed."""
        for one in self._touched:
            running = self._state.running.get(one)
            gone = running is None or not running.expected or running.workload.lapsed is not None
            for reserved in self.standing.values():
                reserved.count(one, self._charge(reserved, one))
                reserved.loose = reserved.loose or gone
        self._touched.clear()

    def _charge(self, reserved: Reserved, one: WorkloadId) -> Charge | None:
        """What somebody holds when a reservation begins, None if nothing."""
        state = self._state
        claim = state.claims.get(one)
        if claim is not None:
            return claim.charge
        running = state.running.get(one)
        if running is not None:
            soft = not reserved.borrowing
            mine = state.find(reserved.told.workload)
            end, _ = expected_end(state, running, reserved.charge.queue, mine, soft=soft)
            return running.charge if running.expected and end > reserved.told.at else None
        other = self.standing.get(one)
        if other is None or one not in state.waiting:
            return None
        if other is reserved or other.told.at <= reserved.told.at < other.told.at + other.ends:
            return other.charge
        return None

    def add(self, reserved: Reserved) -> None:
        """A reservation is made; `counted` are those who run on, those with a claim, and others."""
        self.standing[reserved.told.workload] = reserved
        self._touched.update(dict.fromkeys(self.standing))
        self.settle()
        reserved.loose = False

    def recount(self, tree: QuotaTree) -> None:
        """Quotas have changed: what the shadows count of them is counted anew."""
        for reserved in self.standing.values():
            reserved.shadow.recount(tree, reserved.counted.values())

    def drop(self, one: WorkloadId) -> None:
        """A reservation is no more."""
        if self.standing.pop(one, None) is not None:
            self._touched[one] = None
            self.settle()

    # -- what they mean for newcomers ------------------------------------------------

    def binding(self, number: int, waiting: Waiting, level: int = 0) -> list[Reserved]:
        """Whose room somebody has to leave, unless he ends before; `level` is his borrowing."""
        if not self.standing:
            return []
        workload, state = waiting.workload, self._state
        return [
            one
            for one in self.standing.values()
            if one.told.workload != workload.id
            and (workload.barred or workload.priority <= one.priority)
            and state.realm[one.charge.queue] == state.realm[number]
            and not (one.borrowing and not level)
            and state.now + self._stays(one, number, waiting) > one.told.at
        ]

    def _stays(self, reserved: Reserved, number: int, waiting: Waiting) -> Seconds:
        state = self._state
        if self._yields(reserved, number, waiting.workload):
            return min(waiting.lasts, state.layout.queues[number].min_runtime)
        return waiting.lasts

    def _yields(self, reserved: Reserved, number: int, workload: Workload) -> bool:
        if reserved.borrowing:
            return False
        return yields(self._state, reserved.charge.queue, number, workload)

    def kept_from(self, number: int, waiting: Waiting, level: int) -> list[Reserved]:
        """Whose room somebody may not have others stopped for, however short he runs."""
        workload, state = waiting.workload, self._state
        return [
            one
            for one in self.standing.values()
            if one.told.workload != workload.id
            and (workload.barred or workload.priority <= one.priority)
            and state.realm[one.charge.queue] == state.realm[number]
            and not (one.borrowing and not level)
            and not self._yields(one, number, workload)
        ]

    def shadows(self, number: int, waiting: Waiting, level: int) -> list[Book]:
        """In what somebody has to fit beside the books of now."""
        binding = self.binding(number, waiting, level)
        if not binding:
            return []
        self.settle()
        return [reserved.without(waiting.workload.id) for reserved in binding]

    def longest(self, number: int, waiting: Waiting) -> Seconds:
        """How long somebody like one who is bound may run to be bound by fewer."""
        before = [one.told.at for one in self.binding(number, waiting, 1)]
        return max(before, default=-math.inf) - self._state.now

    @property
    def books(self) -> list[Book]:
        """All shadows, to be laid out anew with the nodes."""
        return [reserved.shadow for reserved in self.standing.values()]

    def of(self, one: WorkloadId) -> Reservation | None:
        """What is kept for somebody."""
        reserved = self.standing.get(one)
        return None if reserved is None else reserved.told

    def told(self) -> tuple[Reservation, ...]:
        """What stands, earliest first, then by id."""
        found = (reserved.told for reserved in self.standing.values())
        return tuple(sorted(found, key=lambda one: (one.at, one.workload)))


def yields(state: State, number: int, other: int, theirs: Workload) -> bool:
    """Whether a workload of queue `number` that stays in its quota may stop this one of another.

    That is certain of preemptible work in a queue of its tree that has no quota of its own and so
    can only borrow, for a queue that may take back what it lent from anybody.
    """
    if not theirs.preemptible or number == other:
        return False
    tree = state.tree
    if tree.root[number] != tree.root[other]:
        return False
    if state.layout.queues[number].reclaim is not Reclaim.ANY:
        return False
    first = other * tree.width
    return not any(tree.nominal[first : first + tree.width])


def expected_end(
    state: State, running: Running, number: int, mine: Workload | None, *, soft: bool
) -> tuple[Seconds, Basis]:
    """When somebody who runs is out of the way of a workload of queue `number`, if it still waits.

    A declared duration is believed; without one, or after it, the upper quartile of run times
    like his. Where nothing is known, he is taken to run as long again as he has run, and an
    hour at least if he never said how long. Whose lease is over is out of the way of his own queue
    at once. With `soft`, who yields to that queue is so as soon as he may be stopped.
    """
    now, started, workload = state.now, running.admission.at, running.workload
    if running.stuck:
        return math.inf, Basis.UNKNOWN
    here = number == running.charge.queue and state.layout.queues[number].lapses
    if here and mine is not None and makes_way(workload, mine):
        return now, Basis.DECLARED
    if soft and yields(state, number, running.charge.queue, workload):
        queue = state.layout.queues[running.charge.queue]
        return max(now, started + queue.min_runtime), Basis.DECLARED
    found = state.history.end(workload, started, now)
    if found.high is None:
        return now + max(now - started, HOUR), Basis.UNKNOWN
    if found.high > now:
        return found.high, found.basis
    return now + OVERRUN, Basis.UNKNOWN
