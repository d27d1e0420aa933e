"""Nodes that held up several gangs are avoided for a while: a drain that nobody ordered by hand.

Whom a node has held up lately is stored, so that counting goes on after a restart; so is the
drain, as an order of the loop's own. It ends by itself or by `undrain`, and is seen where drains
are. A node that somebody drained stays as that person said.

Whoever's work fails wherever it is says nothing of a node: a wrong image would drain one after
another. Replicas of one template are one work.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from bot.clock import moment
from bot.clusters.base import ClusterEvent, Evidence, NodeSlow
from bot.control.inforce import DRAIN, name_of, value_of
from bot.control.ledger import LOOP
from scheduler.model import NodeName, Seconds
from storage.audit import InterventionKind
from storage.records import Request, Setting
from storage.store import Store
from storage.work import Work

log = logging.getLogger(__name__)

MARKS_AT_MOST = 3  # different gangs that one node may hold up within `MARKED_FOR`
MARKED_FOR: Seconds = 3600.0
AVOIDED_FOR: Seconds = 3600.0
HELD_UP = "held_up"  # in the order's wish: the requests that were not ready in time there
LATE = "late:"  # names what a node has held up: works, and when


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A work that a node has held up: the request, whose it is, and what that says of the node."""

    request: str
    whose: str
    evidence: Evidence
    at: Seconds


_MARK = TypeAdapter(Mark)
Marks = dict[str, Mark]
"""By what they are about: a request, or a template of which replicas are made."""


def file_suspects(
    store: Store, seen: Sequence[ClusterEvent], now: Seconds, fence: int | None
) -> None:
    """Store whom nodes have held up, and an order for each that is to be avoided.

    The order is carried out in the same step. From then on counting begins anew.
    """
    slow = [event for event in seen if isinstance(event, NodeSlow)]
    if not slow:
        return
    with store.write(fence) as work:
        late = _marks_of(slow, work.requests.by_ids(sorted({event.workload for event in slow})))
        ordered = work.interventions.ordered()
        drained = {one.target for one in ordered if one.kind is InterventionKind.DRAIN}
        known = {
            NodeName(one.name.removeprefix(LATE)): _recent(one, now)
            for one in work.settings.under(LATE)
        }
        marks = {node: {**known.get(node, {}), **late.get(node, {})} for node in {*known, *late}}
        for node in sorted(late):
            if node in drained or work.settings.get(name_of(DRAIN, node)) is not None:
                work.settings.delete(LATE + node)
            elif not speak_against(marks[node], _failing_beside(node, marks)):
                _keep(work, node, marks[node], now)
            else:
                work.settings.delete(LATE + node)
                _avoid(work, node, sorted(one.request for one in marks[node].values()), now)


def speak_against(marks: Marks, elsewhere: frozenset[str]) -> bool:
    """Whether so many different works were held up by a node that it is to be avoided.

    They are of several people, or of one whose works are not held up `elsewhere`, too. What may be
    their own fault counts only where it happens to so many people, and to them nowhere else.
    """
    certain = [one for one in marks.values() if one.evidence is Evidence.CERTAIN]
    likely = [one for one in marks.values() if one.evidence is not Evidence.DOUBTFUL]
    owners = {one.whose for one in likely}
    here_alone = {one.whose for one in marks.values()} - elsewhere
    several = len(owners) > 1 or bool(owners - elsewhere)
    return (
        len(certain) >= MARKS_AT_MOST
        or (len(likely) >= MARKS_AT_MOST and several)
        or len(here_alone) >= MARKS_AT_MOST
    )


def _marks_of(slow: Iterable[NodeSlow], requests: Mapping[str, Request]) -> dict[NodeName, Marks]:
    found: dict[NodeName, Marks] = {}
    for event in slow:
        request = requests.get(event.workload)
        if request is None:
            continue
        mark = Mark(
            request=request.id,
            whose=f"{request.workload.team}/{request.workload.owner}",
            evidence=event.evidence,
            at=event.at,
        )
        found.setdefault(event.node, {})[_about(request, event)] = mark
    return found


def _about(request: Request, event: NodeSlow) -> str:
    """What a mark is about: each pod that a kubelet refuses is one more, also of a template."""
    key = None if request.ref is None else request.ref.template_key
    return request.id if key is None or event.evidence is Evidence.CERTAIN else key


def _failing_beside(node: NodeName, marks: Mapping[NodeName, Marks]) -> frozenset[str]:
    """Whose works were held up by other nodes, too."""
    others = (those.values() for one, those in marks.items() if one != node)
    return frozenset(mark.whose for those in others for mark in those)


def _recent(known: Setting, now: Seconds) -> Marks:
    """What is stored, as far as it is young and can be read."""
    found: Marks = {}
    for about, written in value_of(known).items():
        try:
            mark = _MARK.validate_python(written)
        except ValidationError:  # as an earlier version wrote them
            continue
        if now - mark.at < MARKED_FOR:
            found[about] = mark
    return found


def _keep(work: Work, node: NodeName, marks: Marks, now: Seconds) -> None:
    value = json.dumps({about: asdict(mark) for about, mark in marks.items()}, sort_keys=True)
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
