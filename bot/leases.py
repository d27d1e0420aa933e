"""How long a grant may still last: by how much its lease may grow, and whom that would hold up.

A lease counts from the grant on. It may grow up to the maximum of the pool, unless somebody
who waits would start later for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.events import Amended
from scheduler.model import QueueName, Seconds, TeamName, WaitReason, Workload, WorkloadId
from storage.records import Request

_FOR_CAPACITY = frozenset({WaitReason.QUOTA, WaitReason.TOPOLOGY})
PLAYED = 2  # of each queue, the starts of the first so many who wait are played forward
NOTICED: Seconds = 60.0  # a start that is later by no more is not later
LOOKED_AT = 5  # of each queue, the first so many who wait are asked what they wait for


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp:
    """Somebody who waits, and would wait longer."""

    request: WorkloadId
    owner: str
    team: TeamName
    gpus: int


def queue_of(request: Request) -> QueueName:
    """The queue whose rules hold for a grant: that which admitted it, not where it was sent."""
    return request.admission.queue if request.admission else request.workload.queue


def most_lease(request: Request, terms: Terms) -> Seconds | None:
    """The longest lease a grant may have, from its start on; None if the policy sets none."""
    return terms.lease_most(queue_of(request))


def longer(request: Request, terms: Terms) -> Seconds | None:
    """By how much one press extends a lease: by as much again, at most by the pool's default.

    Never past the pool's maximum.

    None where nothing is left, or where there is no lease.
    """
    lease, queue = request.workload.duration, queue_of(request)
    if lease is None:
        return None
    step, most = min(lease, terms.lease_default(queue) or lease), terms.lease_most(queue)
    by = step if most is None else min(step, most - lease)
    return by if by > 0 else None


def first_in_line(engine: Engine, most: int) -> tuple[Workload, ...]:
    """The first so many who wait in each queue, in the engine's order."""
    found: dict[QueueName, list[Workload]] = {}
    for waiting in engine.pending():
        line = found.setdefault(waiting.queue, [])
        if len(line) < most:
            line.append(waiting)
    return tuple(waiting for line in found.values() for waiting in line)


def held_up(engine: Engine, workload: WorkloadId, now: Seconds) -> tuple[HeldUp, ...]:
    """Who waits for what a running workload holds, in the engine's order."""
    survey = engine.survey(now)
    found = []
    for waiting in first_in_line(engine, LOOKED_AT):
        why = survey.explain(waiting.id)
        holds = any(holder.workload == workload for holder in why.holders)
        if holds and why.verdict.reason in _FOR_CAPACITY:
            found.append(
                HeldUp(
                    request=waiting.id,
                    owner=waiting.owner,
                    team=waiting.team,
                    gpus=waiting.gpus,
                )
            )
    return tuple(found)


def delayed(
    engine: Engine, workload: WorkloadId, lease: Seconds, now: Seconds
) -> tuple[HeldUp, ...]:
    """Who would start later if what runs had a longer lease, in the engine's order.

    For the first of those who wait in each queue; whose start cannot be told counts if he waits
    for what the workload holds. The longer course is played only for those who start after the
    lease's present end: until then both are the same, and playing is what costs.
    """
    running = next((one for one in engine.running() if one[0].id == workload), None)
    waiting = first_in_line(engine, PLAYED)
    if running is None or not waiting:
        return ()
    asked, admission = running
    ends = admission.at + (asked.duration or 0.0)
    starts = {one.id: engine.forecast(one.id, now).likely for one in waiting}
    found = _later(engine, replace(asked, duration=lease), starts, ends, now)
    if None in starts.values():
        unknown = {one.request for one in held_up(engine, workload, now)}
        found |= {each for each in unknown if each in starts and starts[each] is None}
    return tuple(
        HeldUp(request=one.id, owner=one.owner, team=one.team, gpus=one.gpus)
        for one in waiting
        if one.id in found
    )


def _later(
    engine: Engine,
    longer_one: Workload,
    starts: Mapping[WorkloadId, Seconds | None],
    ends: Seconds,
    now: Seconds,
) -> set[WorkloadId]:
    """Whose start moves, of those known to lie after an end, when that end moves."""
    after = {one: start for one, start in starts.items() if start is not None and start >= ends}
    if not after:
        return set()
    other = engine.fork()
    other.apply(Amended(workload=longer_one, at=now))
    found = set()
    for one, start in after.items():
        likely = other.forecast(one, now).likely
        if likely is None or likely > start + NOTICED:
            found.add(one)
    return found
