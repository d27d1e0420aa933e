"""From an order as it was read to the wish that the desk looks at."""

from __future__ import annotations

from bot.byhand import Wish
from bot.chat.grammar import commands as said
from storage.audit import InterventionKind

K = InterventionKind


def wish_of(order: said.Order) -> Wish:
    """The wish of an admin's line."""
    match order:
        case said.Pause():
            return Wish(kind=K.PAUSE, target=order.where, reason=order.reason, end=order.end)
        case said.Resume():
            return Wish(kind=K.RESUME, target=order.where, reason=order.reason)
        case said.Boost():
            return Wish(
                kind=K.BOOST,
                target=order.request,
                reason=order.reason,
                end=order.end,
                priority=order.priority,
            )
        case said.Preempt():
            return Wish(
                kind=K.PREEMPT,
                target=order.request,
                reason=order.reason,
                beneficiary=order.winner,
            )
        case said.Drain():
            return Wish(kind=K.DRAIN, target=order.node, reason=order.reason, end=order.end)
        case said.Undrain():
            return Wish(kind=K.UNDRAIN, target=order.node, reason=order.reason)
        case said.Quota():
            return Wish(
                kind=K.QUOTA,
                target=order.where,
                reason=order.reason,
                end=order.end,
                gpus=order.gpus,
                flavor=order.flavor,
            )
