"""Why a workload waits: one dominant reason, its numbers, and who holds what it needs.

Figures by reason (keys of `Verdict.figures`):
paused: queue, by, because, until · resting: cause, tries, most, until (the last two where there are
any) · exceeds-limit: limit, where, asked, most · no-flavor: queue ·
quota: where, flavor, resource, asked, available, limit, used ·
topology: flavor, pods, per_pod, free, largest, nodes, room, outside, and where one domain is
required: level, domain (the one that comes closest), in_domain (pods that it could take) ·
protected: recall_at, targets, gpus, queue, or truce (ids) ·
reserved: for, from, gpus, queue (of whom room is kept for), seconds (how long it may run to go
ahead), and lasts if that is known · waiting-for-targets: targets, gpus ·
behind: position, first · misconfigured: queue, problem.
What was set by hand is added to quota and topology where it is why: see `scheduler.blame`.
With quota and topology, `tried` names the queues where there are several. Of a workload that was
moved to a lower priority class, every verdict says `asked_class` and `class`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scheduler import rest
from scheduler.blame import blame_drains, blame_quota
from scheduler.checks import check, is_barred
from scheduler.gangs import find_largest
from scheduler.layout import Reclaim
from scheduler.model import (
    Explanation,
    Figure,
    Holder,
    LimitKind,
    Seconds,
    Verdict,
    WaitReason,
    Workload,
    WorkloadId,
)
from scheduler.nomination import Nomination, Outcome, find_blocker, nominate
from scheduler.packing import shortfall
from scheduler.pending import order_key
from scheduler.recall import find_recall, find_truce
from scheduler.standing import Claim, EngineError, Running, Waiting
from scheduler.state import State

AHEAD_AT_MOST = 10
HOLDERS_AT_MOST = 5


def order(state: State, number: int) -> list[WorkloadId]:
    """Who has this queue as home and waits, in order; those with a claim come first."""
    name = state.layout.queues[number].name
    claimed = sorted(
        (one.workload for one in state.promised() if one.workload.queue == name),
        key=order_key,
    )
    return [w.id for w in claimed] + list(state.queues[number].keys(state.ledger.score))


class Survey:
    """Explanations at one moment; what they have in common is worked out once."""

    def __init__(self, state: State, now: Seconds) -> None:
        self._state = state
        self._now = now
        self._lines: dict[int, tuple[list[WorkloadId], dict[WorkloadId, int]]] = {}
        self._kept = {one.workload for one in state.reservations.told()}
        self._shared: dict[tuple[object, ...], tuple[Verdict, tuple[Holder, ...]]] = {}

    def explain(self, workload: WorkloadId) -> Explanation:
        """All that can be said of one. Raises EngineError if it does not wait."""
        state = self._state
        claim = None if workload in state.running else state.claims.get(workload)
        waiting = claim.waiting if claim is not None else state.waiting.get(workload)
        if waiting is None:
            raise EngineError(f"{workload} does not wait")
        line, places = self._line(waiting.shapes[0][0])
        at = places[workload]
        verdict, holders = self._verdict(waiting, claim, at, line[0])
        return Explanation(
            workload=workload,
            queue=waiting.workload.queue,
            verdict=_with_class(waiting.workload, verdict),
            position=at + 1,
            ahead=tuple(line[: min(at, AHEAD_AT_MOST)]),
            since=waiting.workload.created,
            holders=holders,
            reservation=state.reservations.of(workload),
        )

    def _line(self, number: int) -> tuple[list[WorkloadId], dict[WorkloadId, int]]:
        if number not in self._lines:
            line = order(self._state, number)
            self._lines[number] = (line, {one: at for at, one in enumerate(line)})
        return self._lines[number]

    def _verdict(
        self, waiting: Waiting, claim: Claim | None, at: int, first: WorkloadId
    ) -> tuple[Verdict, tuple[Holder, ...]]:
        """What is true of one of a shape is true of all, but for claims and turns."""
        shapes: tuple[object, ...] = tuple(shape for _, shape in waiting.shapes)
        if self._state.reservations.standing:
            shapes = (*shapes, waiting.lasts, waiting.workload.id in self._kept)
        if claim is None and shapes in self._shared:
            return self._shared[shapes]
        verdict, running = _verdict(self._state, waiting, claim, at, first)
        found = (verdict, _holders(running, self._now))
        turns = (WaitReason.BEHIND, WaitReason.NOT_EVALUATED)
        if claim is None and verdict.reason not in turns:
            self._shared[shapes] = found
        return found


def _verdict(
    state: State, waiting: Waiting, claim: Claim | None, at: int, first: WorkloadId
) -> tuple[Verdict, Iterable[Running]]:
    if claim is not None and not state.queues[waiting.shapes[0][0]].paused:
        return _waits_for([state.running[t] for t in sorted(claim.targets)])
    still = _stopped(state, waiting) or _never(state, waiting)
    if still is not None:
        return still, ()
    nominations = [nominate(state, n, waiting, shape) for n, shape in waiting.shapes]
    if any(n.outcome is Outcome.LATER for n in nominations):
        return _waits_for([state.leaving[w] for w in sorted(state.leaving)])
    if any(n.outcome in (Outcome.FIT, Outcome.PREEMPT) for n in nominations):
        if (braked := _braked(state, nominations)) is not None:
            return braked
        if at == 0:
            return Verdict(reason=WaitReason.NOT_EVALUATED), ()
        ahead: dict[str, Figure] = {"position": at + 1, "first": first}
        return Verdict(reason=WaitReason.BEHIND, figures=ahead), ()
    return _behind_reservation(state, nominations) or (
        _protected(state, nominations) or _short(state, nominations)
    )


def _stopped(state: State, waiting: Waiting) -> Verdict | None:
    """That nobody of its queue is tried, or it is not; None if neither is so."""
    workload = waiting.workload
    if state.queues[waiting.shapes[0][0]].paused:
        said = state.overrides.pauses.get(workload.queue, {})
        return Verdict(reason=WaitReason.PAUSED, figures={"queue": workload.queue, **said})
    if workload.rest is not None:
        return Verdict(reason=WaitReason.RESTING, figures=rest.figures(workload.rest))
    return None


def _behind_reservation(
    state: State, nominations: list[Nomination]
) -> tuple[Verdict, Iterable[Running]] | None:
    """For whom room is kept that it would take at the first of its queues where it has any."""
    held = next((one for one in nominations if one.outcome is Outcome.HELD), None)
    if held is None:
        return None
    waiting = held.waiting
    ahead = find_blocker(state, held).told
    figures: dict[str, Figure] = {
        "for": ahead.workload,
        "from": ahead.at,
        "gpus": ahead.gpus,
        "queue": ahead.queue,
        "seconds": max(0.0, ahead.at - state.now),
    }
    if waiting.lasts < math.inf:
        figures["lasts"] = waiting.lasts
    return Verdict(reason=WaitReason.RESERVED, figures=figures), ()


def _never(state: State, waiting: Waiting) -> Verdict | None:
    """What keeps it from ever starting, None if nothing does."""
    workload = waiting.workload
    refusal = check(state, workload)
    if refusal is None:
        return None
    problem = _problem(state, waiting)
    if problem is not None:
        mistake: dict[str, Figure] = {"queue": workload.queue, "problem": problem}
        return Verdict(reason=WaitReason.MISCONFIGURED, figures=mistake)
    no_flavor = refusal.limit is LimitKind.NO_FLAVOR
    return Verdict(
        reason=WaitReason.NO_FLAVOR if no_flavor else WaitReason.EXCEEDS_LIMIT,
        figures={
            "limit": refusal.limit.value,
            "where": refusal.where,
            "asked": refusal.asked,
            "most": refusal.most,
        },
    )


def _short(state: State, nominations: list[Nomination]) -> tuple[Verdict, Iterable[Running]]:
    """What is short at home; with `tried`, that the others of its queues are no better."""
    verdict, holders = _shortage(state, nominations[0])
    if len(nominations) > 1:
        tried = ", ".join(state.layout.queues[n.queue].name for n in nominations)
        verdict = replace(verdict, figures={**verdict.figures, "tried": tried})
    return verdict, holders


def _protected(
    state: State, nominations: list[Nomination]
) -> tuple[Verdict, Iterable[Running]] | None:
    """When the first of its queues may stop work that has not yet run its minimum time.

    Or, where it and others have stopped each other too often, that it may not.
    """
    for one in nominations:
        if truce := find_truce(state, one):
            others = ", ".join(running.workload.id for running in truce)
            return Verdict(reason=WaitReason.PROTECTED, figures={"truce": others}), truce
    recalls = [found for one in nominations if (found := find_recall(state, one)) is not None]
    if not recalls:
        return None
    at, nomination = min(recalls, key=lambda found: found[0])
    targets = [target.running for target in nomination.targets]
    figures: dict[str, Figure] = {
        "recall_at": at,
        "targets": len(targets),
        "gpus": sum(running.gpus for running in targets),
        "queue": state.layout.queues[nomination.queue].name,
    }
    return Verdict(reason=WaitReason.PROTECTED, figures=figures), targets


def _braked(
    state: State, nominations: list[Nomination]
) -> tuple[Verdict, Iterable[Running]] | None:
    """When it may stop others, where enough were stopped for now; None if it simply may."""
    first = next(n for n in nominations if n.outcome in (Outcome.FIT, Outcome.PREEMPT))
    at = state.brake.wait(len(first.targets), state.now)
    if first.outcome is Outcome.FIT or at is None:
        return None
    targets = [target.running for target in first.targets]
    figures: dict[str, Figure] = {
        "recall_at": at,
        "targets": len(targets),
        "gpus": sum(running.gpus for running in targets),
        "queue": state.layout.queues[first.queue].name,
    }
    return Verdict(reason=WaitReason.PROTECTED, figures=figures), targets


def _problem(state: State, waiting: Waiting) -> str | None:
    """The resource for which a queue has no quota at all, where that matters."""
    if state.layout.options.ignore_uncovered:
        return None
    home, shape = waiting.shapes[0]
    uncovered = state.menu(home, shape.key, waiting.workload).uncovered
    return None if uncovered is None else f"no quota for {uncovered}"


def _with_class(workload: Workload, verdict: Verdict) -> Verdict:
    """What is to be said of one who has a lower class than it asked for."""
    if workload.asked_class is None:
        return verdict
    said = {"asked_class": workload.asked_class.value, "class": workload.priority_class.value}
    return replace(verdict, figures={**verdict.figures, **said})


def _waits_for(leaving: list[Running]) -> tuple[Verdict, Iterable[Running]]:
    figures: dict[str, Figure] = {
        "targets": len(leaving),
        "gpus": sum(running.gpus for running in leaving),
    }
    verdict = Verdict(reason=WaitReason.WAITING_FOR_TARGETS, figures=figures)
    return verdict, leaving


def _shortage(state: State, nomination: Nomination) -> tuple[Verdict, Iterable[Running]]:
    """What is short in the home queue, at the flavor where least is missing.

    What the queue could have others give back counts as left, so that it is told of the
    limit that holds it: what is missing at its own limit, or else the nodes, and not what
    its cohort has lent out.
    """
    if nomination.reason is WaitReason.TOPOLOGY:
        return _topology(state, nomination)
    tree = state.tree
    usage: Sequence[int] = state.future.usage
    number, priority = nomination.queue, nomination.waiting.workload.priority
    missing, column, asked = _least_missing(state, nomination, usage)
    if missing <= 0:
        return _topology(state, nomination)
    reclaimed = state.outlook.without(number, priority)
    hard, *of_hard = _least_missing(state, nomination, reclaimed)
    if hard > 0:
        usage, (column, asked) = reclaimed, of_hard
    elif _takes_back(state, number) and not tree.exceeds(usage, number, column, asked):
        return _topology(state, nomination)
    node, room = tree.binding(usage, number, column, asked)
    flavor, resource = tree.pairs[column]
    figures: dict[str, Figure] = {
        "where": tree.names[node],
        "flavor": flavor,
        "resource": resource,
        "asked": asked,
        "available": max(0, room),
        "limit": tree.subtree[node * tree.width + column],
        "used": usage[node * tree.width + column],
    }
    barred = is_barred(state, nomination.waiting.workload)
    if barred:
        figures["lowered"] = 1  # by hand, or it would be refused
    short = asked - max(0, room)
    figures |= blame_quota(state, node, tree.pairs[column], short=short, barred=barred)
    under = {q for q in range(tree.queues) if q == node or node in tree.path[q]}
    holders = (r for r in state.running.values() if r.charge.queue in under and column in r.columns)
    return Verdict(reason=WaitReason.QUOTA, figures=figures), holders


def _least_missing(
    state: State, nomination: Nomination, usage: Sequence[int]
) -> tuple[int, int, int]:
    """How much is missing, of which column, and what was asked of it."""
    choices = state.menu(nomination.queue, nomination.shape.key, nomination.waiting.workload)
    return min(
        (amount - state.tree.available(usage, nomination.queue, column), column, amount)
        for groups in choices.groups
        for options in groups
        for option in options
        for column, amount in option.amounts
    )


def _takes_back(state: State, number: int) -> bool:
    """Whether what a queue has lent comes back, whoever has it."""
    return state.layout.queues[number].reclaim is Reclaim.ANY


def _topology(state: State, nomination: Nomination) -> tuple[Verdict, Iterable[Running]]:
    """The pod set with the least room, at the flavor where it has most."""
    workload = nomination.waiting.workload
    choices = state.menu(nomination.queue, nomination.shape.key, workload)
    spaces = [book.space for book in state.books]
    rows = []
    for pods, groups in zip(workload.pod_sets, choices.groups, strict=True):
        shape = state.nodes.shape(pods)
        for option in groups[0] if groups else ():
            eligible = state.nodes.eligible(state.flavors[option.flavor], pods)
            short = shortfall(spaces, eligible, shape)
            rows.append((pods.count - short.pods, pods, shape[0][1], option, short))
    _, pods, per_pod, option, short = min(rows, key=lambda row: (row[0], row[3].flavor))
    figures: dict[str, Figure] = {
        "flavor": option.flavor,
        "pods": pods.count,
        "per_pod": per_pod,
        "free": short.free,
        "largest": short.largest,
        "nodes": short.nodes,
        "room": short.pods,
        "outside": short.outside,
    }
    largest = find_largest(state.nodes, state.flavors[option.flavor], [pods], spaces)
    if largest is not None:
        figures |= {"level": largest.level, "domain": largest.domain, "in_domain": largest.pods}
    figures |= blame_drains(state, spaces, pods, option.flavor, room_now=short.pods)
    columns = {column for column, _ in option.amounts}
    holders = (r for r in state.running.values() if not columns.isdisjoint(r.columns))
    return Verdict(reason=WaitReason.TOPOLOGY, figures=figures), holders


def _holders(running: Iterable[Running], now: Seconds) -> tuple[Holder, ...]:
    """The largest first, by id among equals. A lease that has run out ends now."""
    largest = heapq.nsmallest(HOLDERS_AT_MOST, running, key=lambda r: (-r.gpus, r.workload.id))
    return tuple(
        Holder(
            workload=r.workload.id,
            team=r.workload.team,
            queue=r.admission.queue,
            gpus=r.gpus,
            ends=_end(r, now),
        )
        for r in largest
    )


def _end(running: Running, now: Seconds) -> Seconds | None:
    lease = running.workload.duration
    return None if lease is None else max(now, running.admission.at + lease)
