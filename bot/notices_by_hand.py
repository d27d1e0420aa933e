"""Notices about what people do by hand, and about who is in which team."""

from __future__ import annotations

from typing import Literal

from bot.notice_parts import Args, HitArgs, NoticeKind, Party
from scheduler.model import PreemptionRule
from storage.audit import InterventionKind


class InterventionArgs(Args):
    """What an admin did by hand; to the channel and on-call, and to who is boosted.

    `target` is a queue, pool or team, a node or a request. `gpus` are those that wait (a pause)
    or the new quota, `before` the old one, `over` by how much the queue now uses more. `hit` are
    those who run on a drained node, or were stopped; `moved` says that they were.
    """

    kind: Literal[NoticeKind.INTERVENTION] = NoticeKind.INTERVENTION
    intervention: int
    what: InterventionKind
    target: str
    actor: str
    reason: str
    until: float | None = None
    queues: tuple[str, ...] = ()
    waiting: int = 0
    gpus: int = 0
    before: int = 0
    over: int = 0
    team: str | None = None
    priority: str | None = None
    flavor: str | None = None
    moved: bool = False
    request: HitArgs | None = None
    winner: HitArgs | None = None
    hit: tuple[HitArgs, ...] = ()
    more: int = 0


class InterventionOverArgs(Args):
    """Something an admin set has ended by itself. `before` is the quota that holds again."""

    kind: Literal[NoticeKind.INTERVENTION_OVER] = NoticeKind.INTERVENTION_OVER
    intervention: int
    what: InterventionKind
    target: str
    actor: str
    began: float
    before: int | None = None


class InterventionFailedArgs(Args):
    """An order came too late: things had changed, and nothing was done. To who gave it."""

    kind: Literal[NoticeKind.INTERVENTION_FAILED] = NoticeKind.INTERVENTION_FAILED
    intervention: int
    what: InterventionKind
    target: str


class StuckArgs(Args):
    """What was told to stop does not go; to on-call, once a grant. `nodes` are where it lies."""

    kind: Literal[NoticeKind.STUCK] = NoticeKind.STUCK
    request: str
    name: str
    owner: str
    team: str
    gpus: int
    nodes: tuple[tuple[str, int], ...]
    told: float
    grace: float


class LinkAskedArgs(Args):
    """Somebody wants to be in a team; to each lead, who may answer until an epoch second."""

    kind: Literal[NoticeKind.LINK_ASKED] = NoticeKind.LINK_ASKED
    person: str
    team: str
    until: float


class LinkAnsweredArgs(Args):
    """What a lead answered; to who asked."""

    kind: Literal[NoticeKind.LINK_ANSWERED] = NoticeKind.LINK_ANSWERED
    person: str
    team: str
    by: str
    agreed: bool


class SubstituteArgs(Args):
    """Somebody stands in for on-call until an epoch second, or (None) nobody any more."""

    kind: Literal[NoticeKind.SUBSTITUTE] = NoticeKind.SUBSTITUTE
    by: str
    person: str | None
    until: float | None


class DisplacedArgs(Args):
    """A gang was stopped by hand; to its owner and its thread. `node` is the one drained."""

    kind: Literal[NoticeKind.DISPLACED] = NoticeKind.DISPLACED
    what: InterventionKind
    node: str | None = None
    actor: str
    reason: str
    target: Party
    preemptor: Party | None = None
    rule: PreemptionRule
    ran: float
    grace: float
    at: float
