"""What people did by hand to what the policy decides: the record of one intervention."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

Json = Mapping[str, object]


class InterventionKind(enum.StrEnum):
    """What was done. RESUME and UNDRAIN end what PAUSE and DRAIN began."""

    PAUSE = "pause"
    RESUME = "resume"
    BOOST = "boost"
    PREEMPT = "preempt"
    DRAIN = "drain"
    UNDRAIN = "undrain"
    QUOTA = "quota"


class InterventionState(enum.StrEnum):
    """ORDERED is not carried out yet; FAILED never was, because things had changed meanwhile.

    IN_FORCE lasts until it is ended, by somebody or by time; what does not last is DONE.
    """

    ORDERED = "ordered"
    FAILED = "failed"
    DONE = "done"
    IN_FORCE = "in-force"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """Who did what to what, why and until when, with what was so before and after.

    `target` is the name of a queue, a pool or a node, or the id of a request; `wish` says what
    exactly was ordered, where the kind alone does not.
    """

    id: int
    kind: InterventionKind
    target: str
    actor: str
    reason: str
    at: dt.datetime
    until: dt.datetime | None = None
    wish: Json = field(default_factory=dict)
    state: InterventionState = InterventionState.ORDERED
    before: Json = field(default_factory=dict)
    after: Json = field(default_factory=dict)
    ended: dt.datetime | None = None
    ended_by: str | None = None
