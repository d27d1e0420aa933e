"""Plays jobs through the engine and the simulated cluster, from event to event.

At each moment at which anything happens: what the cluster did is told to the engine, the
jobs submitted at that moment join their queues, the engine decides, and the cluster carries
it out; this repeats until nothing more happens at that moment. Stopped gangs start again
from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from scheduler import events
from scheduler.engine import Engine
from scheduler.model import Preemption, PreemptionRule, Seconds, Workload, WorkloadId
from scheduler.simulation.cluster import (
    GangEnd,
    GangGone,
    Happening,
    NodeChanged,
    SimulatedNodes,
)
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


class Replay:
    """One run of tasks, in order of `created`, over an engine and a cluster made for it.

    The engine must know no nodes yet: it is told of the cluster's. `sampling` is the interval
    at which
    usage is sampled, None for never.
    """

    def __init__(
        self, engine: Engine, cluster: SimulatedNodes, *, sampling: Seconds | None = None
    ) -> None:
        self._engine = engine
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

    def _decide(self, now: Seconds) -> None:
        if self._sampling is not None:
            self._sample(now, self._sampling)
        for _ in range(_MOST_ROUNDS):
            decisions = self._engine.cycle(now)
            for preemption in decisions.preemptions:
                self._tally.preemptions += 1
                attempt = self._attempt(self._live[preemption.target])
                self._cluster.stop(preemption.target, attempt, grace=0.0, at=now)
            self._count_moves(decisions.preemptions)
            for admission in decisions.admissions:
                live = self._live[admission.workload]
                if not live.attempts:
                    workload = live.task.workload
                    self._tally.wait(workload.gpus, now - workload.created)
                live.attempts += 1
                self._cluster.start(
                    live.task.workload,
                    admission,
                    self._attempt(live),
                    at=now,
                    run_for=live.task.run_for,
                )
            self._tally.decisions += len(decisions.admissions) + len(decisions.preemptions)
            if not self._observe(self._cluster.advance(now)):
                return
        raise ReplayStuck(f"no end of decisions at {now}")

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
        return told

    def _gone(self, gone: GangGone) -> None:
        live = self._live[gone.workload]
        if gone.end is GangEnd.STOPPED:
            self._tally.gpu_seconds_lost += gone.ran * live.task.workload.gpus
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
