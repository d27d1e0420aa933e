"""Building the engine anew: at start, after a failed transaction, after a step given up.

Storage says what was decided, the cluster says what is there. What was decided is done
again (the cluster's `apply` is idempotent, and tells the end of an attempt once more if
that was missed); what is there without a decision of ours is stopped.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable

from bot.clusters.base import Observation, Observed, PodsState, Stop
from bot.control import orders
from bot.control.decided import replacement, start
from bot.control.inforce import bring_into_force, read_by_hand
from bot.control.ledger import LOOP, Ledger
from bot.terms import Terms
from scheduler import events
from scheduler.engine import Engine
from scheduler.history import Sample
from scheduler.model import Seconds, TeamName, Usage, WorkloadId
from scheduler.standing import EngineError
from storage.records import EventKind, Request, UsageSample
from storage.states import FINAL, RequestState
from storage.store import Store

log = logging.getLogger(__name__)

S = RequestState
RUN_TIMES = 2000  # ended requests whose run times are remembered
_FIRST = frozenset({EventKind.SUBMIT, EventKind.ADOPT})  # what a request begins with
OPEN = tuple(state for state in RequestState if state not in FINAL)


def restore(
    engine: Engine,
    store: Store,
    terms: Terms,
    seen: Observation,
    ledger: Ledger,
    *,
    oddities: int = logging.WARNING,
) -> None:
    """Let a new engine know what storage and the cluster know; `ledger` gets the repairs.

    `oddities` is the level at which it is logged where the two differ.
    """
    with store.read() as view:
        requests = view.requests.find(states=OPEN)
        samples = view.usage.all()
        ended = view.requests.ended(RUN_TIMES)
        by_hand = read_by_hand(view)
        asked = view.events.unhandled()
        unsubmitted = {order.request for order in asked if order.kind in _FIRST}
    ledger.put(requests)
    for node in seen.nodes:
        engine.apply(events.NodeObserved(node=node))
    _restore_usage(engine, samples)
    engine.apply(events.RunTimesRestored(samples=run_times(ended)))
    there = {observed.workload: observed for observed in seen.workloads}
    for request in requests:
        observed = there.pop(WorkloadId(request.id), None)
        if request.state is not S.WAITING:
            _restore(engine, ledger, terms, request, observed)
        elif observed is not None:
            _clear(engine, ledger, terms, request, observed)
        elif request.id not in unsubmitted:  # else its submission is still to be carried out
            _rejoin(engine, ledger, terms, request)
    for stranger in there.values():
        log.log(
            oddities,
            "%s runs as %s, which nobody decided: stopping it",
            stranger.workload,
            stranger.decision,
        )
        ledger.act(_stop(stranger, terms))
    bring_into_force(engine, ledger, terms, by_hand.settings)


def run_times(ended: Iterable[Request]) -> tuple[Sample, ...]:
    """How long work ran in its last attempt, the earliest end first."""
    by_end = sorted(ended, key=lambda request: (request.changed, request.id))
    return tuple(
        Sample(
            team=request.workload.team,
            gpus=request.workload.gpus,
            ran=max(0.0, request.changed.timestamp() - request.admission.at),
        )
        for request in by_end
        if request.admission is not None
    )


def _restore_usage(engine: Engine, samples: Iterable[UsageSample]) -> None:
    for sample in samples:
        usage = Usage(
            team=TeamName(sample.team), chip_hours=sample.chip_hours, at=sample.at.timestamp()
        )
        engine.apply(events.UsageRestored(usage=usage))


def _rejoin(engine: Engine, ledger: Ledger, terms: Terms, request: Request) -> None:
    """A request that waits joins its queue, unless the policy has that no more."""
    if terms.knows(request.workload.queue):
        overflow = tuple(queue for queue in request.workload.overflow if terms.knows(queue))
        workload = dataclasses.replace(request.workload, overflow=overflow)
        engine.apply(events.Submitted(workload=workload))
        return
    log.error("%s waits in %s, which the policy lacks", request.id, request.workload.queue)
    orders.drop(ledger, request, LOOP, reason="queue-gone")


def _clear(
    engine: Engine, ledger: Ledger, terms: Terms, request: Request, observed: Observed
) -> None:
    """A request that waits but has pods: it holds their room until they are gone."""
    log.warning("%s waits but has pods of %s: stopping them", request.id, observed.decision)
    engine.apply(
        events.Restored(workload=request.workload, admission=observed.admission, leaving=True)
    )
    ledger.act(_stop(observed, terms))


def _restore(
    engine: Engine, ledger: Ledger, terms: Terms, request: Request, observed: Observed | None
) -> None:
    """A request that holds GPUs holds them again, and what was decided is done again."""
    if request.admission is None:
        raise ValueError(f"{request.id} is {request.state} without an admission")
    leaving = request.state in {S.PREEMPTING, S.EVICTING, S.STOPPING}
    try:
        engine.apply(
            events.Restored(workload=request.workload, admission=request.admission, leaving=leaving)
        )
        if request.kept is not None:
            kept = request.kept.assignments
            engine.apply(events.Counted(workload=request.workload.id, alive=kept, at=ledger.now))
    except EngineError:
        log.exception("%s cannot hold what it was granted: stopping it", request.id)
        leaving = True  # its end, once seen, says what becomes of it
    current = observed is not None and observed.decision == request.decision
    if observed is not None and not current and observed.admission != request.admission:
        ledger.act(_stop(observed, terms))
    if leaving:
        ledger.act(
            Stop(
                workload=request.workload.id,
                decision=request.decision,
                grace=_grace_left(request, terms.grace(request.admission.queue), ledger.now),
                begun=start(request, request.admission),
            )
        )
    elif observed is None or not current:
        ledger.act(start(request, request.admission))
    elif observed.admission.repairs < request.admission.repairs:
        ledger.act(replacement(request, request.admission))
    else:
        _take_up(engine, ledger, request, observed)


def _take_up(engine: Engine, ledger: Ledger, request: Request, observed: Observed) -> None:
    """A gang that goes on: the cluster need not know what of it was granted, and what is left."""
    if request.admission is not None:
        ledger.act(start(request, request.admission))
    if request.state is S.ADMITTED and observed.state is PodsState.RUNNING:
        ledger.move(request.id, S.RUNNING, reason="pods-ready", started=ledger.at)
    else:
        for node in observed.missing:
            engine.apply(events.NodeLost(node=node, workload=observed.workload))


def _grace_left(request: Request, grace: Seconds, now: Seconds) -> Seconds:
    """What is left of the time that it was given when it was told to go."""
    return max(0.0, min(grace, request.changed.timestamp() + grace - now))


def _stop(observed: Observed, terms: Terms) -> Stop:
    return Stop(
        workload=observed.workload,
        decision=observed.decision,
        grace=terms.grace(observed.admission.queue),
    )
