"""Large work does not starve: who waits past his time is given a time and nodes.

EASY backfilling (Lifka, 1995; Mu'alem and Feitelson, 2001) with quota and topology. The first
of those who have waited long enough gets a *reservation*: the earliest time at which it fits,
with all its pods, and its nodes at that time (`scheduler.openings`). Smaller work runs ahead
where it does not matter to that: elsewhere, or if it ends before (`scheduler.reserved`).

A reservation is not moved later by newcomers. It is planned anew

- when it stops being possible: a node is lost, or higher-priority work or a repair took it;
- when its time has come, and those it counted on are still there some minutes later;
- at most once in five minutes, when somebody went sooner than was known; only an earlier time
  is taken.

It ends when its workload starts, has others stopped, or leaves; while its queue is paused; and
when it has not led to a start within the `patience` of the policy. Who has let go a reservation
unused, or has failed by himself after starting thanks to one, gets one more, and then no more.

Order of those who get one:
1. where their queue goes by usage: their team's usage, lower first;
2. priority, higher first;
3. creation, older first;
4. the workload id.
"""

from __future__ import annotations

from scheduler import aging
from scheduler.checks import is_barred
from scheduler.model import NodeName, Reservation, Seconds, WorkloadId
from scheduler.openings import Opening, find_opening
from scheduler.pending import Key, order_key
from scheduler.reserved import OVERRUN, Reserved
from scheduler.standing import Waiting
from scheduler.state import State

REPLAN = 300.0
TRY_AGAIN = 600.0
LAPSES_AT_MOST = 2


def arrange(state: State, now: Seconds) -> None:
    """Look after the reservations that stand, and make those that are due.

    Realms in which one was given up or moved have news.
    """
    kept = state.reservations
    kept.news = False
    if not kept.standing and not kept.ripe:
        return
    kept.settle()
    for look in (_is_wanted, _look_after):
        for one, reserved in list(kept.standing.items()):
            if not look(state, one, reserved, now):
                state.release(state.realm[reserved.charge.queue])
    _give(state, now)


def ring(state: State, one: WorkloadId, now: Seconds) -> None:
    """The alarm of somebody who waits has rung: it may be that he has waited long enough."""
    waiting = state.waiting.get(one)
    if waiting is None or not state.reservations.on:
        return
    rules = state.reservations.rules(waiting.workload)
    if rules is not None and aging.since(waiting.workload) + rules.after <= now:
        state.reservations.ripe.add(one)
        state.reservations.news = True


def _is_wanted(state: State, one: WorkloadId, reserved: Reserved, now: Seconds) -> bool:
    """Whether its workload still waits and may wait for it; it is dropped if not."""
    kept, waiting = state.reservations, state.waiting.get(one)
    if waiting is None:
        if one in state.running or one in state.claims:
            kept.heroes.add(one)
        kept.drop(one)
        return False
    if state.queues[waiting.shapes[0][0]].paused:
        kept.drop(one)
        return False
    rules = kept.rules(waiting.workload)
    if rules and rules.patience is not None and now >= reserved.told.since + rules.patience:
        kept.lapses[one] = kept.lapses.get(one, 0) + 1
        kept.drop(one)
        return False
    return True


def _look_after(state: State, one: WorkloadId, reserved: Reserved, now: Seconds) -> bool:
    """Whether a reservation stands as it stood; if not, another may have taken its place."""
    kept, waiting = state.reservations, state.waiting[one]
    reserved.priority, reserved.ends = waiting.workload.priority, waiting.lasts
    if _is_over(state, waiting, reserved) or now >= reserved.told.at + OVERRUN:
        kept.drop(one)
        _plan(state, waiting, reserved.told.since)
        return False
    if not reserved.loose or now < reserved.planned + REPLAN:
        return True
    reserved.planned, reserved.loose = now, False
    opening = find_opening(state, waiting)
    if opening is None or opening.at >= reserved.told.at:
        return True
    kept.drop(one)
    _make(state, waiting, opening, reserved.told.since)
    return False


def _is_over(state: State, waiting: Waiting, reserved: Reserved) -> bool:
    """Whether it is for something else than is asked for, or has become impossible.

    It is possible while quota and nodes suffice for all who count when it begins.
    """
    book, charge = reserved.shadow, reserved.charge
    if reserved.pod_sets != waiting.workload.pod_sets:
        return True
    if all(number != charge.queue for number, _ in waiting.shapes):
        return True
    return not book.space.stands(charge.places) or any(
        state.tree.available(book.usage, charge.queue, column) < 0 for column, _ in charge.amounts
    )


def _give(state: State, now: Seconds) -> None:
    """Reservations for those who are due, in order, as many as the policy allows."""
    kept = state.reservations
    realms = kept.open_realms() if kept.ripe else set()
    if not realms:
        return
    kept.ripe = {one for one in kept.ripe if one in state.waiting}
    due = [
        waiting
        for one in kept.ripe
        if one not in kept.standing
        and state.waiting[one].workload.rest is None
        and kept.lapses.get(one, 0) < LAPSES_AT_MOST
        and kept.vain.get(one, now) <= now
        and state.realm[(waiting := state.waiting[one]).shapes[0][0]] in realms
    ]
    for waiting in sorted(due, key=lambda waiting: _key(state, waiting)):
        realm, rules = state.realm[waiting.shapes[0][0]], kept.rules(waiting.workload)
        if rules is None or kept.count(realm) >= rules.most or not _may_have(state, waiting):
            continue
        if not _plan(state, waiting, now):
            kept.vain[waiting.workload.id] = now + TRY_AGAIN
            state.alarms.for_workload(waiting.workload.id, now + TRY_AGAIN)


def _key(state: State, waiting: Waiting) -> tuple[float, Key]:
    home = waiting.shapes[0][0]
    queue, team = state.queues[home], waiting.workload.team
    return (state.ledger.score(team) if queue.by_usage else 0.0, order_key(waiting.workload))


def _may_have(state: State, waiting: Waiting) -> bool:
    """Whether it could start once there is room: it is possible, and its queue lets it."""
    number, workload = waiting.shapes[0][0], waiting.workload
    queue = state.queues[number]
    if queue.paused or is_barred(state, workload):
        return False
    return not queue.strict or next(queue.keys(state.ledger.score)) == workload.id


def _plan(state: State, waiting: Waiting, since: Seconds) -> bool:
    """Find a time and keep it, if there is one."""
    opening = find_opening(state, waiting)
    if opening is not None:
        _make(state, waiting, opening, since)
    return opening is not None


def _make(state: State, waiting: Waiting, opening: Opening, since: Seconds) -> None:
    workload, charge = waiting.workload, opening.charge
    names: set[NodeName] = {name for place in charge.places for name, _ in place.nodes}
    told = Reservation(
        workload=workload.id,
        queue=state.layout.queues[charge.queue].name,
        at=opening.at,
        nodes=tuple(sorted(names)),
        domain=opening.domain,
        gpus=workload.gpus,
        since=since,
        basis=opening.basis,
    )
    state.reservations.add(
        Reserved(
            told=told,
            charge=charge,
            priority=workload.priority,
            borrowing=opening.borrowing,
            ends=waiting.lasts,
            shadow=opening.book,
            counted=opening.stay,
            planned=state.now,
            pod_sets=workload.pod_sets,
        )
    )
    realm, rules = state.realm[charge.queue], state.reservations.rules(workload)
    state.alarms.for_realm(realm, opening.at + OVERRUN)
    if rules is not None and rules.patience is not None:
        state.alarms.for_realm(realm, since + rules.patience)
