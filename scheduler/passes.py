"""One scheduling pass: the heads of all queues that have news, decided together.

Like a cycle of Kueue: each queue sends its first active workload; all are nominated against
the same books; then, in order, they are admitted, preempt, or are skipped because an earlier
head took the room. Order of the heads:
1. borrowing level, lower first;
2. priority, higher first;
3. creation time, older first;
4. the workload id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.book import Charge
from scheduler.layout import Reclaim
from scheduler.model import Admission, Preemption, Seconds, TeamName, WorkloadId
from scheduler.nomination import Nomination, Outcome, nominate
from scheduler.pending import Shape, order_key
from scheduler.preemption import RULES, Target, Variant
from scheduler.quota import UNLIMITED
from scheduler.state import Claim, State, running_of


@dataclass(slots=True)
class Outcomes:
    """What a pass did. `moved` are the realms in which anything changed."""

    admissions: list[Admission] = field(default_factory=list)
    preemptions: list[Preemption] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    reserved: list[Charge] = field(default_factory=list)
    started: set[WorkloadId] = field(default_factory=set)


def run_pass(state: State, now: Seconds) -> Outcomes:
    """Decide on the head of every queue in the realms that have news."""
    outcomes = Outcomes()
    nominations = []
    for realm in sorted(state.dirty):
        for number in state.realm_queues[realm]:
            queue = state.queues[number]
            if queue.woken:
                queue.unpark(_worth(state, number))
                state.stale_heads(number)
            head = queue.head(state.ledger.score)
            if head is not None:
                waiting = state.waiting[head[0][2]]
                nominations.append(nominate(state, number, waiting, head[1]))
    nominations.sort(key=lambda n: (n.level, order_key(n.waiting.workload), n.queue))
    for nomination in nominations:
        if nomination.waiting.workload.id not in outcomes.started:
            nomination.waiting.evaluated = True
            _decide(state, nomination, outcomes, now)
    for charge in outcomes.reserved:
        state.future.discharge(charge)
    state.join()
    state.dirty &= outcomes.moved
    return outcomes


def _worth(state: State, number: int) -> Callable[[Shape], bool]:
    """Which parked shapes to try again: all, where Kueue is to be matched step by step."""
    if not state.layout.options.claims:
        return lambda _: True
    return lambda shape: state.outlook.worth_trying(number, shape)


def start_claims(state: State, now: Seconds) -> list[Admission]:
    """Start every preemptor whose targets are gone and whose places are free."""
    admissions = []
    for claim in list(state.claims.values()):
        if not claim.targets and state.present.fits(claim.charge):
            del state.claims[claim.waiting.workload.id]
            admission = _admission(state, claim.waiting.workload.id, claim, now)
            running = running_of(claim.waiting.workload, admission, claim.charge)
            state.start(running, claimed=True)
            _account(state, claim.waiting.workload.team, claim.charge, now)
            admissions.append(admission)
    state.join()
    return admissions


def _admission(
    state: State, workload: WorkloadId, grant: Claim | Nomination, now: Seconds
) -> Admission:
    borrowing = grant.borrowing if isinstance(grant, Claim) else grant.level > 0
    return Admission(
        workload=workload,
        queue=state.layout.queues[grant.queue].name,
        assignments=grant.assignments,
        at=now,
        borrowing=borrowing,
    )


def _account(state: State, team: TeamName, charge: Charge, now: Seconds) -> None:
    state.ledger.hold(team, charge.amounts, now)
    state.ledger.enter(team, charge.amounts, now)
    state.stale_scores()


def _decide(state: State, nomination: Nomination, outcomes: Outcomes, now: Seconds) -> None:
    if nomination.outcome in (Outcome.FIT, Outcome.PREEMPT) and _stale(state, nomination):
        before = nomination.outcome
        nomination = nominate(state, nomination.queue, nomination.waiting, nomination.shape)
        if before is Outcome.FIT and nomination.outcome is not Outcome.FIT:
            return  # skipped: an earlier head took the room; its next turn comes in the next pass
    match nomination.outcome:
        case Outcome.FIT:
            _admit(state, nomination, outcomes, now)
        case Outcome.PREEMPT:
            _preempt(state, nomination, outcomes, now)
        case Outcome.NO_TARGETS:
            _reserve(state, nomination, outcomes)
            _park(state, nomination, outcomes)
        case Outcome.LATER | Outcome.NO_FIT:
            _park(state, nomination, outcomes)


def _stale(state: State, nomination: Nomination) -> bool:
    """Whether the books have changed since the nomination in a way that matters to it."""
    if nomination.version == state.future.version:
        return False
    charge = nomination.charge
    if nomination.outcome is Outcome.FIT and charge is not None:
        return not all(book.fits(charge) for book in state.books)
    return True


def _admit(state: State, nomination: Nomination, outcomes: Outcomes, now: Seconds) -> None:
    workload = nomination.waiting.workload
    assert nomination.charge is not None  # noqa: S101 - a fit always has one
    admission = _admission(state, workload.id, nomination, now)
    state.leave(nomination.waiting)
    state.start(running_of(workload, admission, nomination.charge))
    _account(state, workload.team, nomination.charge, now)
    outcomes.admissions.append(admission)
    outcomes.started.add(workload.id)
    outcomes.moved.add(state.realm[nomination.queue])


def _preempt(state: State, nomination: Nomination, outcomes: Outcomes, now: Seconds) -> None:
    workload = nomination.waiting.workload
    assert nomination.charge is not None  # noqa: S101 - a preemptor always has one
    for target in nomination.targets:
        state.tell_to_stop(target.running, workload.id)
        outcomes.preemptions.append(_preemption(state, nomination, target, now))
    state.future.charge(nomination.charge)
    if state.layout.options.claims:
        state.leave(nomination.waiting)
        state.claims[workload.id] = Claim(
            waiting=nomination.waiting,
            charge=nomination.charge,
            assignments=nomination.assignments,
            queue=nomination.queue,
            targets={target.running.workload.id for target in nomination.targets},
            borrowing=nomination.level > 0,
        )
    else:
        outcomes.reserved.append(nomination.charge)
    outcomes.started.add(workload.id)
    outcomes.moved.add(state.realm[nomination.queue])


def _preemption(state: State, nomination: Nomination, target: Target, now: Seconds) -> Preemption:
    running = target.running
    node = nomination.queue if target.variant is Variant.OWN_QUEUE else target.ancestor
    return Preemption(
        target=running.workload.id,
        preemptor=nomination.waiting.workload.id,
        rule=RULES[target.variant],
        target_queue=running.admission.queue,
        preemptor_queue=state.layout.queues[nomination.queue].name,
        level=state.tree.names[node],
        gpus=running.workload.gpus,
        ran=now - running.admission.at,
        at=now,
    )


def _reserve(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """Keep the quota of a head without targets from later heads of this pass.

    Not where the queue could reclaim it from anyone anyway.
    """
    if state.layout.queues[nomination.queue].reclaim is Reclaim.ANY or nomination.charge is None:
        return
    tree, usage = state.tree, state.future.usage
    amounts = []
    for column, amount in nomination.charge.amounts:
        cell = nomination.queue * tree.width + column
        kept = amount
        if nomination.level == 0:
            kept = min(amount, tree.nominal[cell] - usage[cell])
        elif tree.borrowing[cell] != UNLIMITED:
            kept = min(amount, tree.nominal[cell] + tree.borrowing[cell] - usage[cell])
        amounts.append((column, max(0, kept)))
    state.fork()
    charge = Charge(nomination.queue, tuple(amounts), ())
    state.future.charge(charge)
    outcomes.reserved.append(charge)


def _park(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """Until capacity is released, neither it nor its like is tried again."""
    queue = state.queues[nomination.queue]
    if queue.strict and not queue.per_flavor:
        return
    nomination.shape.parked = True
    state.stale_heads(nomination.queue)
    outcomes.moved.add(state.realm[nomination.queue])
