"""The controller of StatefulSets, one pass at a time.

With `OrderedReady` an ordinal is made once those before it are ready, and taken away once those
after it are gone; with `Parallel` all at once. A new template reaches the pods from the highest
ordinal down to `partition`, each when the one before it is ready again; with `OnDelete` only
those that somebody deletes. A pod that ended for good is made anew. Not kept: the old template,
so an ordinal below the partition that is made again gets the new one.
"""

from __future__ import annotations

from tests.kube.children import (
    back_off,
    by_controller,
    create_child,
    delete_child,
    is_backed_off,
    is_finished,
    is_ready,
    is_terminating,
    pod_from_template,
    template_hash,
    write_status,
)
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, dig, labels_of
from tests.kube.kinds import POD
from tests.kube.recorder import record
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

_REVISION = "controller-revision-hash"


def step_stateful_set(
    cluster: Cluster, stateful_set: Stored, pods: dict[str, list[Stored]]
) -> None:
    """Make, take away or replace what is next, and write the status."""
    if is_terminating(stateful_set.body):
        return
    uid = stateful_set.body["metadata"]["uid"]
    mark = f"{stateful_set.key[1]}-{template_hash(stateful_set)}"
    owned = {int(pod.key[1].rpartition("-")[2]): pod for pod in pods.get(uid, [])}
    whole = _fill(cluster, stateful_set, owned, mark)
    if whole and not _shrink(cluster, stateful_set, owned):
        _update(cluster, stateful_set, owned, mark)
    now = by_controller(cluster, POD).get(uid, [])
    write_status(cluster, stateful_set, _status(stateful_set, now, mark))


def _is_ordered(stateful_set: Stored) -> bool:
    return bool(stateful_set.body["spec"]["podManagementPolicy"] == "OrderedReady")


def _ordinals(stateful_set: Stored) -> range:
    start = dig(stateful_set.body, "spec.ordinals.start", 0)
    return range(start, start + stateful_set.body["spec"]["replicas"])


def _fill(cluster: Cluster, stateful_set: Stored, owned: dict[int, Stored], mark: str) -> bool:
    """Make the ordinals that lack; whether the next ones need not be waited for."""
    for rank in _ordinals(stateful_set):
        pod = owned.get(rank)
        if pod is not None and is_finished(pod.body) and not is_terminating(pod.body):
            delete_child(cluster, pod)
        elif pod is None and not is_backed_off(cluster, stateful_set):
            if _is_taken(cluster, stateful_set, rank):
                return False
            _make(cluster, stateful_set, rank, mark)
        if _is_ordered(stateful_set) and (pod is None or not is_ready(pod.body)):
            return False
    return True


def _is_taken(cluster: Cluster, stateful_set: Stored, rank: int) -> bool:
    """Whether a pod of another has the name still, and ends."""
    other = cluster.get(POD, stateful_set.key[0], f"{stateful_set.key[1]}-{rank}")
    return other is not None and is_terminating(other.body)


def _shrink(cluster: Cluster, stateful_set: Stored, owned: dict[int, Stored]) -> bool:
    """Take surplus ordinals away, the highest first; whether there are any."""
    name, wanted = stateful_set.key[1], _ordinals(stateful_set)
    surplus = sorted((rank for rank in owned if rank not in wanted), reverse=True)
    for rank in surplus:
        if not is_terminating(owned[rank].body):
            delete_child(cluster, owned[rank])
            message = f"Delete Pod {name}-{rank} in StatefulSet {name} successful"
            _tell(cluster, stateful_set, "SuccessfulDelete", message)
        if _is_ordered(stateful_set):
            break
    return bool(surplus)


def _update(cluster: Cluster, stateful_set: Stored, owned: dict[int, Stored], mark: str) -> None:
    """Delete the next pod of an old template; it is made anew after the new one."""
    strategy = stateful_set.body["spec"]["updateStrategy"]
    if strategy["type"] != "RollingUpdate":
        return
    partition = dig(strategy, "rollingUpdate.partition", 0)
    for rank in reversed(_ordinals(stateful_set)):
        pod = owned.get(rank)
        if rank < partition:
            return
        if pod is None or is_terminating(pod.body):
            return
        if labels_of(pod.body).get(_REVISION) != mark:
            delete_child(cluster, pod)
            return
        if not is_ready(pod.body):
            return


def _make(cluster: Cluster, stateful_set: Stored, rank: int, mark: str) -> None:
    name = stateful_set.key[1]
    own = f"{name}-{rank}"
    body = pod_from_template(
        stateful_set.body["spec"]["template"], name=own, generateName=f"{name}-"
    )
    body["metadata"]["labels"] = {
        **body["metadata"].get("labels", {}),
        "apps.kubernetes.io/pod-index": str(rank),
        _REVISION: mark,
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
        _tell(cluster, stateful_set, "FailedCreate", message)
        back_off(cluster, stateful_set)
        return
    message = f"Create Pod {own} in StatefulSet {name} successful"
    _tell(cluster, stateful_set, "SuccessfulCreate", message)


def _tell(cluster: Cluster, about: Stored, reason: str, message: str) -> None:
    warning = reason.startswith("Failed")
    record(cluster, about, reason, message, by="statefulset-controller", warning=warning)


def _status(stateful_set: Stored, pods: list[Stored], mark: str) -> Json:
    live = [pod.body for pod in pods]
    standing = [labels_of(body).get(_REVISION) for body in live if not is_terminating(body)]
    ready = sum(is_ready(body) for body in live)
    updated = standing.count(mark)
    before = str(dig(stateful_set.body, "status.currentRevision") or mark)
    whole = updated == ready == stateful_set.body["spec"]["replicas"] == len(live)
    current = mark if whole else before
    status: Json = {
        "observedGeneration": stateful_set.body["metadata"].get("generation", 1),
        "replicas": len(live),
        "availableReplicas": ready,
        "collisionCount": 0,
        "currentRevision": current,
        "updateRevision": mark,
    }
    if ready:
        status["readyReplicas"] = ready
    if standing.count(current):
        status["currentReplicas"] = standing.count(current)
    if updated:
        status["updatedReplicas"] = updated
    return status
