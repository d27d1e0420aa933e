"""A scheduler: pods in order of priority and age, to the first node that fits."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from tests.kube.children import is_active, put_changed
from tests.kube.cluster import Cluster, Request, Target
from tests.kube.documents import Json, condition_of, copy_of, dig, labels_of, set_condition
from tests.kube.gpus import GPU, gpus_of
from tests.kube.kinds import NODE, POD
from tests.kube.recorder import record_scheduling
from tests.kube.rights import CONTROLLERS
from tests.kube.scheduler_preemption import (
    mark,
    may_preempt,
    throw_out,
    victims_on,
    waits_for_victims,
)
from tests.kube.selectors import selects
from tests.kube.store import Stored
from tests.kube.subresources import bind
from tests.kube.tags import HOLDS, WAITS

SCHEDULER = "default-scheduler"


def tolerates(toleration: Json, taint: Json) -> bool:
    effect = toleration.get("effect")
    if effect and effect != taint["effect"]:
        return False
    key = toleration.get("key")
    if not key:
        return toleration.get("operator") == "Exists"
    if key != taint["key"]:
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")


def _matches_affinity(spec: Json, node: Json) -> bool:
    required = dig(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    labels, name = labels_of(node), {"metadata.name": node["metadata"]["name"]}
    return any(
        selects({"matchExpressions": term.get("matchExpressions") or []}, labels)
        and selects({"matchExpressions": term.get("matchFields") or []}, name)
        for term in required["nodeSelectorTerms"]
    )


def obstacle(spec: Json, node: Json, free: int) -> str | None:
    """Why a pod cannot go to a node, in the scheduler's words, or None."""
    if dig(node, "spec.unschedulable"):
        return "node(s) were unschedulable"
    tolerations = spec.get("tolerations") or []
    for taint in dig(node, "spec.taints", []):
        hard = taint["effect"] in {"NoSchedule", "NoExecute"}
        if hard and not any(tolerates(each, taint) for each in tolerations):
            value = taint.get("value", "")
            return f"node(s) had untolerated taint(s) {{{taint['key']}: {value}}}"
    selector: dict[str, str] = spec.get("nodeSelector") or {}
    labels = labels_of(node)
    fits = all(labels.get(key) == value for key, value in selector.items())
    if not fits or not _matches_affinity(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    if gpus_of(spec) > free:
        return f"Insufficient {GPU}"
    return None


@dataclass
class _Search:
    """How far the nodes were searched for pods with the same wishes."""

    nodes: list[Stored]
    at: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def _wishes(spec: Json) -> str:
    parts = ("nodeSelector", "affinity", "tolerations")
    return json.dumps([gpus_of(spec), *(spec.get(part) for part in parts)], sort_keys=True)


class _Room:
    """Free GPUs of each node."""

    def __init__(self, cluster: Cluster) -> None:
        self._searches: dict[str, _Search] = {}
        self.nodes = cluster.store.all(NODE)
        self.by_name = {node.key[1]: node for node in self.nodes}
        self.free = {
            node.key[1]: int(dig(node.body, "status.allocatable", {}).get(GPU, 0))
            for node in self.nodes
        }
        self.largest = max(self.free.values(), default=0)
        for pod in cluster.store.tagged(POD, HOLDS):
            name = pod.body["spec"]["nodeName"]
            if name in self.free:
                self.free[name] -= gpus_of(pod.body["spec"])

    def first_fit(self, spec: Json) -> tuple[str | None, Counter[str]]:
        """The first node with room, or why there is none.

        Room only shrinks within one pass, so pods with the same wishes go on where the last one
        of them stopped.
        """
        found = self._searches.get(_wishes(spec))
        if found is None:
            found = self._searches[_wishes(spec)] = _Search(self.candidates(spec))
        while found.at < len(found.nodes):
            node = found.nodes[found.at]
            reason = obstacle(spec, node.body, self.free[node.key[1]])
            if reason is None:
                return node.key[1], found.reasons
            found.reasons[reason] += 1
            found.at += 1
        return None, found.reasons

    def candidates(self, spec: Json) -> list[Stored]:
        """All nodes, or the one that a host name selects: most pods here are pinned."""
        host = (spec.get("nodeSelector") or {}).get("kubernetes.io/hostname")
        pinned = self.by_name.get(host) if host else None
        if pinned is not None and labels_of(pinned.body).get("kubernetes.io/hostname") == host:
            return [pinned]
        return self.nodes


def step_scheduler(cluster: Cluster) -> int:
    """Bind what fits and say of the rest why it does not; how many objects were written."""
    started = cluster.store.version
    waiting = [pod for pod in cluster.store.tagged(POD, WAITS) if _waits(pod.body)]
    if not waiting:
        return 0
    room = _Room(cluster)
    waiting.sort(key=lambda pod: (-int(pod.body["spec"].get("priority", 0)), _age(pod), pod.key))
    for pod in waiting:
        _place(cluster, pod, room)
    return cluster.store.version - started


def _age(pod: Stored) -> str:
    return str(pod.body["metadata"]["creationTimestamp"])


def _waits(body: Json) -> bool:
    spec = body["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName") == SCHEDULER
        and is_active(body)
    )


def _place(cluster: Cluster, pod: Stored, room: _Room) -> None:
    spec = pod.body["spec"]
    name, found = room.first_fit(spec)
    if name is not None:
        room.free[name] -= gpus_of(spec)
        request = Request(CONTROLLERS, Target(POD, pod.key[0], pod.key[1], "binding"))
        bind(cluster, request, {"metadata": {}, "target": {"name": name}})
        message = f"Successfully assigned {pod.key[0]}/{pod.key[1]} to {name}"
        record_scheduling(cluster, pod, "Scheduled", message)
        return
    if waits_for_victims(cluster, pod):
        return
    reasons = Counter(found)
    others = len(room.nodes) - reasons.total()
    if others:
        reasons["node(s) didn't match Pod's node affinity/selector"] += others
    lead = f"0/{len(room.nodes)} nodes are available: {_listed(reasons)}."
    chosen = _choose_victims(cluster, pod, room)
    if chosen is None:
        _explain(cluster, pod, lead + _no_victims(pod, reasons, room))
        return
    node, victims = chosen
    marked = [mark(cluster, victim) for victim in victims]
    _explain(cluster, pod, lead, node)
    for victim in marked:
        throw_out(cluster, victim, pod)


def _choose_victims(cluster: Cluster, pod: Stored, room: _Room) -> tuple[str, list[Stored]] | None:
    """The first node on which fewest pods of lower priority are in the way."""
    if not may_preempt(pod):
        return None
    spec = pod.body["spec"]
    found: list[tuple[int, str, list[Stored]]] = []
    for node in room.candidates(spec):
        name = node.key[1]
        if obstacle(spec, node.body, room.largest) is None:
            victims = victims_on(cluster, pod, name, room.free[name])
            if victims is not None:
                found.append((len(victims), name, victims))
    if not found:
        return None
    _, name, victims = min(found, key=lambda each: each[:2])
    return name, victims


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(
        f"{count} {reason}" for reason, count in sorted(reasons.items(), key=_place_in_message)
    )


def _no_victims(pod: Stored, reasons: Counter[str], room: _Room) -> str:
    """Why nobody can be thrown out for a pod."""
    total, wanted = len(room.nodes), gpus_of(pod.body["spec"])
    lacking = sum(count for reason, count in reasons.items() if reason.startswith("Insuff"))
    if lacking and wanted > room.largest:
        lacking = 0  # not even an empty node would do
    parts = []
    if lacking:
        parts.append(f"{lacking} No preemption victims found for incoming pod")
    if total - lacking:
        parts.append(f"{total - lacking} Preemption is not helpful for scheduling")
    return (
        f" no new claims to deallocate, preemption: 0/{total} nodes are available: "
        f"{', '.join(parts)}."
    )


def _place_in_message(item: tuple[str, int]) -> str:
    return f"{item[1]} {item[0]}"


def _explain(cluster: Cluster, pod: Stored, message: str, nominated: str = "") -> None:
    """Say on the pod why it waits, and which node it has in view."""
    was = condition_of(pod.body, "PodScheduled")
    if was is not None and was["status"] == "False" and was.get("message") == message:
        return
    status = copy_of(pod.body["status"])
    set_condition(
        status,
        {
            "type": "PodScheduled",
            "observedGeneration": pod.body["metadata"].get("generation", 1),
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": cluster.now(),
            "reason": "Unschedulable",
            "message": message,
        },
    )
    if nominated:
        status["nominatedNodeName"] = nominated
    put_changed(cluster, pod, status=status)
    record_scheduling(cluster, pod, "FailedScheduling", message)
