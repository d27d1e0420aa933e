"""What an order of an admin would do, worked out before it is given."""

from __future__ import annotations

from collections.abc import Sequence

from bot.byhand import Hit, Preview, Wish
from scheduler.engine import Engine
from scheduler.events import QuotaChanged
from scheduler.layout import Queue
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    QueueName,
    Seconds,
    Workload,
    WorkloadId,
)
from scheduler.standing import EngineError
from storage.records import Request


def on_node(engine: Engine, node: NodeName) -> tuple[tuple[Workload, Admission], ...]:
    """Who has pods on a node and was not told to stop, by id."""
    leaving = set(engine.leaving())
    return tuple(
        (workload, admission)
        for workload, admission in engine.running()
        if workload.id not in leaving
        and any(node == name for part in admission.assignments for name, _ in part.nodes)
    )


def foresee_drain(
    engine: Engine, wish: Wish, node: NodeName, until: Seconds | None, now: Seconds
) -> Preview:
    """Who runs on the node."""
    hits = tuple(Hit.of(workload, admission, now) for workload, admission in on_node(engine, node))
    return Preview(wish=wish, where=node, hits=hits, until=until)


def foresee_pause(
    engine: Engine, wish: Wish, queues: Sequence[QueueName], until: Seconds | None
) -> tuple[Preview, tuple[Workload, ...]]:
    """How many would not start, and all of them in the engine's own order."""
    waiting = tuple(one for queue in queues for one in engine.pending(queue))
    preview = Preview(
        wish=wish,
        where=wish.target,
        until=until,
        queues=tuple(queues),
        waiting=len(waiting),
        waiting_gpus=sum(one.gpus for one in waiting),
    )
    return preview, waiting


def foresee_preemption(
    engine: Engine, wish: Wish, target: Request, winner: Request | None, now: Seconds
) -> Preview | None:
    """Who is stopped for whom; None if that would not start even then."""
    if target.held is None:
        return None
    if winner is not None:
        try:
            helps = engine.would_start(WorkloadId(winner.id), [WorkloadId(target.id)])
        except EngineError:
            helps = False  # storage was read a moment earlier
        if not helps:
            return None
    starts = 0 if winner is None else winner.workload.gpus
    hit = Hit.of(target.workload, target.held, now)
    return Preview(wish=wish, where=target.id, hits=(hit,), starts=starts)


def foresee_quota(copy: Engine, wish: Wish, queue: Queue, flavor: str, now: Seconds) -> Preview:
    """Who would be stopped, and what would start, in the next cycle. Changes the copy."""
    copy.cycle(now)  # what would happen anyway is not the doing of the order
    known = {workload.id: (workload, admission) for workload, admission in copy.running()}
    had = copy.in_force().quotas.get(queue.name, {})
    nominal = {**had, (FlavorName(flavor), GPU): wish.gpus or 0}
    copy.apply(QuotaChanged(queue=queue.name, nominal=nominal))
    decided = copy.cycle(now)
    ids = [preemption.target for preemption in decided.preemptions]
    started = [(one, copy.workload(one.workload)) for one in decided.admissions]
    bounds = copy.layout.options.evictions
    return Preview(
        wish=wish,
        where=str(queue.name),
        hits=tuple(Hit.of(*known[one], now) for one in ids if one in known),
        starts=sum(grant.gpus(one) for grant, one in started if one is not None),
        over=copy.over(queue.name),
        until=wish.end.at(now),
        at_once=bounds.per_cycle,
        an_hour=bounds.per_hour,
    )
