"""Carries out what admins order by hand, and ends it when its time is over.

Each is written down with what was so before and after, posted for all to see, and told to
those it hits. An order that has become impossible meanwhile changes nothing, and whoever
gave it is told.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.clusters.base import Stop
from bot.control import proclaim
from bot.control.inforce import (
    BOOST,
    DRAIN,
    PAUSE,
    QUOTA,
    ByHand,
    bring_into_force,
    name_of,
    value_of,
)
from bot.control.ledger import LOOP, Ledger
from bot.control.proclaim import Effect
from bot.control.suspects import HELD_UP
from bot.terms import Terms
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import GPU, FlavorName, NodeName, QueueName, WorkloadId
from scheduler.standing import EngineError
from storage.audit import Intervention, InterventionKind, InterventionState
from storage.records import Request, Setting
from storage.states import RequestState

log = logging.getLogger(__name__)
K = InterventionKind
S = RequestState
_STAYS = frozenset({S.ADMITTED, S.RUNNING})


class Impossible(Exception):
    """What was ordered cannot be done any more."""


def take_up(engine: Engine, ledger: Ledger, terms: Terms, found: ByHand) -> None:
    """Carry out what is ordered, end what is over, and bring the rest into force."""
    for order in found.ordered:
        try:
            _CARRIERS[order.kind](engine, ledger, terms, found, order)
        except (EngineError, Impossible) as error:
            log.warning("intervention %d (%s of %s): %s", order.id, order.kind, order.target, error)
            ledger.write_down(replace(order, state=InterventionState.FAILED))
            proclaim.say_failed(ledger, order)
    _end_what_is_over(engine, ledger, found)
    bring_into_force(engine, ledger, terms, found.settings)


# ---- pauses


def _pause(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    del terms
    queues = _names(order.wish, "queues")
    before = [queue for queue in queues if name_of(PAUSE, queue) in found.settings]
    for queue in queues:
        _put(ledger, found, order, name_of(PAUSE, queue), {"who": _who(order)})
    waiting = [one for queue in queues for one in engine.pending(QueueName(queue))]
    done = _in_force(ledger, order, before={"paused": before}, after={"paused": queues})
    proclaim.say_done(
        ledger,
        done,
        Effect(queues=tuple(queues), waiting=len(waiting), gpus=sum(w.gpus for w in waiting)),
    )


def _resume(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    del engine, terms
    names = [name_of(PAUSE, queue) for queue in _names(order.wish, "queues")]
    queues = _drop(ledger, found, [name for name in names if name in found.settings], order.actor)
    if not queues:
        raise Impossible("nothing of it is paused any more")
    plain = [name.removeprefix(PAUSE) for name in queues]
    done = _done(ledger, order, before={"paused": plain}, after={"paused": []})
    proclaim.say_done(ledger, done, Effect(queues=tuple(plain)))


# ---- standing


def _boost(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    del terms
    request = ledger.find(order.target)
    by = order.wish.get("by")
    if request is None or request.state is not S.WAITING or not isinstance(by, int):
        raise Impossible("it does not wait any more")
    had = engine.in_force().boosts.get(WorkloadId(request.id), 0)
    _put(ledger, found, order, name_of(BOOST, request.id), {"by": by, "who": _who(order)})
    done = _in_force(
        ledger,
        order,
        before={"priority": request.workload.priority_class.value, "by": had},
        after={"priority": str(order.wish.get("priority")), "by": by},
    )
    noted = ledger.note(
        request.id,
        reason="boosted",
        details={"intervention": order.id, "actor": order.actor, "by": by},
        actor=order.actor,
    )
    proclaim.say_done(ledger, done, Effect(request=noted))


# ---- who stays


def _preempt(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    del found
    request, winner = ledger.find(order.target), order.wish.get("for")
    if request is None or request.state not in _STAYS:
        raise Impossible("it does not run any more")
    if _is_another(request, order):
        raise Impossible("it was stopped and has started again")
    preemptor = None if winner is None else WorkloadId(str(winner))
    engine.apply(
        events.Displaced(targets=(WorkloadId(request.id),), preemptor=preemptor, at=ledger.now)
    )
    workload = request.workload
    if preemptor is None:  # it waits at the back from now on, also after a restart
        workload = replace(workload, created=max(workload.created, ledger.now))
    _stop(ledger, terms, request, order, S.PREEMPTING, "preempted-by-hand", workload=workload)
    done = _done(
        ledger,
        order,
        before={"state": request.state.value},
        after={"state": S.PREEMPTING.value, "for": preemptor},
    )
    other = None if preemptor is None else ledger.find(preemptor)
    proclaim.say_displaced(ledger, terms, done, request, other)
    proclaim.say_done(ledger, done, Effect(request=request, hit=(request,), winner=other))


def _drain(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    node = NodeName(order.target)
    if engine.node(node) is None:
        raise Impossible("the node is gone")
    leaving = set(engine.leaving())
    there = [
        workload.id
        for workload, admission in engine.running()
        if workload.id not in leaving
        and any(node == name for part in admission.assignments for name, _ in part.nodes)
    ]
    ledger.load(there)
    hit = [one for one in map(ledger.get, there) if one.state in _STAYS]
    moved = hit if order.wish.get("move") else []
    if any(_is_another(request, order) for request in moved):
        raise Impossible("others run there by now")
    says = {"move": bool(order.wish.get("move")), "who": _who(order)}
    _put(ledger, found, order, name_of(DRAIN, node), says)
    for request in moved:
        engine.apply(events.Leaving(workload=WorkloadId(request.id)))
        _stop(ledger, terms, request, order, S.EVICTING, "drained")
    done = _in_force(
        ledger,
        order,
        before={"running": [one.id for one in hit]},
        after={"stopped": [one.id for one in moved]},
    )
    for request in moved:
        proclaim.say_displaced(ledger, terms, done, request, None)
    if order.actor == LOOP:
        proclaim.say_avoided(ledger, done, _names(order.wish, HELD_UP))
    else:
        proclaim.say_done(ledger, done, Effect(hit=tuple(hit)))


def _undrain(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    del engine, terms
    if not _drop(ledger, found, [name_of(DRAIN, order.target)], order.actor):
        raise Impossible("it is not drained any more")
    done = _done(ledger, order, before={"drained": True}, after={})
    proclaim.say_done(ledger, done, Effect())


# ---- quota


def _quota(
    engine: Engine, ledger: Ledger, terms: Terms, found: ByHand, order: Intervention
) -> None:
    queue, flavor, gpus = order.target, str(order.wish.get("flavor")), order.wish.get("gpus")
    pair = (FlavorName(flavor), GPU)
    if not isinstance(gpus, int) or not terms.knows(QueueName(queue)):
        raise Impossible("the policy lacks the queue")
    before = engine.layout.queue(QueueName(queue)).quotas[pair].nominal
    says = {"gpus": gpus, "who": _who(order)}
    _put(ledger, found, order, name_of(QUOTA, f"{queue}:{flavor}"), says)
    bring_into_force(engine, ledger, terms, found.settings)
    over = engine.over(QueueName(queue))
    done = _in_force(
        ledger,
        order,
        before={"gpus": before, "flavor": flavor},
        after={"gpus": gpus, "flavor": flavor, "over": over},
    )
    team = terms.layout.queue(QueueName(queue)).team
    proclaim.say_done(ledger, done, Effect(team=team, before=before, gpus=gpus, over=over))


_Carrier = Callable[[Engine, Ledger, Terms, ByHand, Intervention], None]
_CARRIERS: Mapping[InterventionKind, _Carrier] = {
    K.PAUSE: _pause,
    K.RESUME: _resume,
    K.BOOST: _boost,
    K.PREEMPT: _preempt,
    K.DRAIN: _drain,
    K.UNDRAIN: _undrain,
    K.QUOTA: _quota,
}


# ---- what they have in common


def _end_what_is_over(engine: Engine, ledger: Ledger, found: ByHand) -> None:
    """Undo what has outlived its end, or that whose request has ended."""
    over: dict[int, list[str]] = {}
    gone: dict[int, list[str]] = {}
    for name, setting in sorted(found.settings.items()):
        number = value_of(setting).get("intervention")
        number = number if isinstance(number, int) else 0
        if setting.until is not None and setting.until <= ledger.at:
            over.setdefault(number, []).append(name)
        elif name.startswith(BOOST) and _has_ended(engine, ledger, name.removeprefix(BOOST)):
            gone.setdefault(number, []).append(name)
    for number, names in over.items():
        lasted = ledger.intervention(number)
        _drop(ledger, found, names, LOOP)
        for name in names:
            _note_end_of_boost(ledger, name)
        if lasted is not None:
            proclaim.say_over(ledger, lasted)
    for names in gone.values():
        _drop(ledger, found, names, LOOP)


def _note_end_of_boost(ledger: Ledger, name: str) -> None:
    """A line in the story of who was boosted, and a card without it."""
    request = ledger.find(name.removeprefix(BOOST)) if name.startswith(BOOST) else None
    if request is not None and not request.state.final:
        ledger.load([request.id])
        ledger.note(request.id, reason="boost-over", details={})


def _has_ended(engine: Engine, ledger: Ledger, request_id: str) -> bool:
    """Whether a boosted request needs it no more, because it is over."""
    if engine.workload(WorkloadId(request_id)) is not None:
        return False
    request = ledger.find(request_id)
    return request is None or request.state.final


def _stop(
    ledger: Ledger,
    terms: Terms,
    request: Request,
    order: Intervention,
    state: RequestState,
    reason: str,
    **changes: object,
) -> None:
    details = {"intervention": order.id, "by": order.actor, "because": order.reason}
    if isinstance(order.wish.get("for"), str):
        details["preemptor"] = str(order.wish["for"])
    ledger.move(
        request.id,
        state,
        reason=reason,
        actor=order.actor,
        details=details,
        **changes,  # type: ignore[arg-type]  # fields of a request's row
    )
    queue = request.admission.queue if request.admission else request.workload.queue
    ledger.act(
        Stop(workload=WorkloadId(request.id), decision=request.decision, grace=terms.grace(queue))
    )


def _put(
    ledger: Ledger, found: ByHand, order: Intervention, name: str, says: Mapping[str, object]
) -> None:
    """Store a setting in place of the one of that name, whose intervention that ends."""
    _drop(ledger, found, [name], order.actor)
    setting = Setting(
        name=name,
        value=json.dumps({"intervention": order.id, **says}),
        author=order.actor,
        reason=order.reason,
        until=order.until,
    )
    found.settings[name] = setting
    ledger.set(setting)


def _drop(ledger: Ledger, found: ByHand, names: list[str], actor: str) -> list[str]:
    """Remove settings, and end each intervention of which nothing is left; what was there."""
    dropped = [name for name in names if name in found.settings]
    numbers = {value_of(found.settings.pop(name)).get("intervention") for name in dropped}
    left = {value_of(setting).get("intervention") for setting in found.settings.values()}
    for name in dropped:
        ledger.unset(name)
    for number in sorted(n for n in numbers - left if isinstance(n, int)):
        lasted = ledger.intervention(number)
        if lasted is not None and lasted.state is InterventionState.IN_FORCE:
            ended = replace(lasted, state=InterventionState.ENDED, ended=ledger.at, ended_by=actor)
            ledger.write_down(ended)
    return dropped


def _in_force(
    ledger: Ledger,
    order: Intervention,
    *,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> Intervention:
    done = replace(order, state=InterventionState.IN_FORCE, before=before, after=after)
    ledger.write_down(done)
    return done


def _done(
    ledger: Ledger,
    order: Intervention,
    *,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> Intervention:
    done = replace(order, state=InterventionState.DONE, before=before, after=after)
    ledger.write_down(done)
    return done


def _is_another(request: Request, order: Intervention) -> bool:
    """Whether a grant is none of those that were confirmed to be stopped, where that was asked."""
    confirmed = order.wish.get("hits")
    if not isinstance(confirmed, list) or request.admission is None:
        return False
    return f"{request.id}@{request.admission.at:.3f}" not in confirmed


def _who(order: Intervention) -> str:
    """The name of who gave it, as it was then."""
    return str(order.wish.get("who", order.actor))


def _names(wish: Mapping[str, object], key: str) -> list[str]:
    found = wish.get(key)
    return [str(name) for name in found] if isinstance(found, list) else []
