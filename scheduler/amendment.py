"""A workload is changed while it waits or runs: another lease, name, owner, team, class or size.

What waits joins its queue anew; its place is that of the `created` it comes with, so whoever
changes it says whether it keeps its place. What it owes to waiting stays as long as `created`
does. A promise (a claim) or a reservation is kept where the change asks for nothing else of the
cluster, and taken back otherwise. What runs keeps its pods, its nodes and its queue.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler import aging, lapse
from scheduler.model import Seconds, Workload
from scheduler.pending import shape_of
from scheduler.standing import Claim, EngineError, Running, Waiting
from scheduler.state import State


def amend_waiting(state: State, workload: Workload) -> None:
    """It waits as `workload` from now on. Raises EngineError, changing nothing, if it does not."""
    for name in (workload.queue, *workload.overflow):
        if name not in state.tree.queue_index:
            raise EngineError(f"{workload.id} names no queue of the policy: {name}")
    claim = state.claims.get(workload.id)
    waiting = state.waiting.get(workload.id) if claim is None else claim.waiting
    if waiting is None:
        raise EngineError(f"{workload.id} does not wait")
    before = waiting.workload
    workload = replace(workload, barred=before.barred)
    if workload.created == before.created:
        kept = replace(workload, queued=before.queued, raised=0)
        rule = aging.rule_of(state, kept)  # another queue may add less for waiting, or nothing
        workload = aging.raised(kept, 0 if rule is None else min(before.raised, rule.most))
    same = _same_demand(before, workload)
    if claim is not None and same:
        waiting.workload = workload
        return
    if not same:
        state.reservations.drop(workload.id)
    _rejoin(state, waiting, claim, workload)


def _same_demand(before: Workload, after: Workload) -> bool:
    """Whether the cluster is asked for the same, from the same place in line."""
    queues = (before.queue, before.overflow, before.created, before.team, before.owner)
    return queues == (
        after.queue,
        after.overflow,
        after.created,
        after.team,
        after.owner,
    ) and shape_of(before) == shape_of(after)


def _rejoin(state: State, waiting: Waiting, claim: Claim | None, workload: Workload) -> None:
    if claim is not None:
        state.revoke(claim)
        realms = {state.realm[claim.queue]}
    else:
        state.leave(waiting)
        realms = {state.realm[number] for number, _ in waiting.shapes}
    state.wait(workload)
    realms |= {state.realm[number] for number, _ in state.waiting[workload.id].shapes}
    for realm in sorted(realms):
        state.release(realm)


def amend_running(state: State, running: Running, workload: Workload, at: Seconds) -> None:
    """It runs as `workload` from now on. Raises EngineError if its pods would be others."""
    before = running.workload
    same = (before.pod_sets, before.queue, before.overflow, before.created)
    if same != (workload.pod_sets, workload.queue, workload.overflow, workload.created):
        raise EngineError(f"{workload.id} runs: its pods, queue and place cannot be changed")
    workload = aging.raised(replace(workload, queued=before.queued, raised=0), before.raised)
    workload = lapse.started(lapse.own(workload))
    if before.lapsed is not None:
        workload = lapse.lapse(workload)
    state.settle()
    amounts = running.charge.amounts
    if workload.team != before.team:
        state.ledger.let_go(before.team, amounts, at)
        state.ledger.hold(workload.team, amounts, at)
        state.stale_scores()
    state.amend(running, workload, at)
    if (claim := state.claims.get(workload.id)) is not None:  # it is being moved
        claim.waiting.workload = workload
    state.release(state.realm[running.charge.queue])
