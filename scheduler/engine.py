"""The only door: events in, decisions out.

`apply` takes one event, `cycle` decides; nothing else changes the engine. Everything else
reads. The same events in the same order give the same decisions.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from dataclasses import replace

from scheduler import (
    aging,
    backfill,
    budgets,
    checks,
    explain,
    figures,
    overrides,
    passes,
    repair,
    rest,
    starvation,
)
from scheduler.defragmentation import Defragmenter
from scheduler.doubts import NodeDoubt, find_doubts
from scheduler.endings import quota_ends
from scheduler.events import Event
from scheduler.explain import Survey
from scheduler.figures import ClusterFigures
from scheduler.forecast import Considered, Forecast, Forecaster
from scheduler.fork import fork_state
from scheduler.history import Expectation
from scheduler.inforce import Overrides
from scheduler.intake import Intake
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
    Reservation,
    ResourceName,
    Seconds,
    Starvation,
    TeamName,
    Usage,
    Workload,
    WorkloadId,
)
from scheduler.offers import Offer, Variant, glimpse, probe
from scheduler.ripeness import Watch
from scheduler.shares import Share
from scheduler.standing import EngineError, Waiting
from scheduler.state import State
from scheduler.timeline import Departure, departures

PASSES_AT_MOST = 1_000_000
"""A brake: a cycle that does not come to rest is a bug and must not hang the bot."""


class Engine:
    """See the module. Built from a compiled policy; it starts with no nodes and no work."""

    def __init__(self, layout: Layout) -> None:
        self._set_up(State(layout), Defragmenter())

    def _set_up(self, state: State, mover: Defragmenter) -> None:
        self._state = state
        self._mover = mover
        self._intake = Intake(state, mover)
        self._revision = 0
        self._forecaster = Forecaster(self)

    def fork(self, *, learns: bool = True, brief: bool = False) -> Engine:
        """An independent engine that stands as this one does; see `scheduler.fork`.

        One that does not learn keeps expecting what it expects now. A `brief` one is cheaper,
        and good only as long as nothing happens to this one.
        """
        other: Engine = Engine.__new__(Engine)
        other._set_up(fork_state(self._state, brief=brief), self._mover.copy())
        other._state.history.closed |= not learns
        return other

    @property
    def revision(self) -> int:
        """Another number whenever something has happened or was decided."""
        return self._revision

    @property
    def layout(self) -> Layout:
        """The policy it works by."""
        return self._state.layout

    def apply(self, event: Event) -> None:
        """Learn what happened. Raises EngineError, changing nothing, on a contradiction."""
        self._revision += 1
        self._intake.take(event)

    def cycle(self, now: Seconds) -> Decisions:
        """Decide until nothing more can be without somebody leaving first."""
        state = self._state
        state.look_at(now)
        state.settle()
        self._ring(now)
        if state.ledger.rules is not None and state.ledger.rules.exact and state.ledger.due(now):
            self.sample_usage(now)
        decided = self._repair(now)
        self._revision += bool(state.dirty) or bool(decided) or state.reservations.news
        if not state.dirty and not state.claims and not state.reservations.news:
            return decided
        admissions = passes.start_claims(state, now)
        self._revision += bool(admissions)
        preemptions: list[Preemption] = []
        flips: list[Flip] = []
        rounds = 0
        for _ in range(PASSES_AT_MOST):
            if not state.dirty:
                if state.layout.options.defragment:
                    preemptions += self._mover.make_room(state, now)
                backfill.arrange(state, now)
            if not state.dirty:
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
        self._state.settle()
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

    @property
    def toil(self) -> int:
        """What decisions have cost so far, with those of the engines it is a fork of."""
        return self._state.toil

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
            if waiting is None:
                continue
            rest.wake(state, waiting, now)
            backfill.ring(state, one, now)
            if aging.rule_of(state, waiting.workload) is not None:
                possible = checks.check(state, waiting.workload) is None
                aging.grow(state, one, now, possible=possible)

    def unrest(self) -> Hashable | None:
        """What tells one moment before a pass from another; None while nobody is to be tried.

        Two equal values with nothing started or stopped in between mean that further passes
        change nothing.
        """
        self._state.settle()
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
        self._state.settle()
        return checks.check(self._state, workload)

    def barred(self, workload: Workload, *, for_good: bool = False) -> bool:
        """Whether it cannot start before quota that was changed by hand is another again.

        With `for_good`, only if none of that ends by itself.
        """
        self._state.settle()
        if for_good and quota_ends(self._state.overrides):
            return False
        return checks.is_barred(self._state, workload)

    def grade(self, team: TeamName, asked: Priority, gpus: int) -> budgets.Grade | Refusal:
        """The priority class that a team's request may have, by the team's budgets."""
        if not budgets.budgets_of(self._state.layout, team):
            return budgets.Grade(given=asked, asked=asked, has=0, most=None)
        return budgets.grade(self._state.layout, self._standing(team), team, asked, gpus)

    def budgets(self, team: TeamName) -> tuple[budgets.Budget, ...]:
        """The budgets of a team with what it has of each, the highest class first."""
        found = budgets.budgets_of(self._state.layout, team)
        has = self._standing(team) if found else {}
        return tuple(
            budgets.Budget(priority=one, has=has[one], most=found[one])
            for one in reversed(Priority)
            if one in found
        )

    def _standing(self, team: TeamName) -> dict[Priority, int]:
        state = self._state
        mine = (
            *(running.workload for running in state.running.values()),
            *(waiting.workload for waiting in (*state.waiting.values(), *state.promised())),
        )
        return budgets.standing(mine, team)

    def explain(self, workload: WorkloadId, now: Seconds) -> Explanation:
        """Why it waits, as of the last event. Raises EngineError if it does not wait."""
        self._state.look_at(now)
        self._state.settle()
        return Survey(self._state, now).explain(workload)

    def survey(self, now: Seconds) -> Survey:
        """Explanations of many at one moment, cheaper than one by one; void after an event."""
        self._state.look_at(now)
        self._state.settle()
        return Survey(self._state, now)

    def starving(self, now: Seconds, skip: Container[WorkloadId] = ()) -> tuple[Starvation, ...]:
        """Who waits beyond the target of his priority class: longest first, then by id."""
        self._state.look_at(now)
        self._state.settle()
        return starvation.starving(self._state, now, skip)

    def pending(self, queue: QueueName | None = None) -> tuple[Workload, ...]:
        """Who waits, in the engine's own order, queue by queue; those with a claim first."""
        state = self._state
        return tuple(
            (state.waiting[found] if claim is None else claim.waiting).workload
            for number, one in enumerate(state.layout.queues)
            if queue in (None, one.name)
            for found in explain.order(state, number)
            for claim in (state.claims.get(found),)
        )

    def running(self) -> tuple[tuple[Workload, Admission], ...]:
        """Who holds capacity, by id, those who were told to stop included, and what of it."""
        return tuple(
            (running.workload, running.held) for _, running in sorted(self._state.running.items())
        )

    def reservations(self) -> tuple[Reservation, ...]:
        """The room that is kept for those who have waited long: earliest first, then by id."""
        return self._state.reservations.told()

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

    def expected(self, workload: Workload) -> Expectation:
        """How long it would run, by what was declared or by what such work took so far."""
        return self._state.history.expected(workload)

    def shares(self) -> tuple[tuple[QueueName, Share], ...]:
        """How much each queue borrows, as its weighted dominant share, in the policy's order."""
        state = self._state
        usage = state.present.usage
        return tuple(
            (queue.name, state.shares.of(usage, number))
            for number, queue in enumerate(state.layout.queues)
        )

    def in_force(self) -> Overrides:
        """What people have changed of the policy. To be read, not to be changed."""
        return self._state.overrides

    def would_start(self, preemptor: WorkloadId, targets: Sequence[WorkloadId]) -> bool:
        """Whether a workload that waits would start if some that run were gone.

        Raises EngineError if it does not wait or one of them does not run.
        """
        self._state.settle()
        return overrides.prospect(self._state, preemptor, targets) is not None

    def over(self, queue: QueueName) -> int:
        """By how much a queue uses more than its quota and what it may borrow."""
        return overrides.over(self._state, self._state.tree.queue_index[queue])

    def departures(
        self, now: Seconds, graces: Mapping[QueueName, Seconds]
    ) -> tuple[Departure, ...]:
        """When everybody who runs is expected to be gone, by id; `graces` is by queue."""
        return departures(self._state, now, graces)

    def glimpse(self, probe: Waiting, without: Collection[WorkloadId] = ()) -> bool:
        """Whether somebody might start at once, were it next; see `scheduler.offers`."""
        return glimpse(self._state, probe, without)

    def watch(self) -> Watch:
        """What tells whether a cycle could start anybody; see `scheduler.ripeness`."""
        self._state.settle()
        return Watch(self._state)

    def probe(self, workload: Workload) -> Waiting:
        """What `glimpse` is asked about: as if it waited, without standing in any line."""
        return probe(self._state, workload)

    def claimed(self, workload: WorkloadId) -> bool:
        """Whether capacity is kept for it and it only waits for others to leave."""
        return workload in self._state.claims

    def forecast(self, workload: WorkloadId, now: Seconds) -> Forecast:
        """When somebody who waits will start. Raises EngineError if it does not wait."""
        return self._forecaster.forecast(workload, now)

    def preview(self, workload: Workload, now: Seconds) -> Forecast:
        """When it would start if it were submitted now."""
        return self._forecaster.consider(workload, now).forecast

    def counter_offers(
        self, workload: Workload, now: Seconds, variants: Sequence[Variant]
    ) -> tuple[Offer, ...]:
        """Changes with which it would start sooner; see `scheduler.offers`."""
        return self._forecaster.consider(workload, now, variants).offers

    def consider(self, workload: Workload, now: Seconds, variants: Sequence[Variant]) -> Considered:
        """Both at once, for hardly more than the price of one."""
        return self._forecaster.consider(workload, now, variants)

    def doubts(self) -> tuple[NodeDoubt, ...]:
        """What is odd about the nodes, by node."""
        self._state.settle()
        return find_doubts(self._state)

    def figures(self) -> ClusterFigures:
        """The cluster in numbers."""
        self._state.settle()
        return figures.figures(self._state)

    def node(self, name: NodeName) -> Node | None:
        """A node as it was last observed."""
        return self._state.nodes.known.get(name)

    def nodes(self) -> tuple[Node, ...]:
        """All nodes as they were last observed, by name."""
        return tuple(node for _, node in sorted(self._state.nodes.known.items()))

    def checkpoint(self, workload: WorkloadId) -> Seconds | None:
        """When somebody who runs last saved his progress; None if that is not known."""
        running = self._state.running.get(workload)
        return None if running is None else running.checkpoint

    def holds(self, workload: WorkloadId) -> bool:
        """Whether it holds capacity, be it that it was told to stop."""
        return workload in self._state.running

    def workload(self, workload: WorkloadId) -> Workload | None:
        """The workload of that id, running or waiting."""
        return self._state.find(workload)
