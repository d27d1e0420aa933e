"""The admission plugins that are always on, and the call of the policies."""

from __future__ import annotations

from tests.kube.cluster import Cluster, Request
from tests.kube.documents import Json, copy_of, dig
from tests.kube.kinds import NAMESPACE, NODE, POD, PRIORITY_CLASS
from tests.kube.statuses import forbidden, not_found

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_BUILT_IN_CLASSES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def check_namespace(cluster: Cluster, request: Request, body: Json) -> None:
    """New objects need a namespace that exists and does not end.

    Raises:
        Refusal: 404 or 403.

    """
    target = request.target
    if not target.kind.namespaced:
        return
    found = cluster.get(NAMESPACE, "", target.namespace)
    if found is None:
        raise not_found("", "namespaces", target.namespace)
    if dig(found.body, "status.phase") == "Terminating":
        name = dig(body, "metadata.name", "")
        why = (
            f"unable to create new content in namespace {target.namespace} "
            "because it is being terminated"
        )
        refusal = forbidden(target.kind.group, target.kind.plural, name, why)
        causes = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {target.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        refusal.details = {**(refusal.details or {}), "causes": causes}
        raise refusal


def admit_create(cluster: Cluster, request: Request, body: Json) -> None:
    """Change a new object in place as plugins and mutating policies do."""
    kind = request.target.kind
    if kind is NODE:
        _taint_new_node(body)
    for mutate in cluster.mutators:
        mutate(cluster, request, body)
    if kind is POD:
        _give_priority(cluster, body)
        _give_account(cluster, body)
        _give_tolerations(body)


def admit_update(cluster: Cluster, request: Request, before: Json, body: Json) -> None:
    """Plugins on an update: tolerations only, which a patch may have replaced."""
    if request.target.kind is POD and not request.target.subresource:
        was, now = dig(before, "spec.tolerations"), dig(body, "spec.tolerations")
        if was != now:
            _give_tolerations(body)


def _taint_new_node(body: Json) -> None:
    taints = body["spec"].setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY for taint in taints):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})


def _give_priority(cluster: Cluster, body: Json) -> None:
    spec = body["spec"]
    name = spec.get("priorityClassName")
    if not name:
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        return
    found = cluster.get(PRIORITY_CLASS, "", name)
    if found is None and name not in _BUILT_IN_CLASSES:
        who = dig(body, "metadata.name", "")
        raise forbidden("", "pods", who, f"no PriorityClass with name {name} was found")
    spec["priority"] = found.body["value"] if found else _BUILT_IN_CLASSES[name]
    policy = found.body.get("preemptionPolicy") if found else None
    spec["preemptionPolicy"] = policy or "PreemptLowerPriority"


def _give_account(cluster: Cluster, body: Json) -> None:
    spec = body["spec"]
    account = spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", account)
    if spec.get("automountServiceAccountToken") is False:
        return
    name = f"kube-api-access-{cluster.new_suffix()}"
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ]
    volume = {"name": name, "projected": {"sources": sources, "defaultMode": 420}}
    spec.setdefault("volumes", []).append(volume)
    mount = {"name": name, "readOnly": True, "mountPath": _MOUNT}
    for container in spec.get("initContainers", []) + spec.get("containers", []):
        container.setdefault("volumeMounts", []).append(copy_of(mount))


def _give_tolerations(body: Json) -> None:
    tolerations = body["spec"].setdefault("tolerations", [])
    for key in (_NOT_READY, _UNREACHABLE):
        if any(_covers(each, key) for each in tolerations):
            continue
        tolerations.append(
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        )


def _covers(toleration: Json, key: str) -> bool:
    return toleration.get("key") in {key, None, ""} and toleration.get("effect") in {
        "NoExecute",
        None,
        "",
    }
