"""What is due at a known time, so that nobody has to look again and again.

An alarm is either for a realm (queues that can affect each other: what is parked there is
worth another try) or for a workload that waits. Order: time, kind, key.
"""

from __future__ import annotations

from collections.abc import Container
from heapq import heappop, heappush

from scheduler.model import Seconds, WorkloadId

REALM, WORKLOAD = 0, 1


class Alarms:
    """Times in a heap; setting the same alarm twice rings once."""

    def __init__(self) -> None:
        self._heap: list[tuple[Seconds, int, int, WorkloadId]] = []
        self._set: set[tuple[Seconds, int, int, WorkloadId]] = set()

    def copy(self) -> Alarms:
        """The same alarms, set and taken out independently."""
        other = Alarms()
        other._heap, other._set = self._heap.copy(), self._set.copy()
        return other

    def for_realm(self, realm: int, at: Seconds) -> None:
        """At that time something changes for the queues of a realm."""
        self._add((at, REALM, realm, WorkloadId("")))

    def for_workload(self, workload: WorkloadId, at: Seconds) -> None:
        """At that time something changes for a workload that waits."""
        self._add((at, WORKLOAD, -1, workload))

    def _add(self, alarm: tuple[Seconds, int, int, WorkloadId]) -> None:
        if alarm not in self._set:
            self._set.add(alarm)
            heappush(self._heap, alarm)

    def next(self, waiting: Container[WorkloadId]) -> Seconds | None:
        """When the first alarm is due that concerns anybody; None without any."""
        while self._heap and self._heap[0][1] == WORKLOAD and self._heap[0][3] not in waiting:
            self._set.remove(heappop(self._heap))
        return self._heap[0][0] if self._heap else None

    def due(self, now: Seconds) -> tuple[tuple[int, ...], tuple[WorkloadId, ...]]:
        """Take out what is due: realms and workloads, each once and in order."""
        if not self._heap or self._heap[0][0] > now:
            return (), ()
        realms: set[int] = set()
        workloads: set[WorkloadId] = set()
        while self._heap and self._heap[0][0] <= now:
            alarm = heappop(self._heap)
            self._set.remove(alarm)
            if alarm[1] == REALM:
                realms.add(alarm[2])
            else:
                workloads.add(alarm[3])
        return tuple(sorted(realms)), tuple(sorted(workloads))
