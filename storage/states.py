"""The life of a request as a table of allowed moves.

    waiting ─► admitted ─► running ─► finished | failed
       ▲          │           │
       │          ├───────────┴─► preempting ─► waiting        (requeued at its old place)
       │          ├───────────┴─► evicting ───► waiting        (lost a node that has no other)
       │          ├───────────┴─► stopping ───► released | expired | cancelled
       └──────────┴───────────┘   (gang was lost whole and is requeued)

Any other move is a programming error: it raises, with both states, and changes nothing.
"""

from __future__ import annotations

import enum


class RequestState(enum.StrEnum):
    """Where a request stands."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    RUNNING = "running"
    PREEMPTING = "preempting"
    EVICTING = "evicting"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RELEASED = "released"
    EXPIRED = "expired"

    @property
    def final(self) -> bool:
        """Whether nothing follows."""
        return self in FINAL

    @property
    def holding(self) -> bool:
        """Whether its pods may hold GPUs."""
        return self in HOLDING


S = RequestState
MOVES: dict[RequestState, frozenset[RequestState]] = {
    S.WAITING: frozenset({S.ADMITTED, S.CANCELLED}),
    S.ADMITTED: frozenset(
        {
            *(S.RUNNING, S.PREEMPTING, S.EVICTING, S.STOPPING),
            *(S.FINISHED, S.FAILED, S.RELEASED, S.WAITING),
        }
    ),
    S.RUNNING: frozenset(
        {S.PREEMPTING, S.EVICTING, S.STOPPING, S.FINISHED, S.FAILED, S.RELEASED, S.WAITING}
    ),
    S.PREEMPTING: frozenset({S.WAITING, S.FINISHED, S.FAILED, S.STOPPING}),
    S.EVICTING: frozenset({S.WAITING, S.FINISHED, S.FAILED, S.STOPPING}),
    S.STOPPING: frozenset({S.RELEASED, S.EXPIRED, S.CANCELLED, S.FINISHED, S.FAILED}),
    S.FINISHED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
    S.RELEASED: frozenset(),
    S.EXPIRED: frozenset(),
}
FINAL = frozenset(state for state, after in MOVES.items() if not after)
HOLDING = frozenset({S.ADMITTED, S.RUNNING, S.PREEMPTING, S.EVICTING, S.STOPPING})


class IllegalMove(Exception):
    """A request was to move between two states that the table does not join."""

    def __init__(self, request: str, before: RequestState, after: RequestState) -> None:
        super().__init__(f"{request}: {before} -> {after} is not an allowed move")
        self.request, self.before, self.after = request, before, after


def check_move(request: str, before: RequestState, after: RequestState) -> None:
    """Raise IllegalMove unless the table allows `before` -> `after`."""
    if after not in MOVES[before]:
        raise IllegalMove(request, before, after)
