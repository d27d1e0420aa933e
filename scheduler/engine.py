"""The only door: events in, decisions out.

`apply` takes one event, `cycle` decides; nothing else changes the engine. Everything else
reads. The same events in the same order give the same decisions.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import replace
from typing import assert_never

from scheduler import aging, budgets, checks, explain, figures, passes, repair, starvation
from scheduler.defragmentation import Defragmenter
from scheduler.doubts import NodeDoubt, find_doubts
from scheduler.events import (
    Checkpointed,
    ConsumptionRestored,
    Counted,
    Event,
    Evicted,
    Finished,
    Leaving,
    NodeLost,
    NodeObserved,
    NodeRemoved,
    QueuePaused,
    QueueResumed,
    Restored,
    Submitted,
    Unprotected,
    UsageRestored,
    Withdrawn,
)
from scheduler.explain import Survey
from scheduler.figures import ClusterFigures
from scheduler.layout import Layout
from scheduler.model import (
    Admission,
    Decisions,
    Explanation,
    Flip,
    Node,
    NodeName,
    Preemption,
    Priority,
    QueueName,
    Refusal,
    ResourceName,
    Seconds,
    Starvation,
    TeamName,
    Usage,
    Workload,
    WorkloadId,
)
from scheduler.state import Claim, EngineError, Running, State, Word, running_of

PASSES_AT_MOST = 1_000_000
"""A brake: a cycle that does not come to rest is a bug and must not hang the bot."""


class Engine:
    """See the module. Built from a compiled policy; it starts with no nodes and no work."""

    def __init__(self, layout: Layout) -> None:
        self._state = State(layout)
        self._mover = Defragmenter()

    @property
    def layout(self) -> Layout:
        """The policy it works by."""
        return self._state.layout

    def apply(self, event: Event) -> None:
        """Learn what happened. Raises EngineError, changing nothing, on a contradiction."""
        match event:
            case Submitted():
                self._submit(event.workload)
            case Restored():
                self._restore(event)
            case Withdrawn():
                self._withdraw(event.workload)
            case Finished():
                self._finish(event)
            case Evicted():
                self._evict(event)
            case Leaving() | Unprotected() | Checkpointed() | Counted():
                self._change(event)
            case NodeObserved() | NodeRemoved() | NodeLost():
                self._look_at(event)
            case QueuePaused() | QueueResumed():
                self._pause(event.queue, paused=isinstance(event, QueuePaused))
            case UsageRestored() | ConsumptionRestored():
                self._remember(event)
                self._state.stale_scores()
            case _:
                assert_never(event)

    def cycle(self, now: Seconds) -> Decisions:
        """Decide until nothing more can be without somebody leaving first."""
        state = self._state
        state.look_at(now)
        self._settle()
        self._ring(now)
        if state.ledger.rules is not None and state.ledger.rules.exact and state.ledger.due(now):
            self.sample_usage(now)
        decided = self._repair(now)
        if not state.dirty and not state.claims:
            return decided
        admissions = passes.start_claims(state, now)
        preemptions: list[Preemption] = []
        flips: list[Flip] = []
        rounds = 0
        for _ in range(PASSES_AT_MOST):
            if not state.dirty:
                if state.layout.options.defragment:
                    preemptions += self._mover.make_room(state, now)
                return replace(
                    decided,
                    admissions=tuple(admissions),
                    preemptions=tuple(preemptions),
                    flips=tuple(flips),
                )
            outcomes = passes.run_pass(state, now)
            rounds = 0 if outcomes.progress else rounds + 1
            if rounds > state.rounds:
                state.dirty.clear()  # heads only go round their flavors
            admissions += outcomes.admissions
            preemptions += outcomes.preemptions
            flips += outcomes.flips
        raise EngineError(f"the cycle at {now} does not come to rest")

    def _repair(self, now: Seconds) -> Decisions:
        """What lost nodes goes on elsewhere, or is told to stop."""
        if not self._state.broken:
            return Decisions()
        repairs, evictions = repair.repair_gangs(self._state, now)
        return Decisions(repairs=tuple(repairs), evictions=tuple(evictions))

    def step(self, now: Seconds) -> Decisions:
        """One pass over all queues, for playing cases cycle by cycle."""
        self._state.look_at(now)
        self._settle()
        self._ring(now)
        decided = self._repair(now)
        self._state.dirty.update(self._state.realm)
        admissions = passes.start_claims(self._state, now)
        outcomes = passes.run_pass(self._state, now)
        return replace(
            decided,
            admissions=tuple(admissions + outcomes.admissions),
            preemptions=tuple(outcomes.preemptions),
            flips=tuple(outcomes.flips),
        )

    def next_alarm(self) -> Seconds | None:
        """When a cycle may decide something although nothing has happened; None if never.

        A cycle at that time or after it suffices: minimum run times end, waiting raises.
        """
        return self._state.alarms.next(self._state.waiting)

    def _ring(self, now: Seconds) -> None:
        """Let happen what was due by now."""
        state = self._state
        realms, workloads = state.alarms.due(now)
        for realm in realms:
            state.release(realm)
        for one in workloads:
            waiting = state.waiting.get(one)
            if waiting is not None:
                possible = checks.check(state, waiting.workload) is None
                aging.grow(state, one, now, possible=possible)

    def unrest(self) -> Hashable | None:
        """What tells one moment before a pass from another; None while nobody is to be tried.

        Two equal values with nothing started or stopped in between mean that further passes
        change nothing.
        """
        self._settle()
        return self._state.unrest()

    def last_word(self, workload: WorkloadId) -> str:
        """What the last evaluation of a waiting workload came to, in one of a few words.

        Raises EngineError if it does not wait.
        """
        waiting = self._state.waiting.get(workload)
        if waiting is None:
            raise EngineError(f"{workload} does not wait")
        return waiting.word

    # -- reading ---------------------------------------------------------------------

    def check(self, workload: Workload) -> Refusal | None:
        """Whether it could ever start on this cluster under this policy; the limit if not."""
        self._settle()
        return checks.check(self._state, workload)

    def grade(self, team: TeamName, asked: Priority, gpus: int) -> budgets.Grade | Refusal:
        """The priority class that a team's request may have, by the team's budgets."""
        state = self._state
        if not budgets.budgets_of(state.layout, team):
            return budgets.Grade(given=asked, asked=asked, has=0, most=None)
        mine = (
            *(running.workload for running in state.running.values()),
            *(waiting.workload for waiting in state.waiting.values()),
            *(claim.waiting.workload for claim in state.claims.values()),
        )
        return budgets.grade(state.layout, budgets.standing(mine, team), team, asked, gpus)

    def explain(self, workload: WorkloadId, now: Seconds) -> Explanation:
        """Why it waits, as of the last event. Raises EngineError if it does not wait."""
        self._state.look_at(now)
        self._settle()
        return Survey(self._state, now).explain(workload)

    def survey(self, now: Seconds) -> Survey:
        """Explanations of many at one moment, cheaper than one by one; void after an event."""
        self._state.look_at(now)
        self._settle()
        return Survey(self._state, now)

    def starving(self, now: Seconds, skip: Container[WorkloadId] = ()) -> tuple[Starvation, ...]:
        """Who waits beyond the target of his priority class: longest first, then by id."""
        self._state.look_at(now)
        self._settle()
        return starvation.starving(self._state, now, skip)

    def pending(self, queue: QueueName | None = None) -> tuple[Workload, ...]:
        """Who waits, in the engine's own order, queue by queue; those with a claim first."""
        return tuple(
            self._workload_of(found)
            for number, one in enumerate(self._state.layout.queues)
            if queue in (None, one.name)
            for found in explain.order(self._state, number)
        )

    def running(self) -> tuple[tuple[Workload, Admission], ...]:
        """Who holds capacity, by id, those who were told to stop included."""
        return tuple(
            (running.workload, running.admission)
            for _, running in sorted(self._state.running.items())
        )

    def leaving(self) -> tuple[WorkloadId, ...]:
        """Who was told to stop and still holds capacity, by id."""
        return tuple(sorted(self._state.leaving))

    def usage(self, now: Seconds) -> tuple[Usage, ...]:
        """Decayed chip-hours per team as of `now`, by team name."""
        if self._state.ledger.rules is None:
            return ()
        return self._state.ledger.report(now)

    def sample_usage(self, now: Seconds) -> tuple[Usage, ...]:
        """Bring everybody's usage up to `now` and report it. Changes who comes first."""
        self._state.stale_scores()
        return self._state.ledger.sample(now)

    def next_sample(self) -> Seconds | None:
        """When the first team's use is due to be sampled; None without rules of usage."""
        return self._state.ledger.next_sample()

    def sample_due(self, now: Seconds) -> None:
        """Bring the use of those up to `now` whose sampling interval has passed."""
        self._state.ledger.sample_due(now)
        self._state.stale_scores()

    def consumed(self, team: TeamName) -> Mapping[ResourceName, float]:
        """What a team was charged with at its last sample, in base units by resource."""
        return self._state.ledger.consumed(team)

    def doubts(self) -> tuple[NodeDoubt, ...]:
        """What is odd about the nodes, by node."""
        self._settle()
        return find_doubts(self._state)

    def figures(self) -> ClusterFigures:
        """The cluster in numbers."""
        self._settle()
        return figures.figures(self._state)

    def node(self, name: NodeName) -> Node | None:
        """A node as it was last observed."""
        return self._state.nodes.known.get(name)

    def nodes(self) -> tuple[Node, ...]:
        """All nodes as they were last observed, by name."""
        return tuple(node for _, node in sorted(self._state.nodes.known.items()))

    def holds(self, workload: WorkloadId) -> bool:
        """Whether it holds capacity, be it that it was told to stop."""
        return workload in self._state.running

    def workload(self, workload: WorkloadId) -> Workload | None:
        """The workload of that id, running or waiting."""
        state = self._state
        if (running := state.running.get(workload)) is not None:
            return running.workload
        if workload in state.waiting or workload in state.claims:
            return self._workload_of(workload)
        return None

    # -- events ----------------------------------------------------------------------

    def _workload_of(self, workload: WorkloadId) -> Workload:
        claim = self._state.claims.get(workload)
        waiting = self._state.waiting[workload] if claim is None else claim.waiting
        return waiting.workload

    def _admit_new(self, workload: Workload) -> None:
        if self.workload(workload.id) is not None:
            raise EngineError(f"{workload.id} is already known")
        for name in (workload.queue, *workload.overflow):
            if name not in self._state.tree.queue_index:
                raise EngineError(f"{workload.id} names no queue of the policy: {name}")

    def _submit(self, workload: Workload) -> None:
        self._admit_new(workload)
        self._state.wait(workload)

    def _restore(self, event: Restored) -> None:
        state, workload, admission = self._state, event.workload, event.admission
        self._admit_new(workload)
        number = state.tree.queue_index.get(admission.queue)
        if number is None:
            raise EngineError(f"{workload.id} runs in a queue that the policy lacks")
        if len(admission.assignments) != len(workload.pod_sets):
            raise EngineError(f"{workload.id} was granted other pod sets than it has")
        for assignment in admission.assignments:
            for name, _ in assignment.nodes:
                state.nodes.need(name)
        charge = state.charge_of(number, workload, admission.assignments)
        state.settle_nodes()
        workload = aging.started(aging.rule_of(state, workload), workload, admission.at)
        running = running_of(workload, admission, charge)
        running.checkpoint = event.checkpoint
        state.start(running)
        state.ledger.hold(workload.team, charge.amounts, admission.at)
        state.stale_scores()
        if event.leaving:
            state.tell_to_stop(running, None)

    def _withdraw(self, workload: WorkloadId) -> None:
        state = self._state
        if (claim := state.claims.get(workload)) is not None:
            self._revoke(claim)
            state.release(state.realm[claim.queue])
        elif (waiting := state.waiting.get(workload)) is not None:
            state.leave(waiting)
            for number, _ in waiting.shapes:
                state.dirty.add(state.realm[number])
        else:
            raise EngineError(f"{workload} does not wait")
        state.flips.forget(workload)

    def _running(self, workload: WorkloadId) -> Running:
        running = self._state.running.get(workload)
        if running is None:
            raise EngineError(f"{workload} does not run")
        return running

    def _end(self, workload: WorkloadId, at: Seconds) -> Running:
        running = self._running(workload)
        self._settle()
        self._state.end(running, at)
        self._state.ledger.let_go(running.workload.team, running.charge.amounts, at)
        self._state.stale_scores()
        self._state.release(self._state.realm[running.charge.queue])
        return running

    def _evict(self, event: Evicted) -> None:
        workload = self._end(event.workload, event.at).workload
        claim = self._state.claims.get(workload.id)
        if claim is not None and not event.own_failure:
            return  # it was moved: its other place is kept for it
        if claim is not None:
            self._revoke(claim)
        workload = aging.requeued(aging.rule_of(self._state, workload), workload, event.at)
        self._state.wait(_later(workload, event.at) if event.own_failure else workload)
        self._state.waiting[workload.id].word = Word.PREEMPTED

    def _finish(self, event: Finished) -> None:
        self._end(event.workload, event.at)
        self._state.flips.forget(event.workload)
        self._mover.forget(event.workload)
        if (claim := self._state.claims.get(event.workload)) is not None:
            self._revoke(claim)

    def _change(self, event: Leaving | Unprotected | Checkpointed | Counted) -> None:
        """Something about somebody who goes on running."""
        if isinstance(event, Checkpointed):
            self._running(event.workload).checkpoint = event.at
        elif isinstance(event, Counted):
            self._count(event)
        else:
            self._loosen(event)

    def _count(self, event: Counted) -> None:
        """Some of its pods have finished, or started again."""
        state, running = self._state, self._running(event.workload)
        self._settle()
        if [a.name for a in event.alive] != [a.name for a in running.admission.assignments]:
            raise EngineError(f"{event.workload} was granted other pod sets than it has")
        number, team = running.charge.queue, running.workload.team
        state.ledger.let_go(team, running.charge.amounts, event.at)
        state.recharge(running, state.charge_of(number, running.workload, event.alive))
        state.ledger.hold(team, running.charge.amounts, event.at)
        state.stale_scores()
        state.release(state.realm[number])

    def _loosen(self, event: Leaving | Unprotected) -> None:
        """Somebody who runs will go by himself, or may from now on be made to go."""
        running = self._running(event.workload)
        self._settle()
        if isinstance(event, Unprotected):
            self._state.unprotect(running)
        elif not running.leaving:
            self._state.tell_to_stop(running, None)
        self._state.release(self._state.realm[running.charge.queue])

    def _look_at(self, event: NodeObserved | NodeRemoved | NodeLost) -> None:
        if isinstance(event, NodeObserved):
            self._state.nodes.observe(event.node)
        elif isinstance(event, NodeLost):
            self._state.lose(event.node, event.workload)
        else:
            self._state.nodes.remove(event.node)

    def _remember(self, event: UsageRestored | ConsumptionRestored) -> None:
        if isinstance(event, UsageRestored):
            self._state.ledger.restore(event.usage)
        else:
            self._state.ledger.restore_consumed(event.team, event.amounts, event.at)
        self._state.stale_scores()

    def _pause(self, queue: QueueName, *, paused: bool) -> None:
        number = self._state.tree.queue_index.get(queue)
        if number is None:
            raise EngineError(f"no queue is called {queue}")
        self._state.queues[number].paused = paused
        self._state.dirty.add(self._state.realm[number])

    def _revoke(self, claim: Claim) -> None:
        del self._state.claims[claim.waiting.workload.id]
        self._state.future.discharge(claim.charge)
        self._state.join()

    def _settle(self) -> None:
        """Let what was learnt of nodes count; claims that lost their nodes start over."""
        state = self._state
        if not state.nodes.changed:
            return
        state.settle_nodes()
        for claim in list(state.claims.values()):
            if not state.future.space.stands(claim.charge.places):
                self._revoke(claim)
                if claim.waiting.workload.id not in state.running:
                    state.wait(claim.waiting.workload)
        state.release_all()


def _later(workload: Workload, at: Seconds) -> Workload:
    """The same workload at the back of its queue."""
    return replace(workload, created=max(workload.created, at))
