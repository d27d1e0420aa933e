"""What the control loop wants said, as kinds and arguments; `bot.chat.words` makes sentences.

Each notice is a pydantic model so that its arguments survive the outbox as JSON and are
checked when they come back. `put` them with the key that makes them unique.
"""

from __future__ import annotations

from typing import Literal, get_args

from bot.asks import Period
from bot.fields import FieldChange
from bot.notice_parts import Args, Cause, HitArgs, NoticeKind, Party
from bot.notices_by_hand import (
    DisplacedArgs,
    InterventionArgs,
    InterventionFailedArgs,
    InterventionOverArgs,
    LinkAnsweredArgs,
    LinkAskedArgs,
    StuckArgs,
    SubstituteArgs,
)
from bot.notices_of_cluster import (
    ForeignArgs,
    NodeAvoidedArgs,
    NotTakenArgs,
    ReplicaArgs,
    ReplicasArgs,
    TakenArgs,
)
from scheduler.layout import AfterLease
from scheduler.model import Basis, PreemptionRule, RestCause, WaitReason
from storage.records import RecipeKind


class CardArgs(Args):
    """The card is drawn from the stored request when it is sent; nothing else is needed."""

    kind: Literal[NoticeKind.CARD] = NoticeKind.CARD
    request: str


class AdmittedArgs(Args):
    """A gang was granted its GPUs. `nodes` are (node, GPUs); `until` is an epoch second.

    `domain` are the (level, value) pairs that all its nodes share, coarse to fine. `made` says
    that the bot makes its pods, and of which kind; `kept` that an object in the cluster does.
    """

    kind: Literal[NoticeKind.ADMITTED] = NoticeKind.ADMITTED
    request: str
    name: str
    owner: str
    team: str
    pool: str
    flavor: str
    gpus: int
    nodes: tuple[tuple[str, int], ...]
    domain: tuple[tuple[str, str], ...] = ()
    until: float | None
    waited: float
    made: RecipeKind | None = None
    kept: bool = False


class PreemptedArgs(Args):
    """One target of one preemptor; to its owner and its thread. `at` is an epoch second.

    `overstayed` says that its lease was over, so that in its queue anybody goes before it.
    """

    kind: Literal[NoticeKind.PREEMPTED] = NoticeKind.PREEMPTED
    target: Party
    preemptor: Party
    rule: PreemptionRule
    level: str
    ran: float
    grace: float
    at: float
    overstayed: bool = False


class PreemptedGroupArgs(Args):
    """All targets one preemptor stopped in one cycle; to on-call and to the channel."""

    kind: Literal[NoticeKind.PREEMPTED_GROUP] = NoticeKind.PREEMPTED_GROUP
    preemptor: Party
    targets: tuple[PreemptedArgs, ...]
    at: float


class HolderArgs(Args):
    """Who holds what a waiting request needs. `ends` is an epoch second, if known."""

    request: str
    team: str
    gpus: int
    ends: float | None


class PlanArgs(Args):
    """Room that is kept for a request: from when on, on how many nodes, and how sure.

    `domain` is `level=value`, empty if the nodes share none.
    """

    at: float
    nodes: int
    domain: str
    basis: Basis


class StarvingArgs(Args):
    """A request past the target wait of its priority class."""

    kind: Literal[NoticeKind.STARVING] = NoticeKind.STARVING
    request: str
    name: str
    owner: str
    team: str
    pool: str
    gpus: int
    priority: str
    waited: float
    target_wait: float
    reason: WaitReason
    figures: dict[str, int | float | str]
    position: int
    holders: tuple[HolderArgs, ...] = ()
    plan: PlanArgs | None = None


class EndedArgs(Args):
    """A request reached its final state. `gpu_hours` is what it was charged, in all attempts."""

    kind: Literal[NoticeKind.ENDED] = NoticeKind.ENDED
    request: str
    name: str
    owner: str
    state: str
    gpus: int
    ran: float
    gpu_hours: float
    by: str | None = None


class RestArgs(Args):
    """It rests before another try; `until` is an epoch second, None if it is held."""

    cause: RestCause
    tries: int
    most: int | None
    until: float | None


class RequeuedArgs(Args):
    """A gang is back in its queue at its old place: its targets' room was taken or a node died.

    To its owner too, where it is held. With `what` it is about all replicas of a template: that of
    such an object, which is `where`.
    """

    kind: Literal[NoticeKind.REQUEUED] = NoticeKind.REQUEUED
    request: str
    name: str
    owner: str
    cause: Cause
    position: int
    rest: RestArgs | None = None
    what: str = ""
    where: str = ""


class WaiterArgs(Args):
    """Somebody who waits for what another holds."""

    request: str
    owner: str
    team: str
    gpus: int


class LeaseEndingArgs(Args):
    """A lease is about to run out. `ends` is an epoch second.

    `after` is what happens then. `step` is by how much one press extends it, in seconds, None
    where it cannot be longer; with `waits` nobody may extend it. `grant` counts the grant.
    """

    kind: Literal[NoticeKind.LEASE_ENDING] = NoticeKind.LEASE_ENDING
    request: str
    name: str
    owner: str
    gpus: int
    ends: float
    after: AfterLease = AfterLease.RELEASE
    step: float | None = None
    waits: WaiterArgs | None = None
    grant: int | None = None


class UnprotectedArgs(Args):
    """A lease is over; the work goes on, but may be preempted from now on."""

    kind: Literal[NoticeKind.UNPROTECTED] = NoticeKind.UNPROTECTED
    request: str
    name: str
    owner: str
    gpus: int


class ChangedArgs(Args):
    """Somebody (`actor`) changed a request, or `given` it to another owner.

    `ends` is an epoch second, None while it waits. `yours` is true for whoever has got it.
    `again`: it was held, and waits again.
    """

    kind: Literal[NoticeKind.CHANGED] = NoticeKind.CHANGED
    request: str
    name: str
    owner: str
    actor: str
    given: bool
    changes: tuple[FieldChange, ...]
    ends: float | None = None
    yours: bool = False
    again: bool = False


class FlippedArgs(Args):
    """Two requests have stopped each other so often that they no longer may."""

    kind: Literal[NoticeKind.FLIPPED] = NoticeKind.FLIPPED
    one: str
    other: str
    times: int


class RepairedArgs(Args):
    """A gang goes on although it lost nodes: its pods there moved `to` others.

    `whole`: it does not, for its pods can be sent to no other node. `held`: it has no pods but
    those that its owner makes.
    """

    kind: Literal[NoticeKind.REPAIRED] = NoticeKind.REPAIRED
    request: str
    name: str
    owner: str
    gpus: int
    lost: tuple[str, ...]
    to: tuple[str, ...]
    whole: bool = False
    held: bool = False


class NodeFailedArgs(Args):
    """A node failed, or is `leaving`; to on-call, once a node, with everybody who was hit."""

    kind: Literal[NoticeKind.NODE_FAILED] = NoticeKind.NODE_FAILED
    node: str
    hit: tuple[HitArgs, ...]
    leaving: bool = False


class OverfullArgs(Args):
    """A node has less of a resource than pods on it hold; to on-call, once until it changes."""

    kind: Literal[NoticeKind.OVERFULL] = NoticeKind.OVERFULL
    node: str
    resource: str
    excess: int


class IdleArgs(Args):
    """GPUs that are held and do nothing: the question, or (`over`) what follows without an answer.

    `idle` of `gpus` were busy for less than `below` (0 to 1) of the last `after` seconds, `vacant`
    of those had no pod. `until` is when the answer is due; `releases` that they are given back
    without one; `keep` seconds is how long a "keep" holds. `grant` counts the grant asked about.
    """

    kind: Literal[NoticeKind.IDLE] = NoticeKind.IDLE
    request: str
    name: str
    owner: str
    team: str
    gpus: int
    idle: int
    below: float
    after: float
    until: float
    keep: float
    releases: bool
    over: bool = False
    grant: int | None = None
    vacant: int = 0


class DigestArgs(Args):
    """The report of a period that ended at an epoch second; drawn when it is sent."""

    kind: Literal[NoticeKind.DIGEST] = NoticeKind.DIGEST
    period: Period
    until: float


class DigestPlotsArgs(Args):
    """The plots of a digest, for its thread."""

    kind: Literal[NoticeKind.DIGEST_PLOTS] = NoticeKind.DIGEST_PLOTS
    period: Period
    until: float
    channel: str
    thread: str


class MonthlyArgs(Args):
    """A team has used a part (in percent) of the GPU-hours it planned for a month, `YYYY-MM`."""

    kind: Literal[NoticeKind.MONTHLY] = NoticeKind.MONTHLY
    team: str
    month: str
    percent: int
    used: float
    planned: int
    ends: float


class UndeliverableArgs(Args):
    """Slack refuses messages to a place; to on-call, once a place and error."""

    kind: Literal[NoticeKind.UNDELIVERABLE] = NoticeKind.UNDELIVERABLE
    where: str
    error: str


class CallArgs(Args):
    """An on-call notice that nobody has acknowledged, and where it is in Slack."""

    notice: NoticeKind
    request: str | None = None
    channel: str
    ts: str


class EscalatedArgs(Args):
    """On-call has not acknowledged. `level` counts the calls; `over` says that it was the last.

    `called` is the Slack id of a person or user group, if one is named as the fallback.
    """

    kind: Literal[NoticeKind.ESCALATED] = NoticeKind.ESCALATED
    calls: tuple[CallArgs, ...]
    since: float
    level: int
    called: str | None = None
    over: bool = False


NoticeArgs = (
    CardArgs
    | AdmittedArgs
    | PreemptedArgs
    | PreemptedGroupArgs
    | StarvingArgs
    | EndedArgs
    | ReplicasArgs
    | RequeuedArgs
    | LeaseEndingArgs
    | UnprotectedArgs
    | ChangedArgs
    | FlippedArgs
    | RepairedArgs
    | NodeFailedArgs
    | NodeAvoidedArgs
    | OverfullArgs
    | MonthlyArgs
    | IdleArgs
    | DigestArgs
    | DigestPlotsArgs
    | InterventionArgs
    | InterventionOverArgs
    | InterventionFailedArgs
    | DisplacedArgs
    | UndeliverableArgs
    | EscalatedArgs
    | StuckArgs
    | NotTakenArgs
    | TakenArgs
    | ForeignArgs
    | LinkAskedArgs
    | LinkAnsweredArgs
    | SubstituteArgs
)

_BY_KIND: dict[NoticeKind, type[NoticeArgs]] = {
    one.model_fields["kind"].default: one for one in get_args(NoticeArgs)
}


NEEDS_ACKNOWLEDGEMENT = frozenset(
    {NoticeKind.PREEMPTED_GROUP, NoticeKind.STARVING, NoticeKind.NODE_FAILED}
)
"""What somebody of on-call has to take: the next in line is called when nobody does."""


_OWNED = AdmittedArgs | StarvingArgs | EndedArgs | ReplicasArgs


def owner_of(args: NoticeArgs) -> str | None:
    """Whom a notice in the channel mentions, if anybody."""
    return args.owner if isinstance(args, _OWNED) else None


def read_args(kind: str, args: object) -> NoticeArgs:
    """The arguments of a stored notice. Raises pydantic.ValidationError on a foreign shape."""
    return _BY_KIND[NoticeKind(kind)].model_validate(args)


__all__ = [
    "NEEDS_ACKNOWLEDGEMENT",
    "AdmittedArgs",
    "CallArgs",
    "CardArgs",
    "Cause",
    "ChangedArgs",
    "DigestArgs",
    "DigestPlotsArgs",
    "DisplacedArgs",
    "EndedArgs",
    "EscalatedArgs",
    "FlippedArgs",
    "ForeignArgs",
    "HitArgs",
    "HolderArgs",
    "InterventionArgs",
    "InterventionFailedArgs",
    "InterventionOverArgs",
    "LeaseEndingArgs",
    "LinkAnsweredArgs",
    "LinkAskedArgs",
    "MonthlyArgs",
    "NodeAvoidedArgs",
    "NodeFailedArgs",
    "NotTakenArgs",
    "NoticeArgs",
    "NoticeKind",
    "OverfullArgs",
    "Party",
    "PlanArgs",
    "PreemptedArgs",
    "PreemptedGroupArgs",
    "RepairedArgs",
    "ReplicaArgs",
    "ReplicasArgs",
    "RequeuedArgs",
    "RestArgs",
    "StarvingArgs",
    "StuckArgs",
    "SubstituteArgs",
    "TakenArgs",
    "UndeliverableArgs",
    "UnprotectedArgs",
    "WaiterArgs",
    "owner_of",
    "read_args",
]
