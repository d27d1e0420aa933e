"""The controllers of Deployments and ReplicaSets, one pass at a time, and that of StatefulSets."""

from __future__ import annotations

from tests.kube.children import (
    back_off,
    by_controller,
    create_child,
    delete_child,
    is_active,
    is_backed_off,
    is_finished,
    is_ready,
    is_terminating,
    pod_from_template,
    put_changed,
    template_hash,
    write_status,
)
from tests.kube.cluster import Cluster
from tests.kube.deployment_status import deployment_status
from tests.kube.documents import Json, annotations_of, copy_of, dig, labels_of
from tests.kube.kinds import DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET
from tests.kube.recorder import record
from tests.kube.stateful_sets import step_stateful_set
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
        step_stateful_set(cluster, stateful_set, pods)
    sets = by_controller(cluster, REPLICA_SET)
    pods = by_controller(cluster, POD)
    for deployment in cluster.store.all(DEPLOYMENT):
        owned = sets.get(deployment.body["metadata"]["uid"], [])
        ending = sum(
            is_terminating(pod.body)
            for each in owned
            for pod in pods.get(each.body["metadata"]["uid"], [])
        )
        status = deployment_status(cluster, deployment, owned, template_hash(deployment), ending)
        write_status(cluster, deployment, status)
    return cluster.store.version - started


def _share(value: object, total: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        part = int(value[:-1]) * total
        return -(-part // 100) if up else part // 100
    return int(str(value))


def _step_deployment(cluster: Cluster, deployment: Stored, sets: dict[str, list[Stored]]) -> None:
    owned = sets.get(deployment.body["metadata"]["uid"], [])
    newest = next(
        (s for s in owned if labels_of(s.body).get(_HASH) == template_hash(deployment)), None
    )
    old = [each for each in owned if each is not newest]
    if dig(deployment.body, "spec.strategy.type") == "Recreate":
        _recreate(cluster, deployment, newest, old)
    else:
        _roll(cluster, deployment, newest, old)


def _recreate(
    cluster: Cluster, deployment: Stored, newest: Stored | None, old: list[Stored]
) -> None:
    """Take all old pods away first; the new ones come when the last of them is gone."""
    wanted = deployment.body["spec"]["replicas"]
    for each in old:
        _scale(cluster, deployment, each, 0, wanted)
    pods = by_controller(cluster, POD)
    left = [pod for each in old for pod in pods.get(each.body["metadata"]["uid"], [])]
    if any(not is_finished(pod.body) for pod in left):
        return
    if newest is None:
        _new_replica_set(cluster, deployment, len(old) + 1, wanted, wanted)
    else:
        _scale(cluster, deployment, newest, wanted, wanted)


def _roll(cluster: Cluster, deployment: Stored, newest: Stored | None, every: list[Stored]) -> None:
    """Replace old pods step by step, within what the strategy allows above and below."""
    spec = deployment.body["spec"]
    wanted = spec["replicas"]
    rolling = dig(spec, "strategy.rollingUpdate", {})
    surge = _share(rolling.get("maxSurge", 0), wanted, up=True)
    missing = _share(rolling.get("maxUnavailable", 0), wanted, up=False)
    old = [each for each in every if each.body["spec"]["replicas"]]
    if newest is None:
        running = sum(each.body["spec"]["replicas"] for each in old)
        first = min(wanted, max(wanted + surge - running, 0))
        newest = _new_replica_set(cluster, deployment, len(every) + 1, wanted + surge, first)
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
    mark = template_hash(deployment)
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
