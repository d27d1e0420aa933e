"""Who rests: work that was not ready in time is not tried again at once.

As Kueue's requeuing strategy: each time in a row the pause is twice as long, up to a longest one;
work that was late by its own fault so often that the policy has enough of it is held until
somebody changes it. While it rests it keeps its place in line, holds nobody back, and neither
reservations nor alerts are made for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scheduler.alarms import Alarms
from scheduler.model import Figure, Rest, RestCause, Seconds, Workload

if TYPE_CHECKING:
    from scheduler.standing import Waiting
    from scheduler.state import State

OWN_FAULTS = frozenset({RestCause.LATE, RestCause.UNMADE})
_DOUBLINGS_AT_MOST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """How long a gang may take to be whole, and what follows when it is not.

    `backoff` is the first pause and `longest` the most of one; after `tries` times in a row by
    its own fault it is held.
    """

    ready_in: Seconds = 900.0
    backoff: Seconds = 60.0
    longest: Seconds = 3600.0
    tries: int = 4


def rest_after(
    rules: Readiness, cause: RestCause, tries: int, now: Seconds, *, held: bool = True
) -> Rest:
    """The rest of somebody who was not ready in time, for the `tries`-th time in a row.

    Without `held` he is tried again however often that was.
    """
    own_fault = cause in OWN_FAULTS
    most = rules.tries if own_fault and held else None
    if most is not None and tries >= most:
        return Rest(cause=cause, tries=tries, most=most, until=None)
    pause = rules.backoff * 2.0 ** min(tries - 1, _DOUBLINGS_AT_MOST)
    return Rest(cause=cause, tries=tries, most=most, until=now + min(rules.longest, pause))


def rested(workload: Workload, now: Seconds) -> Workload:
    """The same, without a rest that is over."""
    rest = workload.rest
    if rest is None or rest.until is None or rest.until > now:
        return workload
    return replace(workload, rest=None)


def expect(alarms: Alarms, workload: Workload) -> None:
    """Set the alarm for the end of a rest."""
    if workload.rest is not None and workload.rest.until is not None:
        alarms.for_workload(workload.id, workload.rest.until)


def wake(state: State, waiting: Waiting, now: Seconds) -> None:
    """The alarm of somebody has rung: if his rest is over, he stands in line as others do."""
    workload = rested(waiting.workload, now)
    if workload is not waiting.workload:
        state.leave(waiting)
        state.wait(workload)
        state.waiting[workload.id].word = waiting.word


def figures(rest: Rest) -> dict[str, Figure]:
    """What is told of a rest: why, how often by now, and until when; no `until` if it is held."""
    told: dict[str, Figure] = {"cause": rest.cause.value, "tries": rest.tries}
    if rest.most is not None:
        told["most"] = rest.most
    if rest.until is not None:
        told["until"] = rest.until
    return told
