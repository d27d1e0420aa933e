"""Binding, eviction and scale: the subresources that are more than a part of their object."""

from __future__ import annotations

from typing import Any

from tests.kube.budgets import take_from_budget
from tests.kube.cluster import Cluster, Request
from tests.kube.documents import Json, copy_of, dig, set_condition
from tests.kube.kinds import BUDGET, POD
from tests.kube.operations import APPLY, live_object, update
from tests.kube.ownership import Manager, apply_configuration
from tests.kube.removal import DeleteOptions, check_preconditions, delete, read_options
from tests.kube.selectors import selects
from tests.kube.statuses import (
    bad_request,
    conflict,
    internal_error,
    invalid,
    invalid_value,
)
from tests.kube.store import Stored

_FINISHED = frozenset({"Succeeded", "Failed"})
SUCCESS: Json = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def bind(cluster: Cluster, request: Request, body: Json) -> Json:
    """Assign a pod to a node; neither selectors nor room nor the node's existence matter.

    Raises:
        Refusal: 409 where the pod is gated, bound already, or another uid.

    """
    live = live_object(cluster, request)
    name, spec = live.key[1], live.body["spec"]
    uid = dig(body, "metadata.uid")
    if uid is not None and uid != live.body["metadata"]["uid"]:
        why = (
            "StorageError: invalid object, Code: 4, Key: /registry/pods/"
            f"{live.key[0]}/{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {uid}, UID in object meta: {live.body['metadata']['uid']}"
        )
        raise conflict("", "pods", name, why)
    why = _unbindable(name, live)
    if why:
        raise conflict("", "pods/binding", name, why)
    node = str(dig(body, "target.name", ""))
    changed = {
        **live.body,
        "metadata": dict(live.body["metadata"]),
        "spec": {**spec, "nodeName": node},
        "status": copy_of(live.body["status"]),
    }
    set_condition(
        changed["status"],
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": cluster.now(),
        },
    )
    changed["status"].pop("nominatedNodeName", None)
    if not request.options.dry_run:
        cluster.store.put(POD, live.key, changed)
    return SUCCESS


def _unbindable(name: str, live: Stored) -> str:
    spec = live.body["spec"]
    if "deletionTimestamp" in live.body["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def evict(cluster: Cluster, request: Request, body: Json) -> Json:
    """Delete a pod unless a disruption budget is against it.

    Raises:
        Refusal: 429 where the budget forbids it, 500 where two budgets select the pod.

    """
    if dig(body, "metadata.name") != request.target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    live = live_object(cluster, request)
    options = read_options(body.get("deleteOptions"), {})
    check_preconditions(POD, live, options)
    unbound = dig(live.body, "status.phase") in _FINISHED | {"Pending"}
    if not unbound and "deletionTimestamp" not in live.body["metadata"]:
        _ask_budgets(cluster, live, dry=options.dry_run or request.options.dry_run)
    if not (options.dry_run or request.options.dry_run):
        live = _mark_disrupted(cluster, live)
    if options.version is not None:
        options = _version_settled(live, options)
    delete(cluster, request, live, options)
    return SUCCESS


def _version_settled(live: Stored, options: DeleteOptions) -> DeleteOptions:
    """The precondition was on the pod before its condition was written."""
    return DeleteOptions(options.grace, options.propagation, uid=options.uid)


def _ask_budgets(cluster: Cluster, live: Stored, *, dry: bool) -> None:
    labels = dig(live.body, "metadata.labels", {})
    found = [
        budget
        for budget in cluster.store.all(BUDGET, live.key[0])
        if selects(dig(budget.body, "spec.selector"), labels)
    ]
    if len(found) > 1:
        raise internal_error(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
    if found:
        take_from_budget(cluster, found[0], live, dry=dry)


def _mark_disrupted(cluster: Cluster, live: Stored) -> Stored:
    if "deletionTimestamp" in live.body["metadata"]:
        return live
    status = copy_of(live.body["status"])
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": cluster.now(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    set_condition(status, condition)
    body = {**live.body, "metadata": dict(live.body["metadata"]), "status": status}
    return cluster.store.put(POD, live.key, body)


def scale_of(stored: Stored) -> Json:
    """The Scale that an object shows."""
    metadata, spec = stored.body["metadata"], stored.body["spec"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = dig(spec, "selector.matchLabels", {})
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    replicas = spec.get("replicas", 0)
    running = dig(stored.body, "status.ready" if stored.kind.custom else "status.replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": running, **({"selector": selector} if selector else {})},
    }


def scale(cluster: Cluster, request: Request, method: str, content_type: str, body: Any) -> Json:
    """Read or write the number of replicas through the scale subresource.

    Raises:
        Refusal: what the write would get.

    """
    live = live_object(cluster, request)
    if method == "GET":
        return scale_of(live)
    kind, name = request.target.kind, request.options.manager
    replicas = _wanted_replicas(method, body)
    if replicas is not None and replicas < 0:
        why = "must be greater than or equal to 0"
        cause = invalid_value("spec.replicas", str(replicas), why)
        raise invalid("autoscaling", "Scale", request.target.name, [cause])
    if content_type in APPLY:
        by = Manager(name, "Apply", "autoscaling/v1", "scale")
        part: Json = {"metadata": {}, "spec": {"replicas": replicas}}
        force = request.options.force
        merged = apply_configuration(kind, live.body, part, by, cluster.now(), force=force)
        return scale_of(update(cluster, request, live, copy_of(merged), None))
    changed = copy_of(live.document())
    given = dig(body, "metadata.resourceVersion") if isinstance(body, dict) else None
    if given:
        changed["metadata"]["resourceVersion"] = given
    if replicas is not None:
        changed["spec"]["replicas"] = replicas
    by = Manager(name, "Update", "autoscaling/v1", "scale")
    return scale_of(update(cluster, request, live, changed, by))


def _wanted_replicas(method: str, body: Any) -> int | None:
    if isinstance(body, list):
        wanted = [each.get("value") for each in body if each.get("path") == "/spec/replicas"]
        return wanted[-1] if wanted else None
    replicas: int | None = dig(body, "spec.replicas")
    return 0 if replicas is None and method == "PUT" else replicas
