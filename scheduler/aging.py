"""Bounded aging: who waits long has a higher priority, up to a limit, and keeps it at its start.

Waiting is counted from when a workload joined its queue this time. What it adds raises the
order among those who wait, and the right to preempt only against work created later, so
that two old workloads do not stop each other in turns. Work that can never start is not raised.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scheduler.layout import Aging
from scheduler.model import Seconds, Workload, WorkloadId

if TYPE_CHECKING:
    from scheduler.state import State


def since(workload: Workload) -> Seconds:
    """From when its waiting counts."""
    return workload.created if workload.queued is None else workload.queued


def steps(aging: Aging, start: Seconds, now: Seconds) -> int:
    """How many steps have been reached at `now`, waiting from `start`."""
    found = max(0, int((now - start - aging.after) // aging.every) + 1)
    while step_at(aging, start, found) <= now:  # what division has rounded, comparison decides
        found += 1
    while found and step_at(aging, start, found - 1) > now:
        found -= 1
    return found


def step_at(aging: Aging, start: Seconds, number: int) -> Seconds:
    """When a step is reached; the first is number 0."""
    return start + aging.after + number * aging.every


def raise_of(aging: Aging, start: Seconds, now: Seconds) -> int:
    """What waiting from `start` has added at `now`."""
    return min(aging.most, aging.step * steps(aging, start, now))


def next_raise(aging: Aging, start: Seconds, now: Seconds) -> Seconds | None:
    """When more is added, None once the limit is reached."""
    if raise_of(aging, start, now) >= aging.most:
        return None
    return step_at(aging, start, steps(aging, start, now))


def rule_of(state: State, workload: Workload) -> Aging | None:
    """The rule of the queue that is its home."""
    return state.layout.queues[state.tree.queue_index[workload.queue]].aging


def raised(workload: Workload, by: int) -> Workload:
    """The same workload with so much owed to waiting."""
    return replace(workload, priority=workload.priority - workload.raised + by, raised=by)


def requeued(aging: Aging | None, workload: Workload, at: Seconds) -> Workload:
    """As it waits again from `at` on: what it owed to its earlier wait is gone."""
    return replace(workload if aging is None else raised(workload, 0), queued=at)


def started(aging: Aging | None, workload: Workload, at: Seconds) -> Workload:
    """As it was when it started at `at`, for work that is restored."""
    if aging is None or workload.lapsed is not None:
        return workload
    return raised(workload, raise_of(aging, since(workload), at))


def expect(state: State, workload: Workload, now: Seconds) -> None:
    """Set the alarm for the next step of somebody who waits."""
    aging = rule_of(state, workload)
    if aging is None:
        return
    start = since(workload)
    due = raise_of(aging, start, now) > workload.raised
    at = now if due else next_raise(aging, start, now)
    if at is not None:
        state.alarms.for_workload(workload.id, at)


def grow(state: State, one: WorkloadId, now: Seconds, *, possible: bool) -> None:
    """The alarm of somebody has rung: if it still waits, it moves up by what is due."""
    waiting = state.waiting.get(one)
    aging = None if waiting is None else rule_of(state, waiting.workload)
    if waiting is None or aging is None:
        return
    start = since(waiting.workload)
    by = raise_of(aging, start, now)
    if possible and by != waiting.workload.raised:
        state.leave(waiting)
        state.wait(raised(waiting.workload, by))
        state.waiting[one].word = waiting.word
        state.waiting[one].evaluated = waiting.evaluated
    if (at := next_raise(aging, start, now)) is not None:
        state.alarms.for_workload(one, at)
