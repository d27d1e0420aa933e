"""What a Start is about: an object of people's, one that is still to be made, or a hold."""

from __future__ import annotations

from collections.abc import Mapping

from bot.clusters.base import Start
from bot.clusters.kubernetes import patches
from bot.clusters.kubernetes.gangs import Gang, homes_of
from bot.clusters.kubernetes.mirror import hold_key
from bot.clusters.kubernetes.templates import Templates
from scheduler.model import GPU, NodeName, ResourceName
from storage.records import ObjectRef

HOLD = "Hold"  # the kind of a grant without an object


def gang_of(action: Start, templates: Templates | None, bot: str) -> Gang:
    """The gang that is to start; `bot` is what its marks are sealed with."""
    ref, made, request = action.ref, None, action.workload.id
    if action.recipe is not None and templates is not None:
        made = templates.make(action.workload, action.recipe, action.decision)
        meta = made["metadata"]
        ref = ObjectRef(
            kind="Job", namespace=meta["namespace"], name=meta["name"], uid=action.decision
        )
    gang = Gang(
        workload=request,
        decision=action.decision,
        admission=action.admission,
        bot=bot,
        homes=homes_of(action.workload),
        ref=ref or ObjectRef(kind=HOLD, namespace="", name=request, uid=hold_key(request)),
        made=made,
        marks=patches.adopt(action, bot) if ref is not None and ref.adopted else None,
        gpus=max((pods.requests.get(GPU, 0) for pods in action.workload.pod_sets), default=0),
        each=each_of(action),
    )
    gang.give_back(action.kept)
    return gang


def each_of(action: Start) -> dict[str, Mapping[ResourceName, int]]:
    """What each pod was granted, by pod set."""
    return {pods.name: pods.requests for pods in action.workload.pod_sets}


def is_hold(gang: Gang) -> bool:
    """Whether it has no object."""
    return gang.ref.kind == HOLD


def is_beside(gang: Gang, nodes: frozenset[NodeName]) -> bool:
    """Whether others may have come to where a hold has its GPUs: nothing of its own tells that."""
    return is_hold(gang) and not gang.nodes.isdisjoint(nodes)
