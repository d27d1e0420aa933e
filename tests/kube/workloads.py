"""The controllers of Deployments, ReplicaSets and StatefulSets, one pass at a time."""

from __future__ import annotations

import hashlib
import json

from tests.kube.children import (
    back_off,
    by_controller,
    create_child,
    delete_child,
    is_active,
    is_backed_off,
    is_finished,
    is_terminating,
    pod_from_template,
    put_changed,
    write_status,
)
from tests.kube.cluster import Cluster
from tests.kube.deployment_status import deployment_status
from tests.kube.documents import Json, annotations_of, condition_of, copy_of, dig, labels_of
from tests.kube.kinds import DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET
from tests.kube.recorder import record
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

_REVISION = "deployment.kubernetes.io/revision"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_HASH = "pod-template-hash"


def step_workloads(cluster: Cluster) -> int:
    """One pass over Deployments, ReplicaSets and StatefulSets; how many objects were written."""
    started = cluster.store.version
    sets = by_controller(cluster, REPLICA_SET)
    for deployment in cluster.store.all(DEPLOYMENT):
        if not is_terminating(deployment.body):
            _step_deployment(cluster, deployment, sets)
    pods = by_controller(cluster, POD)
    for replica_set in cluster.store.all(REPLICA_SET):
        _step_replica_set(cluster, replica_set, pods)
    for stateful_set in cluster.store.all(STATEFUL_SET):
        _step_stateful_set(cluster, stateful_set, pods)
    sets = by_controller(cluster, REPLICA_SET)
    pods = by_controller(cluster, POD)
    for deployment in cluster.store.all(DEPLOYMENT):
        owned = sets.get(deployment.body["metadata"]["uid"], [])
        ending = sum(
            is_terminating(pod.body)
            for each in owned
            for pod in pods.get(each.body["metadata"]["uid"], [])
        )
        status = deployment_status(cluster, deployment, owned, _hash_of(deployment), ending)
        write_status(cluster, deployment, status)
    return cluster.store.version - started


def _hash_of(owner: Stored) -> str:
    """A name for a template: the same for the same template."""
    text = json.dumps(owner.body["spec"]["template"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def is_ready(body: Json) -> bool:
    condition = condition_of(body, "Ready")
    return condition is not None and condition["status"] == "True" and not is_terminating(body)


def _share(value: object, total: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        part = int(value[:-1]) * total
        return -(-part // 100) if up else part // 100
    return int(str(value))


def _step_deployment(cluster: Cluster, deployment: Stored, sets: dict[str, list[Stored]]) -> None:
    spec = deployment.body["spec"]
    uid, wanted = deployment.body["metadata"]["uid"], spec["replicas"]
    rolling = dig(spec, "strategy.rollingUpdate", {})
    surge = _share(rolling.get("maxSurge", 0), wanted, up=True)
    missing = _share(rolling.get("maxUnavailable", 0), wanted, up=False)
    owned = sets.get(uid, [])
    newest = next((s for s in owned if labels_of(s.body).get(_HASH) == _hash_of(deployment)), None)
    old = [each for each in owned if each is not newest and each.body["spec"]["replicas"]]
    if newest is None:
        running = sum(each.body["spec"]["replicas"] for each in old)
        first = min(wanted, max(wanted + surge - running, 0))
        newest = _new_replica_set(cluster, deployment, len(owned) + 1, wanted + surge, first)
    running = sum(each.body["spec"]["replicas"] for each in old)
    target = wanted if not old else min(wanted, max(wanted + surge - running, 0))
    target = max(target, newest.body["spec"]["replicas"] if old else target)
    _scale(cluster, deployment, newest, target, wanted + surge)
    ready = dig(newest.body, "status.readyReplicas", 0)
    spare = max(ready - max(wanted - running - missing, 0), 0)
    for each in old:
        has = each.body["spec"]["replicas"]
        unready = has - dig(each.body, "status.readyReplicas", 0)
        gone = min(has, spare if ready or missing else 0, has if ready else unready)
        if gone:
            _scale(cluster, deployment, each, has - gone, wanted + surge)
            spare -= gone


def _new_replica_set(
    cluster: Cluster, deployment: Stored, revision: int, limit: int, replicas: int
) -> Stored:
    spec = deployment.body["spec"]
    mark = _hash_of(deployment)
    template = copy_of(spec["template"])
    labels = {**labels_of(template), _HASH: mark}
    template.setdefault("metadata", {})["labels"] = labels
    selector = copy_of(spec["selector"])
    selector["matchLabels"] = {**selector.get("matchLabels", {}), _HASH: mark}
    body: Json = {
        "metadata": {
            "name": f"{deployment.key[1]}-{mark}",
            "labels": labels,
            "annotations": {
                "deployment.kubernetes.io/desired-replicas": str(spec["replicas"]),
                "deployment.kubernetes.io/max-replicas": str(limit),
                _REVISION: str(revision),
            },
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }
    made = create_child(cluster, deployment, REPLICA_SET, body)
    if replicas:
        _tell_scale(cluster, deployment, made, 0, replicas)
    notes = {**annotations_of(deployment.body), _REVISION: str(revision)}
    live = cluster.store.get(DEPLOYMENT, deployment.key)
    if live is not None:
        put_changed(cluster, live, metadata={**live.body["metadata"], "annotations": notes})
    return made


def _scale(
    cluster: Cluster, deployment: Stored, replica_set: Stored, replicas: int, limit: int
) -> None:
    before = replica_set.body["spec"]["replicas"]
    if before == replicas:
        return
    metadata = replica_set.body["metadata"]
    notes = {
        **annotations_of(replica_set.body),
        "deployment.kubernetes.io/desired-replicas": str(deployment.body["spec"]["replicas"]),
        "deployment.kubernetes.io/max-replicas": str(limit),
    }
    generation = metadata.get("generation", 1) + 1
    changed = put_changed(
        cluster,
        replica_set,
        metadata={**metadata, "annotations": notes, "generation": generation},
        spec={**replica_set.body["spec"], "replicas": replicas},
    )
    _tell_scale(cluster, deployment, changed, before, replicas)


def _tell_scale(
    cluster: Cluster, deployment: Stored, replica_set: Stored, before: int, after: int
) -> None:
    way = "up" if after > before else "down"
    name = replica_set.key[1]
    message = f"Scaled {way} replica set {name} from {before} to {after}"
    record(cluster, deployment, "ScalingReplicaSet", message, by="deployment-controller")


def _expendable(pod: Stored) -> tuple[object, ...]:
    """The order in which surplus pods go: unassigned, pending, unready, cheap, youngest."""
    body = pod.body
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    created = str(body["metadata"]["creationTimestamp"])
    return (
        bool(body["spec"].get("nodeName")),
        phases.get(str(dig(body, "status.phase")), 2),
        is_ready(body),
        int(annotations_of(body).get(_COST, 0)),
        tuple(-ord(char) for char in created),
        -pod.version,
        pod.key,
    )


def _step_replica_set(cluster: Cluster, replica_set: Stored, pods: dict[str, list[Stored]]) -> None:
    uid = replica_set.body["metadata"]["uid"]
    owned = pods.get(uid, [])
    active = [pod for pod in owned if is_active(pod.body)]
    spec, name = replica_set.body["spec"], replica_set.key[1]
    if not is_terminating(replica_set.body):
        lacking = 0 if is_backed_off(cluster, replica_set) else spec["replicas"] - len(active)
        for _ in range(lacking):
            body = pod_from_template(spec["template"], generateName=f"{name}-")
            try:
                made = create_child(cluster, replica_set, POD, body)
            except Refusal as refusal:
                message = f"Error creating: {refusal.message}"
                _tell(cluster, replica_set, "FailedCreate", message)
                back_off(cluster, replica_set)
                break
            active.append(made)
            owned = [*owned, made]
            _tell(cluster, replica_set, "SuccessfulCreate", f"Created pod: {made.key[1]}")
        surplus = sorted(active, key=_expendable)[: max(len(active) - spec["replicas"], 0)]
        for pod in surplus:
            delete_child(cluster, pod)
            _tell(cluster, replica_set, "SuccessfulDelete", f"Deleted pod: {pod.key[1]}")
    now = [live for pod in owned if (live := cluster.store.get(POD, pod.key)) is not None]
    live_set = cluster.store.get(REPLICA_SET, replica_set.key)
    if live_set is not None:
        write_status(cluster, live_set, _replica_set_status(live_set, now))


def _tell(cluster: Cluster, replica_set: Stored, reason: str, message: str) -> None:
    warning = reason.startswith("Failed")
    record(cluster, replica_set, reason, message, by="replicaset-controller", warning=warning)


def _replica_set_status(replica_set: Stored, pods: list[Stored]) -> Json:
    active = [pod.body for pod in pods if is_active(pod.body)]
    ready = sum(is_ready(body) for body in active)
    status: Json = {"replicas": len(active)}
    if active:
        status["fullyLabeledReplicas"] = len(active)
    if ready:
        status["readyReplicas"] = status["availableReplicas"] = ready
    status["terminatingReplicas"] = sum(
        is_terminating(pod.body) and not is_finished(pod.body) for pod in pods
    )
    status["observedGeneration"] = replica_set.body["metadata"].get("generation", 1)
    return status


def _step_stateful_set(
    cluster: Cluster, stateful_set: Stored, pods: dict[str, list[Stored]]
) -> None:
    if is_terminating(stateful_set.body):
        return
    spec, name = stateful_set.body["spec"], stateful_set.key[1]
    mark = f"{name}-{_hash_of(stateful_set)}"
    owned = {pod.key[1]: pod for pod in pods.get(stateful_set.body["metadata"]["uid"], [])}
    ordered = spec["podManagementPolicy"] == "OrderedReady"
    for rank in range(spec["replicas"]):
        pod = owned.get(f"{name}-{rank}")
        if pod is None and not is_backed_off(cluster, stateful_set):
            _make_ordinal(cluster, stateful_set, rank, mark)
        if ordered and (pod is None or not is_ready(pod.body)):
            break
    surplus = [f"{name}-{rank}" for rank in range(len(owned) + spec["replicas"] - 1, -1, -1)]
    for each in surplus:
        rank = int(each.rpartition("-")[2])
        pod = owned.get(each)
        if pod is not None and rank >= spec["replicas"] and not is_terminating(pod.body):
            delete_child(cluster, pod)
            message = f"Delete Pod {each} in StatefulSet {name} successful"
            _tell_stateful(cluster, stateful_set, "SuccessfulDelete", message)
            if ordered:
                break
    now = by_controller(cluster, POD).get(stateful_set.body["metadata"]["uid"], [])
    write_status(cluster, stateful_set, _stateful_set_status(stateful_set, now, mark))


def _make_ordinal(cluster: Cluster, stateful_set: Stored, rank: int, mark: str) -> None:
    name = stateful_set.key[1]
    own = f"{name}-{rank}"
    body = pod_from_template(
        stateful_set.body["spec"]["template"], name=own, generateName=f"{name}-"
    )
    body["metadata"]["labels"] = {
        **body["metadata"].get("labels", {}),
        "apps.kubernetes.io/pod-index": str(rank),
        "controller-revision-hash": mark,
        "statefulset.kubernetes.io/pod-name": own,
    }
    body["spec"]["hostname"] = own
    service = stateful_set.body["spec"].get("serviceName")
    if service:
        body["spec"]["subdomain"] = service
    try:
        create_child(cluster, stateful_set, POD, body)
    except Refusal as refusal:
        message = f"create Pod {own} in StatefulSet {name} failed error: {refusal.message}"
        _tell_stateful(cluster, stateful_set, "FailedCreate", message)
        back_off(cluster, stateful_set)
        return
    message = f"Create Pod {own} in StatefulSet {name} successful"
    _tell_stateful(cluster, stateful_set, "SuccessfulCreate", message)


def _tell_stateful(cluster: Cluster, about: Stored, reason: str, message: str) -> None:
    warning = reason.startswith("Failed")
    record(cluster, about, reason, message, by="statefulset-controller", warning=warning)


def _stateful_set_status(stateful_set: Stored, pods: list[Stored], mark: str) -> Json:
    live = [pod.body for pod in pods]
    ready = sum(is_ready(body) for body in live)
    current = sum(not is_terminating(body) for body in live)
    status: Json = {
        "observedGeneration": stateful_set.body["metadata"].get("generation", 1),
        "replicas": len(live),
        "availableReplicas": ready,
        "collisionCount": 0,
        "currentRevision": mark,
        "updateRevision": mark,
    }
    if ready:
        status["readyReplicas"] = ready
    if current:
        status["currentReplicas"] = status["updatedReplicas"] = current
    return status
