"""Nodes that held up several gangs are avoided for a while: a drain that nobody ordered by hand.

It is stored as an order of the loop's own, so it outlives a restart, ends by itself or by
`undrain`, and is seen where drains are. A node that somebody drained stays as that person said.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.clock import moment
from bot.clusters.base import ClusterEvent, NodeSuspect
from bot.control.inforce import DRAIN, name_of
from bot.control.ledger import LOOP
from scheduler.model import Seconds
from storage.audit import InterventionKind
from storage.store import Store

AVOIDED_FOR: Seconds = 3600.0
HELD_UP = "held_up"  # in the order's wish: the requests that were not ready in time there


def file_suspects(
    store: Store, seen: Sequence[ClusterEvent], now: Seconds, fence: int | None
) -> None:
    """Store an order for each node that is to be avoided; it is carried out in the same step."""
    suspects = [event for event in seen if isinstance(event, NodeSuspect)]
    if not suspects:
        return
    with store.write(fence) as work:
        ordered = work.interventions.ordered()
        said = {one.target for one in ordered if one.kind is InterventionKind.DRAIN}
        for suspect in suspects:
            drained = work.settings.get(name_of(DRAIN, suspect.node)) is not None
            if drained or suspect.node in said:
                continue
            held_up = list(suspect.workloads)
            work.interventions.add(
                InterventionKind.DRAIN,
                suspect.node,
                actor=LOOP,
                reason="late: " + ", ".join(held_up),
                at=moment(now),
                until=moment(now + AVOIDED_FOR),
                wish={"move": False, "who": LOOP, HELD_UP: held_up},
            )
