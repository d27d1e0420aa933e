"""The scheduler's own preemption: pods of lower priority are thrown out for one that cannot go.

A bot that decides by itself has to see this coming: it happens behind its back.
"""

from __future__ import annotations

from tests.kube.children import is_active, is_finished, is_terminating, put_changed
from tests.kube.cluster import Cluster, Target
from tests.kube.documents import Json, copy_of, dig, set_condition
from tests.kube.gpus import gpus_of
from tests.kube.kinds import POD
from tests.kube.recorder import record_scheduling
from tests.kube.removal import DeleteOptions, delete
from tests.kube.store import Stored
from tests.kube.tags import on_node


def _priority(pod: Stored) -> int:
    return int(pod.body["spec"].get("priority", 0))


def waits_for_victims(cluster: Cluster, pod: Stored) -> bool:
    """Whether the pod has a node in view on which others still end for it."""
    node = pod.body["status"].get("nominatedNodeName")
    return node is not None and any(
        is_terminating(each.body) for each in cluster.store.tagged(POD, on_node(node))
    )


def victims_on(cluster: Cluster, pod: Stored, node: str, free: int) -> list[Stored] | None:
    """The fewest pods of lower priority that make room on a node, the lowest first."""
    lower = [
        each
        for each in cluster.store.tagged(POD, on_node(node))
        if not is_finished(each.body) and is_active(each.body) and _priority(each) < _priority(pod)
    ]
    lower.sort(key=lambda each: (_priority(each), each.key))
    chosen: list[Stored] = []
    for each in lower:
        if free >= gpus_of(pod.body["spec"]):
            break
        chosen.append(each)
        free += gpus_of(each.body["spec"])
    return chosen if chosen and free >= gpus_of(pod.body["spec"]) else None


def may_preempt(pod: Stored) -> bool:
    spec = pod.body["spec"]
    return spec.get("preemptionPolicy") != "Never" and _priority(pod) > 0


def mark(cluster: Cluster, victim: Stored) -> Stored:
    """Say on the victim why it will be deleted."""
    status = copy_of(victim.body["status"])
    condition: Json = {
        "type": "DisruptionTarget",
        "observedGeneration": victim.body["metadata"].get("generation", 1),
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": cluster.now(),
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    set_condition(status, condition)
    return put_changed(cluster, victim, status=status)


def throw_out(cluster: Cluster, victim: Stored, by: Stored) -> None:
    """Delete a marked victim with its grace."""
    node = dig(victim.body, "spec.nodeName")
    message = f"Preempted by pod {by.body['metadata']['uid']} on node {node}"
    record_scheduling(cluster, victim, "Preempted", message)
    target = Target(POD, victim.key[0], victim.key[1])
    delete(cluster, cluster.as_controller(target), victim, DeleteOptions())
