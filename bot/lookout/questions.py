"""What the desk asks a lookout. Each is a function of a module, since it may have to travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.leases import HeldUp, delayed
from bot.offers import Alternative, alternatives
from bot.plans import refuse
from bot.prospects import Offered, Prospect
from bot.terms import Terms
from bot.views import RefusalCode, Refused
from scheduler.engine import Engine
from scheduler.forecast import Forecast
from scheduler.model import Seconds, Workload, WorkloadId
from scheduler.offers import Variant
from scheduler.standing import EngineError
from storage.records import Person, Request


def consider(
    engine: Engine, terms: Terms, now: Seconds, *, request: Request, planner: Person
) -> Prospect | None:
    """Forecast and offers of one that waits, or would; None for one that holds GPUs."""
    workload = engine.workload(request.workload.id) or request.workload
    if engine.holds(workload.id):
        return None
    found = alternatives(request.workload, planner, terms, engine.reservations(), now, request.ref)
    lifted = [_lifted(one, request.workload, workload) for one in found]
    variants = [
        Variant(kind=one.kind, workload=other) for one, other in zip(found, lifted, strict=True)
    ]
    considered = engine.consider(workload, now, variants)
    offers = []
    for offer in considered.offers:
        mine = found[lifted.index(offer.variant.workload)]
        offers.append(
            Offered(
                key=mine.key,
                kind=mine.kind,
                change=mine.change,
                changes=mine.changes,
                start=offer.start,
                back=mine.back,
            )
        )
    return Prospect(forecast=considered.forecast, offers=tuple(offers), at=now)


def forecasts(
    engine: Engine, _terms: Terms, now: Seconds, *, requests: Sequence[str]
) -> Mapping[str, tuple[Forecast, Seconds]]:
    """Fresh forecasts of those that wait, each as of now; without those that do not."""
    found = {}
    for request in requests:
        try:
            found[request] = (engine.forecast(WorkloadId(request), now), now)
        except EngineError:  # storage was read a moment earlier or later
            continue
    return found


def find_offer(
    engine: Engine, terms: Terms, now: Seconds, *, request: Request, planner: Person, offer: str
) -> Alternative | Refused:
    """The alternative that an offer names, tried again, unless it has started meanwhile."""
    before = request.workload
    if engine.holds(before.id):
        return refuse(RefusalCode.RUNS_ALREADY, request=request.id)
    all_of_them = alternatives(before, planner, terms, engine.reservations(), now, request.ref)
    found = next((one for one in all_of_them if one.key == offer), None)
    if found is None:
        return refuse(RefusalCode.OFFER_STALE, request=request.id)
    workload = engine.workload(before.id) or before
    variant = Variant(kind=found.kind, workload=_lifted(found, before, workload))
    if not engine.consider(workload, now, [variant]).offers:
        return refuse(RefusalCode.OFFER_GONE, request=request.id)
    return found


def who_is_delayed(
    engine: Engine, _terms: Terms, now: Seconds, *, workload: WorkloadId, lease: Seconds
) -> tuple[HeldUp, ...]:
    """Who would start later if what runs had a longer lease, in the engine's order."""
    return delayed(engine, workload, lease, now)


def ask_nothing(_engine: Engine, _terms: Terms, _now: Seconds) -> None:
    """A question without an answer, for those who want the lookout to be there."""


def _lifted(found: Alternative, stored: Workload, counts: Workload) -> Workload:
    """An alternative with what its original owes to waiting and boosts, if it keeps its place."""
    if found.back:
        return found.workload
    by = counts.priority - stored.priority
    return replace(
        found.workload,
        priority=found.workload.priority + by,
        raised=counts.raised,
        queued=counts.queued,
    )
