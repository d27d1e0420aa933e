"""What admins order by hand: the wish, what it would do, and what the desk answers.

All of it is codes and figures; `bot.chat.words` makes the sentences.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.asks import End
from scheduler.model import Admission, Figure, Priority, Seconds, Workload
from storage.audit import Intervention, InterventionKind

LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One order as it was said. `target` is a queue, pool or team, a node, or a request's id.

    `beneficiary` is the request that somebody is stopped for; `move` whether work on a drained
    node goes elsewhere at once, None for what is to be asked.
    """

    kind: InterventionKind
    target: str
    reason: str
    end: End = field(default_factory=End)
    priority: Priority | None = None
    gpus: int | None = None
    flavor: str | None = None
    beneficiary: str | None = None
    move: bool | None = None


class DeclineCode(enum.StrEnum):
    """Why an order was not taken."""

    ADMINS_ONLY = "admins-only"
    NO_REASON = "no-reason"
    END_PASSED = "end-passed"
    END_TOO_FAR = "end-too-far"
    UNKNOWN_PLACE = "unknown-place"
    UNKNOWN_NODE = "unknown-node"
    NO_SUCH_REQUEST = "no-such-request"
    NOT_PAUSED = "not-paused"
    NOT_DRAINED = "not-drained"
    NOT_WAITING = "not-waiting"
    NOT_RUNNING = "not-running"
    NOT_HIGHER = "not-higher"
    WOULD_NOT_START = "would-not-start"
    NEEDS_QUEUE = "needs-queue"
    NEEDS_FLAVOR = "needs-flavor"
    NO_SUCH_FLAVOR = "no-such-flavor"
    SAME_QUOTA = "same-quota"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """Nothing was done. `near` are words that would do, or the people to ask, by id."""

    code: DeclineCode
    kind: InterventionKind
    args: Mapping[str, Figure] = field(default_factory=dict)
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Running work that an order stops or touches, granted at `since`; `ran` is in seconds."""

    request: str
    name: str
    owner: str
    team: str
    gpus: int
    ran: float
    since: float = 0.0

    @property
    def grant(self) -> str:
        """Its grant: it counts as another once it was stopped and has started again."""
        return f"{self.request}@{self.since:.3f}"

    @classmethod
    def of(cls, workload: Workload, admission: Admission, now: Seconds) -> Hit:
        """Work that runs, as it is shown to whoever would stop it."""
        return cls(
            request=workload.id,
            name=workload.name,
            owner=workload.owner,
            team=workload.team,
            gpus=admission.gpus(workload),
            ran=max(0.0, now - admission.at),
            since=admission.at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """Somebody who waits and would not start during a pause; `start` is when it was expected to."""

    request: str
    name: str
    owner: str
    team: str
    gpus: int
    start: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an order would do, shown before it is confirmed; nothing was done yet.

    `starts` are the GPUs that would start by it, `over` by how many GPUs a queue would use more
    than its new quota, `before` what it has now. `at_once` and `an_hour` are how many requests
    the policy lets be stopped at a time. `until` is an epoch second.

    Of a pause, `waiting` requests for `waiting_gpus` in `queues` would not start; `held` are those
    whose turn comes next. `token` stands for what is shown: whoever confirms it hands it back.
    With `anew`, another preview was confirmed that does not hold any more.
    """

    wish: Wish
    where: str
    hits: tuple[Hit, ...] = ()
    starts: int = 0
    over: int = 0
    before: int = 0
    until: float | None = None
    at_once: int | None = None
    an_hour: int | None = None
    queues: tuple[str, ...] = ()
    waiting: int = 0
    waiting_gpus: int = 0
    held: tuple[HeldBack, ...] = ()
    token: str = ""
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervened:
    """An order was stored. `pending` says that the loop has not carried it out yet."""

    done: Intervention
    pending: bool = False
    again: bool = False


ByHandAnswer = Intervened | Preview | Declined
