"""The garbage collectors: of dependents, of pods on missing nodes, and of ending namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from tests.kube.children import delete_child, drop_finalizer, is_finished, put_changed
from tests.kube.cluster import Cluster, Target
from tests.kube.documents import Json, condition_of, copy_of, dig, set_condition
from tests.kube.kinds import NODE, POD
from tests.kube.namespace_end import step_namespaces
from tests.kube.removal import FOREGROUND, ORPHAN, DeleteOptions, delete
from tests.kube.store import Stored

_QUARANTINE = timedelta(seconds=40)
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def _everything(cluster: Cluster) -> Iterable[Stored]:
    for kind in cluster.store.kinds():
        yield from cluster.store.all(kind)


def _owners(body: Json) -> list[Json]:
    owners: list[Json] = dig(body, "metadata.ownerReferences", [])
    return owners


def step_garbage(cluster: Cluster) -> int:
    """One pass of all collectors; how many objects were written."""
    started = cluster.store.version
    dependents = _dependents(cluster)
    for stored in tuple(_everything(cluster)):
        finalizers = stored.body["metadata"].get("finalizers", ())
        if "deletionTimestamp" not in stored.body["metadata"]:
            continue
        if ORPHAN in finalizers:
            _orphan(cluster, stored, dependents)
        elif FOREGROUND in finalizers:
            _end_in_front(cluster, stored, dependents)
    _collect_ownerless(cluster, dependents)
    _collect_lost_pods(cluster)
    step_namespaces(cluster)
    return cluster.store.version - started


def _dependents(cluster: Cluster) -> dict[str, list[Stored]]:
    found: dict[str, list[Stored]] = {}
    for stored in _everything(cluster):
        for owner in _owners(stored.body):
            found.setdefault(owner["uid"], []).append(stored)
    return found


def _orphan(cluster: Cluster, owner: Stored, dependents: dict[str, list[Stored]]) -> None:
    uid = owner.body["metadata"]["uid"]
    for stored in dependents.pop(uid, []):
        live = cluster.store.get(stored.kind, stored.key)
        if live is None:
            continue
        metadata = dict(live.body["metadata"])
        left = [each for each in _owners(live.body) if each["uid"] != uid]
        metadata.pop("ownerReferences")
        if left:
            metadata["ownerReferences"] = left
        kept = put_changed(cluster, live, metadata=metadata)
        drop_finalizer(cluster, kept, "batch.kubernetes.io/job-tracking")
    drop_finalizer(cluster, owner, ORPHAN)


def _end_in_front(cluster: Cluster, owner: Stored, dependents: dict[str, list[Stored]]) -> None:
    uid = owner.body["metadata"]["uid"]
    held = False
    for stored in dependents.get(uid, []):
        live = cluster.store.get(stored.kind, stored.key)
        if live is None:
            continue
        if "deletionTimestamp" not in live.body["metadata"]:
            delete_child(cluster, live)
        held = held or cluster.store.get(stored.kind, stored.key) is not None
    if not held:
        live = cluster.store.get(owner.kind, owner.key)
        if live is not None:
            drop_finalizer(cluster, live, FOREGROUND)


def _collect_ownerless(cluster: Cluster, dependents: dict[str, list[Stored]]) -> None:
    present = {stored.body["metadata"]["uid"] for stored in _everything(cluster)}
    for uid in sorted(dependents.keys() - present):
        for stored in dependents[uid]:
            live = cluster.store.get(stored.kind, stored.key)
            if live is None or "deletionTimestamp" in live.body["metadata"]:
                continue
            if not any(owner["uid"] in present for owner in _owners(live.body)):
                delete_child(cluster, live)


def _collect_lost_pods(cluster: Cluster) -> None:
    """Pods of a node that has gone for 40 s, and terminating ones of a node out of service."""
    nodes = {node.key[1]: node.body for node in cluster.store.all(NODE)}
    now = cluster.clock.now()
    gone = {
        str(pod.body["spec"]["nodeName"])
        for pod in cluster.store.all(POD)
        if pod.body["spec"].get("nodeName") and pod.body["spec"]["nodeName"] not in nodes
    }
    for name in sorted(gone):
        cluster.missing_nodes.setdefault(name, now)
    for name in tuple(cluster.missing_nodes):
        if name not in gone:
            del cluster.missing_nodes[name]
    for pod in cluster.store.all(POD):
        name = pod.body["spec"].get("nodeName")
        since = cluster.missing_nodes.get(str(name))
        if since is not None and now >= since + _QUARANTINE:
            _force(cluster, pod)
        elif name in nodes and "deletionTimestamp" in pod.body["metadata"]:
            taints = dig(nodes[name], "spec.taints", [])
            if any(taint["key"] == _OUT_OF_SERVICE for taint in taints):
                _force(cluster, pod)


def _force(cluster: Cluster, pod: Stored) -> None:
    """Fail what did not finish, say why, and remove it without a kubelet."""
    if not is_finished(pod.body):
        status = {**copy_of(pod.body["status"]), "phase": "Failed"}
        condition = {
            "type": "DisruptionTarget",
            "observedGeneration": pod.body["metadata"].get("generation", 1),
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": cluster.now(),
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        if condition_of(pod.body, "DisruptionTarget") is None:
            set_condition(status, condition)
        pod = put_changed(cluster, pod, status=status)
    target = Target(POD, pod.key[0], pod.key[1])
    delete(cluster, cluster.as_controller(target), pod, DeleteOptions(grace=0))
