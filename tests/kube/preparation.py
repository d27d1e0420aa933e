"""What each kind sets by itself before it is checked: status, generation, generated labels."""

from __future__ import annotations

from tests.kube.cluster import Cluster
from tests.kube.documents import Json, dig
from tests.kube.kinds import (
    DEFINITION,
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    VALIDATING_POLICY,
    Kind,
)

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def quality_of(spec: Json) -> str:
    """The QoS class by requests and limits of CPU and memory."""
    containers = spec.get("containers", []) + spec.get("initContainers", [])
    asked = [
        (dig(each, "resources.requests", {}), dig(each, "resources.limits", {}))
        for each in containers
    ]
    both = ("cpu", "memory")
    if not any(name in part for pair in asked for part in pair for name in both):
        return "BestEffort"
    if all(
        name in limits and requests.get(name) == limits[name]
        for requests, limits in asked
        for name in both
    ):
        return "Guaranteed"
    return "Burstable"


def prepare_create(cluster: Cluster, kind: Kind, body: Json) -> None:
    """Give a new object its identity and first status, in place."""
    metadata = body["metadata"]
    metadata["uid"] = cluster.new_uid()
    metadata["creationTimestamp"] = cluster.now()
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    if kind.generation:
        metadata["generation"] = 1
    else:
        metadata.pop("generation", None)
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in metadata and not metadata[name]:
            del metadata[name]
    _prepare_kind(cluster, kind, body)


def _prepare_kind(cluster: Cluster, kind: Kind, body: Json) -> None:
    if kind is POD:
        _prepare_pod(cluster, body)
    elif kind is JOB:
        _prepare_job(body)
    elif kind is REPLICA_SET:
        body["status"] = {"replicas": 0}
    elif kind is STATEFUL_SET:
        body["status"] = {"replicas": 0, "availableReplicas": 0}
    elif kind in {DEPLOYMENT, VALIDATING_POLICY}:
        body["status"] = {}
    elif kind is DEFINITION:
        versions = [each["name"] for each in body["spec"]["versions"] if each.get("storage")]
        names = {"plural": "", "kind": ""}
        body["status"] = {"conditions": None, "acceptedNames": names, "storedVersions": versions}
    elif kind is SERVICE:
        _give_address(body)
    elif kind is NAMESPACE:
        body["spec"] = {"finalizers": ["kubernetes"]}
        body["status"] = {"phase": "Active"}
    elif kind.custom and "status" in kind.subresources:
        body.pop("status", None)


def _give_address(body: Json) -> None:
    """An address of the cluster's own, one for each number of a uid."""
    spec, number = body["spec"], int(body["metadata"]["uid"][:8], 16)
    if spec["type"] == "ExternalName" or spec.get("clusterIP"):
        return
    spec["clusterIP"] = f"10.96.{number // 256 % 256}.{number % 256}"
    spec["clusterIPs"] = [spec["clusterIP"]]
    spec.update(ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")


def _prepare_pod(cluster: Cluster, body: Json) -> None:
    status: Json = {"phase": "Pending", "qosClass": quality_of(body["spec"])}
    if body["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": cluster.now(),
                "reason": "SchedulingGated",
                "message": _GATED,
            }
        ]
    body["status"] = status


def _prepare_job(body: Json) -> None:
    body["status"] = {}
    spec, metadata = body["spec"], body["metadata"]
    if spec.get("manualSelector"):
        return
    uid, name = metadata["uid"], metadata["name"]
    marks = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = spec["template"].setdefault("metadata", {})
    # The server's default shares the map of the template, so what is generated shows in both.
    shared = metadata.get("labels") and metadata["labels"] == template.get("labels")
    template["labels"] = {**(template.get("labels") or {}), **marks}
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    if shared or not metadata.get("labels"):
        metadata["labels"] = dict(template["labels"])


def prepare_update(kind: Kind, before: Json, body: Json, subresource: str) -> None:
    """Raise the generation where the wish changed; drop what is empty."""
    metadata = body["metadata"]
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in metadata and not metadata[name]:
            del metadata[name]
    if not kind.generation or subresource == "status":
        return
    if kind.custom:
        changed = _wish(before) != _wish(body)
    else:
        changed = before.get("spec") != body.get("spec")
    if changed:
        metadata["generation"] = before["metadata"].get("generation", 1) + 1


def _wish(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in {"metadata", "status"}}
