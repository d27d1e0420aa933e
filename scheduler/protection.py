"""What the policy protects from preemption, beyond Kueue, and which target costs the least.

- Minimum run time: work is no target before it has run so long; another time may hold where
  somebody of its own queue asks.
  A lease that is over ends it, too.
- Flips: once one of two workloads has stopped the other as often as the policy allows,
  neither stops the other again.
- What waiting adds to a priority counts only against work that was created later.
- Cost: what is lost by stopping somebody is the GPU-hours since its last checkpoint, or since
  its start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from scheduler.layout import Layout
from scheduler.model import Flip, Seconds, Workload, WorkloadId

if TYPE_CHECKING:
    from scheduler.standing import Running
    from scheduler.state import State

_HOUR = 3600.0


class Flips:
    """How often two workloads, unordered, have stopped each other. `lifted` is for trials."""

    def __init__(self, at_most: int | None) -> None:
        self._at_most = at_most
        self._times: dict[WorkloadId, dict[WorkloadId, int]] = {}
        self.lifted = False

    def copy(self) -> Flips:
        """The same counts, counted on independently."""
        other = Flips(self._at_most)
        other._times = {one: times.copy() for one, times in self._times.items()}
        other.lifted = self.lifted
        return other

    def count(self, one: WorkloadId, other: WorkloadId, now: Seconds) -> Flip | None:
        """One has stopped the other: what to tell people if that was once too often."""
        if self._at_most is None:
            return None
        times = self._times.get(one, {}).get(other, 0) + 1
        for mine, theirs in ((one, other), (other, one)):
            self._times.setdefault(mine, {})[theirs] = times
        if times < self._at_most:
            return None
        return Flip(pair=(min(one, other), max(one, other)), times=times, at=now)

    def forbid(self, one: WorkloadId, other: WorkloadId) -> bool:
        """Whether these two no longer may stop each other."""
        times = self._times.get(one)
        return not self.lifted and times is not None and times.get(other, 0) >= (self._at_most or 0)

    def concern(self, workload: WorkloadId) -> bool:
        """Whether there is somebody whom it no longer may stop."""
        most = self._at_most or 0
        return any(times >= most for times in self._times.get(workload, {}).values())

    def forget(self, workload: WorkloadId) -> None:
        """Somebody is gone for good."""
        for other in self._times.pop(workload, ()):
            mine = self._times[other]
            del mine[workload]
            if not mine:
                del self._times[other]


def guards(layout: Layout) -> bool:
    """Whether the policy protects anybody at all."""
    return layout.options.flips_at_most is not None or any(
        queue.min_runtime or queue.min_runtime_own for queue in layout.queues
    )


def safe_until(state: State, running: Running, *, own: bool) -> Seconds:
    """When its minimum run time is over, for somebody of its own or of another queue.

    At its start, once its lease is over.
    """
    if running.workload.lapsed is not None:
        return running.admission.at
    queue = state.layout.queues[running.charge.queue]
    return running.admission.at + (queue.min_runtime_own if own else queue.min_runtime)


def protects(state: State, mine: Workload, running: Running, *, own: bool) -> bool:
    """Whether somebody who could otherwise be stopped must not be, as of the state's time.

    Notes in `state.spared` that time alone stands in the way of somebody.
    """
    if state.flips.forbid(mine.id, running.workload.id):
        return True
    if safe_until(state, running, own=own) <= state.now:
        return False
    state.spared = True
    return True


def safe_times(state: State, number: int) -> list[Seconds]:
    """When minimum run times end that a workload of this queue may run into, in order."""
    mine = state.tree.tree_queues[state.tree.root[number]]
    holders: Iterable[Running] = (
        running
        for running in state.running.values()
        if not running.leaving and running.charge.queue in mine
    )
    ends = {safe_until(state, r, own=r.charge.queue == number) for r in holders}
    return sorted(end for end in ends if end > state.now)


def outranks(mine: Workload, theirs: Workload) -> bool:
    """Whether a preemptor counts as of higher priority than who runs."""
    if mine.barred:
        return False
    if theirs.priority >= mine.priority:
        return False
    return theirs.priority < mine.priority - mine.raised or theirs.created > mine.created


def cost(running: Running, now: Seconds) -> float:
    """GPU-hours that would be lost."""
    since = running.admission.at
    if running.checkpoint is not None:
        since = max(since, running.checkpoint)
    return running.workload.gpus * max(0.0, now - since) / _HOUR
