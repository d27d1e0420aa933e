"""Turns what happened into notices: who is to hear of it, under which key.

The key makes a message unique for good, so a step that is repeated says nothing twice.
Background load (Source.TRACE) is silent, except where it meets a request of a person.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from bot import notices
from bot.clusters.base import Taken
from bot.control import families
from bot.control.ledger import LOOP, Ledger
from bot.control.successors import template_of
from bot.grants import flavor_of, nodes_of
from bot.places import Domain
from bot.terms import Terms
from bot.views import CLUSTER, OUTSIDE
from scheduler.doubts import Doubt, NodeDoubt
from scheduler.model import (
    Admission,
    Decisions,
    Explanation,
    Flip,
    NodeName,
    Preemption,
    PreemptionRule,
    QueueName,
    Repair,
    Reservation,
    Rest,
    Starvation,
    WorkloadId,
)
from storage.records import Audience, Notice, Request, Source
from storage.states import RequestState

_PINNED = frozenset({"Pod", "PodGroup"})  # kinds of objects


def say_admitted(ledger: Ledger, terms: Terms, request: Request, domain: Domain) -> None:
    """Tell channel and thread what was granted."""
    admission = request.admission
    if request.source is Source.TRACE or admission is None:
        return
    if request.head is not None:
        families.say_started(ledger, terms, request)
        return
    args = notices.AdmittedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        pool=terms.pool(admission.queue),
        flavor=flavor_of(admission),
        gpus=request.gpus,
        nodes=nodes_of(admission, request),
        domain=domain,
        until=request.lease_ends.timestamp() if request.lease_ends else None,
        waited=max(0.0, ledger.now - request.created.timestamp()),
        made=request.recipe.kind if request.recipe is not None else None,
        kept=request.ref is not None,
    )
    tell(ledger, f"admitted:{request.decision}", args, request.id, "channel", "thread")


def say_ended(ledger: Ledger, request: Request, ran: float) -> None:
    """Tell the thread how a request ended; and its owner, if somebody else ended it."""
    if request.source is Source.TRACE:
        return
    args = notices.EndedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        state=request.state,
        gpus=request.granted,
        ran=ran,
        gpu_hours=ledger.charged(request.id),
        by=request.ended_by,
    )
    if request.ended_by == OUTSIDE:  # nobody counts or stops it from now on
        tell(ledger, f"ended:{request.id}", args, request.id, "oncall")
    if request.head is not None:
        families.say_ended(ledger, request, ran)
        return
    tell(ledger, f"ended:{request.id}", args, request.id, "thread")
    owner = request.workload.owner
    nobody = {None, owner, LOOP, CLUSTER, OUTSIDE}
    if request.state in _BY_A_PERSON and request.ended_by not in nobody:
        put(ledger, f"ended:{request.id}:person", args, Audience.PERSON, request.id, owner)


def say_requeued(
    ledger: Ledger,
    request: Request,
    cause: notices.Cause,
    position: int,
    rest: Rest | None = None,
) -> None:
    """Tell the thread that the request waits again, and where; its owner too, if it is held.

    That a template is held has been told for all of its replicas.
    """
    held = rest is not None and rest.until is None
    if request.source is Source.TRACE or (held and template_of(request) is not None):
        return
    args = notices.RequeuedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        cause=cause,
        position=position,
        rest=None if rest is None else notices.RestArgs(**dataclasses.asdict(rest)),
    )
    key = f"requeued:{request.decision}"
    tell(ledger, key, args, request.id, "thread")
    if held:
        put(ledger, f"{key}:person", args, Audience.PERSON, request.id, request.workload.owner)


def new_nodes(
    before: Admission, after: Admission, lost: Sequence[NodeName]
) -> tuple[NodeName, ...]:
    """The nodes that got the pods which `before` had on `lost` ones, in name order."""
    had = {
        (assignment.name, node): count
        for assignment in before.assignments
        for node, count in assignment.nodes
        if node not in lost
    }
    found = {
        node
        for assignment in after.assignments
        for node, count in assignment.nodes
        if count > had.get((assignment.name, node), 0)
    }
    return tuple(sorted(found))


def say_repaired(ledger: Ledger, request: Request, repair: Repair, to: Sequence[NodeName]) -> None:
    """Tell the thread where the pods of lost nodes went."""
    if request.source is Source.TRACE:
        return
    args = notices.RepairedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        gpus=request.gpus,
        lost=repair.lost,
        to=tuple(to),
        whole=_is_pinned(ledger, request),
        held=request.ref is None and request.recipe is None,
    )
    key = f"repaired:{request.decision}:{repair.admission.repairs}"
    tell(ledger, key, args, request.id, "thread")


def say_taken(
    ledger: Ledger,
    request: Request,
    taken: Taken,
    to: Sequence[NodeName] = (),
    *,
    waits: bool = False,
) -> None:
    """Tell its owner, its thread and on-call who has GPUs that it holds, and what follows."""
    args = notices.TakenArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        node=taken.node,
        by=tuple((pod.where, pod.gpus) for pod in taken.by),
        to=tuple(to),
        waits=waits,
    )
    key = f"taken:{request.decision}:{taken.node}:{taken.by[0].ref.uid}"
    tell(ledger, key, args, request.id, "thread", "oncall")
    put(ledger, f"{key}:person", args, Audience.PERSON, request.id, args.owner)


def say_nodes_failed(
    ledger: Ledger,
    moved: Mapping[WorkloadId, Sequence[NodeName]],
    decisions: Decisions,
    failed: Mapping[NodeName, bool],
) -> None:
    """Tell on-call of each failed node, and of each that is leaving, with everybody who was hit.

    `moved` says where the pods of a repaired gang went.
    """
    hit: dict[NodeName, list[notices.HitArgs]] = {node: [] for node in failed}
    lost = [one for one in decisions.repairs if one.workload not in ledger.taken]
    for repair in lost:
        for node in repair.lost:
            hit.setdefault(node, []).append(_hit(ledger, repair.workload, moved[repair.workload]))
    for eviction in decisions.evictions:
        for node in eviction.lost:
            hit.setdefault(node, []).append(_hit(ledger, eviction.workload, ()))
    for node, those in sorted(hit.items()):
        leaving = failed.get(node, False)
        args = notices.NodeFailedArgs(node=node, hit=tuple(those), leaving=leaving)
        put(ledger, f"node-failed:{node}:{ledger.now}", args, Audience.ONCALL, None)


def _is_pinned(ledger: Ledger, request: Request) -> bool:
    """Whether it stands for pods that are sent to a node once, and are stopped whole without it."""
    kind = "" if request.ref is None else request.ref.kind
    return request.id in ledger.unmendable or kind in _PINNED


def _hit(ledger: Ledger, request_id: str, to: Sequence[NodeName]) -> notices.HitArgs:
    request = ledger.get(request_id)
    workload = request.workload
    pinned = bool(to) and _is_pinned(ledger, request)
    return notices.HitArgs(
        request=request_id,
        name=workload.name,
        owner=workload.owner,
        team=workload.team,
        gpus=request.gpus,
        to=() if pinned else tuple(to),
        pinned=pinned,
    )


def say_overfull(ledger: Ledger, doubt: NodeDoubt) -> None:
    """Tell on-call that a node has less than what runs there, once for each amount."""
    if doubt.doubt is not Doubt.OVERFULL:
        raise ValueError(f"{doubt.node} is not overfull")
    args = notices.OverfullArgs(node=doubt.node, resource=doubt.what, excess=doubt.excess)
    key = f"overfull:{doubt.node}:{doubt.what}:{doubt.excess}"
    put(ledger, key, args, Audience.ONCALL, None)


def _plan(kept: Reservation | None) -> notices.PlanArgs | None:
    if kept is None:
        return None
    nodes = len(kept.nodes)
    return notices.PlanArgs(at=kept.at, nodes=nodes, domain=kept.domain, basis=kept.basis)


def say_starving(ledger: Ledger, terms: Terms, request: Request, found: Starvation) -> None:
    """Alert channel, thread and on-call, once for each time it begins to starve.

    Of a family, only while no other replica of it starves already.
    """
    if request.source is Source.TRACE:
        return
    if any(other.starving_since is not None for other in ledger.others(request)):
        return
    why = found.explanation
    args = notices.StarvingArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        pool=terms.pool(why.queue),
        gpus=request.workload.gpus,
        priority=request.workload.priority_class,
        waited=found.waited,
        target_wait=found.target_wait,
        reason=why.verdict.reason,
        figures=dict(why.verdict.figures),
        position=why.position,
        holders=_holders(why),
        plan=_plan(why.reservation),
    )
    tell(ledger, f"starving:{request.decision}", args, request.id, "channel", "thread", "oncall")


def say_preempted(ledger: Ledger, terms: Terms, found: Sequence[Preemption]) -> None:
    """Tell owners, channel and on-call who was stopped for whom, by which rule.

    One private notice a target; one post a preemptor. Silent between background loads.
    """
    by_preemptor: dict[str, list[Preemption]] = {}
    for preemption in found:
        by_preemptor.setdefault(preemption.preemptor, []).append(preemption)
    for preemptor_id, group in by_preemptor.items():
        _say_group(ledger, terms, ledger.get(preemptor_id), group)


def _say_group(
    ledger: Ledger, terms: Terms, preemptor: Request, group: Sequence[Preemption]
) -> None:
    told = []
    touched = preemptor.source is not Source.TRACE
    for preemption in group:
        target = ledger.get(preemption.target)
        args = notices.PreemptedArgs(
            target=_party(terms, target, preemption.target_queue),
            preemptor=_party(terms, preemptor, preemption.preemptor_queue),
            rule=preemption.rule,
            level=preemption.level,
            ran=preemption.ran,
            grace=terms.grace(preemption.target_queue),
            at=preemption.at,
            overstayed=preemption.rule is PreemptionRule.IN_QUEUE
            and target.workload.lapsed is not None,
        )
        told.append((target, args))
        if target.source is not Source.TRACE:
            touched = True
            key = f"preempted:{target.decision}:thread"
            put(ledger, key, args, Audience.THREAD, target.id)
    _say_to_owners(ledger, told)
    if touched:
        post = notices.PreemptedGroupArgs(
            preemptor=told[0][1].preemptor,
            targets=tuple(args for _, args in told),
            at=group[0].at,
        )
        first = told[0][0].decision  # a grant is preempted once, so this names the group for good
        tell(ledger, f"preempted-group:{first}", post, preemptor.id, "oncall", "channel")


def _say_to_owners(ledger: Ledger, told: Sequence[tuple[Request, notices.PreemptedArgs]]) -> None:
    """One private notice to each owner, whatever they lose."""
    by_owner: dict[str, list[tuple[Request, notices.PreemptedArgs]]] = {}
    for target, args in told:
        if target.source is not Source.TRACE:
            by_owner.setdefault(target.workload.owner, []).append((target, args))
    for owner, lost in by_owner.items():
        first, args = lost[0]
        notice: notices.NoticeArgs = args
        if len(lost) > 1:
            notice = notices.PreemptedGroupArgs(
                preemptor=args.preemptor, targets=tuple(each for _, each in lost), at=args.at
            )
        key = f"preempted:{first.decision}:person"
        put(ledger, key, notice, Audience.PERSON, first.id, owner)


def say_flipped(ledger: Ledger, flips: Sequence[Flip]) -> None:
    """On-call hears once of each two that no longer may stop each other."""
    for flip in flips:
        one, other = flip.pair
        args = notices.FlippedArgs(one=one, other=other, times=flip.times)
        tell(ledger, f"flipped:{one}:{other}", args, one, "oncall")


def _party(terms: Terms, request: Request, queue: QueueName) -> notices.Party:
    return notices.Party(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        pool=terms.pool(queue),
        queue=queue,
        path=terms.path(queue),
        gpus=request.gpus,
    )


def _holders(why: Explanation) -> tuple[notices.HolderArgs, ...]:
    return tuple(
        notices.HolderArgs(request=h.workload, team=h.team, gpus=h.gpus, ends=h.ends)
        for h in why.holders
    )


def tell(ledger: Ledger, key: str, args: notices.NoticeArgs, request: str, *audiences: str) -> None:
    """Have something said to everybody of the audiences, once for good."""
    for audience in map(Audience, audiences):
        put(ledger, f"{key}:{audience}", args, audience, request)


def put(
    ledger: Ledger,
    key: str,
    args: notices.NoticeArgs,
    audience: Audience,
    request: str | None,
    target: str | None = None,
) -> None:
    """Have something said to one audience, or person, once for good by its key."""
    ledger.say(
        Notice(
            key=key,
            kind=args.kind,
            audience=audience,
            request=request,
            target=target,
            args=args.model_dump(mode="json"),
            urgent=args.kind in _URGENT,
        )
    )


_BY_A_PERSON = frozenset({RequestState.CANCELLED, RequestState.RELEASED})
_URGENT: frozenset[notices.NoticeKind] = frozenset(
    {
        notices.NoticeKind.PREEMPTED,
        notices.NoticeKind.PREEMPTED_GROUP,
        notices.NoticeKind.STARVING,
        notices.NoticeKind.FLIPPED,
        notices.NoticeKind.NODE_FAILED,
    }
)
