"""What is said of interventions: to all, to those they hit, to whoever ordered them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import notices
from bot.control.ledger import LOOP, Ledger
from bot.terms import Terms
from scheduler.model import PreemptionRule, QueueName
from storage.audit import Intervention, InterventionKind
from storage.records import Audience, Notice, Request, Source

MOST_HIT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an order did; see `notices.InterventionArgs`."""

    queues: tuple[str, ...] = ()
    waiting: int = 0
    gpus: int = 0
    request: Request | None = None
    winner: Request | None = None
    hit: tuple[Request, ...] = ()
    team: str | None = None
    before: int = 0
    over: int = 0


def say_done(ledger: Ledger, done: Intervention, effect: Effect) -> None:
    """Post what was done, by whom and why; on-call and a boosted request's thread hear too."""
    request, winner, hit = effect.request, effect.winner, effect.hit
    args = notices.InterventionArgs(
        intervention=done.id,
        what=done.kind,
        target=done.target,
        actor=done.actor,
        reason=done.reason,
        until=None if done.until is None else done.until.timestamp(),
        queues=effect.queues,
        waiting=effect.waiting,
        gpus=effect.gpus,
        before=effect.before,
        over=effect.over,
        team=effect.team,
        priority=_text(done, "priority"),
        flavor=_text(done, "flavor"),
        moved=bool(done.wish.get("move")),
        request=None if request is None else _of(request),
        winner=None if winner is None else _of(winner),
        hit=tuple(_of(one) for one in hit[:MOST_HIT]),
        more=max(0, len(hit) - MOST_HIT),
    )
    key = f"intervention:{done.id}"
    _say(ledger, f"{key}:channel", args, Audience.CHANNEL)
    _say(ledger, f"{key}:oncall", args, Audience.ONCALL)
    told = done.wish.get("tell")
    for lead in told if isinstance(told, list) else []:
        if lead != done.actor:
            _say(ledger, f"{key}:{lead}", args, Audience.PERSON, target=str(lead))
    if done.kind is InterventionKind.BOOST and request is not None:
        _say(ledger, f"{key}:thread", args, Audience.THREAD, request=request)
        if request.workload.owner != done.actor and request.source is not Source.TRACE:
            owner = request.workload.owner
            _say(ledger, f"{key}:person", args, Audience.PERSON, request=request, target=owner)


def say_avoided(ledger: Ledger, done: Intervention, held_up: Sequence[str]) -> None:
    """Tell on-call that a node is used no more for a while, because of whom, and until when."""
    args = notices.NodeAvoidedArgs(
        node=done.target,
        held_up=tuple(held_up),
        until=0.0 if done.until is None else done.until.timestamp(),
    )
    _say(ledger, f"intervention:{done.id}:oncall", args, Audience.ONCALL)


def say_over(ledger: Ledger, lasted: Intervention) -> None:
    """Post that something has ended by itself."""
    args = notices.InterventionOverArgs(
        intervention=lasted.id,
        what=lasted.kind,
        target=lasted.target,
        actor=lasted.actor,
        began=lasted.at.timestamp(),
        before=_number(lasted, "gpus"),
    )
    everybody = (Audience.CHANNEL, Audience.ONCALL)
    for audience in everybody if lasted.actor != LOOP else (Audience.ONCALL,):
        _say(ledger, f"intervention-over:{lasted.id}:{audience}", args, audience)


def say_failed(ledger: Ledger, order: Intervention) -> None:
    """Tell whoever ordered it that nothing was done."""
    args = notices.InterventionFailedArgs(
        intervention=order.id, what=order.kind, target=order.target
    )
    key = f"intervention-failed:{order.id}"
    _say(ledger, key, args, Audience.PERSON, target=order.actor)


def say_displaced(
    ledger: Ledger, terms: Terms, done: Intervention, target: Request, winner: Request | None
) -> None:
    """Tell the owner of what was stopped by hand: who, for whom, by which right, what next."""
    if target.source is Source.TRACE or target.admission is None:
        return
    queue = target.admission.queue
    args = notices.DisplacedArgs(
        what=done.kind,
        node=done.target if done.kind is InterventionKind.DRAIN else None,
        actor=done.actor,
        reason=done.reason,
        target=party_of(terms, target, queue),
        preemptor=None if winner is None else party_of(terms, winner, winner.workload.queue),
        rule=PreemptionRule.INTERVENTION,
        ran=max(0.0, ledger.now - target.admission.at),
        grace=terms.grace(queue),
        at=ledger.now,
    )
    key = f"displaced:{target.decision}"
    owner = target.workload.owner
    _say(ledger, f"{key}:person", args, Audience.PERSON, request=target, target=owner)
    _say(ledger, f"{key}:thread", args, Audience.THREAD, request=target)


def party_of(terms: Terms, request: Request, queue: QueueName) -> notices.Party:
    """One side of it, as people know it."""
    return notices.Party(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        pool=terms.pool(queue),
        queue=queue,
        path=terms.path(queue),
        gpus=request.gpus,
    )


def _of(request: Request) -> notices.HitArgs:
    return notices.HitArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        gpus=request.gpus,
    )


def _text(done: Intervention, key: str) -> str | None:
    found = done.wish.get(key)
    return found if isinstance(found, str) else None


def _number(done: Intervention, key: str) -> int | None:
    found = done.before.get(key)
    return found if isinstance(found, int) else None


def _say(
    ledger: Ledger,
    key: str,
    args: notices.NoticeArgs,
    audience: Audience,
    *,
    request: Request | None = None,
    target: str | None = None,
) -> None:
    ledger.say(
        Notice(
            key=key,
            kind=args.kind,
            audience=audience,
            request=None if request is None else request.id,
            target=target,
            args=args.model_dump(mode="json"),
            urgent=True,
        )
    )
