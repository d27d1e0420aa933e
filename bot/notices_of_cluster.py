"""What the cluster itself makes the bot say, as kinds and arguments."""

from __future__ import annotations

from typing import Any, Literal

from bot.notice_parts import Args, NoticeKind


class NotTakenArgs(Args):
    """An object of the cluster cannot become a request; to its owner, else to on-call.

    `refusal` is as `bot.refusals` writes it. `request` is what it was while it waited, and what is
    held until it can be again; empty if it has never been one.
    """

    kind: Literal[NoticeKind.NOT_TAKEN] = NoticeKind.NOT_TAKEN
    what: str
    namespace: str
    name: str
    refusal: dict[str, Any]
    request: str = ""


class ReplicaArgs(Args):
    """One replica of a family: the nodes that it got, or the seconds it ran (0 if it never did)."""

    request: str
    name: str
    gpus: int
    nodes: tuple[str, ...] = ()
    ran: float = 0.0
    failed: bool = False


class ReplicasArgs(Args):
    """What became of replicas of one family in one step: `started` got GPUs, `ended` are gone.

    `request` is the head of the family, `what` the kind of object that keeps it; `pool` is that
    of what started.
    """

    kind: Literal[NoticeKind.REPLICAS] = NoticeKind.REPLICAS
    request: str
    what: str
    namespace: str
    name: str
    owner: str
    team: str
    pool: str = ""
    started: tuple[ReplicaArgs, ...] = ()
    ended: tuple[ReplicaArgs, ...] = ()


class NodeAvoidedArgs(Args):
    """Nothing new is placed on a node until an epoch second; to on-call.

    `held_up` are the requests whose pods there were not ready in time.
    """

    kind: Literal[NoticeKind.NODE_AVOIDED] = NoticeKind.NODE_AVOIDED
    node: str
    held_up: tuple[str, ...]
    until: float


class TakenArgs(Args):
    """Pods that no request stands for are on GPUs that a hold has no pods on; to all it concerns.

    `by` are they, with their GPUs. It is held on the nodes `to` now, or `waits` again; with neither
    it stays where it is, for pods of its owner run there, or no other nodes have room.
    """

    kind: Literal[NoticeKind.TAKEN] = NoticeKind.TAKEN
    request: str
    name: str
    owner: str
    team: str
    node: str
    by: tuple[tuple[str, int], ...]
    to: tuple[str, ...] = ()
    waits: bool = False


class ForeignArgs(Args):
    """Objects run that a bot with another database let start; to on-call, once for each such bot.

    `objects` are the first of them, each kind, namespace and name; `count` is how many there are,
    and `gpus` what their pods hold. `bot` is the identity of that database, `mine` that of this.
    """

    kind: Literal[NoticeKind.FOREIGN] = NoticeKind.FOREIGN
    bot: str
    mine: str
    objects: tuple[tuple[str, str, str], ...]
    count: int
    gpus: int
