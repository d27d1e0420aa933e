"""What the engine decided, turned into moves, notices and actions for the cluster."""

from __future__ import annotations

import datetime as dt

from bot.clusters.base import Start, Stop
from bot.control import announce
from bot.control.ledger import Ledger
from bot.terms import Terms
from scheduler.model import Admission, Decisions, Preemption
from storage.records import Request
from storage.states import RequestState

S = RequestState


def take_down(ledger: Ledger, terms: Terms, decisions: Decisions) -> None:
    """Have everything one cycle decided stored, said and done."""
    ledger.load(
        [a.workload for a in decisions.admissions]
        + [p.target for p in decisions.preemptions]
        + [p.preemptor for p in decisions.preemptions]
    )
    stopped = [p for p in decisions.preemptions if _preempt(ledger, terms, p)]
    announce.say_preempted(ledger, terms, stopped)
    announce.say_flipped(ledger, decisions.flips)
    for admission in decisions.admissions:
        _admit(ledger, terms, admission)


def start(request: Request, admission: Admission) -> Start:
    """The action that lets a granted gang run; the same each time it is asked for."""
    return Start(
        workload=request.workload,
        admission=admission,
        decision=request.decision,
        run_for=request.run_for,
    )


def _admit(ledger: Ledger, terms: Terms, admission: Admission) -> None:
    request = ledger.get(admission.workload)
    lease = request.workload.duration
    admitted = ledger.move(
        request.id,
        S.ADMITTED,
        reason="admitted",
        details={"queue": admission.queue, "borrowing": admission.borrowing},
        attempt=request.attempt + 1,
        admission=admission,
        lease_ends=None if lease is None else ledger.at + dt.timedelta(seconds=lease),
        starving_since=None,
    )
    announce.say_admitted(ledger, terms, admitted, admission)
    ledger.act(start(admitted, admission))


def _preempt(ledger: Ledger, terms: Terms, preemption: Preemption) -> bool:
    """Stop a target; False if it is on its way out already and nobody need be told."""
    request = ledger.get(preemption.target)
    if request.state not in {S.ADMITTED, S.RUNNING}:
        return False
    ledger.move(
        request.id,
        S.PREEMPTING,
        reason="preempted",
        details={
            "preemptor": preemption.preemptor,
            "rule": preemption.rule,
            "level": preemption.level,
        },
    )
    ledger.act(
        Stop(
            workload=preemption.target,
            decision=request.decision,
            grace=terms.grace(preemption.target_queue),
        )
    )
    return True
