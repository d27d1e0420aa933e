"""What the engine holds in memory: who runs, who waits, what is held and what is promised.

Two views of the same cluster are kept. `present` counts everybody who still holds capacity,
also those who were told to stop. `future` counts them as gone and their preemptors as
started. Somebody new may start only where he fits in both, so that freed capacity goes to
the one for whom it was freed and no GPU is given twice. While nobody is leaving the two are
one and the same object.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from scheduler import aging, rest
from scheduler.alarms import Alarms
from scheduler.book import Book, Charge
from scheduler.brake import Brake
from scheduler.excess import Excess
from scheduler.fairshare import UsageLedger
from scheduler.flavors import Menu, Tried, menu
from scheduler.history import RunTimes
from scheduler.inforce import Overrides
from scheduler.lapse import lapse
from scheduler.layout import HOSTNAME, Flavor, Layout, Queue
from scheduler.model import (
    Admission,
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    Refusal,
    Seconds,
    Workload,
    WorkloadId,
)
from scheduler.outlook import Outlook
from scheduler.pending import PendingQueue, PodsKey, Shape, shape_of
from scheduler.protection import Flips, guards
from scheduler.quota import QuotaTree
from scheduler.realms import realms_of
from scheduler.reserved import Reservations
from scheduler.shares import Shares
from scheduler.standing import Claim, Rank, Running, Waiting, columns_of
from scheduler.topology import Nodes, Place, Places
from scheduler.turns import UserLedger, line_of


@dataclass(slots=True, eq=False)
class State:
    """See the module. Only `scheduler.engine` and `scheduler.passes` change it.

    `now` is the time of the last cycle or question. Where somebody could not be stopped just
    because his minimum run time is not over, `spared` is set. `toil` counts what decisions have
    cost: candidates taken in searches for targets, and nominations as `NOMINATION` of them.
    Nothing is decided by it; how far is played forward is.
    """

    layout: Layout
    tree: QuotaTree = field(init=False)
    ceiling: QuotaTree = field(init=False)
    nodes: Nodes = field(init=False)
    present: Book = field(init=False)
    future: Book = field(init=False)
    ledger: UsageLedger = field(init=False)
    outlook: Outlook = field(init=False)
    shares: Shares = field(init=False)
    queues: list[PendingQueue] = field(init=False)
    running: dict[WorkloadId, Running] = field(init=False, default_factory=dict)
    waiting: dict[WorkloadId, Waiting] = field(init=False, default_factory=dict)
    claims: dict[WorkloadId, Claim] = field(init=False, default_factory=dict)
    leaving: dict[WorkloadId, Running] = field(init=False, default_factory=dict)
    broken: dict[WorkloadId, set[NodeName]] = field(init=False, default_factory=dict)
    ranks: list[list[Rank]] = field(init=False)
    gpus: list[int] = field(init=False)
    count: list[int] = field(init=False)
    realm: tuple[int, ...] = field(init=False)
    realm_queues: dict[int, tuple[int, ...]] = field(init=False)
    dirty: set[int] = field(init=False, default_factory=set)
    turn: int = field(init=False, default=0)
    now: Seconds = field(init=False, default=0.0)
    alarms: Alarms = field(init=False, default_factory=Alarms)
    flips: Flips = field(init=False)
    brake: Brake = field(init=False)
    guarded: bool = field(init=False)
    spared: bool = field(init=False, default=False)
    toil: int = field(init=False, default=0)
    users: UserLedger = field(init=False)
    history: RunTimes = field(init=False, default_factory=RunTimes)
    overrides: Overrides = field(init=False, default_factory=Overrides)
    reservations: Reservations = field(init=False)
    releases: list[int] = field(init=False)
    turnover: list[int] = field(init=False)
    _excess: dict[tuple[int, float], Excess] = field(init=False, default_factory=dict)
    _like: State | None = field(init=False, default=None)
    rounds: int = field(init=False)
    flavors: dict[FlavorName, Flavor] = field(init=False)
    _guests: list[set[int]] = field(init=False)
    by_usage: frozenset[int] = field(init=False)
    checked: dict[tuple[object, ...], Refusal | None] = field(init=False, default_factory=dict)
    empty: dict[object, tuple[tuple[PodSet, ...], Places | None]] = field(
        init=False, default_factory=dict
    )
    _menus: dict[tuple[int, PodsKey, tuple[int, ...]], Menu] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self.tree = self.ceiling = QuotaTree(self.layout)
        self.nodes = Nodes(
            tuple(f for f in self.layout.flavors if f.levels and f.levels[-1] != HOSTNAME)
        )
        self.present = self.future = Book(self.tree, self.nodes)
        self.ledger = UsageLedger(self.layout, self.tree)
        self.outlook = Outlook(self)
        self.shares = Shares(self.layout, self.tree)
        self.flips = Flips(self.layout.options.flips_at_most)
        self.brake = Brake(self.layout.options.evictions)
        self.guarded = guards(self.layout)
        self.users = UserLedger(self.layout)
        self.queues = [line_of(queue, self.users) for queue in self.layout.queues]
        self._guests = [set() for _ in self.layout.queues]
        self.reservations = Reservations(self)
        self.by_usage = frozenset(n for n, queue in enumerate(self.queues) if queue.by_usage)
        self.ranks = [[] for _ in self.layout.queues]
        self.releases = [0] * len(self.layout.queues)
        self.turnover = [0] * len(self.layout.queues)
        self.gpus = [0] * self.tree.queues
        self.count = [0] * self.tree.queues
        groups = [group for queue in self.layout.queues for group in queue.groups]
        self.rounds = 2 * max((len(group.flavors) for group in groups), default=1)
        self.flavors = {flavor.name: flavor for flavor in self.layout.flavors}
        self.realm = realms_of(self.layout, self.tree)
        self.realm_queues = {
            realm: tuple(q for q, mine in enumerate(self.realm) if mine == realm)
            for realm in sorted(set(self.realm))
        }

    def look_at(self, now: Seconds) -> None:
        """From here on, what depends on time is as of `now`."""
        self.now = self.users.now = now

    @property
    def books(self) -> tuple[Book, ...]:
        """The views in which a newcomer has to fit."""
        return (self.future,) if self.present is self.future else (self.future, self.present)

    def queue(self, number: int) -> Queue:
        """The policy of a queue."""
        return self.layout.queues[number]

    def menu(
        self, number: int, key: PodsKey, workload: Workload, counts: tuple[int, ...] | None = None
    ) -> Menu:
        """What a shape may take in a queue, with `counts` pods (all); worked out once."""
        if counts is None:
            counts = tuple(pods.count for pods in workload.pod_sets)
        found = self._menus.get((number, key, counts))
        if found is None:
            queue = self.layout.queues[number]
            found = menu(self.layout, self.tree, queue, workload, counts)
            self._menus[number, key, counts] = found
        return found

    def scan_start(self, number: int, waiting: Waiting) -> Tried | None:
        """Where the search for flavors of a waiting workload goes on, None for the beginning."""
        scan = waiting.scan
        if scan is None or scan.queue != number:
            return None
        fresh = scan.turn + 1 >= self.turn or scan.releases == self.releases[number]
        return scan.start if fresh else None

    # -- who runs --------------------------------------------------------------------

    def start(self, running: Running, *, claimed: bool = False) -> None:
        """Somebody takes capacity; with `claimed`, the future already counts it."""
        self.present.charge(running.charge)
        if not claimed and self.future is not self.present:
            self.future.charge(running.charge)
        self.running[running.workload.id] = running
        self.gpus[running.charge.queue] += running.gpus
        self.count[running.charge.queue] += 1
        self._rank(running)
        self.users.hold(running.workload, 1, running.admission.at)
        self.reservations.touch(running.workload.id)

    def move(self, running: Running, admission: Admission, charge: Charge) -> None:
        """Somebody who stays goes on elsewhere, with the same quota."""
        self.outlook.remove(running)
        for book in self.books:
            book.discharge(running.charge)
            book.charge(charge)
        running.admission, running.charge = admission, charge
        self.gpus[charge.queue] += running.hold(None)
        self.outlook.add(running)
        self.turnover[charge.queue] += 1
        self.reservations.touch(running.workload.id)

    def lose(self, node: NodeName, only: WorkloadId | None) -> None:
        """The pods on a node are gone, or those of one gang: who had some has to be repaired."""
        for running in self.running.values():
            if only not in (None, running.workload.id):
                continue
            places = running.charge.places
            if not running.leaving and any(node == n for place in places for n, _ in place.nodes):
                self.broken.setdefault(running.workload.id, set()).add(node)

    def tell_to_stop(self, running: Running, preemptor: WorkloadId | None) -> None:
        """A target keeps what it holds until it is gone; the future counts it as gone."""
        self.fork()
        self.future.discharge(running.charge)
        running.leaving, running.preemptor = True, preemptor
        self.leaving[running.workload.id] = running
        self._unrank(running)
        self.reservations.touch(running.workload.id)

    def unprotect(self, running: Running) -> None:
        """Somebody's lease is over; see `scheduler.lapse`."""
        if not running.leaving:
            self._unrank(running)
        running.workload = lapse(running.workload)
        self.reservations.touch(running.workload.id)
        if not running.leaving:
            self._rank(running)
            self.forget_bounds()

    def amend(self, running: Running, workload: Workload, at: Seconds) -> None:
        """Somebody who stays has another name, owner, team, class or lease."""
        self.users.hold(running.workload, -1, at)
        if not running.leaving:
            self._unrank(running)
        running.workload = workload
        if not running.leaving:
            self._rank(running)
            self.forget_bounds()
        self.users.hold(workload, 1, at)
        self.reservations.touch(workload.id)

    def forget_bounds(self) -> None:
        """What follows from who may be stopped, and from quota, is worked out anew."""
        self.outlook.forget()
        self._excess.clear()
        self._like = None
        self.checked.clear()

    def recall(self) -> list[Running]:
        """For a trial, count those who were told to stop as still there, and as targets."""
        going = (running for running in self.leaving.values() if not running.stuck)
        recalled = sorted(going, key=lambda running: running.rank)
        for running in recalled:
            self.future.charge(running.charge)
            running.leaving = False
            self._rank(running)
        return recalled

    def dismiss(self, recalled: list[Running]) -> None:
        """The exact inverse of `recall`."""
        for running in recalled:
            self.future.discharge(running.charge)
            running.leaving = True
            self._unrank(running)

    def end(self, running: Running, at: Seconds) -> None:
        """Somebody's pods are all gone."""
        self.users.hold(running.workload, -1, at)
        del self.running[running.workload.id]
        self.broken.pop(running.workload.id, None)
        self.gpus[running.charge.queue] -= running.gpus
        self.count[running.charge.queue] -= 1
        if running.leaving:
            del self.leaving[running.workload.id]
            for book in self.books if running.stuck else (self.present,):
                book.discharge(running.charge)
            for claim in self.claims.values():
                claim.targets.discard(running.workload.id)
        else:
            for book in self.books:
                book.discharge(running.charge)
            self._unrank(running)
        self.releases[running.charge.queue] += 1
        self.reservations.touch(running.workload.id)
        self.join()

    def excess(self, number: int, below: float) -> Excess:
        """What the queues of this queue's tree hold beyond their quota, by lower priorities."""
        root = self.tree.root[number]
        found = self._excess.get((root, below))
        if found is None:
            known = None if self._like is None else self._like.excess(number, below)
            found = Excess(self, root, below) if known is None else known.fork(self)
            self._excess[root, below] = found
        return found

    def _rank(self, running: Running) -> None:
        """Somebody is a target, or would be if the rules allowed it."""
        self.outlook.add(running)
        self.turnover[running.charge.queue] += 1
        insort(self.ranks[running.charge.queue], running.rank)

    def recharge(self, running: Running, alive: tuple[PodSetAssignment, ...]) -> None:
        """Somebody holds more or less than before, while he runs."""
        charge = self.charge_of(running.charge.queue, running.workload, alive)
        if not running.leaving:
            self._unrank(running)
        for book in self.books if running.expected else (self.present,):
            book.discharge(running.charge)
            book.charge(charge)
        running.charge, running.columns = charge, columns_of(charge)
        self.gpus[charge.queue] += running.hold(alive)
        self.reservations.touch(running.workload.id)
        if not running.leaving:
            self._rank(running)

    def _unrank(self, running: Running) -> None:
        self.outlook.remove(running)
        self.turnover[running.charge.queue] += 1
        ranks = self.ranks[running.charge.queue]
        del ranks[bisect_left(ranks, running.rank)]

    def fork(self) -> None:
        """From here on future and present differ."""
        if self.future is self.present:
            self.future = self.present.copy()

    def join(self) -> None:
        """With nobody leaving and nothing claimed, the future is the present."""
        if not self.leaving and not self.claims:
            self.future = self.present

    # -- who waits -------------------------------------------------------------------

    def wait(self, workload: Workload) -> None:
        """A workload joins its queue and its overflow queues."""
        workload = rest.rested(workload, self.now)
        key = shape_of(workload)
        if self.flips.concern(workload.id):
            key = (*key, workload.id)  # what it may not do, others of its shape may
        home: Shape | None = None
        lasts = self.reservations.lasts(workload)
        shapes: list[tuple[int, Shape]] = []
        for name in (workload.queue, *workload.overflow):
            number = self.tree.queue_index[name]
            least = tuple(
                pods.count if pods.min_count is None else pods.min_count
                for pods in workload.pod_sets
            )
            choices = self.menu(number, key, workload, least)
            shape = self.queues[number].shape(key, home, choices, workload)
            if self.queues[number].add(workload, shape, lasts):
                self.stale_heads(number)
            shapes.append((number, shape))
            self._guests[shapes[0][0]].add(number)
            home = home or shape
            self.dirty.add(self.realm[number])
        self.waiting[workload.id] = Waiting(workload, tuple(shapes), lasts=lasts)
        aging.expect(self, workload, self.now)
        rest.expect(self.alarms, workload)
        rules = self.reservations.rules(workload) if self.reservations.on else None
        if rules is not None:
            self.alarms.for_workload(workload.id, aging.since(workload) + rules.after)

    def stale_heads(self, number: int) -> None:
        """A shape was parked or unparked here: others may have their home in it."""
        self.queues[number].fresh = False
        for other in self._guests[number]:
            self.queues[other].fresh = False

    def stale_scores(self) -> None:
        """Usage changed: queues that are ordered by it have another head."""
        for number in self.by_usage:
            self.queues[number].fresh = False

    def leave(self, waiting: Waiting) -> None:
        """A workload waits no longer."""
        del self.waiting[waiting.workload.id]
        for number, shape in waiting.shapes:
            self.queues[number].remove(waiting.workload, shape, waiting.lasts)

    def release(self, realm: int) -> None:
        """Capacity came free: everything parked in the realm is tried again."""
        for number in self.realm_queues[realm]:
            self.queues[number].woken = True
        self.dirty.add(realm)

    def wake(self, number: int) -> None:
        """After a release, try again what is worth trying: all, where Kueue is to be matched."""
        queue = self.queues[number]
        if queue.woken:
            all_of_them = not self.layout.options.claims
            queue.unpark(lambda shape: all_of_them or self.outlook.worth_trying(number, shape))
            self.stale_heads(number)

    def unrest(self) -> Hashable | None:
        """See `Engine.unrest`."""
        for number in range(len(self.queues)):
            self.wake(number)
        if all(queue.head(self.ledger.score) is None for queue in self.queues):
            return None
        scans = tuple(
            (workload, start)
            for workload, waiting in self.waiting.items()
            for number, _ in waiting.shapes
            if (start := self.scan_start(number, waiting)) is not None and any(map(any, start))
        )
        parked = tuple(
            (queue.sticky, tuple(shape.parked for shape in queue.shapes.values()))
            for queue in self.queues
        )
        return scans, parked

    def release_all(self) -> None:
        """Something about the nodes changed."""
        for realm in self.realm_queues:
            self.release(realm)

    # -- grants ----------------------------------------------------------------------

    def charge_of(
        self, number: int, workload: Workload, admission: Iterable[PodSetAssignment]
    ) -> Charge:
        """What a grant takes of quota and nodes. Flavors without quota here take none."""
        amounts: dict[int, int] = {}
        places = []
        by_name = {pods.name: pods for pods in workload.pod_sets}
        for assignment in admission:
            pods = by_name[assignment.name]
            for resource, flavor in assignment.flavors.items():
                column = self.tree.columns.get((flavor, resource))
                if column is not None:
                    amount = assignment.count * pods.requests.get(resource, 0)
                    amounts[column] = amounts.get(column, 0) + amount
            if assignment.nodes:
                places.append(Place(assignment.nodes, self.nodes.shape(pods)))
        return Charge(number, tuple(sorted(amounts.items())), tuple(places))

    def promised(self) -> list[Waiting]:
        """Who waits for a promised place. Not who is being moved: he runs until he is gone."""
        return [claim.waiting for one, claim in self.claims.items() if one not in self.running]

    def find(self, workload: WorkloadId) -> Workload | None:
        """The workload of that id, running or waiting."""
        found = (
            self.running.get(workload) or self.waiting.get(workload) or self.claims.get(workload)
        )
        if found is None:
            return None
        return found.waiting.workload if isinstance(found, Claim) else found.workload

    def revoke(self, claim: Claim) -> None:
        """A promise is taken back; its workload neither runs nor waits by that."""
        del self.claims[claim.waiting.workload.id]
        self.reservations.touch(claim.waiting.workload.id)
        self.future.discharge(claim.charge)
        self.join()

    def promise(self, claim: Claim) -> None:
        """Somebody who waited, and waits no longer, is promised what the future has room for."""
        self.future.charge(claim.charge)
        self.claims[claim.waiting.workload.id] = claim
        self.reservations.touch(claim.waiting.workload.id)

    def settle(self) -> None:
        """Let what was learnt of nodes count; claims that lost their nodes start over."""
        if not self.nodes.changed:
            return
        self.settle_nodes()
        for claim in list(self.claims.values()):
            if not self.future.space.stands(claim.charge.places):
                self.revoke(claim)
                if claim.waiting.workload.id not in self.running:
                    self.wait(claim.waiting.workload)
        self.release_all()

    def settle_nodes(self) -> None:
        """Make what was learnt of nodes count."""
        if self.nodes.changed:
            books = {id(book): book for book in self.books}
            self.checked.clear()
            self.empty.clear()
            shadows = self.reservations.books
            self.nodes.settle([book.space for book in (*books.values(), *shadows)])
