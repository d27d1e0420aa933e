"""What people ordered at the desk, carried out in the order it was stored."""

from __future__ import annotations

from bot.clusters.base import Stop
from bot.control import adopting, announce, changes
from bot.control.ledger import LOOP, Ledger
from bot.terms import Terms
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import WorkloadId
from storage.records import DeskEvent, EventKind, Request
from storage.states import RequestState

S = RequestState
OBJECT_GONE = "object_gone"  # in the order: what the request stood for is no more
_ENDINGS = {EventKind.CANCEL: S.CANCELLED, EventKind.RELEASE: S.RELEASED}


def carry_out(engine: Engine, ledger: Ledger, terms: Terms, order: DeskEvent) -> None:
    """Do what one desk event says. An order about an ended request changes nothing."""
    request = ledger.get(order.request)
    if order.kind is EventKind.SUBMIT:
        if request.state is S.WAITING and engine.workload(WorkloadId(request.id)) is None:
            engine.apply(events.Submitted(workload=request.workload))
            ledger.redraw(request)
    elif order.kind is EventKind.ADOPT:
        known = engine.workload(WorkloadId(request.id)) is not None
        news = request.state is S.WAITING and not known
        if news and not adopting.carry_out(engine, ledger, terms, request, order):
            drop(ledger, request, LOOP, reason="no-quota")
    elif order.kind in _ENDINGS:
        if not _has_moved_on(request, order):
            stop(engine, ledger, terms, request, _ENDINGS[order.kind], order.actor)
    else:
        changes.carry_out(engine, ledger, order)


def _has_moved_on(request: Request, order: DeskEvent) -> bool:
    """Whether the grant that somebody wanted to be stopped is over already.

    A request that was preempted before its release was carried out waits on; it can be cancelled.
    One whose object is no more has nothing to wait for.
    """
    args = order.args or {}
    grant = args.get("grant")
    if order.kind is EventKind.RELEASE and request.state is S.WAITING:
        return not args.get(OBJECT_GONE)
    return isinstance(grant, int) and request.state.holding and request.attempt != grant


def stop(
    engine: Engine,
    ledger: Ledger,
    terms: Terms,
    request: Request,
    ending: RequestState,
    actor: str,
) -> None:
    """Bring a request to an end somebody wants: at once while it waits, else by stopping it."""
    if request.state is S.WAITING:
        if engine.workload(WorkloadId(request.id)) is not None:
            engine.apply(events.Withdrawn(workload=WorkloadId(request.id), at=ledger.now))
        drop(ledger, request, actor, reason="ordered")
    elif request.state in {S.ADMITTED, S.RUNNING, S.PREEMPTING, S.EVICTING}:
        ledger.move(
            request.id,
            S.STOPPING,
            reason="lease-over" if ending is S.EXPIRED else "ordered",
            actor=actor,
            ending=ending,
            ended_by=actor,
        )
        told = request.state in {S.PREEMPTING, S.EVICTING}
        if not told and engine.workload(WorkloadId(request.id)):
            engine.apply(events.Leaving(workload=WorkloadId(request.id)))
        queue = request.admission.queue if request.admission else request.workload.queue
        ledger.act(
            Stop(
                workload=WorkloadId(request.id),
                decision=request.decision,
                grace=terms.grace(queue),
            )
        )


def drop(ledger: Ledger, request: Request, actor: str, *, reason: str) -> None:
    """End a request that waits: what never ran can only be cancelled, not released."""
    ended = ledger.move(request.id, S.CANCELLED, reason=reason, actor=actor, ended_by=actor)
    announce.say_ended(ledger, ended, 0.0)
