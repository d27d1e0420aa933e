"""One scheduling pass: the heads of all queues that have news, decided together.

Like a cycle of Kueue: each queue sends its first active workload; all are nominated against
the same books; then, in order, they are admitted, preempt, or are skipped because an earlier
head took the room. Order of the heads:
1. borrowing level, lower first;
2. priority, higher first;
3. creation time, older first;
4. the workload id.

Where fair sharing is on, `scheduler.contest` orders them instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scheduler.book import Charge
from scheduler.candidates import RULES, Target, Variant
from scheduler.contest import hold_contest
from scheduler.glance import glance
from scheduler.layout import Reclaim
from scheduler.model import Admission, Flip, Preemption, Seconds, TeamName, WaitReason, WorkloadId
from scheduler.nomination import Nomination, Outcome, nominate
from scheduler.pending import order_key
from scheduler.quota import UNLIMITED
from scheduler.recall import remember_recall
from scheduler.standing import Claim, Scan, Word, running_of
from scheduler.state import State


@dataclass(slots=True)
class Outcomes:
    """What a pass did. `moved` are the realms in which anything changed."""

    admissions: list[Admission] = field(default_factory=list)
    preemptions: list[Preemption] = field(default_factory=list)
    flips: list[Flip] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    parked: bool = False
    reserved: list[Charge] = field(default_factory=list)
    started: set[WorkloadId] = field(default_factory=set)

    @property
    def progress(self) -> bool:
        """Whether the next pass finds another situation; else heads only go on searching."""
        return bool(self.started) or self.parked


def run_pass(state: State, now: Seconds) -> Outcomes:
    """Decide on the head of every queue in the realms that have news."""
    outcomes = Outcomes()
    nominations = []
    state.turn += 1
    for realm in sorted(state.dirty):
        for number in state.realm_queues[realm]:
            queue = state.queues[number]
            state.wake(number)
            head = queue.head(state.ledger.score)
            if head is not None:
                waiting = state.waiting[head[0][2]]
                shape = head[1]
                found = glance(state, number, waiting, shape)
                nominations.append(found or nominate(state, number, waiting, shape))
    for nomination in _in_order(state, nominations):
        if nomination.waiting.workload.id not in outcomes.started:
            nomination.waiting.evaluated = True
            _decide(state, nomination, outcomes, now)
    for charge in outcomes.reserved:
        state.future.discharge(charge)
    state.join()
    state.dirty &= outcomes.moved
    return outcomes


def _in_order(state: State, nominations: list[Nomination]) -> Iterable[Nomination]:
    if state.layout.fair_sharing is not None:
        return hold_contest(state, nominations)
    return sorted(nominations, key=lambda n: (n.level, order_key(n.waiting.workload), n.queue))


def start_claims(state: State, now: Seconds) -> list[Admission]:
    """Start every preemptor whose targets are gone and whose places are free."""
    admissions = []
    for claim in list(state.claims.values()):
        if state.queues[claim.queue].paused:
            continue
        if claim.eager:
            _hasten(state, claim)
        if not claim.targets and state.present.fits(claim.charge):
            del state.claims[claim.waiting.workload.id]
            admission = _admission(state, claim.waiting.workload.id, claim, now)
            running = running_of(claim.waiting.workload, admission, claim.charge)
            state.start(running, claimed=True)
            _account(state, claim.waiting.workload.team, claim.charge, now)
            admissions.append(admission)
    state.join()
    return admissions


def _hasten(state: State, claim: Claim) -> None:
    """Promise a preemptor room that is free, if there is enough, in place of that of its targets.

    Those who were stopped for it before, and were slow to go, would be back there first.
    """
    claim.eager = False
    waiting = claim.waiting
    if not claim.targets or waiting.workload.id in state.running:
        return
    state.future.discharge(claim.charge)
    recalled = state.recall()
    shape = next(shape for number, shape in waiting.shapes if number == claim.queue)
    found = nominate(state, claim.queue, waiting, shape)
    state.dismiss(recalled)
    if found.outcome is Outcome.FIT and found.charge is not None:
        claim.charge, claim.assignments = found.charge, found.assignments
        claim.borrowing = found.level > 0
        claim.targets.clear()
    state.future.charge(claim.charge)


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
    rules = state.ledger.rules
    if rules is not None and (rules.exact or state.queues[charge.queue].by_usage):
        state.ledger.enter(team, charge.amounts, now)
    state.stale_scores()


def _decide(state: State, nomination: Nomination, outcomes: Outcomes, now: Seconds) -> None:
    looked, waits = nomination, False
    if nomination.outcome in (Outcome.FIT, Outcome.PREEMPT):
        looked, waits = _looked_at_again(state, nomination, outcomes)
    if state.layout.options.claims and _lost(nomination, looked):
        _skip(state, looked, outcomes)
        return
    nomination = looked
    match nomination.outcome:
        case Outcome.NO_FIT | Outcome.LATER | Outcome.HELD:
            _requeue(state, nomination, outcomes, _WORDS[nomination.reason])
        case Outcome.NO_TARGETS:
            _reserve(state, nomination, outcomes)
            _requeue(state, nomination, outcomes, _WORDS[nomination.reason])
        case Outcome.FIT | Outcome.PREEMPT:
            if _overlaps(nomination) or not _still_fits(state, nomination, outcomes):
                _skip(state, nomination, outcomes)
            elif waits:
                _wait(state, nomination, outcomes)
            elif nomination.outcome is Outcome.FIT:
                _admit(state, nomination, outcomes, now)
            elif (at := state.brake.wait(len(nomination.targets), now)) is not None:
                _hold_back(state, nomination, outcomes, at)
            else:
                _preempt(state, nomination, outcomes, now)


@contextmanager
def _set_aside(state: State, nomination: Nomination, outcomes: Outcomes) -> Iterator[None]:
    """Look at a preemptor without the quota that was reserved for heads without targets.

    Only with claims. Counted in, it would have more work stopped than the preemptor needs, for
    a head that has no right to stop it; as Kueue does it, a strict head without targets
    would keep the preemptor waiting for ever.
    """
    preempts = nomination.outcome is Outcome.PREEMPT
    reserved = outcomes.reserved if state.layout.options.claims and preempts else []
    for charge in reserved:
        state.future.discharge(charge)
    yield
    for charge in reserved:
        state.future.charge(charge)


def _looked_at_again(
    state: State, nomination: Nomination, outcomes: Outcomes
) -> tuple[Nomination, bool]:
    """What is left of a nomination after earlier heads, and whether it only waits for targets.

    Kueue goes on with targets that have become needless; with claims we look again, so that
    nobody is stopped in vain.
    """
    if state.layout.options.claims:
        if not _stale(state, nomination):
            return nomination, False
        number, waiting, shape = nomination.queue, nomination.waiting, nomination.shape
        with _set_aside(state, nomination, outcomes):
            return nominate(state, number, waiting, shape), False
    if _overlaps(nomination):
        found = _again(state, nomination)
        return found, found.outcome is Outcome.FIT
    return _replaced(state, nomination), False


def _lost(before: Nomination, after: Nomination) -> bool:
    """Whether an earlier head took the room of one that simply fitted."""
    return before.outcome is Outcome.FIT and after.outcome is not Outcome.FIT


_WORDS = {
    WaitReason.EXCEEDS_LIMIT: Word.EXCEEDS,
    WaitReason.NO_FLAVOR: Word.FLAVOR,
    WaitReason.MISCONFIGURED: Word.OTHER,
    WaitReason.TOPOLOGY: Word.TOPOLOGY,
    WaitReason.QUOTA: Word.QUOTA,
    WaitReason.RESERVED: Word.RESERVED,
}


def _overlaps(nomination: Nomination) -> bool:
    """Whether some of its targets have been claimed by an earlier head."""
    return any(target.running.leaving for target in nomination.targets)


def _stale(state: State, nomination: Nomination) -> bool:
    """Whether the books have changed since the nomination in a way that matters to it."""
    charge = nomination.charge
    if nomination.version == state.future.version:
        return False
    if nomination.outcome is Outcome.FIT and charge is not None:
        shadows = state.reservations.shadows(charge.queue, nomination.waiting, nomination.level)
        return not all(book.fits(charge) for book in (*state.books, *shadows))
    return True


def _again(state: State, nomination: Nomination) -> Nomination:
    """The same head looked at once more, over the flavors nominated first."""
    number, waiting, shape = nomination.queue, nomination.waiting, nomination.shape
    return nominate(state, number, waiting, shape, again=nomination)


def _replaced(state: State, nomination: Nomination) -> Nomination:
    """Where only the places are taken by now, look again with the same flavors.

    Kueue looks while the targets of earlier heads still count.
    """
    charge, book = nomination.charge, state.future
    if charge is None or nomination.version == book.version or not charge.places:
        return nomination
    quota, places = _room_for(state, nomination, charge)
    if places or not quota:
        return nomination
    recalled = state.recall()
    found = _again(state, nomination)
    state.dismiss(recalled)
    return found


def _room_for(state: State, nomination: Nomination, charge: Charge) -> tuple[bool, bool]:
    """Whether quota and places are free, with the targets of this and earlier heads gone."""
    book = state.future
    mark = book.checkpoint()
    for target in nomination.targets:
        if not target.running.leaving:
            book.discharge(target.running.charge)
    quota = state.tree.fits(book.usage, charge.queue, charge.amounts)
    places = book.space.holds(charge.places)
    book.rollback(mark)
    return quota, places


def _still_fits(state: State, nomination: Nomination, outcomes: Outcomes) -> bool:
    """Whether nothing that was decided since the nomination is in its way."""
    if nomination.charge is None or nomination.version == state.future.version:
        return True
    with _set_aside(state, nomination, outcomes):
        fits = _room_for(state, nomination, nomination.charge) == (True, True)
    later = nomination.outcome is Outcome.PREEMPT or not state.layout.options.claims
    return fits and (later or state.present.fits(nomination.charge))


def _skip(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """An earlier head took the room; its next turn comes in the next pass."""
    _note(state, nomination, Word.SKIPPED)
    outcomes.moved.add(state.realm[nomination.queue])


def _hold_back(state: State, nomination: Nomination, outcomes: Outcomes, until: Seconds) -> None:
    """Enough were stopped for now: it is looked at again when others may be."""
    _note(state, nomination, Word.PREEMPTING)
    state.alarms.for_realm(state.realm[nomination.queue], until)
    _park(state, nomination, outcomes)


def _wait(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """It fits once the targets of earlier heads are gone; until then it holds its room."""
    assert nomination.charge is not None  # noqa: S101 - a fit always has one
    state.fork()
    state.future.charge(nomination.charge)
    outcomes.reserved.append(nomination.charge)
    nomination.waiting.scan = None
    nomination.waiting.word = Word.PREEMPTING
    state.queues[nomination.queue].stick(nomination.waiting.workload.id)
    outcomes.moved.add(state.realm[nomination.queue])


def _note(state: State, nomination: Nomination, word: Word) -> None:
    """Remember what came of it, and where the search for flavors goes on."""
    nomination.waiting.word = word
    nomination.waiting.scan = Scan(
        start=nomination.tried,
        queue=nomination.queue,
        turn=state.turn,
        releases=state.releases[nomination.queue],
    )


def _requeue(state: State, nomination: Nomination, outcomes: Outcomes, word: Word) -> None:
    """Back into the queue: tried again if flavors are left, else parked with its like."""
    _note(state, nomination, word)
    remember_recall(state, nomination)
    if nomination.unfinished:
        outcomes.moved.add(state.realm[nomination.queue])
    elif nomination.outcome is Outcome.HELD:
        _keep_out(state, nomination, outcomes)
    else:
        _park(state, nomination, outcomes)


def _keep_out(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """It would run into a reservation: those of its like that run shorter are tried yet."""
    queue = state.queues[nomination.queue]
    if queue.strict and not queue.per_flavor:
        return
    longest = state.reservations.longest(nomination.queue, nomination.waiting)
    if queue.hold_back(nomination.shape, longest):
        _park(state, nomination, outcomes)
    outcomes.parked = True
    outcomes.moved.add(state.realm[nomination.queue])


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
    state.brake.count(len(nomination.targets), now)
    for target in nomination.targets:
        state.tell_to_stop(target.running, workload.id)
        outcomes.preemptions.append(_preemption(state, nomination, target, now))
        flip = state.flips.count(target.running.workload.id, workload.id, now)
        outcomes.flips += [] if flip is None else [flip]
    if state.layout.options.claims:
        state.leave(nomination.waiting)
        state.promise(
            Claim(
                waiting=nomination.waiting,
                charge=nomination.charge,
                assignments=nomination.assignments,
                queue=nomination.queue,
                targets={target.running.workload.id for target in nomination.targets},
                borrowing=nomination.level > 0,
            )
        )
    else:
        state.future.charge(nomination.charge)
        outcomes.reserved.append(nomination.charge)
        nomination.waiting.scan = None
        nomination.waiting.word = Word.PREEMPTING
        state.queues[nomination.queue].stick(workload.id)
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
        gpus=running.gpus,
        ran=now - running.admission.at,
        at=now,
    )


def _reserve(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """Keep the quota of a head without targets from later heads of this pass.

    Where Kueue is matched, also the places that it would get on empty nodes. Not where the
    queue could reclaim it from anyone anyway.
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
    places = () if state.layout.options.claims else nomination.charge.places
    charge = Charge(nomination.queue, tuple(amounts), places)
    state.future.charge(charge)
    outcomes.reserved.append(charge)


def _park(state: State, nomination: Nomination, outcomes: Outcomes) -> None:
    """Until capacity is released, neither it nor its like is tried again."""
    queue = state.queues[nomination.queue]
    if queue.strict and not queue.per_flavor:
        return
    nomination.shape.parked = outcomes.parked = True
    state.stale_heads(nomination.queue)
    outcomes.moved.add(state.realm[nomination.queue])
