"""Changes that people ordered: a longer lease, another size or class, another owner.

What is to be is in the order; what may be was judged at the desk. Here only what has become
impossible since is left out: then the story has no line with the order's number.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Sequence

from pydantic import TypeAdapter

from bot.clock import moment
from bot.control import announce_changes
from bot.control.ledger import Ledger
from bot.fields import FieldChange
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import Rest, RestCause, Workload
from scheduler.standing import EngineError
from storage.records import DeskEvent, EventKind, Json, ObjectRef, Request
from storage.states import RequestState

log = logging.getLogger(__name__)
S = RequestState
HOLDS = frozenset({S.ADMITTED, S.RUNNING})
ORDER = "order"  # the detail of a story line that names the event it comes from
REASONS = {EventKind.EXTEND: "extended", EventKind.EDIT: "edited", EventKind.GIVE: "given"}
REF = "ref"  # the object, where it was changed in the cluster itself: only while it waits
REFUSAL = "refusal"  # why it cannot be asked for as it is now, and is held
_OF_OBJECT = frozenset({RestCause.SPOILED, RestCause.LINGERS})
_REF = TypeAdapter(ObjectRef)
_WORKLOAD = TypeAdapter(Workload)
_REFUSAL = TypeAdapter(dict[str, object])
_CHANGES = TypeAdapter(tuple[FieldChange, ...])


def write_change(before: Workload, after: Workload, changes: Sequence[FieldChange]) -> Json:
    """The arguments of an order: the workload as it was judged, as it shall be, and how it differs.

    The differences are those that people are told of.
    """
    return {
        "before": _WORKLOAD.dump_python(before, mode="json"),
        "after": _WORKLOAD.dump_python(after, mode="json"),
        "changes": _CHANGES.dump_python(tuple(changes), mode="json"),
    }


def carry_out(engine: Engine, ledger: Ledger, order: DeskEvent) -> None:
    """Change a request as ordered, unless it has ended or is another by now.

    One that rests is tried again, it may be what was wanting; but not what is held for its object's
    sake, unless that was changed.
    """
    request = ledger.get(order.request)
    before = _WORKLOAD.validate_python(order.args["before"])
    after = _WORKLOAD.validate_python(order.args["after"])
    current = request.workload
    ref = None if REF not in order.args else _REF.validate_python(order.args[REF])
    same = ref is not None and _says_the_same(request, ref) and after.rest == before.rest
    if ref is not None:  # its object was found changed as it stopped: then it was requeued since
        created = current.created if after.created == before.created else after.created
        after = dataclasses.replace(after, created=created)
        before = dataclasses.replace(
            before, created=current.created, barred=current.barred, rest=current.rest
        )
    if current != dataclasses.replace(before, queued=current.queued):
        log.info("%s is another since event %d was ordered", request.id, order.id)
        return
    if request.state is not S.WAITING and (ref is not None or request.state not in HOLDS):
        return
    rest = after.rest if ref is not None else spoiled(current)
    rest = current.rest if same else rest
    after = dataclasses.replace(after, queued=current.queued, barred=current.barred, rest=rest)
    if ref is not None and after == current:  # other pods, that ask for the same
        ledger.amend(request.id, ref=ref)
        return
    try:
        engine.apply(events.Amended(workload=after, at=ledger.now))
    except EngineError:
        log.exception("event %d (%s of %s) cannot be done", order.id, order.kind, request.id)
        return
    if same:  # its pods were seen to ask for more: nobody has changed anything
        ledger.void_estimate(ledger.amend(request.id, workload=after, ref=ref))
        return
    changes = _CHANGES.validate_python(order.args["changes"])
    refusal = _REFUSAL.validate_python(order.args.get(REFUSAL, {}))
    changed = ledger.note(
        request.id,
        reason="held" if refusal else REASONS[order.kind],
        actor=order.actor,
        details={ORDER: order.id, "changes": order.args["changes"]},
        workload=after,
        lease_ends=_lease_ends(request, after),
        ref=request.ref if ref is None else ref,
    )
    if request.state in HOLDS and (after.owner, after.team) != (current.owner, current.team):
        ledger.hand_over(changed)
    if request.state is S.WAITING:
        ledger.void_estimate(changed)
    if refusal:
        announce_changes.say_held(ledger, order, changed, refusal)
        return
    again = spoiled(current) is not None and changed.workload.rest is None
    announce_changes.say_changed(ledger, order, current.owner, changed, changes, again=again)


def _says_the_same(request: Request, ref: ObjectRef) -> bool:
    """Whether the object of a request asks for what it asked for, perhaps with other pods."""
    return request.ref is not None and request.ref.form == ref.form


def spoiled(workload: Workload) -> Rest | None:
    """The rest of who is held until its object is changed."""
    rest = workload.rest
    return rest if rest is not None and rest.cause in _OF_OBJECT else None


def _lease_ends(request: Request, after: Workload) -> dt.datetime | None:
    if request.state not in HOLDS or request.admission is None or after.duration is None:
        return None
    return moment(request.admission.at + after.duration)
