"""What the engine decided, turned into moves, notices and actions for the cluster."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from bot.clusters.base import Replace, Start, Stop
from bot.control import announce
from bot.control.ledger import Ledger
from bot.grants import flavor_of
from bot.places import Domain, domain_of
from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.model import Admission, Decisions, Eviction, NodeName, Preemption, Repair
from storage.records import Request
from storage.states import RequestState

S = RequestState


def take_down(
    engine: Engine,
    ledger: Ledger,
    terms: Terms,
    decisions: Decisions,
    failed: Mapping[NodeName, bool] | None = None,
) -> None:
    """Have everything one cycle decided stored, said and done.

    `failed` are the nodes that did, and whether each is leaving. What lost nodes is mended or
    stopped first: the order of the cluster's actions is that of the decisions. Who starts and is
    stopped in one cycle starts before he is stopped.
    """
    ledger.load(
        [r.workload for r in decisions.repairs]
        + [e.workload for e in decisions.evictions]
        + [a.workload for a in decisions.admissions]
        + [p.target for p in decisions.preemptions]
        + [p.preemptor for p in decisions.preemptions]
    )
    moved = {repair.workload: _repair(ledger, repair) for repair in decisions.repairs}
    for eviction in decisions.evictions:
        _evict(ledger, terms, eviction)
    announce.say_nodes_failed(ledger, moved, decisions, failed or {})
    started = {admission.workload for admission in decisions.admissions}
    _stop(ledger, terms, [p for p in decisions.preemptions if p.target not in started])
    announce.say_flipped(ledger, decisions.flips)
    for admission in decisions.admissions:
        admit(ledger, terms, admission, domain_of(engine, terms, admission))
    _stop(ledger, terms, [p for p in decisions.preemptions if p.target in started])


def start(request: Request, admission: Admission) -> Start:
    """The action that lets a granted gang run; the same each time it is asked for."""
    return Start(
        workload=request.workload,
        admission=admission,
        decision=request.decision,
        run_for=request.run_for,
        recipe=request.recipe,
        ref=request.ref,
        kept=None if request.kept is None else request.kept.assignments,
    )


def replacement(request: Request, admission: Admission) -> Replace:
    """The action that gives a gang new pods for lost ones; the same each time."""
    return Replace(workload=request.workload.id, admission=admission, decision=request.decision)


def _repair(ledger: Ledger, repair: Repair) -> tuple[NodeName, ...]:
    """Store where the gang goes on, then have its lost pods put there; the new nodes."""
    request = ledger.get(repair.workload)
    before = request.admission
    to = announce.new_nodes(before, repair.admission, repair.lost) if before else ()
    mended = ledger.note(
        request.id,
        reason="repaired",
        details={"lost": list(repair.lost), "to": list(to), "repair": repair.admission.repairs},
        admission=repair.admission,
        kept=None,  # its pods may come anew
    )
    if (taken := ledger.taken.get(request.id)) is not None:
        announce.say_taken(ledger, mended, taken, to)
    else:
        announce.say_repaired(ledger, mended, repair, to)
    ledger.resize(mended)  # also what it had given back
    ledger.act(replacement(mended, repair.admission))
    return to


def _evict(ledger: Ledger, terms: Terms, eviction: Eviction) -> None:
    """Stop what is left of a gang that cannot go on; it is requeued when its pods are gone."""
    request = ledger.get(eviction.workload)
    if request.state not in {S.ADMITTED, S.RUNNING}:
        return
    ledger.move(request.id, S.EVICTING, reason="node-lost", details={"lost": list(eviction.lost)})
    ledger.act(
        Stop(
            workload=eviction.workload,
            decision=request.decision,
            grace=terms.grace(eviction.queue),
        )
    )


def admit(ledger: Ledger, terms: Terms, admission: Admission, domain: Domain) -> None:
    """Store what a request was granted, say it, and have it start."""
    request = ledger.get(admission.workload)
    lease = request.workload.duration
    admitted = ledger.move(
        request.id,
        S.ADMITTED,
        reason="admitted",
        details={"queue": admission.queue, "borrowing": admission.borrowing},
        attempt=request.attempt + 1,
        admission=admission,
        kept=None,
        lease_ends=None if lease is None else ledger.at + dt.timedelta(seconds=lease),
        starving_since=None,
    )
    ledger.started(admitted)
    ledger.charge(
        admitted,
        pool=terms.pool(admission.queue),
        flavor=flavor_of(admission),
        spend=terms.spend(admitted.workload.queue),
    )
    announce.say_admitted(ledger, terms, admitted, domain)
    ledger.act(start(admitted, admission))


def _stop(ledger: Ledger, terms: Terms, preemptions: Sequence[Preemption]) -> None:
    """Stop targets, and tell of those who were not on their way out already."""
    stopped = [p for p in preemptions if _preempt(ledger, terms, p)]
    announce.say_preempted(ledger, terms, stopped)


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
