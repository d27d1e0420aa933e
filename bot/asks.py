"""What a person asked for, before routing: the output of the grammar and of the modal."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scheduler.model import Priority, Seconds, Spend

SHORTEST_LEASE: Seconds = 60.0
"""Less than a minute is a slip of the finger: the pods would not even have started."""


class Nearness(enum.StrEnum):
    """How near each other the pods of a request shall lie; the values are the words for it."""

    SAME = "same"
    PREFER = "prefer"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class Together:
    """`same rack`, `prefer block` or `spread`: `level` is the word said, None for `spread`."""

    nearness: Nearness
    level: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`pods` pods of `gpus_per_pod` GPUs of one model; None means "let the policy decide".

    `16 h100` leaves `pods` and `gpus_per_pod` None: the desk splits it into whole nodes.
    `2 nodes h100` sets `nodes`. Exactly one of `gpus`, `nodes` or the pair
    (`pods`, `gpus_per_pod`) is given.
    """

    gpus: int | None = None
    nodes: int | None = None
    pods: int | None = None
    gpus_per_pod: int | None = None
    model: str | None = None
    duration: Seconds | None = None
    preemptible: bool = False
    spend: Spend = Spend.LOW
    priority: Priority | None = None
    team: str | None = None
    name: str | None = None
    text: str = ""
    topology: Together | None = None
