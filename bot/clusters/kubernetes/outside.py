"""Pods as people ask about them: whose one is, or that no request stands for it."""

from __future__ import annotations

from bot.clusters.base import SeenPod
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.texts import read_word
from storage.records import ObjectRef

POD = "Pod"


def seen_pod(pod: PodFacts, request: str | None) -> SeenPod:
    """What is told of a pod; `request` is whose it is."""
    family, owner = pod.family, pod.owner
    keeper = None if owner is None else (owner.kind, owner.name)
    if family is not None:
        keeper = (family.kind, family.name)
    owned_by = pod.annotations.get(names.OWNER) or pod.labels.get(names.OWNER)
    return SeenPod(
        ref=ObjectRef(kind=POD, namespace=pod.namespace, name=pod.name, uid=pod.uid, adopted=True),
        node=pod.node,
        requests=pod.holds,
        runs=pod.occupies and not pod.terminating,
        request=request,
        keeper=keeper,
        owner=None if owned_by is None else read_word(owned_by),
        since=pod.begun,
    )
