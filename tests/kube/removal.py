"""Deletion: grace, preconditions, finalizers and propagation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.kube.clock import from_wire, to_wire
from tests.kube.cluster import Cluster, Request
from tests.kube.documents import Json, copy_of, dig, set_condition
from tests.kube.kinds import DEFINITION, JOB, NAMESPACE, POD, Kind
from tests.kube.statuses import (
    Cause,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    unsupported_value,
)
from tests.kube.store import Stored

_PROTECTED = frozenset({"default", "kube-system", "kube-public"})
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True)
class DeleteOptions:
    """The body of a DELETE, or the query in its place."""

    grace: int | None = None
    propagation: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False


def read_options(body: Any, query: dict[str, str]) -> DeleteOptions:
    """Options of a DELETE; a body wins over the query.

    Raises:
        Refusal: 422 for values the server does not know.

    """
    given: Json = body if isinstance(body, dict) else {}
    grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    propagation = given.get("propagationPolicy", query.get("propagationPolicy"))
    orphan = given.get("orphanDependents", query.get("orphanDependents"))
    dry = given.get("dryRun") or ([query["dryRun"]] if query.get("dryRun") else [])
    causes: list[Cause] = []
    if propagation is not None and propagation not in {"Foreground", "Background", "Orphan"}:
        allowed = ["Foreground", "Background", "Orphan", "nil"]
        causes.append(unsupported_value("propagationPolicy", f'"{propagation}"', allowed))
    elif propagation is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", f'"{propagation}"', why))
    if dry and dry != ["All"]:
        shown = "[" + " ".join(f'"{each}"' for each in dry) + "]"
        causes.append(unsupported_value("dryRun", shown, ["All"]))
    if causes:
        raise invalid("meta.k8s.io", "DeleteOptions", "", causes)
    return DeleteOptions(
        grace=None if grace is None else int(grace),
        propagation=propagation,
        orphan=None if orphan is None else str(orphan).lower() == "true",
        uid=dig(given, "preconditions.uid"),
        version=dig(given, "preconditions.resourceVersion"),
        dry_run=bool(dry),
    )


def check_preconditions(kind: Kind, live: Stored, options: DeleteOptions) -> None:
    metadata = live.body["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise conflict(kind.group, kind.name, live.key[1], why)
    if options.version is not None and options.version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have "
            "been modified"
        )
        raise conflict(kind.group, kind.name, live.key[1], why)


def _finalizer_wanted(kind: Kind, options: DeleteOptions) -> str | None:
    if options.propagation == "Foreground":
        return FOREGROUND
    if options.propagation == "Orphan" or options.orphan:
        return ORPHAN
    undecided = options.propagation is None and options.orphan is None
    return ORPHAN if kind is JOB and undecided else None


def _pod_grace(live: Stored, options: DeleteOptions) -> int:
    """Seconds a pod gets: none unless it is bound and not finished."""
    spec, status = live.body["spec"], live.body["status"]
    if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    if options.grace is not None:
        return max(options.grace, 1) if options.grace < 0 else options.grace
    return int(spec.get("terminationGracePeriodSeconds", 30))


def _finalizers(kind: Kind, metadata: Json, options: DeleteOptions) -> list[str]:
    """Those that hold the object, with the one the propagation asks for."""
    there = metadata.get("finalizers", [])
    kept = [f for f in there if f not in {ORPHAN, FOREGROUND}]
    wanted = _finalizer_wanted(kind, options)
    if kind is POD and options.propagation is None and FOREGROUND in there:
        wanted = FOREGROUND  # the kubelet says nothing of dependents
    return [*kept, wanted] if wanted else kept


def _grace(live: Stored, options: DeleteOptions) -> int:
    """Seconds until the object shall be gone; once it ends they can only become fewer."""
    if live.kind is not POD:
        return 0
    grace, metadata = _pod_grace(live, options), live.body["metadata"]
    if "deletionTimestamp" in metadata:
        return min(grace, int(metadata["deletionGracePeriodSeconds"]))
    return grace


def delete(
    cluster: Cluster, request: Request, live: Stored, options: DeleteOptions
) -> tuple[Stored, bool]:
    """Delete or begin to; the second value tells whether the object has gone.

    Raises:
        Refusal: 409 where a precondition does not hold.

    """
    kind = live.kind
    check_preconditions(kind, live, options)
    if kind is NAMESPACE:
        if live.key[1] in _PROTECTED:
            why = "this namespace may not be deleted"
            raise forbidden("", "namespaces", live.key[1], why)
        return _end_namespace(cluster, live, dry=options.dry_run), False
    if kind is JOB and options.propagation is None and options.orphan is None:
        request.warnings.append(_WARNING)
    body = {**live.body, "metadata": dict(live.body["metadata"])}
    metadata = body["metadata"]
    finalizers = _finalizers(kind, metadata, options)
    grace = _grace(live, options)
    ends = grace == 0 and not finalizers
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    if ends and kind is not POD:
        if options.dry_run:
            return live, True
        return _remove(cluster, live), True
    _mark(cluster, kind, metadata, grace)
    if kind is DEFINITION:
        body["status"] = _ending_definition(cluster, body)
    if options.dry_run:
        return Stored(kind, live.key, live.version, body), ends
    stored = live
    if metadata != live.body["metadata"]:
        stored = cluster.store.put(kind, live.key, body)
    return (_remove(cluster, stored), True) if ends else (stored, False)


def _mark(cluster: Cluster, kind: Kind, metadata: Json, grace: int) -> None:
    """Set when the object shall be gone; an end can only come nearer."""
    if "deletionTimestamp" in metadata:
        before = metadata["deletionGracePeriodSeconds"]
        if grace >= before:
            return
        moment = from_wire(metadata["deletionTimestamp"]) + timedelta(seconds=grace - before)
        metadata["deletionTimestamp"] = to_wire(moment)
        metadata["deletionGracePeriodSeconds"] = grace
        return
    moment = cluster.clock.now() + timedelta(seconds=grace)
    metadata["deletionTimestamp"] = to_wire(moment)
    metadata["deletionGracePeriodSeconds"] = grace
    if kind.generation:
        metadata["generation"] = metadata.get("generation", 1) + 1


def _ending_definition(cluster: Cluster, body: Json) -> Json:
    """The condition that announces the end of a custom kind."""
    status: Json = copy_of(body["status"])
    condition: Json = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": cluster.now(),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon",
    }
    set_condition(status, condition)
    return status


def _remove(cluster: Cluster, live: Stored) -> Stored:
    """Take the object away; what is returned carries the version of the deletion."""
    cluster.store.remove(live.kind, live.key)
    return gone(live, cluster.store.version)


def gone(live: Stored, version: int) -> Stored:
    """The last form of an object under the version of its deletion."""
    metadata = {**live.body["metadata"], "resourceVersion": str(version)}
    return Stored(live.kind, live.key, version, {**live.body, "metadata": metadata})


def finish_if_released(cluster: Cluster, kind: Kind, live: Stored, body: Json) -> Stored | None:
    """Remove an object whose last finalizer this write takes off; None where it stays.

    The answer then shows the write under the old version, as the server does.
    """
    metadata = body["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return None
    if metadata.get("deletionGracePeriodSeconds", 0) > 0:
        return None
    if kind is POD and not live.body["metadata"].get("finalizers"):
        return None
    if kind is NAMESPACE:
        return None
    metadata["resourceVersion"] = str(live.version)
    answer = Stored(kind, live.key, live.version, body)
    cluster.store.remove(kind, live.key)
    return answer


def _end_namespace(cluster: Cluster, live: Stored, *, dry: bool) -> Stored:
    if dig(live.body, "status.phase") == "Terminating" or dry:
        return live
    metadata = {**live.body["metadata"], "deletionTimestamp": cluster.now()}
    body = {**live.body, "metadata": metadata, "status": {"phase": "Terminating"}}
    return cluster.store.put(NAMESPACE, live.key, body)
