"""Custom resource definitions: kinds that appear when they are established, and vanish again."""

from __future__ import annotations

from functools import cache

from tests.kube.children import delete_child, drop_finalizer, put_changed
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, copy_of, dig, set_condition
from tests.kube.kinds import DEFINITION, Kind
from tests.kube.store import Stored

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def kind_of(body: Json, version: Json) -> Kind:
    """The kind that a version of a definition describes."""
    spec = body["spec"]
    names = spec["names"]
    return _kind(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        spec.get("scope") != "Cluster",
        tuple(version.get("subresources") or {}),
        (names.get("shortNames") or [""])[0],
    )


@cache
def _kind(
    group: str,
    version: str,
    plural: str,
    name: str,
    namespaced: bool,
    parts: tuple[str, ...],
    short: str,
) -> Kind:
    """One object for each kind, for kinds are told apart by identity."""
    return Kind(
        group,
        version,
        plural,
        name,
        namespaced=namespaced,
        subresources=parts,
        generation=True,
        unconditional=False,
        custom=True,
        short=short,
    )


def step_definitions(cluster: Cluster) -> int:
    """Serve what was defined, and take away what is being deleted; how many were written."""
    started = cluster.store.version
    for stored in cluster.store.all(DEFINITION):
        if "deletionTimestamp" in stored.body["metadata"]:
            _withdraw(cluster, stored)
        elif not _is_established(stored.body):
            _establish(cluster, stored)
    return cluster.store.version - started


def _is_established(body: Json) -> bool:
    found: list[Json] = dig(body, "status.conditions", [])
    return any(each["type"] == "Established" for each in found)


def _establish(cluster: Cluster, stored: Stored) -> None:
    body, now = stored.body, cluster.now()
    status: Json = {**copy_of(body.get("status") or {}), "conditions": []}
    for kind, reason, message in (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ):
        condition: Json = {"type": kind, "status": "True", "lastTransitionTime": now}
        set_condition(status, {**condition, "reason": reason, "message": message})
    status["acceptedNames"] = copy_of(body["spec"]["names"])
    metadata = dict(body["metadata"])
    metadata["finalizers"] = [*metadata.get("finalizers", []), CLEANUP]
    put_changed(cluster, stored, status=status, metadata=metadata)
    for version in body["spec"]["versions"]:
        if version.get("served"):
            serve(cluster, kind_of(body, version), dig(version, "schema.openAPIV3Schema"))


def serve(cluster: Cluster, kind: Kind, schema: Json | None = None) -> None:
    """Serve a custom kind from now on."""
    cluster.kinds.add(kind)
    if schema is not None:
        cluster.schemas[kind] = schema


def _withdraw(cluster: Cluster, stored: Stored) -> None:
    body = stored.body
    for version in body["spec"]["versions"]:
        kind = cluster.kinds.find(
            body["spec"]["group"], version["name"], body["spec"]["names"]["plural"]
        )
        if kind is None:
            continue
        for instance in cluster.store.all(kind):
            delete_child(cluster, instance)
        if cluster.store.all(kind):
            return
        cluster.kinds.drop(kind)
        cluster.schemas.pop(kind, None)
    drop_finalizer(cluster, stored, CLEANUP)
