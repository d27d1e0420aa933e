"""What people change at run time in what the policy says: quota, standing, nodes, who stays.

A change of quota stops nobody: work beyond its queue's new quota runs on, and nothing more is
admitted there until it fits again. Whoever is stopped by hand is stopped for a workload that
then starts, or goes to the back of the queue, so that it does not take the same place again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from scheduler.byhand import UNTOLD, Hand, Held
from scheduler.events import (
    Boosted,
    Displaced,
    NodeCordoned,
    NodeUncordoned,
    QuotaChanged,
    Stuck,
)
from scheduler.lapse import lift
from scheduler.layout import FlavorResource, Limits
from scheduler.model import NodeName, QueueName, Seconds, Workload, WorkloadId
from scheduler.nomination import Nomination, Outcome, nominate
from scheduler.quota import QuotaTree
from scheduler.shares import Shares
from scheduler.standing import Claim, EngineError, Running, Waiting
from scheduler.state import State

Override = QuotaChanged | Boosted | NodeCordoned | NodeUncordoned | Displaced | Stuck


def take(state: State, event: Override) -> None:
    """Bring a change into force. Raises EngineError, changing nothing, on a contradiction."""
    match event:
        case QuotaChanged():
            _change_quota(state, event)
        case Boosted():
            _boost(state, event)
        case NodeCordoned():
            _cordon(state, event)
        case NodeUncordoned():
            _uncordon(state, event.node)
        case Displaced():
            _displace(state, event)
        case Stuck():
            _give_up(state, event.workload)
        case _:
            assert_never(event)


# -- quota ---------------------------------------------------------------------------


def _change_quota(state: State, event: QuotaChanged) -> None:
    """Give a queue another nominal quota, or with nothing named the policy's own back."""
    number = state.tree.queue_index.get(event.queue)
    if number is None:
        raise EngineError(f"no queue is called {event.queue}")
    queue = state.layout.queues[number]
    own = state.overrides.policy.get(event.queue, queue.quotas)
    for pair, amount in event.nominal.items():
        if pair not in own or amount < 0:
            raise EngineError(f"{event.queue} cannot have {amount} of {pair[1]} in {pair[0]}")
    quotas = {
        pair: replace(limits, nominal=event.nominal.get(pair, limits.nominal))
        for pair, limits in own.items()
    }
    state.overrides.policy[event.queue] = own
    state.overrides.quotas[event.queue] = dict(event.nominal)
    for held in [h for h in state.overrides.orders if _is_quota_of(h, event.queue)]:
        del state.overrides.orders[held]
    for pair in event.nominal:
        order = event.orders.get(pair, UNTOLD)
        state.overrides.orders[Held(Hand.QUOTA, event.queue, *pair)] = order
    if not event.nominal:
        del state.overrides.policy[event.queue], state.overrides.quotas[event.queue]
    queues = list(state.layout.queues)
    queues[number] = replace(queue, quotas=quotas)
    state.layout = replace(state.layout, queues=tuple(queues))
    recount(state)


def _is_quota_of(held: Held, queue: QueueName) -> bool:
    return held.hand is Hand.QUOTA and held.where == queue


def recount(state: State) -> None:
    """Quota was changed: what is used up to which node of the tree is counted anew."""
    state.tree = state.tree.measured(state.layout)
    state.ceiling = _ceiling(state)
    state.shares = Shares(state.layout, state.tree)
    running = state.running.values()
    promised = [claim.charge for claim in state.claims.values()]
    state.present.recount(state.tree, (r.charge for r in running))
    if state.future is not state.present:
        charges = [*(r.charge for r in running if r.expected), *promised]
        state.future.recount(state.tree, charges)
    state.reservations.recount(state.tree)
    for claim in list(state.claims.values()):
        if claim.waiting.workload.id not in state.running and over(state, claim.queue):
            state.revoke(claim)
            state.wait(claim.waiting.workload)
    state.forget_bounds()
    state.release_all()


def _ceiling(state: State) -> QuotaTree:
    """The tree with what the policy gives or people do, whichever is more: what they set ends."""
    policy = state.overrides.policy
    if not policy:
        return state.tree
    queues = [
        replace(queue, quotas=_greater(queue.quotas, policy[queue.name]))
        if queue.name in policy
        else queue
        for queue in state.layout.queues
    ]
    return state.tree.measured(replace(state.layout, queues=tuple(queues)))


def _greater(
    ours: Mapping[FlavorResource, Limits], own: Mapping[FlavorResource, Limits]
) -> dict[FlavorResource, Limits]:
    return {
        pair: replace(limits, nominal=max(limits.nominal, own[pair].nominal))
        for pair, limits in ours.items()
    }


def over(state: State, number: int) -> int:
    """By how much a queue uses more than it may, over all columns of GPUs or what else it has."""
    tree, usage = state.tree, state.future.usage
    first = number * tree.width
    return sum(
        max(0, -tree.available(usage, number, column))
        for column in range(tree.width)
        if usage[first + column]
    )


# -- standing ------------------------------------------------------------------------


def _boost(state: State, event: Boosted) -> None:
    """Let a workload count with a higher priority than its own, or with its own again."""
    change = event.by - state.overrides.boosts.get(event.workload, 0)
    found = state.find(event.workload)
    if found is None:
        raise EngineError(f"{event.workload} neither waits nor runs")
    lifted = lift(found, change)
    if (claim := state.claims.get(event.workload)) is not None:
        claim.waiting.workload = lifted
    if (waiting := state.waiting.get(event.workload)) is not None:
        state.leave(waiting)
        state.wait(lifted)
        state.waiting[lifted.id].word = waiting.word
    if (running := state.running.get(event.workload)) is not None:
        state.amend(running, lifted, state.now)
    state.overrides.forget(event.workload)
    if event.by:
        state.overrides.boosts[event.workload] = event.by
        state.overrides.orders[Held(Hand.BOOST, event.workload)] = event.order


# -- nodes ---------------------------------------------------------------------------


def _cordon(state: State, event: NodeCordoned) -> None:
    """A node takes nothing new, whatever the cluster says of it."""
    name = event.node
    state.overrides.orders[Held(Hand.DRAIN, name)] = event.order
    if name in state.overrides.cordons:
        return
    node = state.nodes.known.get(name)
    state.overrides.cordons[name] = node
    if node is not None:
        state.nodes.observe(replace(node, schedulable=False))


def _uncordon(state: State, name: NodeName) -> None:
    """A node is as the cluster says again."""
    node = state.overrides.cordons.pop(name, None)
    state.overrides.orders.pop(Held(Hand.DRAIN, name), None)
    if node is not None:
        state.nodes.observe(node)


# -- who stays -----------------------------------------------------------------------


def prospect(
    state: State, preemptor: WorkloadId, targets: Sequence[WorkloadId]
) -> Nomination | None:
    """What a waiting workload would get if some that run were gone; None if not enough.

    Changes nothing. Raises EngineError if it does not wait or one of them does not run.
    """
    waiting = state.waiting.get(preemptor)
    if waiting is None:
        raise EngineError(f"{preemptor} does not wait")
    return _prospect(state, waiting, [_staying(state, target) for target in targets])


def _prospect(state: State, waiting: Waiting, targets: Sequence[Running]) -> Nomination | None:
    """See `prospect`. Who was told to stop before counts as gone, too: it is to be waited for."""
    mark, present = state.future.checkpoint(), state.present
    for running in targets:
        state.future.discharge(running.charge)
    state.present = state.future
    try:
        found = [nominate(state, number, waiting, shape) for number, shape in waiting.shapes]
    finally:
        state.present = present
        state.future.rollback(mark)
        state.outlook.forget()
    return next((one for one in found if one.outcome is Outcome.FIT), None)


def _staying(state: State, workload: WorkloadId) -> Running:
    running = state.running.get(workload)
    if running is None or running.leaving:
        raise EngineError(f"{workload} does not run, or was told to stop already")
    return running


def _displace(state: State, event: Displaced) -> None:
    """Stop some for one that waits, or send them to the back of their queues."""
    targets = [_staying(state, target) for target in event.targets]
    if event.preemptor is None:
        for running in targets:
            running.workload = _last(running.workload, event.at)
            state.tell_to_stop(running, None)
            state.release(state.realm[running.charge.queue])
        return
    waiting = state.waiting.get(event.preemptor)
    if waiting is None:
        raise EngineError(f"{event.preemptor} does not wait")
    found = _prospect(state, waiting, targets)
    if found is None or found.charge is None:
        raise EngineError(f"{event.preemptor} would not start in their place")
    for running in targets:
        state.tell_to_stop(running, event.preemptor)
    state.fork()
    state.leave(waiting)
    state.promise(
        Claim(
            waiting=waiting,
            charge=found.charge,
            assignments=found.assignments,
            queue=found.queue,
            targets={running.workload.id for running in targets},
            borrowing=found.level > 0,
        )
    )
    state.release(state.realm[found.queue])


def _last(workload: Workload, at: Seconds) -> Workload:
    """The same workload at the back of its queue."""
    return replace(workload, created=max(workload.created, at))


def _give_up(state: State, workload: WorkloadId) -> None:
    """Whoever waits for a workload that does not go looks for others to stop.

    From here on its room counts as taken, until it is gone after all.
    """
    running = state.leaving.get(workload)
    if running is None:
        raise EngineError(f"{workload} was not told to stop")
    if running.stuck:
        return
    running.stuck = True
    state.reservations.touch(workload)
    if state.future is not state.present:
        state.future.charge(running.charge)
    for claim in list(state.claims.values()):
        if workload in claim.targets:
            state.revoke(claim)
            if claim.waiting.workload.id not in state.running:
                state.wait(claim.waiting.workload)
    state.release_all()
