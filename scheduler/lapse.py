"""What becomes of the standing of work whose lease has run out, where its pool lets it run on.

While it runs on it counts below everybody: any work that waits in its queue may have it stopped,
whatever the queue's `within` and `within_from` say (`Queue.lapses`). What it had before is kept
in `Workload.lapsed`.

When it waits again it has that back, but is *barred* until it has started once more: by its
priority it stops nobody but those whose lease is over, too, and who ranked lower than it does.
Otherwise it would stop in turn whoever it had to make way for, or those who overstayed would
stop each other all round. What its queue may take back by right of quota it still may.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.model import Lapsed, Workload

LAPSED = -(2**53 - 1)
"""Below every priority of a policy, and still exact wherever numbers are kept as floats."""


def lapse(workload: Workload) -> Workload:
    """As it counts from the end of its lease on. What it owed to waiting is gone."""
    if workload.lapsed is not None:
        return workload
    before = Lapsed(priority=workload.priority - workload.raised, preemptible=workload.preemptible)
    return replace(workload, lapsed=before, priority=LAPSED, raised=0, preemptible=True)


def own(workload: Workload) -> Workload:
    """With the standing that it had before its lease ran out."""
    before = workload.lapsed
    if before is None:
        return workload
    return replace(workload, lapsed=None, priority=before.priority, preemptible=before.preemptible)


def requeued(workload: Workload) -> Workload:
    """As it waits again, if its lease had run out."""
    return workload if workload.lapsed is None else replace(own(workload), barred=True)


def started(workload: Workload) -> Workload:
    """As it runs: it is barred no more, and what it rested for is over."""
    if not workload.barred and workload.rest is None:
        return workload
    return replace(workload, barred=False, rest=None)


def makes_way(theirs: Workload, mine: Workload) -> bool:
    """Whether somebody's lease is over, so that one who waits in his queue may have him stopped."""
    before = theirs.lapsed
    return before is not None and (not mine.barred or mine.priority > before.priority)


def lift(workload: Workload, by: int) -> Workload:
    """With so much more priority; if its lease has run out, from when it waits again."""
    before = workload.lapsed
    if before is None:
        return replace(workload, priority=workload.priority + by)
    return replace(workload, lapsed=replace(before, priority=before.priority + by))
