"""What the cluster reports, turned into engine events and moves of requests.

A report names the decision it belongs to; one about an earlier grant is old news and is
dropped, so the same list may be delivered any number of times.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from bot import notices
from bot.clusters.base import (
    ClusterEvent,
    EndKind,
    GivenUp,
    Gone,
    NodeFailed,
    NodeGone,
    NodeSeen,
    PodsLost,
    Saved,
    Shrunk,
    Started,
    Stop,
    Taken,
)
from bot.control import announce, families, orders
from bot.control.ledger import LOOP, Ledger
from bot.control.successors import rest_of, rest_others, series_of
from bot.views import OUTSIDE
from scheduler import events
from scheduler.engine import Engine
from scheduler.lapse import requeued
from scheduler.model import NodeName, Rest, RestCause, WorkloadId
from scheduler.rest import OWN_FAULTS, rest_after
from storage.records import Request, Source
from storage.states import RequestState

log = logging.getLogger(__name__)
S = RequestState
_RESTS = {
    EndKind.LATE: RestCause.LATE,
    EndKind.UNPLACED: RestCause.UNPLACED,
    EndKind.UNMADE: RestCause.UNMADE,
}
_ANEW = frozenset({"pods-ready", "edited"})
"""What tries in vain are counted from: the last time that all was well, or that it was changed."""
_CAUSES: dict[EndKind, notices.Cause] = {
    EndKind.LATE: "late",
    EndKind.UNPLACED: "unplaced",
    EndKind.UNMADE: "unmade",
    EndKind.STOPPED: "stopped",
}


_EVICTED: dict[str, notices.Cause] = {"drained": "drained", "taken": "taken"}


def take_in(engine: Engine, ledger: Ledger, event: ClusterEvent) -> None:
    """Bring one report into the engine and the ledger."""
    match event:
        case NodeSeen():
            engine.apply(events.NodeObserved(node=event.node))
        case NodeGone():
            engine.apply(events.NodeRemoved(node=NodeName(event.name)))
        case NodeFailed():
            engine.apply(events.NodeLost(node=event.name))
        case PodsLost():
            _hurt(engine, ledger, event)
        case GivenUp():
            _given_up(engine, ledger, event)
        case Started():
            _started(ledger, event)
        case Taken():
            _taken(engine, ledger, event)
        case Shrunk() | Saved():
            _progress(engine, ledger, event)
        case Gone():
            _gone(engine, ledger, event)


def _current(
    ledger: Ledger, event: Started | Gone | PodsLost | Taken | Shrunk | Saved
) -> Request | None:
    request = ledger.find(event.workload)
    if request is None or request.decision != event.decision or request.state.final:
        log.info("old news of %s (%s): %s", event.workload, event.decision, type(event).__name__)
        return None
    return request


def _started(ledger: Ledger, event: Started) -> None:
    request = _current(ledger, event)
    if request is not None and request.state is S.ADMITTED:
        ledger.move(request.id, S.RUNNING, reason="pods-ready", started=ledger.at)


def _hurt(engine: Engine, ledger: Ledger, event: PodsLost) -> None:
    request = _current(ledger, event)
    if request is not None and request.state in {S.ADMITTED, S.RUNNING}:
        if not event.mendable:
            ledger.unmendable.add(request.id)
        engine.apply(events.NodeLost(node=event.node, workload=event.workload))


def _taken(engine: Engine, ledger: Ledger, event: Taken) -> None:
    """A hold goes on elsewhere, or waits again where it has no pods; else it stays as it is."""
    request = _current(ledger, event)
    if request is None or request.state not in {S.ADMITTED, S.RUNNING}:
        return
    told = (
        events.NodeObserved(node=event.seen),
        events.NodeLost(node=event.node, workload=event.workload),
    )
    if event.vacant and _finds_place(engine, ledger, event.workload, told):
        ledger.taken[request.id] = event
        for one in told:
            engine.apply(one)
        return
    announce.say_taken(ledger, request, event, waits=event.bare)
    if event.bare:
        engine.apply(events.Leaving(workload=event.workload))
        ledger.move(request.id, S.EVICTING, reason="taken", details={"lost": [event.node]})
        ledger.act(Stop(workload=event.workload, decision=event.decision, grace=0.0))


def _finds_place(
    engine: Engine, ledger: Ledger, workload: WorkloadId, told: Iterable[events.Event]
) -> bool:
    """Whether a gang could go on elsewhere."""
    copy = engine.fork()
    for one in told:
        copy.apply(one)
    return any(repair.workload == workload for repair in copy.cycle(ledger.now).repairs)


def _given_up(engine: Engine, ledger: Ledger, event: GivenUp) -> None:
    """Others of a template that is late rest as well; that it is held is told once for all."""
    request = ledger.find(event.workload)
    if request is None or event.kind is not EndKind.LATE:
        return
    rest = rest_others(engine, ledger, request)
    if rest is not None and rest.until is None:
        families.say_held(ledger, request, rest, series_of(ledger, request))


def _progress(engine: Engine, ledger: Ledger, event: Shrunk | Saved) -> None:
    """Some of a running gang is done, or it could go on from where it is."""
    request = _current(ledger, event)
    if request is None or request.state is not S.RUNNING or not engine.holds(event.workload):
        return
    if isinstance(event, Saved):
        engine.apply(events.Checkpointed(workload=event.workload, at=event.saved))
    else:
        engine.apply(events.Counted(workload=event.workload, alive=event.left, at=event.at))
        if request.admission is not None:
            kept = replace(request.admission, assignments=event.left)
            ledger.resize(ledger.amend(request.id, kept=kept))


def _gone(engine: Engine, ledger: Ledger, event: Gone) -> None:
    request = _current(ledger, event)
    if request is None:
        return
    after = after_gone(request, event.kind)
    if request.state is S.WAITING:  # was requeued already, its pods outlived the note
        _leave(engine, ledger, request, events.Evicted)
    elif after is S.WAITING:
        requeue(engine, ledger, request, event.kind)
    else:
        _leave(engine, ledger, request, events.Finished)
        end(ledger, request, after, event.kind)


def _rest(engine: Engine, ledger: Ledger, request: Request, kind: EndKind) -> Rest | None:
    """The pause of a gang that was not ready in time; None if it was stopped for something else."""
    cause = _RESTS.get(kind)
    if cause is None or request.state not in {S.ADMITTED, S.RUNNING}:
        return None
    if cause is RestCause.LATE:
        rest = rest_of(ledger, request, engine.layout.readiness)
        if rest is not None:
            return rest
    own = cause in OWN_FAULTS
    kinds = [one for one, why in _RESTS.items() if why is cause or (own and why in OWN_FAULTS)]
    before = (ledger.times(request.id, f"pods-{one}", since=_ANEW) for one in kinds)
    tries = sum(before) + 1
    return rest_after(engine.layout.readiness, cause, tries, ledger.now)


def _leave(
    engine: Engine,
    ledger: Ledger,
    request: Request,
    how: type[events.Evicted] | type[events.Finished],
    *,
    rest: Rest | None = None,
) -> None:
    """Tell the engine, unless it knows already or could not take the request in at all."""
    workload_id = WorkloadId(request.id)
    if engine.holds(workload_id) and rest is not None:
        late = rest.cause in OWN_FAULTS
        engine.apply(
            events.Evicted(workload=workload_id, at=ledger.now, own_failure=late, rest=rest)
        )
    elif engine.holds(workload_id):
        engine.apply(how(workload=workload_id, at=ledger.now))
    elif how is events.Evicted and engine.workload(workload_id) is None:
        engine.apply(events.Submitted(workload=request.workload))


def after_gone(request: Request, kind: EndKind) -> RequestState:
    """Where a request goes whose last pod is gone.

    Work that ended by itself has ended, whatever was planned for it. What was being
    stopped for its owner ends as planned; everything else waits again.
    """
    if kind is EndKind.FINISHED:
        return S.FINISHED
    if request.state is S.STOPPING:
        return request.ending or S.RELEASED
    if kind is EndKind.FAILED:
        return S.FAILED
    if kind is EndKind.LEFT:
        return S.RELEASED
    return S.WAITING


def requeue(engine: Engine, ledger: Ledger, request: Request, kind: EndKind) -> None:
    """Put a stopped or lost gang back at its old place in its queue; at the back if it was late.

    One that was not ready in time rests before it is tried again. One whose queue the policy lacks
    by now has no place to go back to.
    """
    known = {queue.name for queue in engine.layout.queues}
    if request.workload.queue not in known:
        log.error("%s was in %s, which the policy lacks", request.id, request.workload.queue)
        back = ledger.move(
            request.id, S.WAITING, reason=f"pods-{kind}", started=None, lease_ends=None, kept=None
        )
        orders.drop(ledger, back, LOOP, reason="queue-gone")
        return
    overflow = tuple(queue for queue in request.workload.overflow if queue in known)
    request = replace(request, workload=replace(request.workload, overflow=overflow))
    cause = _cause(ledger, request, kind)
    reason = f"pods-{kind}" if request.state in {S.ADMITTED, S.RUNNING} else cause
    rest = _rest(engine, ledger, request, kind)
    _leave(engine, ledger, request, events.Evicted, rest=rest)
    workload = replace(requeued(request.workload), rest=rest)
    waits = engine.workload(workload.id) or replace(workload, queued=None)
    back = ledger.move(
        request.id,
        S.WAITING,
        reason=reason,
        started=None,
        lease_ends=None,
        kept=None,
        workload=replace(workload, created=waits.created, queued=waits.queued, barred=waits.barred),
    )
    if back.source is not Source.TRACE:  # an explanation costs more than a move
        position = engine.explain(WorkloadId(request.id), ledger.now).position
        announce.say_requeued(ledger, back, cause, position, rest)


def _cause(ledger: Ledger, request: Request, kind: EndKind) -> notices.Cause:
    """Why it waits again."""
    if request.state is S.PREEMPTING:
        return "preempted"
    if request.state is S.EVICTING:
        return _EVICTED.get(ledger.stopped_because(request.id), "node-lost")
    return _CAUSES.get(kind, "node-lost")


def end(ledger: Ledger, request: Request, after: RequestState, kind: EndKind) -> None:
    """Bring a request to its final state and tell its thread."""
    began = request.started
    ended = ledger.move(
        request.id,
        after,
        reason=f"pods-{kind}",
        actor=request.ended_by or request.workload.owner,
        lease_ends=None,
        ended_by=OUTSIDE if kind is EndKind.LEFT else request.ended_by,
    )
    ran = (ledger.at - began).total_seconds() if began else 0.0
    announce.say_ended(ledger, ended, ran)
