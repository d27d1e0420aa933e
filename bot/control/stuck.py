"""Work that was told to stop and does not go: nobody waits for it for ever, and on-call hears."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot import notices
from bot.control.ledger import Ledger
from bot.grants import nodes_of
from bot.terms import Terms
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import Seconds, WorkloadId
from storage.records import Audience, Notice, Request

PATIENCE: Seconds = 600.0
"""So long after its grace is over, work that is still there counts as stuck."""


@dataclass(slots=True)
class StuckCheck:
    """Run inside `Control.propose`: whoever waits for what is stuck looks for another set."""

    terms: Terms
    _said: set[str] = field(default_factory=set)

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        leaving = engine.leaving()
        ledger.load(leaving)
        told = set()
        for workload_id in leaving:
            request = ledger.find(workload_id)
            if request is None or request.state.final or request.admission is None:
                continue
            grace = self.terms.grace(request.admission.queue)
            if ledger.now - request.changed.timestamp() < grace + PATIENCE:
                continue
            engine.apply(events.Stuck(workload=WorkloadId(request.id)))
            told.add(request.decision)
            if request.decision not in self._said:
                _say(ledger, request, grace)
        self._said = told


def _say(ledger: Ledger, request: Request, grace: Seconds) -> None:
    args = notices.StuckArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        gpus=request.gpus,
        nodes=() if request.held is None else nodes_of(request.held, request),
        told=request.changed.timestamp(),
        grace=grace,
    )
    ledger.say(
        Notice(
            key=f"stuck:{request.decision}:oncall",
            kind=args.kind,
            audience=Audience.ONCALL,
            request=request.id,
            args=args.model_dump(mode="json"),
            urgent=True,
        )
    )
