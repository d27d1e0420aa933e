"""`KubernetesCluster`: the port of `bot.clusters.base` over a mirror, a fleet and a writer.

Nothing here waits for the API server. `poll` derives what to tell from what has changed in the
mirror; `apply` keeps in mind what was decided and hands the write to the writer. What is in
mind and not yet written is done again by the loop after a restart, and what was written stands
in annotations, so both together lose nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from bot.clusters.base import (
    Action,
    ClusterEvent,
    ClusterUnreachable,
    Cordon,
    EndKind,
    Gone,
    Observation,
    Observed,
    PodsState,
    Replace,
    Start,
    Stop,
    Unwanted,
    Wanted,
)
from bot.clusters.kubernetes import names, waiting
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.fleet import PATIENCE, Fleet
from bot.clusters.kubernetes.gangs import Gang, end_of, gang_on, is_ready
from bot.clusters.kubernetes.jobs import JobGangs
from bot.clusters.kubernetes.mirror import Changes, Mirror
from bot.clusters.kubernetes.watching import Pace, Watcher
from bot.clusters.kubernetes.writing import Writer
from scheduler.layout import Layout
from scheduler.model import NodeName, Seconds

NODES, PODS, JOBS = "/api/v1/nodes", "/api/v1/pods", "/apis/batch/v1/jobs"
SILENT_AT_MOST = 150.0  # seconds: a watch is heard of each minute, a broken one found after 90
STUCK_AT_MOST = 30.0  # seconds without any write getting through, while some are to be sent
_ENDS_KEPT = 20_000
"""Ends remembered, so that a decision which is over is not carried out again."""


class KubernetesCluster:
    """A `Cluster`. Call `start` before use and `close` at the end."""

    def __init__(
        self,
        connection: Connection,
        layout: Layout,
        *,
        patience: Seconds = PATIENCE,
        pace: Pace | None = None,
    ) -> None:
        self.mirror = Mirror()
        self.writer = Writer()
        self.watchers = (
            Watcher(connection, NODES, self.mirror.nodes, pace=pace),
            Watcher(connection, PODS, self.mirror.pods, pace=pace),
            Watcher(connection, JOBS, self.mirror.jobs, selector=names.TEAM, pace=pace),
        )
        self.fleet = Fleet(self.mirror, self._is_ours, patience)
        self._lock = threading.RLock()
        self._gangs: dict[str, Gang] = {}
        self._by_object: dict[str, Gang] = {}
        self._ends: OrderedDict[str, Gone] = OrderedDict()
        self._events: list[ClusterEvent] = []
        self._touched: set[NodeName] = set()
        self._again: set[str] = set()
        self._refused: list[tuple[str, str]] = []
        self._told_wanted: dict[str, Wanted] = {}
        self._jobs = JobGangs(connection, self.mirror, self.writer, self.fleet, layout)

    def start(self, seconds: float = 60.0) -> bool:
        """Begin to watch; whether everything was listed in time."""
        for watcher in self.watchers:
            watcher.start()
        return all(watcher.wait(seconds) for watcher in self.watchers)

    def close(self) -> None:
        """End watching and writing."""
        for watcher in self.watchers:
            watcher.stop()
        self.writer.stop()

    def hear(self, on_news: Callable[[], None]) -> None:
        """Have something called whenever there may be something to poll."""
        self.mirror.hear(on_news)

    # ---- the port

    def observe(self, now: Seconds) -> Observation:
        """Everything there is; `poll` goes on from here."""
        with self._lock, self.mirror.lock:
            self._check()
            self.mirror.take_changes()
            self._events.clear()
            self._touched.clear()
            self._told_wanted.clear()
            nodes = self.fleet.all(now)
            self._find_gangs(now)
            found = [self._observed(gang) for gang in self._gangs.values()]
            jobs = frozenset(self.mirror.jobs.items)
            self._again = set(jobs)
            return Observation(
                nodes=nodes,
                workloads=tuple(sorted(found, key=lambda one: (one.workload, one.decision))),
                at=now,
                objects=jobs,
            )

    def poll(self, now: Seconds) -> tuple[ClusterEvent, ...]:
        """What happened since the last `poll` or `observe`."""
        with self._lock, self.mirror.lock:
            self.carry_on(now)
            events, self._events = self._events, []
            return tuple(events)

    def carry_on(self, now: Seconds) -> None:
        """Take in what changed and do what follows of itself; `poll` tells it."""
        with self._lock, self.mirror.lock:
            self._check()
            self._stop_due(now)
            self._hear_refusals(now)
            changes = self.mirror.take_changes()
            failed = set(self.fleet.failed)
            nodes = list(self.fleet.news(changes.nodes | self._touched, now))
            self._touched.clear()
            self._look_at(changes, failed ^ self.fleet.failed, now)
            self._events += nodes
            if self._touched:  # what ended just now gives its nodes back
                self._events += self.fleet.news(self._touched, now)
                self._touched.clear()

    def apply(self, action: Action, now: Seconds) -> None:
        """Carry out one decision."""
        self.apply_all((action,), now)

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        """Keep decisions in mind and send what they need, in the order they come."""
        with self._lock, self.mirror.lock:
            self._check()
            for action in actions:
                match action:
                    case Cordon():
                        self._cordon(action)
                    case Start():
                        self._start(action, now)
                    case Stop():
                        self._stop(action, now)
                    case Replace():
                        self._replace(action)

    # ---- what is known

    def _check(self) -> None:
        """Raises ClusterUnreachable when the mirror, or what was written, may be out of date."""
        for watcher in self.watchers:
            if watcher.trouble is not None:
                raise ClusterUnreachable(f"{watcher.path}: {watcher.trouble}")
            if watcher.silent > SILENT_AT_MOST:
                raise ClusterUnreachable(
                    f"{watcher.path}: nothing was heard for {watcher.silent:.0f} s"
                )
        if self.writer.stuck > STUCK_AT_MOST:
            raise ClusterUnreachable(f"no write got through for {self.writer.stuck:.0f} s")

    def _is_ours(self, pod: PodFacts) -> bool:
        """Whether the engine counts a pod with its gang, on the node that it was granted."""
        gang = self._by_object.get(pod.owner.uid) if pod.owner is not None else None
        return gang is not None and pod.node in gang.nodes

    def _find_gangs(self, now: Seconds) -> None:
        """Take up the gangs that hold something by what their objects say, drop those that end."""
        for gang in tuple(self._gangs.values()):
            over = self._jobs.look(gang, [], now)
            if over is not None:  # told when it is asked for again
                self._end(gang, over, now)
        self._events.clear()
        for job in self.mirror.jobs.items.values():
            if job.uid in self._by_object or job.decision in self._ends:
                continue
            found = gang_on(job)
            if found is not None:
                pods = self.mirror.pods_of(job.uid)
                if end_of(job, pods, self.fleet.failed, EndKind.STOPPED) is None:
                    self._keep(found)

    def _observed(self, gang: Gang) -> Observed:
        pods = self.mirror.pods_of(gang.ref.uid)
        gang.hurt = {node for node in gang.nodes if not self.fleet.usable(node)}
        gang.running = is_ready(gang, pods)
        if gang.stop_at is not None or gang.stopping:
            state = PodsState.STOPPING
        elif gang.hurt:
            state = PodsState.BROKEN
        else:
            state = PodsState.RUNNING if gang.running else PodsState.STARTING
        return Observed(
            workload=gang.workload,
            state=state,
            admission=gang.admission,
            decision=gang.decision,
            missing=tuple(sorted(gang.hurt)) if state is PodsState.BROKEN else (),
        )

    def _look_at(self, changes: Changes, lost: set[NodeName], now: Seconds) -> None:
        changed = changes.jobs | changes.owners | self._again
        self._again = set()
        if lost:
            changed |= {uid for uid, gang in self._by_object.items() if gang.nodes & lost}
        for uid in sorted(changed):
            gang = self._by_object.get(uid)
            if gang is None:
                self._look_for_wanted(uid, now)
                continue
            end = self._jobs.look(gang, self._events, now)
            if end is not None:
                self._end(gang, end, now)  # whether it is wanted again is told after that
            elif gang.bereft:
                self._again.add(uid)
                if uid in changes.jobs:
                    self._events.append(Unwanted(uid=uid, at=now))

    def _look_for_wanted(self, uid: str, now: Seconds) -> None:
        job = self.mirror.jobs.items.get(uid)
        if job is None:
            if self._told_wanted.pop(uid, None) is not None:
                self._events.append(Unwanted(uid=uid, at=now))
            return
        wanted = waiting.wanted(job, now)
        if wanted is not None:
            before = self._told_wanted.get(uid)
            if before is None or waiting.differs(before, wanted):
                self._told_wanted[uid] = wanted
                self._events.append(wanted)
        elif self._told_wanted.pop(uid, None) is not None and job.end is None:
            self._events.append(Unwanted(uid=uid, at=now))  # somebody else let it go

    # ---- what is done

    def _start(self, action: Start, now: Seconds) -> None:
        if self._told_again(action.decision) or action.decision in self._gangs:
            return
        if action.ref is None:
            raise ClusterUnreachable(f"{action.decision}: there is no object to start")
        gang = Gang(
            workload=action.workload.id,
            decision=action.decision,
            admission=action.admission,
            ref=action.ref,
        )
        self._keep(gang)
        end = self._jobs.start(gang, self._refuse)
        if end is not None:
            self._end(gang, end, now)

    def _stop(self, action: Stop, now: Seconds) -> None:
        if self._told_again(action.decision):
            return
        gang = self._gangs.get(action.decision)
        if gang is None:  # it never came, and must not come any more
            gone = Gone(
                workload=action.workload, decision=action.decision, kind=EndKind.STOPPED, at=now
            )
            self._remember(gone)
            return
        self._jobs.stop(gang, action.grace, now)
        self._again.add(gang.ref.uid)

    def _replace(self, action: Replace) -> None:
        gang = self._gangs.get(action.decision)
        if gang is None or action.admission.repairs <= gang.admission.repairs:
            return
        self._touched |= gang.nodes | set(_nodes(action))
        self._jobs.replace(gang, action.admission)
        self._again.add(gang.ref.uid)

    def _cordon(self, action: Cordon) -> None:
        """The API server's nodes are never written: what is closed by hand, we keep in mind."""
        (self.fleet.closed.add if action.closed else self.fleet.closed.discard)(action.node)
        self._touched.add(action.node)

    def _stop_due(self, now: Seconds) -> None:
        for gang in self._gangs.values():
            if gang.stop_at is not None and gang.stop_at <= now and not gang.stopping:
                self._jobs.suspend(gang)

    # ---- keeping count

    def _told_again(self, decision: str) -> bool:
        """Whether a decision is over; its end is told once more, for it may have been missed."""
        over = self._ends.get(decision)
        if over is not None and over not in self._events:
            self._events.append(over)
        return over is not None

    def _keep(self, gang: Gang) -> None:
        self._gangs[gang.decision] = gang
        self._by_object[gang.ref.uid] = gang
        self._touched |= gang.nodes

    def _end(self, gang: Gang, kind: EndKind, now: Seconds) -> None:
        self._gangs.pop(gang.decision, None)
        if self._by_object.get(gang.ref.uid) is gang:
            del self._by_object[gang.ref.uid]
        self._touched |= gang.nodes
        self._again.add(gang.ref.uid)
        self._remember(Gone(workload=gang.workload, decision=gang.decision, kind=kind, at=now))

    def _remember(self, gone: Gone) -> None:
        self._ends[gone.decision] = gone
        self._events.append(gone)
        while len(self._ends) > _ENDS_KEPT:
            self._ends.popitem(last=False)

    def _refuse(self, decision: str, why: str) -> None:
        """A write was refused for good: called from the writer's threads."""
        with self.mirror.lock:
            self._refused.append((decision, why))
        self.mirror.tell()

    def _hear_refusals(self, now: Seconds) -> None:
        refused, self._refused = self._refused, []
        for decision, _ in refused:
            gang = self._gangs.get(decision)
            if gang is not None and not gang.seen:
                self._end(gang, EndKind.STOPPED, now)


def _nodes(action: Replace) -> list[NodeName]:
    return [node for part in action.admission.assignments for node, _ in part.nodes]
