"""Whom a boost would stop, worked out before it is given."""

from __future__ import annotations

from bot.byhand import Hit, Preview, Wish
from scheduler.engine import Engine
from scheduler.events import Boosted
from scheduler.model import Seconds, WorkloadId
from scheduler.standing import EngineError


def foresee_boost(copy: Engine, wish: Wish, request_id: str, by: int, now: Seconds) -> Preview:
    """Who would be stopped in the next cycle, and whether it starts. Changes the copy."""
    copy.cycle(now)  # what would happen anyway is not the doing of the order
    known = {workload.id: (workload, admission) for workload, admission in copy.running()}
    boosted = WorkloadId(request_id)
    until = wish.end.at(now)
    try:
        copy.apply(Boosted(workload=boosted, by=by))
    except EngineError:  # storage was read a moment earlier
        return Preview(wish=wish, where=request_id, until=until)
    decided = copy.cycle(now)
    ids = [preemption.target for preemption in decided.preemptions]
    hits = tuple(Hit.of(*known[one], now) for one in ids if one in known)
    return Preview(wish=wish, where=request_id, hits=hits, until=until)
