"""Nodes that held up several gangs are avoided for a while: a drain that nobody ordered by hand.

Whom a node has held up lately is stored, so that counting goes on after a restart; so is the
drain, as an order of the loop's own. It ends by itself or by `undrain`, and is seen where drains
are. A node that somebody drained stays as that person said.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from bot.clock import moment
from bot.clusters.base import ClusterEvent, NodeSlow
from bot.control.inforce import DRAIN, name_of, value_of
from bot.control.ledger import LOOP
from scheduler.model import NodeName, Seconds
from storage.audit import InterventionKind
from storage.records import Setting
from storage.store import Store
from storage.work import Work

log = logging.getLogger(__name__)

MARKS_AT_MOST = 3  # different gangs that one node may hold up within `MARKED_FOR`
MARKED_FOR: Seconds = 3600.0
AVOIDED_FOR: Seconds = 3600.0
HELD_UP = "held_up"  # in the order's wish: the requests that were not ready in time there
LATE = "late:"  # names what a node has held up: requests, and when


def file_suspects(
    store: Store, seen: Sequence[ClusterEvent], now: Seconds, fence: int | None
) -> None:
    """Store whom nodes have held up, and an order for each that is to be avoided.

    The order is carried out in the same step. From then on counting begins anew.
    """
    late: dict[NodeName, dict[str, Seconds]] = {}
    for event in seen:
        if isinstance(event, NodeSlow):
            late.setdefault(event.node, {})[event.workload] = event.at
    if not late:
        return
    with store.write(fence) as work:
        ordered = work.interventions.ordered()
        drained = {one.target for one in ordered if one.kind is InterventionKind.DRAIN}
        for node in sorted(late):
            known = work.settings.get(LATE + node)
            marks = _recent({**(value_of(known) if known is not None else {}), **late[node]}, now)
            if node in drained or work.settings.get(name_of(DRAIN, node)) is not None:
                work.settings.delete(LATE + node)
            elif len(marks) < MARKS_AT_MOST:
                _keep(work, node, marks, now)
            else:
                work.settings.delete(LATE + node)
                _avoid(work, node, sorted(marks), now)


def _recent(marks: Mapping[str, object], now: Seconds) -> dict[str, Seconds]:
    times = {one: at for one, at in marks.items() if isinstance(at, int | float)}
    return {one: at for one, at in times.items() if now - at < MARKED_FOR}


def _keep(work: Work, node: NodeName, marks: Mapping[str, Seconds], now: Seconds) -> None:
    value = json.dumps(marks, sort_keys=True)
    until = moment(now + MARKED_FOR)
    work.settings.put(Setting(name=LATE + node, value=value, author=LOOP, until=until))


def _avoid(work: Work, node: NodeName, held_up: list[str], now: Seconds) -> None:
    log.warning("node %s holds up gangs: %s", node, ", ".join(held_up))
    work.interventions.add(
        InterventionKind.DRAIN,
        node,
        actor=LOOP,
        reason="late: " + ", ".join(held_up),
        at=moment(now),
        until=moment(now + AVOIDED_FOR),
        wish={"move": False, "who": LOOP, HELD_UP: held_up},
    )
