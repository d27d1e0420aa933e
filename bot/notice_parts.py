"""What notices are made of: their kinds, and the parties that several of them name."""

from __future__ import annotations

import enum
from typing import Literal

from pydantic import BaseModel, ConfigDict

Cause = Literal[
    "preempted", "node-lost", "failed", "drained", "late", "unplaced", "unmade", "stopped", "taken"
]
"""Why somebody waits again."""


class NoticeKind(enum.StrEnum):
    """Every kind of message the bot sends on its own."""

    CARD = "card"
    ADMITTED = "admitted"
    PREEMPTED = "preempted"
    PREEMPTED_GROUP = "preempted-group"
    STARVING = "starving"
    ENDED = "ended"
    REPLICAS = "replicas"
    REQUEUED = "requeued"
    LEASE_ENDING = "lease-ending"
    UNPROTECTED = "unprotected"
    CHANGED = "changed"
    FLIPPED = "flipped"
    REPAIRED = "repaired"
    NODE_FAILED = "node-failed"
    NODE_AVOIDED = "node-avoided"
    OVERFULL = "overfull"
    INTERVENTION = "intervention"
    INTERVENTION_OVER = "intervention-over"
    INTERVENTION_FAILED = "intervention-failed"
    DISPLACED = "displaced"
    STUCK = "stuck"
    TAKEN = "taken"
    FOREIGN = "foreign"
    NOT_TAKEN = "not-taken"
    LINK_ASKED = "link-asked"
    LINK_ANSWERED = "link-answered"
    SUBSTITUTE = "substitute"
    MONTHLY = "monthly"
    IDLE = "idle"
    DIGEST = "digest"
    DIGEST_PLOTS = "digest-plots"
    UNDELIVERABLE = "undeliverable"
    ESCALATED = "escalated"


class Args(BaseModel):
    """The base of all arguments: frozen, and nothing else is let in."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Party(Args):
    """One side of a preemption, as people know it. `path` is the quota path from the root."""

    request: str
    name: str
    owner: str
    team: str
    pool: str
    queue: str
    path: tuple[str, ...] = ()
    gpus: int


class HitArgs(Args):
    """A gang that had pods on a failed node. `to` is empty for one that is stopped whole.

    `pinned`: because its pods can be sent to no other node, though there is one.
    """

    request: str
    name: str
    owner: str
    team: str
    gpus: int
    to: tuple[str, ...] = ()
    pinned: bool = False
