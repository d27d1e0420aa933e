"""Who may end what: the owner, the lead of the team, an admin."""

from __future__ import annotations

import dataclasses

from bot.plans import refuse
from bot.views import CardView, RefusalCode, Refused
from storage.records import EventKind, Person, Request, Role
from storage.states import RequestState


def may_end(person: Person, *, owner: str, team: str) -> bool:
    """Whether a person may end the work of an owner for a team, in whatever state it is."""
    return owner == person.id or leads(person, team)


def leads(person: Person, team: str) -> bool:
    """Whether a person answers for what a team asks for."""
    return person.role is Role.ADMIN or (person.role is Role.LEAD and team in person.teams)


def seen_by(person: Person, card: CardView) -> CardView:
    """The card as it is drawn for one reader."""
    may = card.family is None and may_end(person, owner=card.owner, team=card.team)
    return dataclasses.replace(card, may_end=may)


def refuse_order(
    person: Person, request: Request, kind: EventKind, replicas: int = 0
) -> Refused | None:
    """Why a person cannot cancel or release a request as it stands; None if they can.

    `replicas` is how many open ones its family has: ended here, one would come back at once.
    """
    refused = refuse_rewrite(person, request, left=max(0, replicas - 1))
    if refused is not None:
        return refused
    if kind is EventKind.RELEASE and request.state is RequestState.WAITING:
        return refuse(RefusalCode.NOT_RUNNING, request=request.id, state=request.state)
    return None


def refuse_rewrite(person: Person, request: Request, left: int | None = None) -> Refused | None:
    """Why a person may not change what a request is; None if they may.

    A replica is what its template says, and is there as long as its controller wants it: `left`
    is how many would be left without it, None where it is not to end.
    """
    workload, ref = request.workload, request.ref
    if not may_end(person, owner=workload.owner, team=workload.team):
        return refuse(RefusalCode.NOT_YOURS, request=request.id, team=workload.team)
    if request.head is None or ref is None or ref.family is None:
        return refuse_change(person, request)
    return Refused(
        code=RefusalCode.REPLICA,
        args={
            "request": request.id,
            "kind": ref.family.kind,
            "namespace": ref.namespace,
            "name": ref.family.name,
            **({} if left is None else {"left": left}),
        },
    )


def refuse_change(person: Person, request: Request) -> Refused | None:
    """Why a person may not change a request, or nobody may any more; None if they may."""
    workload = request.workload
    if not may_end(person, owner=workload.owner, team=workload.team):
        return refuse(RefusalCode.NOT_YOURS, request=request.id, team=workload.team)
    if request.state.final and request.head == request.id:
        return refuse_rewrite(person, request)  # the family it stands for has not ended
    if request.state.final or request.state is RequestState.STOPPING:
        return refuse(RefusalCode.ALREADY_ENDED, request=request.id, state=request.state)
    return None
