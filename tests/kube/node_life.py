"""The node controllers: taints that follow from conditions, and pods that a taint drives out."""

from __future__ import annotations

from datetime import timedelta

from tests.kube.children import is_active, put_changed
from tests.kube.clock import from_wire
from tests.kube.cluster import Cluster, Target
from tests.kube.documents import (
    Json,
    annotations_of,
    condition_of,
    copy_of,
    dig,
    set_condition,
)
from tests.kube.kinds import NODE, POD
from tests.kube.removal import DeleteOptions, delete
from tests.kube.scheduling import tolerates
from tests.kube.store import Stored
from tests.kube.tags import on_node

_NEVER_REPORTED = ("MemoryPressure", "DiskPressure", "PIDPressure")
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_CORDONED = "node.kubernetes.io/unschedulable"
_TTL = "node.alpha.kubernetes.io/ttl"
_BY_STATE = {"False": _NOT_READY, "Unknown": _UNREACHABLE}


def step_nodes(cluster: Cluster) -> int:
    """One pass over all nodes and the pods their taints drive out; how many were written."""
    started = cluster.store.version
    driven = False
    for node in cluster.store.all(NODE):
        current = _mark_silent(cluster, node)
        current = _annotate(cluster, current)
        current = _taint(cluster, current)
        driven = driven or any(
            taint["effect"] == "NoExecute" for taint in dig(current.body, "spec.taints", [])
        )
    if driven:
        _drive_out(cluster)
    return cluster.store.version - started


def _mark_silent(cluster: Cluster, node: Stored) -> Stored:
    """Without a heartbeat for the grace period the conditions become Unknown."""
    if node.key[1] not in cluster.silent_nodes:
        return node
    since = cluster.silent_nodes[node.key[1]]
    if cluster.clock.now() < since + cluster.node_grace:
        return node
    ready = condition_of(node.body, "Ready")
    if ready is None or ready["status"] == "Unknown":
        return node
    status = copy_of(node.body["status"])
    condition = {
        **ready,
        "status": "Unknown",
        "lastTransitionTime": cluster.now(),
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    set_condition(status, condition)
    for kind in _NEVER_REPORTED:
        if condition_of(node.body, kind) is None:
            set_condition(
                status,
                {
                    "type": kind,
                    "status": "Unknown",
                    "lastHeartbeatTime": node.body["metadata"]["creationTimestamp"],
                    "lastTransitionTime": cluster.now(),
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                },
            )
    return put_changed(cluster, node, status=status)


def _annotate(cluster: Cluster, node: Stored) -> Stored:
    notes = annotations_of(node.body)
    if _TTL in notes or not cluster.annotates_nodes:
        return node
    metadata = {**node.body["metadata"], "annotations": {**notes, _TTL: "0"}}
    return put_changed(cluster, node, metadata=metadata)


def _wanted_taints(node: Json, now: str) -> list[Json]:
    ready = condition_of(node, "Ready")
    state = ready.get("status") if ready is not None else "Unregistered"
    taints: list[Json] = []
    present: dict[tuple[str, str], Json] = {
        (taint["key"], taint["effect"]): taint for taint in dig(node, "spec.taints", [])
    }
    own = {_NOT_READY, _UNREACHABLE, _CORDONED}
    taints += [taint for (key, _), taint in present.items() if key not in own]
    wanted: list[tuple[str, str]] = []
    if dig(node, "spec.unschedulable"):
        wanted.append((_CORDONED, "NoSchedule"))
    if state == "Unregistered":
        wanted.append((_NOT_READY, "NoSchedule"))
    elif state in _BY_STATE:
        wanted += [(_BY_STATE[state], "NoSchedule"), (_BY_STATE[state], "NoExecute")]
    for key, effect in wanted:
        old = present.get((key, effect))
        fresh: Json = {"key": key, "effect": effect, "timeAdded": now}
        taints.append(old if old is not None else fresh)
    return taints


def _taint(cluster: Cluster, node: Stored) -> Stored:
    before = dig(node.body, "spec.taints", [])
    taints = _wanted_taints(node.body, cluster.now())
    if sorted(map(str, before)) == sorted(map(str, taints)):
        return node
    first = [taint for taint in taints if taint["effect"] != "NoExecute" or taint in before]
    changed = node
    for step in (first, taints):  # two controllers: one for scheduling, one for eviction
        spec = {name: value for name, value in changed.body["spec"].items() if name != "taints"}
        if step:
            spec["taints"] = step
        if spec != changed.body["spec"]:
            changed = put_changed(cluster, changed, spec=spec)
    if any(taint["key"] in _BY_STATE.values() for taint in taints):
        _unready_pods(cluster, node.key[1])
    return changed


def _unready_pods(cluster: Cluster, name: str) -> None:
    """The pods of a node that is not ready are not ready either."""
    for pod in cluster.store.tagged(POD, on_node(name)):
        ready = condition_of(pod.body, "Ready")
        if ready is None or ready["status"] != "True":
            continue
        status = copy_of(pod.body["status"])
        changed = {**ready, "status": "False", "lastTransitionTime": cluster.now()}
        set_condition(status, changed)
        put_changed(cluster, pod, status=status)


def _drive_out(cluster: Cluster) -> None:
    for node in cluster.store.all(NODE):
        taints = [t for t in dig(node.body, "spec.taints", []) if t["effect"] == "NoExecute"]
        if taints:
            _drive_out_of(cluster, node.key[1], taints)


def _drive_out_of(cluster: Cluster, node: str, taints: list[Json]) -> None:
    for pod in cluster.store.tagged(POD, on_node(node)):
        if is_active(pod.body) and any(_is_due(cluster, pod.body, taint) for taint in taints):
            _evict(cluster, pod)


def _is_due(cluster: Cluster, pod: Json, taint: Json) -> bool:
    """Whether the pod does not tolerate a taint, or no longer."""
    found = [each for each in pod["spec"].get("tolerations", []) if tolerates(each, taint)]
    if not found:
        return True
    limits = [each["tolerationSeconds"] for each in found if "tolerationSeconds" in each]
    if not limits or "timeAdded" not in taint:
        return False
    return cluster.clock.now() >= from_wire(taint["timeAdded"]) + timedelta(seconds=min(limits))


def _evict(cluster: Cluster, pod: Stored) -> None:
    status = copy_of(pod.body["status"])
    condition = {
        "type": "DisruptionTarget",
        "observedGeneration": pod.body["metadata"].get("generation", 1),
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": cluster.now(),
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
    }
    set_condition(status, condition)
    marked = put_changed(cluster, pod, status=status)
    target = Target(POD, pod.key[0], pod.key[1])
    delete(cluster, cluster.as_controller(target), marked, DeleteOptions())
