"""Marks by which the cluster's loops find the objects they care about without looking at all."""

from __future__ import annotations

from tests.kube.documents import Json
from tests.kube.gpus import gpus_of
from tests.kube.kinds import POD, Kind

ENDING = "ending"  # being deleted
OWNED = "owned"  # has owner references
WAITS = "waits"  # a pod for the scheduler
STARTS = "starts"  # a pod that is bound and not running yet
HOLDS = "holds"  # a pod on a node that asks for GPUs and is not finished
BOUND = "bound"  # a pod on a node


def controlled_by(uid: str) -> str:
    return f"controller {uid}"


def on_node(name: str) -> str:
    return f"node {name}"


def tags_of(kind: Kind, body: Json) -> tuple[str, ...]:
    """The marks of one version of an object."""
    metadata, found = body["metadata"], []
    ending = "deletionTimestamp" in metadata
    if ending:
        found.append(ENDING)
    owners = metadata.get("ownerReferences")
    if owners:
        found.append(OWNED)
        found += [controlled_by(each["uid"]) for each in owners if each.get("controller")]
    if kind is POD:
        found += _pod_tags(body, ending=ending)
    return tuple(found)


def _pod_tags(body: Json, *, ending: bool) -> list[str]:
    spec, phase = body.get("spec") or {}, (body.get("status") or {}).get("phase")
    finished = phase in {"Succeeded", "Failed"}
    node = spec.get("nodeName")
    if not node:
        waits = not spec.get("schedulingGates") and not ending and not finished
        return [WAITS] if waits else []
    tags = [BOUND, on_node(node)]
    if phase == "Pending" and not ending:
        tags.append(STARTS)
    if not finished and gpus_of(spec):
        tags.append(HOLDS)
    return tags
