"""Where what people set ends by itself: played in a look ahead, when its time has come."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from scheduler.byhand import Ending, Hand, Held
from scheduler.events import Boosted, NodeObserved, NodeUncordoned, QueueResumed, QuotaChanged
from scheduler.inforce import Overrides
from scheduler.model import NodeName, QueueName, WorkloadId

Undone = QueueResumed | QuotaChanged | NodeUncordoned | NodeObserved | Boosted


def endings(overrides: Overrides) -> tuple[Ending, ...]:
    """What has an end, the earliest first and by what it is among equals."""
    return tuple(
        sorted(
            Ending(order.until, held)
            for held, order in overrides.orders.items()
            if order.until is not None
        )
    )


def quota_ends(overrides: Overrides) -> bool:
    """Whether some quota that was changed by hand becomes another again by itself."""
    return any(
        held.hand is Hand.QUOTA and order.until is not None
        for held, order in overrides.orders.items()
    )


def undo(overrides: Overrides, held: Held) -> tuple[Undone, ...]:
    """What happens when it ends; nothing if it is not in force any more.

    A drained node is then observed to be open: that the cluster calls it closed comes of the drain
    itself, as far as anybody knows.
    """
    if held not in overrides.orders:
        return ()
    match held.hand:
        case Hand.PAUSE:
            return (QueueResumed(queue=QueueName(held.where)),)
        case Hand.QUOTA:
            return (_undo_quota(overrides, held),)
        case Hand.DRAIN:
            name = NodeName(held.where)
            node = overrides.cordons.get(name)
            opened = () if node is None else (NodeObserved(node=replace(node, schedulable=True)),)
            return (NodeUncordoned(node=name), *opened)
        case Hand.BOOST:
            return (Boosted(workload=WorkloadId(held.where), by=0),)
        case _:
            assert_never(held.hand)


def frees(overrides: Overrides, held: Held) -> bool:
    """Whether more can start once it has ended: not so where quota was raised."""
    if held.hand is not Hand.QUOTA:
        return True
    queue = QueueName(held.where)
    return any(
        overrides.quotas[queue][pair] < limits.nominal
        for pair, limits in overrides.policy[queue].items()
        if pair == (held.flavor, held.resource) and pair in overrides.quotas[queue]
    )


def _undo_quota(overrides: Overrides, held: Held) -> QuotaChanged:
    queue = QueueName(held.where)
    left = {
        pair: amount
        for pair, amount in overrides.quotas[queue].items()
        if pair != (held.flavor, held.resource)
    }
    orders = {
        pair: order
        for pair in left
        if (order := overrides.orders.get(Held(Hand.QUOTA, queue, *pair))) is not None
    }
    return QuotaChanged(queue=queue, nominal=left, orders=orders)
