"""Notices about leases and about what people changed."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.control.announce import put, tell
from bot.control.ledger import Ledger
from bot.fields import FieldChange
from bot.leases import HeldUp
from bot.terms import Terms
from scheduler.model import Seconds
from storage.records import Audience, DeskEvent, EventKind, Json, Request, Source


def say_lease_ending(
    ledger: Ledger, terms: Terms, request: Request, step: Seconds | None, first: HeldUp | None
) -> None:
    """Remind the owner, once for each end of a grant.

    `step` is by how much one press would extend it; `first` waits for what it holds.
    """
    if request.source is Source.TRACE or request.lease_ends is None:
        return
    queue = request.admission.queue if request.admission else request.workload.queue
    ends = request.lease_ends.timestamp()
    waits = None
    if first is not None:
        waits = notices.WaiterArgs(
            request=first.request, owner=first.owner, team=first.team, gpus=first.gpus
        )
    args = notices.LeaseEndingArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        gpus=request.gpus,
        ends=ends,
        after=terms.after_lease(queue),
        step=step,
        waits=waits,
        grant=request.attempt,
    )
    key = f"lease-ending:{request.decision}:{int(ends)}:person"
    put(ledger, key, args, Audience.PERSON, request.id, request.workload.owner)


def say_unprotected(ledger: Ledger, request: Request) -> None:
    """Tell owner and thread that the lease is over, and what that means from now on."""
    if request.source is Source.TRACE:
        return
    args = notices.UnprotectedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        gpus=request.gpus,
    )
    key = f"unprotected:{request.decision}"
    tell(ledger, key, args, request.id, "thread")
    put(ledger, f"{key}:person", args, Audience.PERSON, request.id, request.workload.owner)


def say_changed(
    ledger: Ledger,
    order: DeskEvent,
    owner: str,
    request: Request,
    changes: Sequence[FieldChange],
    *,
    again: bool = False,
) -> None:
    """Tell the thread what was changed by whom, and each owner, old and new, who did not do it.

    `again` says that it was held, and waits again.
    """
    if request.source is Source.TRACE:
        return
    args = notices.ChangedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        actor=order.actor,
        given=order.kind is EventKind.GIVE,
        changes=tuple(changes),
        ends=request.lease_ends.timestamp() if request.lease_ends else None,
        again=again,
    )
    key = f"changed:{order.id}"
    tell(ledger, key, args, request.id, "thread")
    for person in dict.fromkeys((owner, request.workload.owner)):
        if person != order.actor:
            yours = args.given and person == args.owner
            mine = args.model_copy(update={"yours": yours})
            put(ledger, f"{key}:{person}", mine, Audience.PERSON, request.id, person)


def say_held(ledger: Ledger, order: DeskEvent, request: Request, refusal: Json) -> None:
    """Tell the thread that a request is held, for its object cannot be asked for as it is now."""
    if request.ref is None:
        return
    args = notices.NotTakenArgs(
        what=request.ref.kind,
        namespace=request.ref.namespace,
        name=request.ref.name,
        refusal=dict(refusal),
        request=request.id,
    )
    tell(ledger, f"held:{order.id}", args, request.id, "thread")
