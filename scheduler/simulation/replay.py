"""Plays jobs through the engine and the simulated cluster, from event to event.

At each moment at which anything happens: what the cluster did is told to the engine, the
jobs submitted at that moment join their queues, the engine decides, and the cluster carries
it out; this repeats until nothing more happens at that moment. Stopped gangs start again
from the beginning; those that lost a node and are given another (in a cluster that is
mendable) go on where they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from scheduler import events
from scheduler.engine import Engine
from scheduler.model import (
    Admission,
    Decisions,
    Preemption,
    PreemptionRule,
    Seconds,
    Workload,
    WorkloadId,
)
from scheduler.simulation.cluster import (
    GangEnd,
    GangGone,
    GangHurt,
    Happening,
    NodeChanged,
    NodeFailed,
    SimulatedNodes,
)
from scheduler.simulation.estimates import Estimates
from scheduler.simulation.report import Report, Tally

_MOST_ROUNDS = 10_000
"""Rounds at one moment after which the engine must be going round in circles."""


class ReplayStuck(Exception):
    """The engine kept deciding at one moment without end; it is at fault."""


@dataclass(frozen=True, slots=True)
class Task:
    """A workload to submit at `workload.created`, and how long it will run."""

    workload: Workload
    run_for: Seconds


@dataclass(slots=True)
class _Live:
    """A task the engine knows: how often it was started, and whether it ever was."""

    task: Task
    attempts: int = 0
    hurt: bool = False
    """It was told to stop because it lost a node for which there was no other."""


class Replay:
    """One run of tasks, in order of `created`, over an engine and a cluster made for it.

    The engine must know no nodes yet: it is told of the cluster's. `sampling` is the interval at
    which usage is sampled, None for never. With `estimates`, forecasts are compared with what
    happens.
    """

    def __init__(
        self,
        engine: Engine,
        cluster: SimulatedNodes,
        *,
        sampling: Seconds | None = None,
        estimates: Estimates | None = None,
    ) -> None:
        self._engine = engine
        self._estimates = estimates
        self._cluster = cluster
        self._sampling = sampling
        self._sample_at: Seconds | None = None
        self._live: dict[WorkloadId, _Live] = {}
        self._tally = Tally()
        for node in cluster.nodes():
            engine.apply(events.NodeObserved(node=node))

    def run(
        self, tasks: Iterable[Task], *, progress: Callable[[int], None] | None = None
    ) -> Report:
        """Play all tasks to their end. `progress` is told how many were submitted so far.

        Raises ReplayStuck. Tasks that could never start are counted and left out; tasks
        that still wait when nothing more can happen are left waiting.
        """
        waiting = iter(tasks)
        coming = next(waiting, None)
        while True:
            moments = [at for at in (self._cluster.next_at(),) if at is not None]
            if coming is not None:
                moments.append(coming.workload.created)
            if not moments:
                break
            alarm = self._engine.next_alarm()
            if alarm is not None:
                moments.append(alarm)
            now = max(min(moments), self._cluster.now)
            self._tally.pass_time(self._cluster.figures(), now)
            self._observe(self._cluster.advance(now))
            while coming is not None and coming.workload.created <= now:
                self._submit(coming)
                coming = next(waiting, None)
                if coming is None:
                    self._tally.last_submission()
            self._decide(now)
            if progress is not None:
                progress(self._tally.jobs)
        report = self._tally.report(
            partial_gangs=self._cluster.partial_gangs,
            over_commitments=self._cluster.over_commitments,
        )
        if self._estimates is not None:
            report = replace(report, estimates=self._estimates.accuracy())
        if not self._engine.layout.options.defragment:
            return report
        return replace(report, moved=self._tally.moved())

    def _submit(self, task: Task) -> None:
        self._tally.jobs += 1
        if self._engine.check(task.workload) is not None:
            self._tally.never_fit += 1
            return
        self._live[task.workload.id] = _Live(task)
        self._engine.apply(events.Submitted(workload=task.workload))
        if self._estimates is not None:
            self._estimates.submitted(task.workload)

    def _decide(self, now: Seconds) -> None:
        if self._sampling is not None:
            self._sample(now, self._sampling)
        for _ in range(_MOST_ROUNDS):
            decisions = self._engine.cycle(now)
            self._mend(decisions, now)
            started = {admission.workload for admission in decisions.admissions}
            self._stop([p for p in decisions.preemptions if p.target not in started], now)
            for admission in decisions.admissions:
                self._start(admission, now)
            self._stop([p for p in decisions.preemptions if p.target in started], now)
            self._count_moves(decisions.preemptions)
            self._tally.decisions += len(decisions.admissions) + len(decisions.preemptions)
            self._tally.decisions += len(decisions.repairs) + len(decisions.evictions)
            if not self._observe(self._cluster.advance(now)):
                if self._estimates is not None:
                    self._estimates.decided(self._engine, now)
                return
        raise ReplayStuck(f"no end of decisions at {now}")

    def _stop(self, preemptions: Iterable[Preemption], now: Seconds) -> None:
        for preemption in preemptions:
            self._tally.preemptions += 1
            attempt = self._attempt(self._live[preemption.target])
            self._cluster.stop(preemption.target, attempt, grace=0.0, at=now)

    def _start(self, admission: Admission, now: Seconds) -> None:
        live = self._live[admission.workload]
        workload = live.task.workload
        if not live.attempts:
            self._tally.wait(workload.gpus, now - workload.created)
            if self._estimates is not None:
                self._estimates.started(workload.id, now)
        live.attempts += 1
        self._cluster.start(
            workload, admission, self._attempt(live), at=now, run_for=live.task.run_for
        )

    def _mend(self, decisions: Decisions, now: Seconds) -> None:
        """Who lost a node gets another, or stops."""
        for repair in decisions.repairs:
            self._tally.repaired += 1
            attempt = self._attempt(self._live[repair.workload])
            self._cluster.mend(repair.workload, repair.admission, attempt, at=now)
        for eviction in decisions.evictions:
            live = self._live[eviction.workload]
            live.hurt = True
            self._cluster.stop(eviction.workload, self._attempt(live), grace=0.0, at=now)

    def _count_moves(self, preemptions: Iterable[Preemption]) -> None:
        moves = [p for p in preemptions if p.rule is PreemptionRule.DEFRAGMENTATION]
        for move in moves:
            self._tally.move(move.gpus, move.ran)
        for served in sorted({move.preemptor for move in moves}):
            self._tally.made_whole += self._live[served].task.workload.gpus

    def _sample(self, now: Seconds, interval: Seconds) -> None:
        if self._sample_at is None or now >= self._sample_at:
            self._engine.sample_usage(now)
            self._sample_at = now + interval

    def _observe(self, happened: tuple[Happening, ...]) -> bool:
        """Tell the engine; True if something was told that it may decide upon."""
        told = False
        for happening in happened:
            if isinstance(happening, GangGone):
                self._gone(happening)
                told = True
            elif isinstance(happening, NodeChanged):
                self._engine.apply(events.NodeObserved(node=happening.node))
                told = True
            elif isinstance(happening, NodeFailed):
                self._tally.failures += 1
                self._engine.apply(events.NodeLost(node=happening.node))
            elif isinstance(happening, GangHurt):
                lost = events.NodeLost(node=happening.node, workload=happening.workload)
                self._engine.apply(lost)
                told = True
        return told

    def _gone(self, gone: GangGone) -> None:
        live = self._live[gone.workload]
        spent = gone.ran * live.task.workload.gpus
        if live.hurt or gone.end is GangEnd.LOST:
            live.hurt = False
            self._tally.stopped += 1
            self._tally.gpu_seconds_failed += spent
        elif gone.end is GangEnd.STOPPED:
            self._tally.gpu_seconds_lost += spent
        if gone.end in (GangEnd.STOPPED, GangEnd.LOST):
            self._engine.apply(events.Evicted(workload=gone.workload, at=gone.at))
            return
        if gone.end is GangEnd.FINISHED:
            self._tally.finished += 1
        del self._live[gone.workload]
        self._engine.apply(events.Finished(workload=gone.workload, at=gone.at))

    @staticmethod
    def _attempt(live: _Live) -> str:
        return f"{live.task.workload.id}/{live.attempts}"
