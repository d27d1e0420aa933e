"""What must hold at every instant, checked from scratch. For tests and for `doctor`.

Slow on purpose: everything is recomputed from who runs and who waits, and compared with
the running totals.
"""

from __future__ import annotations

import numpy as np

from scheduler.book import Book, Charge
from scheduler.engine import Engine
from scheduler.lapse import LAPSED
from scheduler.pending import order_key
from scheduler.quota import UNLIMITED
from scheduler.standing import Running
from scheduler.state import State
from scheduler.topology import Space


class BrokenInvariantError(Exception):
    """The engine contradicts itself or its rules."""


def check_invariants(engine: Engine) -> None:
    """Raise BrokenInvariantError if anything does not hold.

    Quota and node capacity are checked against the policy and nodes of now: work restored
    under an older policy, or a node that shrank under its pods, breaks them rightly.
    """
    state = engine._state  # noqa: SLF001 - the one look inside that is meant
    state.settle_nodes()
    for running in state.running.values():
        _check_gang(state, running)
    holders = [running.charge for running in state.running.values()]
    staying = [r.charge for r in state.running.values() if r.expected]
    promised = [claim.charge for claim in state.claims.values()]
    _check_book(state, "present", state.present, holders)
    _check_book(state, "future", state.future, staying + promised)
    _check_limits(state, state.future)
    if state.layout.options.claims:
        _check_limits(state, state.present)
    _check_totals(state)
    _check_standing(state)
    _check_waiting(state)
    _check_reservations(state)


def _require(condition: bool, message: str) -> None:  # noqa: FBT001 - reads as the condition it is
    if not condition:
        raise BrokenInvariantError(message)


def _check_gang(state: State, running: Running) -> None:
    """A gang runs whole: every pod has a node, where its flavor has nodes at all."""
    workload, admission = running.workload, running.admission
    _require(
        [p.name for p in workload.pod_sets] == [a.name for a in admission.assignments],
        f"{workload.id} runs other pod sets than it asked for",
    )
    for pods, assignment in zip(workload.pod_sets, admission.assignments, strict=True):
        least = pods.count if pods.min_count is None else pods.min_count
        _require(least <= assignment.count <= pods.count, f"{workload.id} runs in part")
        if any(state.flavors[flavor].levels for flavor in assignment.flavors.values()):
            placed = sum(count for _, count in assignment.nodes)
            _require(placed == assignment.count, f"{workload.id} is placed in part")
        names = [name for name, _ in assignment.nodes]
        _require(names == sorted(set(names)), f"{workload.id} names nodes twice or unsorted")


def _check_book(state: State, name: str, book: Book, charges: list[Charge]) -> None:
    """Running totals equal sums from scratch, and no node holds more than it has."""
    usage = state.tree.recompute((charge.queue, charge.amounts) for charge in charges)
    _require(book.usage == usage, f"{name}: quota use differs from its recomputed sum")
    space = Space(state.nodes)
    for charge in charges:
        space.take(charge.places)
    _require(
        bool(np.array_equal(space.free, book.space.free)),
        f"{name}: free capacity differs from its recomputed sum",
    )
    known = [state.nodes.index[node] for node in state.nodes.known]
    _require(bool((book.space.free[:, known] >= 0).all()), f"{name}: a node is overfull")


def _check_limits(state: State, book: Book) -> None:
    """Use stays within quota plus what may be borrowed, at every node of the tree."""
    tree = state.tree
    for node in range(tree.size):
        for column in range(tree.width):
            cell = node * tree.width + column
            if tree.parent[node] < 0:
                most = tree.subtree[cell]
            elif tree.borrowing[cell] == UNLIMITED:
                continue
            else:
                most = tree.subtree[cell] + tree.borrowing[cell]
            _require(book.usage[cell] <= most, f"{tree.names[node]} uses more than its quota")


def _check_reservations(state: State) -> None:
    """The shadow of a reservation counts whom it says it counts, and its own workload."""
    state.reservations.settle()
    for one, reserved in state.reservations.standing.items():
        _require(one == reserved.told.workload, "a reservation is kept under another's name")
        if one in state.waiting:
            mine = reserved.counted.get(one)
            _require(mine is reserved.charge, f"what is kept for {one} does not count")
        charges = list(reserved.counted.values())
        usage = state.tree.recompute((charge.queue, charge.amounts) for charge in charges)
        _require(reserved.shadow.usage == usage, f"shadow of {one}: quota use differs")
        space = Space(state.nodes)
        for charge in charges:
            space.take(charge.places)
        same = bool(np.array_equal(space.free, reserved.shadow.space.free))
        _require(same, f"shadow of {one}: free capacity differs")


def _check_totals(state: State) -> None:
    staying = [r for r in state.running.values() if not r.leaving]
    for number in range(state.tree.queues):
        mine = [r for r in state.running.values() if r.charge.queue == number]
        _require(state.gpus[number] == sum(r.gpus for r in mine), "GPUs of a queue")
        _require(state.count[number] == len(mine), "running count of a queue")
        ranks = sorted(r.rank for r in staying if r.charge.queue == number)
        _require(state.ranks[number] == ranks, "targets of a queue are out of order")
    leaving = {r.workload.id for r in state.running.values() if r.leaving}
    _require(set(state.leaving) == leaving, "those who leave are all known")
    for claim in state.claims.values():
        _require(claim.targets <= leaving, "a claim waits for somebody who does not leave")


def _check_standing(state: State) -> None:
    """Whose lease is over counts below everybody, and only while he runs."""
    for running in state.running.values():
        workload = running.workload
        lapsed = workload.lapsed is not None
        _require(lapsed is (workload.priority == LAPSED), f"{workload.id} has another's priority")
        _require(workload.preemptible or not lapsed, f"{workload.id} is protected after its lease")
        _require(not workload.barred, f"{workload.id} runs and is barred")
        _require(workload.rest is None, f"{workload.id} runs and rests")
    for waiting in state.waiting.values():
        _require(waiting.workload.lapsed is None, f"{waiting.workload.id} waits without standing")


def _check_waiting(state: State) -> None:
    waiting = set(state.waiting)
    _require(not waiting & set(state.running), "somebody waits and runs")
    _require(not waiting & set(state.claims), "somebody waits and has a claim")
    moving = set(state.claims) & set(state.running)
    _require(moving <= set(state.leaving), "somebody runs on and has a claim")
    for number, queue in enumerate(state.queues):
        home = {w for w, entry in state.waiting.items() if entry.shapes[0][0] == number}
        listed = list(queue.keys(lambda _: 0.0))
        _require(sorted(listed) == sorted(home), "a queue lists others than those who wait in it")
        _require(queue.at_home == len(home), "a queue's count is wrong")
        if not state.layout.queues[number].fair_users:
            keys = [order_key(state.waiting[one].workload) for one in listed]
            _require(keys == sorted(keys), "a queue is out of order")
