"""The nearest request that could be had, for one that could not: the right example.

Only a proposal: the desk offers it after planning and checking it like any other, so
that no example is refused in turn.
"""

from __future__ import annotations

import dataclasses

from bot.asks import Ask
from bot.terms import NAME_AT_MOST
from bot.views import RefusalCode, Refused
from scheduler.model import LimitKind, Priority


def mend(ask: Ask, refused: Refused, node_gpus: int) -> Ask | None:
    """`ask` with the one thing changed that `refused` names; None if that is not known."""
    changed: Ask | None = None
    match refused.code:
        case RefusalCode.NAME_TOO_LONG if ask.name:
            changed = dataclasses.replace(ask, name=ask.name[:NAME_AT_MOST])
        case RefusalCode.NOT_A_SIZE:
            changed = _sized(ask, node_gpus)
        case RefusalCode.LEASE_TOO_LONG:
            changed = dataclasses.replace(ask, duration=float(refused.args["most"]))
        case RefusalCode.LEASE_TOO_SHORT:
            changed = dataclasses.replace(ask, duration=float(refused.args["least"]))
        case RefusalCode.NEVER_FITS:
            changed = _smaller(ask, refused, node_gpus)
        case _ if refused.near:
            changed = _named(ask, refused.code, refused.near)
    return changed


def without(ask: Ask, refused: Refused) -> Ask | None:
    """`ask` as if what `refused` names had not been said; None if it was not said at all.

    Only for looking at the rest: each time something less is left to be wrong.
    """
    match refused.code:
        case RefusalCode.NEVER_FITS if refused.limit is LimitKind.BUDGET:
            easier = dataclasses.replace(ask, priority=None)
        case RefusalCode.NAME_TOO_LONG:
            easier = dataclasses.replace(ask, name=None)
        case RefusalCode.PRIORITY_NOT_ALLOWED:
            easier = dataclasses.replace(ask, priority=None)
        case RefusalCode.UNKNOWN_MODEL:
            easier = dataclasses.replace(ask, model=None)
        case RefusalCode.UNKNOWN_LEVEL:
            easier = dataclasses.replace(ask, topology=None)
        case RefusalCode.UNKNOWN_TEAM | RefusalCode.NOT_YOUR_TEAM:
            easier = dataclasses.replace(ask, team=None)
        case RefusalCode.LEASE_TOO_LONG | RefusalCode.LEASE_TOO_SHORT:
            easier = dataclasses.replace(ask, duration=None)
        case RefusalCode.NOT_A_SIZE | RefusalCode.NOT_DIVISIBLE | RefusalCode.NEVER_FITS:
            easier = _sized(ask, 1)
        case _:
            return None
    return easier if easier != ask else None


def _named(ask: Ask, code: RefusalCode, near: tuple[str, ...]) -> Ask | None:
    match code:
        case RefusalCode.UNKNOWN_MODEL:
            return dataclasses.replace(ask, model=near[0])
        case RefusalCode.UNKNOWN_LEVEL if ask.topology is not None:
            nearest = dataclasses.replace(ask.topology, level=near[0])
            return dataclasses.replace(ask, topology=nearest)
        case RefusalCode.UNKNOWN_TEAM | RefusalCode.NOT_YOUR_TEAM:
            return dataclasses.replace(ask, team=near[0])
        case RefusalCode.PRIORITY_NOT_ALLOWED:
            return dataclasses.replace(ask, priority=Priority(near[-1]))
        case RefusalCode.NOT_DIVISIBLE if near[0].isdigit():
            return _sized(ask, int(near[0]))
    return None


def _smaller(ask: Ask, refused: Refused, node_gpus: int) -> Ask | None:
    most, asked = int(refused.args["most"]), int(refused.args["asked"])
    if most <= 0:
        return dataclasses.replace(ask, model=None) if ask.model else None
    if refused.limit is LimitKind.NODE:  # the pods are too big: the same GPUs on whole nodes
        pods = max(1, asked // most) * (ask.pods or 1)
        return dataclasses.replace(_sized(ask, 0), gpus=None, pods=pods, gpus_per_pod=most)
    return _sized(ask, most if most < node_gpus else most - most % node_gpus)


def _sized(ask: Ask, gpus: int) -> Ask:
    return dataclasses.replace(ask, gpus=gpus, nodes=None, pods=None, gpus_per_pod=None)
