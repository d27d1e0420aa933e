"""Pods that wait by themselves: single ones, replicas of a Deployment or StatefulSet, and groups.

A group is the pods of a namespace with the same `gpubot.dev/group`, as many as
`gpubot.dev/group-size` says; nothing is asked for before all of them are there, and all are let
go together. A replica is a request of its own, so an autoscaler keeps working: its successor,
after an eviction, is another. Stopping is by eviction, within disruption budgets.
"""

from __future__ import annotations

import hashlib

from bot.clusters.base import ClusterEvent, EndKind, PodsLost, Started, Wanted
from bot.clusters.kubernetes import names, patches
from bot.clusters.kubernetes.connection import Connection, Json
from bot.clusters.kubernetes.facts import Phase, PodFacts
from bot.clusters.kubernetes.fleet import Fleet
from bot.clusters.kubernetes.gangs import Gang, is_ready, places_for, standing
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.writing import Write, Writer
from scheduler.model import Admission, NodeName, PodSet, Seconds
from storage.records import ObjectRef

POD, GROUP = "Pod", "PodGroup"


class PodGangs:
    """Carries out decisions about pods, under the lock of whoever calls."""

    def __init__(
        self, connection: Connection, mirror: Mirror, writer: Writer, fleet: Fleet
    ) -> None:
        self._connection, self._mirror, self._writer = connection, mirror, writer
        self._fleet = fleet

    def wanted(self, key: str, now: Seconds) -> Wanted | None:
        """What the pods of a key ask for; None unless all of them wait, and are there.

        Of what cannot be taken as it is (no team, a group without a size) its first pod, so that
        its owner is told.
        """
        pods = self._mirror.pods_of_unit(key)
        first = next(iter(pods), None)
        if first is None or not all(_waits(pod) for pod in pods):
            return None
        size = _size(first)
        if size is None or names.TEAM not in first.labels:
            pods = (first,)
        elif len(pods) < size or len({_form(pod) for pod in pods}) > 1:
            return None
        shape = first.shape
        if shape is None:
            return None
        marks = {**first.annotations, **first.labels}
        return Wanted(
            ref=ref_of(key, pods),
            marks={name.removeprefix(names.PREFIX): text for name, text in sorted(marks.items())},
            pod_sets=(
                PodSet(
                    count=len(pods),
                    requests=shape.requests,
                    node_selector=shape.node_selector,
                    affinity=shape.affinity,
                    tolerations=shape.tolerations,
                ),
            ),
            created=min(pod.created for pod in pods),
            at=now,
            leaving=self._leaving(first),
        )

    def _leaving(self, pod: PodFacts) -> frozenset[str]:
        """The replicas beside this one whose deletion was asked for."""
        if pod.owner is None or pod.family is None:
            return frozenset()
        return frozenset(one.uid for one in self._mirror.pods_of(pod.owner.uid) if one.terminating)

    def start(self, gang: Gang) -> EndKind | None:
        """Let the pods go that are not gone yet; how it ended if it has."""
        pods = self.pods_of(gang)
        if not pods:
            return EndKind.STOPPED
        if gang.marks is not None:
            self._mark(pods[0], gang.marks)
        if not all(map(self._fleet.ready, gang.nodes)):
            return EndKind.LOST
        gang.whole = any(pod.annotations.get(names.DECISION) == gang.decision for pod in pods)
        return None

    def stop(self, gang: Gang, grace: Seconds, now: Seconds) -> None:
        """Have its pods evicted when its grace is over."""
        if gang.stop_at is None:
            ready = any(pod.ready for pod in standing(self.pods_of(gang), self._fleet.failed))
            gang.stop_at = now + grace if ready else now
            if gang.stop_at <= now:
                self.suspend(gang)

    def suspend(self, gang: Gang) -> None:
        """Evict its pods."""
        gang.stopping = True
        for pod in self.pods_of(gang):
            if not pod.finished and not pod.terminating:
                self._evict(pod)

    def replace(self, gang: Gang, admission: Admission) -> None:
        """A pod that was sent to a node goes to no other: the gang is stopped whole instead."""
        del admission
        gang.ending = EndKind.LOST
        self.suspend(gang)

    def give_up(self, gang: Gang) -> None:
        """Stop a gang that was not whole in time."""
        gang.ending = EndKind.LATE
        self.suspend(gang)

    def look(self, gang: Gang, events: list[ClusterEvent], now: Seconds) -> EndKind | None:
        """Let pods go, tell what is new; how it ended if it has."""
        pods = self.pods_of(gang)
        lost = self._fleet.failed
        if not standing(pods, lost) and all(pod.finished or pod.node in lost for pod in pods):
            return self._end(gang, pods)
        for node in sorted(gang.nodes - gang.hurt):
            if not self._fleet.usable(node):
                gang.hurt.add(node)
                events.append(
                    PodsLost(workload=gang.workload, decision=gang.decision, node=node, at=now)
                )
        if gang.stopping or gang.stop_at is not None or gang.hurt:
            return None
        self._let_go(gang, pods)
        ready = is_ready(gang, pods)
        gang.since = None if ready else (gang.since or now)
        if ready and not gang.running:
            gang.running = True
            events.append(Started(workload=gang.workload, decision=gang.decision, at=now))
        return None

    def _end(self, gang: Gang, pods: tuple[PodFacts, ...]) -> EndKind | None:
        if pods and all(pod.phase is Phase.SUCCEEDED for pod in pods):
            return EndKind.FINISHED
        if any(pod.phase is Phase.FAILED and not pod.disrupted for pod in pods):
            return gang.ending if gang.stopping else EndKind.FAILED
        told, gang.bereft = gang.bereft, True  # deleted: that they are gone is told first
        return gang.ending if told else None

    def pods_of(self, gang: Gang) -> tuple[PodFacts, ...]:
        """The pods of a gang, by name and uid; one that was adopted need not show it yet."""
        adopted = self._mirror.pods.items.get(gang.ref.uid) if gang.ref.adopted else None
        return self._mirror.pods_of_unit(gang.ref.uid) if adopted is None else (adopted,)

    def _mark(self, pod: PodFacts, body: Json) -> None:
        self._writer.put(
            Write(
                about=pod.uid,
                what=f"adopt {pod.name}",
                send=lambda: self._connection.patch(pod.path, body),
            )
        )

    def _let_go(self, gang: Gang, pods: tuple[PodFacts, ...]) -> None:
        alive = [pod for pod in pods if not pod.finished and not pod.terminating]
        gang.whole = gang.whole or len(alive) >= len(gang.slots)
        there = {pod.uid for pod in alive}
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if uid in there}
        hosts = {self._fleet.host(node): node for node in gang.nodes}
        places = places_for(gang, pods, hosts)
        for pod in alive:
            node = places.get(pod.uid)
            if node is not None:
                gang.pinned[pod.uid] = node
                self._send(gang, pod, node)

    def _send(self, gang: Gang, pod: PodFacts, node: NodeName) -> None:
        body = patches.let_go(pod, gang.decision, self._fleet.host(node))
        self._writer.put(
            Write(
                about=pod.uid,
                what=f"let a pod of {gang.decision} go",
                send=lambda: self._connection.patch(pod.path, body),
            )
        )

    def _evict(self, pod: PodFacts) -> None:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        self._writer.put(
            Write(
                about=pod.uid,
                what=f"evict {pod.name}",
                send=lambda: self._connection.post(f"{pod.path}/eviction", body),
            )
        )


def ref_of(key: str, pods: tuple[PodFacts, ...]) -> ObjectRef:
    """What names the pods of a key, and what they ask for."""
    first = pods[0]
    group = first.labels.get(names.GROUP)
    asked = (len(pods), _form(first))
    return ObjectRef(
        kind=POD if group is None else GROUP,
        namespace=first.namespace,
        name=group or first.name,
        uid=key,
        form=hashlib.sha256(repr(asked).encode()).hexdigest()[:12],
        family=first.family if group is None else None,
    )


def _form(pod: PodFacts) -> str:
    return repr((pod.shape, sorted(pod.labels.items())))


def _waits(pod: PodFacts) -> bool:
    return pod.gated and not pod.terminating and not pod.finished


def _size(pod: PodFacts) -> int | None:
    """How many pods belong together; None where that cannot be read."""
    if names.GROUP not in pod.labels:
        return 1
    text = pod.labels.get(names.GROUP_SIZE, "")
    return int(text) if text.isdigit() and int(text) > 0 else None
