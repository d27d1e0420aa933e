"""What the status of a Deployment says about its ReplicaSets."""

from __future__ import annotations

from datetime import timedelta

from tests.kube.clock import from_wire
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, condition_of, copy_of, dig, labels_of
from tests.kube.store import Stored


def _sum(sets: list[Stored], path: str) -> int:
    return sum(int(dig(each.body, path, 0)) for each in sets)


def _counts(deployment: Stored, sets: list[Stored], newest: Stored | None, ending: int) -> Json:
    replicas = _sum(sets, "status.replicas")
    ready = _sum(sets, "status.readyReplicas")
    wanted = deployment.body["spec"]["replicas"]
    status: Json = {"observedGeneration": deployment.body["metadata"].get("generation", 1)}
    numbers = {
        "replicas": replicas,
        "updatedReplicas": _sum([newest] if newest else [], "status.replicas"),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(replicas - ready, wanted - ready, 0),
    }
    status.update({name: number for name, number in numbers.items() if number})
    status["terminatingReplicas"] = ending
    return status


def deployment_status(
    cluster: Cluster, deployment: Stored, sets: list[Stored], mark: str, ending: int
) -> Json:
    """The whole status; conditions keep their times while their state stays."""
    newest = next((s for s in sets if labels_of(s.body).get("pod-template-hash") == mark), None)
    status = _counts(deployment, sets, newest, ending)
    before = copy_of(dig(deployment.body, "status.conditions", []))
    spec = deployment.body["spec"]
    wanted, available = spec["replicas"], status.get("availableReplicas", 0)
    missing = dig(spec, "strategy.rollingUpdate.maxUnavailable", 0)
    if isinstance(missing, str):
        missing = int(missing.rstrip("%")) * wanted // 100
    if available >= wanted - missing:
        _set(
            cluster,
            before,
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    else:
        _set(
            cluster,
            before,
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    if newest is not None:
        _set_progress(cluster, deployment, status, before, newest)
    status["conditions"] = before
    return status


def _set_progress(
    cluster: Cluster, deployment: Stored, status: Json, conditions: list[Json], newest: Stored
) -> None:
    was = condition_of({"status": {"conditions": conditions}}, "Progressing")
    wanted, name = deployment.body["spec"]["replicas"], newest.key[1]
    complete = (
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) >= wanted
    )
    if complete:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        _set(cluster, conditions, "Progressing", "True", "NewReplicaSetAvailable", message)
        return
    if was is not None and was["reason"] == "NewReplicaSetAvailable" and name in was["message"]:
        return  # once complete, a lost replica is no new roll-out
    limit = timedelta(seconds=deployment.body["spec"]["progressDeadlineSeconds"])
    numbers = ("updatedReplicas", "readyReplicas", "availableReplicas")
    old = deployment.body.get("status") or {}
    moved = any(status.get(each, 0) != old.get(each, 0) for each in numbers)
    if was is not None and name in was["message"] and not moved:
        if cluster.clock.now() >= from_wire(was["lastUpdateTime"]) + limit:
            message = f'ReplicaSet "{name}" has timed out progressing.'
            _set(cluster, conditions, "Progressing", "False", "ProgressDeadlineExceeded", message)
        return
    message = f'ReplicaSet "{name}" is progressing.'
    _set(cluster, conditions, "Progressing", "True", "ReplicaSetUpdated", message)


def _set(
    cluster: Cluster, conditions: list[Json], kind: str, state: str, reason: str, message: str
) -> None:
    was = next((each for each in conditions if each["type"] == kind), None)
    if was is not None and (was["status"], was["reason"], was["message"]) == (
        state,
        reason,
        message,
    ):
        return
    now = cluster.now()
    changed = was is None or was["status"] != state
    condition: Json = {
        "type": kind,
        "status": state,
        "lastUpdateTime": now,
        "lastTransitionTime": now if changed or was is None else was["lastTransitionTime"],
        "reason": reason,
        "message": message,
    }
    if was is not None:
        conditions.remove(was)
    conditions.append(condition)
