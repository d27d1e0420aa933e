"""The records of the usage ledger: who held how many GPUs when, and the cluster then."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from storage.records import Source


class Outcome(enum.StrEnum):
    """How a grant ended. The last two are followed by another grant of the same request.

    GIVEN: it goes on in another row, of another owner, or of other GPUs since some were given back.
    """

    FINISHED = "finished"
    FAILED = "failed"
    RELEASED = "released"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    GIVEN = "given"
    PREEMPTED = "preempted"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """GPUs that a request held without a break, charged to one owner and team.

    `waited` are the seconds from asking (or from being requeued) to `begun`; a part that goes on
    where another ended has waited 0. `spend` is the label people write.
    """

    decision: str
    request: str
    source: Source
    owner: str
    team: str
    pool: str
    queue: str
    flavor: str
    spend: str
    gpus: int
    waited: float
    begun: dt.datetime
    ended: dt.datetime | None = None
    outcome: Outcome | None = None

    def hours(self, since: dt.datetime, until: dt.datetime) -> float:
        """GPU-hours of it that fall into a period; a grant still held counts up to its end."""
        begun = max(self.begun, since)
        ended = until if self.ended is None else min(self.ended, until)
        return max(0.0, (ended - begun).total_seconds()) / 3600 * self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """The cluster at one moment: GPUs, nodes and requests, as the status counts them."""

    at: dt.datetime
    gpus: int
    used: int
    stranded: int
    nodes: int
    whole_free_nodes: int
    running: int
    pending: int
    pending_gpus: int
