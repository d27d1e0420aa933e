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
from tests.kube.tags import ENDING, OWNED, on_node

_QUARANTINE = timedelta(seconds=40)
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def _all_tagged(cluster: Cluster, tag: str) -> Iterable[Stored]:
    for kind in cluster.store.kinds():
        yield from cluster.store.tagged(kind, tag)


def _owners(body: Json) -> list[Json]:
    owners: list[Json] = dig(body, "metadata.ownerReferences", [])
    return owners


def step_garbage(cluster: Cluster) -> int:
    """One pass of all collectors; how many objects were written."""
    started = cluster.store.version
    dependents = _dependents(cluster)
    for stored in tuple(_all_tagged(cluster, ENDING)):
        finalizers = stored.body["metadata"].get("finalizers", ())
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
    for stored in _all_tagged(cluster, OWNED):
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


def _is_present(cluster: Cluster, uid: str, dependents: list[Stored]) -> bool:
    """Whether the owner with this uid exists, as its dependents name it."""
    stored = dependents[0]
    reference = next(each for each in _owners(stored.body) if each["uid"] == uid)
    kind = cluster.kinds.find_object(reference["apiVersion"], reference["kind"])
    if kind is None:
        return False
    namespace = stored.key[0] if kind.namespaced else ""
    found = cluster.get(kind, namespace, reference["name"])
    return found is not None and found.body["metadata"]["uid"] == uid


def _collect_ownerless(cluster: Cluster, dependents: dict[str, list[Stored]]) -> None:
    present = {uid for uid in dependents if _is_present(cluster, uid, dependents[uid])}
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
    bound_to = [tag[5:] for tag in cluster.store.tags(POD) if tag.startswith("node ")]
    gone = {name for name in bound_to if name not in nodes}
    for name in sorted(gone):
        cluster.missing_nodes.setdefault(name, now)
    for name in tuple(cluster.missing_nodes):
        if name not in gone:
            del cluster.missing_nodes[name]
        elif now >= cluster.missing_nodes[name] + _QUARANTINE:
            for pod in cluster.store.tagged(POD, on_node(name)):
                _force(cluster, pod)
    for pod in cluster.store.tagged(POD, ENDING):
        node = nodes.get(str(pod.body["spec"].get("nodeName")))
        taints = dig(node, "spec.taints", []) if node is not None else []
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
