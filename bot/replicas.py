"""Replicas of one object that keeps several, such as a Deployment, seen as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.rows import OPEN_FIRST
from bot.views import CardView, FamilyView
from storage.records import Request
from storage.states import RequestState

S = RequestState
SHOWN = 10  # replicas that are listed; the rest is counted
_STARTING = frozenset({S.ADMITTED})
_STOPPING = frozenset({S.PREEMPTING, S.EVICTING, S.STOPPING})


def family_view(
    one: Request, members: Sequence[Request], cards: Mapping[str, CardView]
) -> FamilyView | None:
    """The family that `one` is of; `members` are its open replicas by number, with their cards.

    None for what is no replica.
    """
    ref = one.ref
    if one.head is None or ref is None or ref.family is None:
        return None
    seen = [cards[member.id] for member in members]
    waiting = [card for card in seen if card.state is S.WAITING]
    started = [card.started for card in seen if card.started is not None]
    rows = [card for state in OPEN_FIRST for card in seen if card.state is state]
    return FamilyView(
        head=one.head,
        kind=ref.family.kind,
        namespace=ref.namespace,
        name=ref.family.name,
        latest=seen[-1] if seen else cards[one.id],
        running=sum(card.state is S.RUNNING for card in seen),
        starting=sum(card.state in _STARTING for card in seen),
        stopping=sum(card.state in _STOPPING for card in seen),
        waiting=len(waiting),
        guaranteed=sum(not card.preemptible for card in seen),
        gpus=sum(card.gpus for card in seen if card.state.holding),
        runs_since=min(started, default=None),
        waits_since=min((card.created for card in waiting), default=None),
        first=min(waiting, key=_place, default=None),
        replicas=tuple(rows[:SHOWN]),
        more=max(0, len(rows) - SHOWN),
    )


def gathered(requests: Sequence[Request], heads: Mapping[str, Request]) -> tuple[Request, ...]:
    """The requests with each family in place of its replicas, where the first of them stood."""
    found: dict[str, Request] = {}
    for one in requests:
        found.setdefault(one.card, heads.get(one.card, one))
    return tuple(found.values())


def _place(card: CardView) -> tuple[bool, int, int, str]:
    """1. who is explained; 2. the place in line; 3. the number of the request."""
    why = card.explanation
    return (why is None, 0 if why is None else why.position, len(card.request), card.request)
