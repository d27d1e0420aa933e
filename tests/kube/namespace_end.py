"""The end of a namespace: its content goes some seconds later, and conditions say what is left."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from tests.kube.children import delete_child, write_status
from tests.kube.clock import from_wire
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, dig
from tests.kube.kinds import NAMESPACE
from tests.kube.store import Stored

LINGERS = timedelta(seconds=5)  # an ending namespace keeps its content that long


def step_namespaces(cluster: Cluster) -> None:
    """Delete what is in ending namespaces, and those that are empty."""
    for namespace in cluster.store.all(NAMESPACE):
        if dig(namespace.body, "status.phase") != "Terminating":
            continue
        asked = from_wire(namespace.body["metadata"]["deletionTimestamp"])
        if cluster.clock.now() >= asked + LINGERS:
            _empty(cluster, namespace)


def _empty(cluster: Cluster, namespace: Stored) -> None:
    name = namespace.key[1]
    kinds = [kind for kind in cluster.store.kinds() if kind.namespaced]
    for kind in kinds:
        for stored in cluster.store.all(kind, name):
            if "deletionTimestamp" not in stored.body["metadata"]:
                delete_child(cluster, stored)
    left = {kind.plural: cluster.store.all(kind, name) for kind in kinds}
    held = {plural: found for plural, found in left.items() if found}
    was = dig(namespace.body, "status.conditions")
    if held or was is not None:
        conditions = _conditions(cluster, namespace, held)
        write_status(cluster, namespace, {"phase": "Terminating", "conditions": conditions})
    if not held:
        cluster.store.remove(NAMESPACE, namespace.key)


def _conditions(cluster: Cluster, namespace: Stored, held: dict[str, list[Stored]]) -> list[Json]:
    """The five conditions of an ending namespace."""
    counts = [f"{plural}. has {len(found)} resource instances" for plural, found in held.items()]
    finalizers = Counter(
        finalizer
        for found in held.values()
        for stored in found
        for finalizer in stored.body["metadata"].get("finalizers", ())
    )
    holders = [f"{name} in {count} resource instances" for name, count in finalizers.items()]
    content, waiting = "NamespaceContentRemaining", "NamespaceFinalizersRemaining"
    removed = "All content successfully removed"
    fixed = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
    ]
    rows = [(kind, "False", reason, message) for kind, reason, message in fixed]
    if held:
        message = f"Some resources are remaining: {', '.join(counts)}"
        rows.append((content, "True", "SomeResourcesRemain", message))
    else:
        rows.append((content, "False", "ContentRemoved", removed))
    if holders:
        message = f"Some content in the namespace has finalizers remaining: {', '.join(holders)}"
        rows.append((waiting, "True", "SomeFinalizersRemain", message))
    else:
        message = "All content-preserving finalizers finished"
        rows.append((waiting, "False", "ContentHasNoFinalizers", message))
    times = {
        each["type"]: (each["status"], each["lastTransitionTime"])
        for each in dig(namespace.body, "status.conditions", [])
    }
    return [_dated(cluster, row, times.get(row[0])) for row in rows]


def _dated(
    cluster: Cluster, row: tuple[str, str, str, str], before: tuple[str, str] | None
) -> Json:
    kind, state, reason, message = row
    same = before is not None and before[0] == state
    return {
        "type": kind,
        "status": state,
        "lastTransitionTime": before[1] if same and before else cluster.now(),
        "reason": reason,
        "message": message,
    }
