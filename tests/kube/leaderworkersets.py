"""LeaderWorkerSets: a custom kind whose controller makes leaders, and workers for each leader.

A StatefulSet keeps the leaders, and each of them has one that keeps its workers.
Not from recordings: names, labels, the order of a rollout and what is made anew follow the sources
of LeaderWorkerSet v1 (its controllers and its webhook for pods). Not kept: the templates of earlier
revisions, headless Services, the affinities of the leaders in an exclusive topology.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from tests.kube.children import (
    by_controller,
    create_child,
    is_ready,
    is_terminating,
    put_changed,
    write_status,
)
from tests.kube.cluster import Cluster, Request, Target
from tests.kube.documents import Json, annotations_of, controller_of, copy_of, dig, labels_of
from tests.kube.kinds import NODE, POD, STATEFUL_SET, Kind
from tests.kube.removal import DeleteOptions, delete
from tests.kube.store import Stored

PREFIX = "leaderworkerset.sigs.k8s.io"
NAME, INDEX, WORKER = f"{PREFIX}/name", f"{PREFIX}/group-index", f"{PREFIX}/worker-index"
KEY, REVISION = f"{PREFIX}/group-key", f"{PREFIX}/template-revision-hash"
SIZE, REPLICAS, LEADER = f"{PREFIX}/size", f"{PREFIX}/replicas", f"{PREFIX}/leader-name"
EXCLUSIVE = f"{PREFIX}/exclusive-topology"
LEADER_WORKER_SET = Kind(
    "leaderworkerset.x-k8s.io",
    "v1",
    "leaderworkersets",
    "LeaderWorkerSet",
    subresources=("status",),
    generation=True,
    unconditional=False,
    custom=True,
    short="lws",
)


def label_pods(cluster: Cluster, request: Request, body: Json) -> None:
    """What the webhook writes on a pod when it is made: its group, and which of that it is."""
    labels = labels_of(body)
    if request.target.kind is not POD or NAME not in labels:
        return
    parent, _, number = body["metadata"]["name"].rpartition("-")
    if WORKER in labels:
        labels.setdefault(INDEX, number)
        name = f"{request.target.namespace}/{parent}-{number}"
        labels.setdefault(KEY, hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest())
    else:
        labels[WORKER] = number
    body["metadata"]["labels"] = labels


def step_leader_worker_sets(cluster: Cluster) -> int:
    """One pass over all LeaderWorkerSets; how many objects were written."""
    started = cluster.store.version
    for one in cluster.store.all(LEADER_WORKER_SET):
        if not is_terminating(one.body):
            _keep_groups(cluster, one, _keep_leaders(cluster, one))
    return cluster.store.version - started


@dataclass(frozen=True)
class _State:
    """Whether the group of an index runs, and is of the newest template."""

    ready: bool
    updated: bool


def _template(body: Json) -> Json:
    found: Json = body["spec"]["leaderWorkerTemplate"]
    return found


def _revision(body: Json) -> str:
    text = json.dumps(_template(body), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _size(body: Json) -> int:
    return int(_template(body).get("size", 1))


def _replicas(body: Json) -> int:
    return int(body["spec"].get("replicas", 1))


# ---- the StatefulSet of leaders


def _keep_leaders(cluster: Cluster, one: Stored) -> Stored:
    """Make or change the StatefulSet of leaders."""
    live = cluster.get(STATEFUL_SET, *one.key)
    partition, replicas = _rollout(cluster, one, live)
    template = copy_of(_template(one.body).get("leaderTemplate") or _worker_template(one.body))
    marks = {WORKER: "0", NAME: one.key[1], REVISION: _revision(one.body)}
    _mark(template, marks, _notes(one.body))
    body: Json = {
        "metadata": {
            "name": one.key[1],
            "labels": {NAME: one.key[1], REVISION: marks[REVISION]},
            "annotations": {REPLICAS: str(_replicas(one.body))},
        },
        "spec": {
            "serviceName": one.key[1],
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
            "selector": {"matchLabels": {NAME: one.key[1], WORKER: "0"}},
            "template": template,
        },
    }
    if live is None:
        return create_child(cluster, one, STATEFUL_SET, body)
    spec = {**live.body["spec"], "replicas": replicas}
    spec["updateStrategy"] = body["spec"]["updateStrategy"]
    if labels_of(live.body)[REVISION] != marks[REVISION]:
        spec["template"] = {**template, "spec": {**spec["template"]["spec"], **template["spec"]}}
    metadata = {
        **live.body["metadata"],
        **{k: body["metadata"][k] for k in ("labels", "annotations")},
    }
    if spec == live.body["spec"] and metadata == live.body["metadata"]:
        return live
    metadata["generation"] = metadata.get("generation", 1) + 1
    return put_changed(cluster, live, metadata=metadata, spec=spec)


def _worker_template(body: Json) -> Json:
    found: Json = _template(body)["workerTemplate"]
    return found


def _notes(body: Json) -> dict[str, str]:
    """The annotations that all pods of a set have."""
    found = annotations_of(body)
    kept = {EXCLUSIVE: found[EXCLUSIVE]} if EXCLUSIVE in found else {}
    return {SIZE: str(_size(body)), **kept}


def _mark(template: Json, labels: dict[str, str], annotations: dict[str, str]) -> None:
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}


def _rollout(cluster: Cluster, one: Stored, leaders: Stored | None) -> tuple[int, int]:
    """From which index on leaders are of the newest template, and how many there are to be."""
    wanted = _replicas(one.body)
    if leaders is None:
        return 0, wanted
    rolling = dig(one.body, "spec.rolloutStrategy.rollingUpdateConfiguration", {})
    surge = min(rolling.get("maxSurge", 0), wanted)
    most, there = wanted + surge, leaders.body["spec"]["replicas"]

    def replicas(unready: int) -> int:
        return wanted + max(0, unready - 1) if unready <= surge else most

    if labels_of(leaders.body)[REVISION] != _revision(one.body):
        return min(wanted, there), replicas(wanted)
    partition = dig(leaders.body, "spec.updateStrategy.rollingUpdate.partition", 0)
    if partition == 0 and there == wanted:
        return 0, wanted
    states = _states(cluster, one, there)
    good = [state.ready and state.updated for state in states]
    unready = wanted - sum(good[:wanted])
    if annotations_of(leaders.body)[REPLICAS] != str(wanted):
        return min(partition, most), replicas(unready)
    step = rolling.get("maxUnavailable", 1) + surge - (most - there)
    return min(_partition(states, step), partition), replicas(unready)


def _partition(states: list[_State], step: int) -> int:
    tail = 0
    while tail < len(states) and states[-1 - tail].ready and states[-1 - tail].updated:
        tail += 1
    least = max(0, len(states) - tail - step)
    found = least + sum(not state.ready for state in states[:least])
    for index in range(min(found, len(states) - 1), least - 1, -1):
        if states[index].ready and not states[index].updated:
            break
        found = index
    return found


def _states(cluster: Cluster, one: Stored, count: int) -> list[_State]:
    namespace, revision = one.key[0], _revision(one.body)
    found = []
    for index in range(count):
        name = f"{one.key[1]}-{index}"
        leader = cluster.get(POD, namespace, name)
        workers = cluster.get(STATEFUL_SET, namespace, name)
        marked = [obj for obj in (leader, workers) if obj is not None]
        whole = len(marked) == (1 if _size(one.body) == 1 else 2)
        found.append(
            _State(
                ready=whole and _group_is_ready(leader, workers),
                updated=whole and all(labels_of(o.body).get(REVISION) == revision for o in marked),
            )
        )
    return found


def _group_is_ready(leader: Stored | None, workers: Stored | None) -> bool:
    if leader is None or not is_ready(leader.body):
        return False
    return workers is None or bool(
        dig(workers.body, "status.readyReplicas", 0) == workers.body["spec"]["replicas"]
    )


# ---- groups


def _keep_groups(cluster: Cluster, one: Stored, leaders: Stored) -> None:
    """Make the workers of each leader, make anew what is to be, and write the status."""
    pods = by_controller(cluster, POD)
    for leader in pods.get(leaders.body["metadata"]["uid"], []):
        _make_workers(cluster, one, leader)
    usual = "RecreateGroupOnPodRestart"
    if _template(one.body).get("restartPolicy", usual) == usual:
        for owned in pods.values():
            for pod in owned:
                if pod.key[0] == one.key[0] and labels_of(pod.body).get(NAME) == one.key[1]:
                    _restart(cluster, pod)
    live = cluster.store.get(LEADER_WORKER_SET, one.key)
    if live is not None:
        there = leaders.body["spec"]["replicas"]
        states = _states(cluster, live, there)
        status: Json = {
            "replicas": there,
            "readyReplicas": sum(state.ready for state in states),
            "updatedReplicas": sum(state.updated for state in states),
            "hpaPodSelector": f"{NAME}={one.key[1]},{WORKER}=0",
        }
        write_status(cluster, live, status, "lws")


def _make_workers(cluster: Cluster, one: Stored, leader: Stored) -> None:
    waits = is_terminating(leader.body) or (
        one.body["spec"].get("startupPolicy") == "LeaderReady" and not is_ready(leader.body)
    )
    if EXCLUSIVE in annotations_of(one.body) and not leader.body["spec"].get("nodeName"):
        waits = True
    if waits or _size(one.body) == 1 or cluster.get(STATEFUL_SET, *leader.key) is not None:
        return
    chosen = {name: labels_of(leader.body)[name] for name in (INDEX, NAME, KEY)}
    marks = {**chosen, REVISION: labels_of(leader.body)[REVISION]}
    template = copy_of(_worker_template(one.body))
    _mark(template, marks, {**_notes(one.body), LEADER: leader.key[1]})
    if EXCLUSIVE in annotations_of(one.body):
        _keep_in_domain(cluster, template, annotations_of(one.body)[EXCLUSIVE], leader)
    body: Json = {
        "metadata": {"name": leader.key[1], "labels": marks},
        "spec": {
            "serviceName": one.key[1],
            "replicas": _size(one.body) - 1,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 1},
            "selector": {"matchLabels": chosen},
            "template": template,
        },
    }
    create_child(cluster, leader, STATEFUL_SET, body)


def _keep_in_domain(cluster: Cluster, template: Json, level: str, leader: Stored) -> None:
    """Workers of an exclusive topology go where their leader is."""
    node = cluster.get(NODE, "", leader.body["spec"]["nodeName"])
    domain = None if node is None else labels_of(node.body).get(level)
    if domain is not None:
        selector = template["spec"].setdefault("nodeSelector", {})
        selector[level] = domain


def _leader_of(cluster: Cluster, worker: Stored) -> Stored | None:
    """The leader that a worker was made for; not one that has come after that was gone."""
    name = worker.key[1].rpartition("-")[0]
    leader, workers = (cluster.get(kind, worker.key[0], name) for kind in (POD, STATEFUL_SET))
    if leader is None or workers is None:
        return None
    chain = [controller_of(worker.body), controller_of(workers.body)]
    made = [workers.body["metadata"]["uid"], leader.body["metadata"]["uid"]]
    return leader if [owner and owner["uid"] for owner in chain] == made else None


def _restart(cluster: Cluster, pod: Stored) -> None:
    """Delete the leader of a pod that ends or was started again, with all of its group."""
    statuses = dig(pod.body, "status.containerStatuses", [])
    if not is_terminating(pod.body) and not any(one["restartCount"] for one in statuses):
        return
    leader: Stored | None = pod
    if labels_of(pod.body)[WORKER] != "0":
        leader = _leader_of(cluster, pod)
    if leader is None or is_terminating(leader.body):
        return
    if labels_of(leader.body).get(REVISION) == labels_of(pod.body).get(REVISION):
        target = cluster.as_controller(Target(POD, *leader.key))
        delete(cluster, target, leader, DeleteOptions(propagation="Foreground"))
