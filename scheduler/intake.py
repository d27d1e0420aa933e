"""What happened, one event after the other, as it counts for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from scheduler import aging, lapse, overrides
from scheduler.amendment import amend_running, amend_waiting
from scheduler.byhand import Hand, Held
from scheduler.defragmentation import Defragmenter
from scheduler.events import (
    Amended,
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
    RunTimesRestored,
    Submitted,
    Unprotected,
    UsageRestored,
    Withdrawn,
)
from scheduler.history import Sample
from scheduler.model import Seconds, Workload, WorkloadId
from scheduler.standing import EngineError, Running, Word, running_of
from scheduler.state import State


class Intake:
    """See the module. An event that contradicts what is known changes nothing."""

    def __init__(self, state: State, mover: Defragmenter) -> None:
        self._state = state
        self._mover = mover

    def take(self, event: Event) -> None:
        """Learn what happened. Raises EngineError on a contradiction."""
        if isinstance(event, overrides.Override):
            overrides.take(self._state, event)
            return
        match event:
            case Submitted():
                self._submit(event.workload)
            case Restored():
                self._restore(event)
            case Withdrawn():
                self._withdraw(event.workload)
            case Finished() | Evicted():
                self._go(event)
            case Leaving() | Unprotected() | Checkpointed() | Counted() | Amended():
                self._change(event)
            case NodeObserved() | NodeRemoved() | NodeLost():
                self._look_at(event)
            case QueuePaused() | QueueResumed():
                self._pause(event)
            case UsageRestored() | ConsumptionRestored() | RunTimesRestored():
                self._remember(event)
            case _:
                assert_never(event)

    def _admit_new(self, workload: Workload) -> None:
        if self._state.find(workload.id) is not None:
            raise EngineError(f"{workload.id} is already known")
        for name in (workload.queue, *workload.overflow):
            if name not in self._state.tree.queue_index:
                raise EngineError(f"{workload.id} names no queue of the policy: {name}")

    def _submit(self, workload: Workload) -> None:
        self._admit_new(workload)
        self._state.wait(lapse.requeued(workload))

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
            self._state.revoke(claim)
            state.release(state.realm[claim.queue])
        elif (waiting := state.waiting.get(workload)) is not None:
            state.leave(waiting)
            for number, _ in waiting.shapes:
                state.dirty.add(state.realm[number])
        else:
            raise EngineError(f"{workload} does not wait")
        state.flips.forget(workload)
        state.overrides.forget(workload)
        state.reservations.forget(workload)

    def _running(self, workload: WorkloadId) -> Running:
        running = self._state.running.get(workload)
        if running is None:
            raise EngineError(f"{workload} does not run")
        return running

    def _end(self, workload: WorkloadId, at: Seconds) -> Running:
        running = self._running(workload)
        self._state.settle()
        self._state.end(running, at)
        for claim in self._state.claims.values() if running.stuck else ():
            claim.eager = True
        self._state.ledger.let_go(running.workload.team, running.charge.amounts, at)
        self._state.stale_scores()
        self._state.release(self._state.realm[running.charge.queue])
        return running

    def _go(self, event: Finished | Evicted) -> None:
        if isinstance(event, Evicted):
            self._evict(event)
        else:
            self._finish(event)

    def _evict(self, event: Evicted) -> None:
        workload = self._end(event.workload, event.at).workload
        claim = self._state.claims.get(workload.id)
        if claim is not None and not event.own_failure:
            claim.waiting.workload = lapse.requeued(claim.waiting.workload)
            return  # it was moved: its other place is kept for it
        if claim is not None:
            self._state.revoke(claim)
        self._state.reservations.stopped(event.workload, own_failure=event.own_failure)
        workload = replace(lapse.requeued(workload), rest=event.rest)
        workload = aging.requeued(aging.rule_of(self._state, workload), workload, event.at)
        self._state.wait(_later(workload, event.at) if event.own_failure else workload)
        self._state.waiting[workload.id].word = Word.PREEMPTED

    def _finish(self, event: Finished) -> None:
        ended = self._end(event.workload, event.at)
        work, ran = ended.workload, event.at - ended.admission.at
        self._state.history.learn(Sample(team=work.team, gpus=work.gpus, ran=ran))
        self._state.flips.forget(event.workload)
        self._state.overrides.forget(event.workload)
        self._state.reservations.forget(event.workload)
        self._mover.forget(event.workload)
        if (claim := self._state.claims.get(event.workload)) is not None:
            self._state.revoke(claim)

    def _change(self, event: Leaving | Unprotected | Checkpointed | Counted | Amended) -> None:
        """Something about somebody who goes on running, or waiting."""
        if isinstance(event, Amended):
            self._amend(event)
        elif isinstance(event, Checkpointed):
            self._running(event.workload).checkpoint = event.at
        elif isinstance(event, Counted):
            self._count(event)
        else:
            self._loosen(event)

    def _count(self, event: Counted) -> None:
        """Some of its pods have finished, or started again."""
        state, running = self._state, self._running(event.workload)
        self._state.settle()
        if [a.name for a in event.alive] != [a.name for a in running.admission.assignments]:
            raise EngineError(f"{event.workload} was granted other pod sets than it has")
        number, team = running.charge.queue, running.workload.team
        state.ledger.let_go(team, running.charge.amounts, event.at)
        state.recharge(running, event.alive)
        state.ledger.hold(team, running.charge.amounts, event.at)
        state.stale_scores()
        state.release(state.realm[number])

    def _loosen(self, event: Leaving | Unprotected) -> None:
        """Somebody who runs will go by himself, or may from now on be made to go."""
        running = self._running(event.workload)
        self._state.settle()
        if isinstance(event, Unprotected):
            self._state.unprotect(running)
        elif not running.leaving:
            self._state.tell_to_stop(running, None)
        self._state.release(self._state.realm[running.charge.queue])

    def _amend(self, event: Amended) -> None:
        """Something else is wanted by somebody who waits, or holds capacity."""
        running = self._state.running.get(event.workload.id)
        workload = self._state.overrides.lift(event.workload)
        if running is None:
            amend_waiting(self._state, workload)
        else:
            amend_running(self._state, running, workload, event.at)

    def _look_at(self, event: NodeObserved | NodeRemoved | NodeLost) -> None:
        if isinstance(event, NodeObserved):
            self._state.nodes.observe(self._state.overrides.seen(event.node))
        elif isinstance(event, NodeLost):
            self._state.lose(event.node, event.workload)
        else:
            self._state.nodes.remove(event.node)
            self._state.overrides.gone(event.node)

    def _remember(self, event: UsageRestored | ConsumptionRestored | RunTimesRestored) -> None:
        if isinstance(event, RunTimesRestored):
            self._state.history.restore(event.samples)
        elif isinstance(event, UsageRestored):
            self._state.ledger.restore(event.usage)
        else:
            self._state.ledger.restore_consumed(event.team, event.amounts, event.at)
        self._state.stale_scores()

    def _pause(self, event: QueuePaused | QueueResumed) -> None:
        number = self._state.tree.queue_index.get(event.queue)
        if number is None:
            raise EngineError(f"no queue is called {event.queue}")
        self._state.queues[number].paused = isinstance(event, QueuePaused)
        in_force, held = self._state.overrides, Held(Hand.PAUSE, event.queue)
        in_force.pauses.pop(event.queue, None)
        in_force.orders.pop(held, None)
        if isinstance(event, QueuePaused):
            in_force.pauses[event.queue] = event.order.figures
            in_force.orders[held] = event.order
        self._state.dirty.add(self._state.realm[number])


def _later(workload: Workload, at: Seconds) -> Workload:
    """The same workload at the back of its queue."""
    return replace(workload, created=max(workload.created, at))
