"""What time alone brings about: leases that end, starvation, usage samples, stale cards.

Each sweep runs inside `Control.propose`: it reads the engine, writes to the ledger, and
may run twice without saying or doing anything twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.clock import moment
from bot.control import announce, announce_changes, orders
from bot.control.ledger import LOOP, STARVING, Ledger
from bot.leases import held_up, longer
from bot.terms import Terms, remind_ahead
from scheduler import events
from scheduler.doubts import Doubt, NodeDoubt
from scheduler.engine import Engine
from scheduler.lapse import lapse
from scheduler.layout import AfterLease
from scheduler.model import Explanation, WorkloadId
from storage.accounts import Gauge
from storage.records import Request, Source, UsageSample
from storage.states import RequestState
from storage.store import Store

S = RequestState


def sample_usage(engine: Engine, ledger: Ledger) -> None:
    """Take the usage sample that is due, and one of the cluster beside it, and keep them."""
    figures = engine.figures()
    ledger.gauge(
        Gauge(
            at=ledger.at,
            gpus=figures.gpus,
            used=figures.used,
            stranded=figures.stranded,
            nodes=figures.nodes,
            whole_free_nodes=figures.whole_free_nodes,
            running=figures.running,
            pending=figures.pending,
            pending_gpus=sum(one.gpus for one in engine.pending()),
        )
    )
    ledger.sample(
        UsageSample(team=usage.team, chip_hours=usage.chip_hours, at=moment(usage.at))
        for usage in engine.sample_usage(ledger.now)
    )


@dataclass(slots=True)
class LeaseSweep:
    """Reminds of leases that are about to end, and ends those that have."""

    terms: Terms
    _dealt_with: set[str] = field(default_factory=set)

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        due: dict[str, str] = {}
        for workload, admission in engine.running():
            if workload.duration is None:
                continue
            ends = admission.at + workload.duration
            if ends <= ledger.now:
                due[workload.id] = "over"
            elif ends - remind_ahead(workload.duration) <= ledger.now:
                due[workload.id] = "soon"
        ledger.load(due)
        dealt_with = set()
        for request_id, when in due.items():
            request = ledger.get(request_id)
            mark = f"{request.decision}:{when}:{request.workload.duration}"
            dealt_with.add(mark)
            if mark in self._dealt_with or request.state not in {S.ADMITTED, S.RUNNING}:
                continue
            if when == "soon":
                self._remind(engine, ledger, request)
            else:
                self._end(engine, ledger, request)
        self._dealt_with = dealt_with

    def _remind(self, engine: Engine, ledger: Ledger, request: Request) -> None:
        if request.source is Source.TRACE:  # nobody reads it, and explanations cost time
            return
        step = longer(request, self.terms)
        waiting = held_up(engine, request.workload.id, ledger.now) if step else ()
        first = next(iter(waiting), None)
        announce_changes.say_lease_ending(ledger, self.terms, request, step, first)

    def _end(self, engine: Engine, ledger: Ledger, request: Request) -> None:
        queue = request.admission.queue if request.admission else request.workload.queue
        if self.terms.after_lease(queue) is AfterLease.RELEASE:
            orders.stop(engine, ledger, self.terms, request, S.EXPIRED, LOOP)
        elif request.workload.lapsed is None:
            engine.apply(events.Unprotected(workload=WorkloadId(request.id)))
            bare = ledger.note(
                request.id,
                reason="unprotected",
                details={},
                workload=lapse(request.workload),
            )
            announce_changes.say_unprotected(ledger, bare)


@dataclass(slots=True)
class StarvationCheck:
    """Alerts once for each time a request begins to starve; background load is silent."""

    terms: Terms
    _known: set[WorkloadId] = field(default_factory=set)

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        self._known = {one for one in self._known if engine.workload(one) is not None}
        found = engine.starving(ledger.now, self._known)
        ledger.load(starvation.workload for starvation in found)
        for starvation in found:
            request = ledger.get(starvation.workload)
            if request.source is Source.TRACE:
                self._known.add(starvation.workload)
            elif request.starving_since is None and request.state is S.WAITING:
                begins = moment(ledger.now - starvation.waited + starvation.target_wait)
                starving = ledger.note(
                    request.id,
                    reason=STARVING,
                    details={"waited": starvation.waited},
                    starving_since=begins,
                )
                announce.say_starving(ledger, self.terms, starving, starvation)


@dataclass(slots=True)
class CapacityCheck:
    """Tells on-call of nodes that have less than what runs there, once until that changes."""

    _known: set[NodeDoubt] = field(default_factory=set)

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        found = {doubt for doubt in engine.doubts() if doubt.doubt is Doubt.OVERFULL}
        for doubt in sorted(found - self._known):
            announce.say_overfull(ledger, doubt)
        self._known = found


@dataclass(slots=True)
class CardSweep:
    """Redraws the cards of waiting requests whose position or reason has changed."""

    store: Store
    _drawn: dict[str, tuple[object, ...]] = field(default_factory=dict)

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        with self.store.read() as view:
            waiting = (
                *view.requests.from_source(Source.CHAT, [S.WAITING]),
                *view.requests.from_source(Source.CLUSTER, [S.WAITING]),
            )
        drawn = {}
        survey = engine.survey(ledger.now)
        for request in waiting:
            workload_id = WorkloadId(request.id)
            if engine.workload(workload_id) is None:
                continue
            state = _summary(survey.explain(workload_id))
            drawn[request.id] = state
            if self._drawn.get(request.id, state) != state:
                ledger.redraw(request)
        self._drawn = drawn


def _summary(why: Explanation) -> tuple[object, ...]:
    return why.queue, why.position, why.verdict.reason
