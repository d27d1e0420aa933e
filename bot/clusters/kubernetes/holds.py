"""Holds: GPUs that were granted without an object, redeemed by the label `gpubot.dev/request`.

Any pod of a person's that waits behind our gate and carries the label passes it, up to the GPUs
that the hold was granted on each node. A hold runs from the moment it is granted. When it is
stopped, its pods are deleted.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from bot.clusters.base import ClusterEvent, EndKind, PodsLost, Started, Taken, Wanted
from bot.clusters.flaws import Flaw, FlawKind
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.facts import JOB, JOB_SET, PodFacts
from bot.clusters.kubernetes.fleet import Fleet
from bot.clusters.kubernetes.gangs import Gang, decision_of, standing
from bot.clusters.kubernetes.groups import POD
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.outside import seen_pod
from bot.clusters.kubernetes.sending import PodSender
from bot.clusters.kubernetes.writing import Writer
from scheduler.model import GPU, Admission, NodeName, Seconds
from storage.records import ObjectRef

log = logging.getLogger(__name__)


class Holds:
    """Carries out decisions about holds, under the lock of whoever calls."""

    def __init__(
        self,
        connection: Connection,
        mirror: Mirror,
        writer: Writer,
        fleet: Fleet,
        strangers: Callable[[Iterable[NodeName]], list[PodFacts]],
    ) -> None:
        self._mirror, self._writer = mirror, writer
        self._fleet, self._strangers = fleet, strangers
        self._sender = PodSender(connection, mirror, writer, fleet)
        self._told: dict[str, dict[str, Flaw | None]] = {}  # what waits in vain, by request and uid

    def start(self, gang: Gang) -> EndKind | None:
        """Keep a hold in mind, unless a node of it is not there.

        One that is not ready has time to be so again, for it may have been held for long; one that
        is leaving is told as a lost one is, and the rest of the hold stays.
        """
        there = (self._fleet.usable(node) or node in self._fleet.leaving for node in gang.nodes)
        return None if all(there) else EndKind.LOST

    def has_begun(self, gang: Gang) -> bool:
        """Whether pods of it were let go that are not over."""
        return any(decision_of(pod) == gang.decision for pod in self._alive(gang))

    def expel(self, request: str) -> None:
        """Delete what was let go for a hold that is over: its write came late, or a bot died."""
        self._expel(pod for pod in self._pods(request) if decision_of(pod) is not None)

    def _expel(self, pods: Iterable[PodFacts]) -> None:
        for pod in pods:
            if not (pod.finished or pod.terminating or self._writer.busy(pod.uid)):
                log.warning("%s runs by %s, which is over there", pod.name, decision_of(pod))
                self._sender.remove(pod)

    def stop(self, gang: Gang, grace: Seconds, now: Seconds) -> None:
        """Have its pods deleted when its grace is over; at once where there are none."""
        if gang.stop_at is None:
            gang.stop_at = now + grace if self._alive(gang) else now
            if gang.stop_at <= now:
                self.suspend(gang)

    def suspend(self, gang: Gang) -> None:
        """Delete its pods."""
        gang.stopping = True
        for pod in self._alive(gang):
            if not pod.terminating and not pod.gated:
                self._sender.remove(pod)

    def replace(self, gang: Gang, admission: Admission) -> None:
        """Let its pods go to the nodes of another grant from now on."""
        gang.admission = admission
        gang.hurt.clear()
        gang.taken.clear()
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if node in gang.nodes}
        for pod in self._alive(gang):
            if pod.node is not None and pod.node not in gang.nodes and not pod.terminating:
                self._sender.remove(pod)

    def look(self, gang: Gang, events: list[ClusterEvent], now: Seconds) -> EndKind | None:
        """Let pods go, tell what is new; how it ended if it has."""
        pods = self._alive(gang)
        if gang.stopping:
            let_go = [pod for pod in pods if not pod.gated]
            return None if standing(let_go, self._fleet.dead) else gang.ending
        if not gang.running and not gang.hurt:
            gang.running = True
            events.append(Started(workload=gang.workload, decision=gang.decision, at=now))
        for node in sorted(gang.nodes - gang.hurt):
            if not self._fleet.usable(node):
                gang.hurt.add(node)
                events.append(
                    PodsLost(workload=gang.workload, decision=gang.decision, node=node, at=now)
                )
        self._expel(pod for pod in pods if _is_astray(gang, pod))
        _note_vacant(gang, pods, now)
        if gang.stop_at is None and not gang.hurt:
            events += self._taken(gang, pods, now)
            self._let_go(gang, pods)
            events += self._too_large(gang, pods, now)
        return None

    def _alive(self, gang: Gang) -> tuple[PodFacts, ...]:
        """The pods of a hold that are not over; one that was sent is of it, whatever its label."""
        pods = self._pods(gang.workload)
        known, mine = self._mirror.pods.items, {pod.uid for pod in pods}
        sent = [known[uid] for uid in sorted(gang.pinned.keys() - mine) if uid in known]
        return tuple(
            pod for pod in (*pods, *(one for one in sent if one.gated)) if not pod.finished
        )

    def _pods(self, request: str) -> tuple[PodFacts, ...]:
        """The pods labelled with a request, but for those of a Job that is one of its own."""
        return tuple(pod for pod in self._mirror.pods_for(request) if not self._is_of_another(pod))

    def _is_of_another(self, pod: PodFacts) -> bool:
        work = None if pod.owner is None else self._mirror.work(pod.owner.uid)
        return work is not None and (work.decision is not None or names.MADE in work.annotations)

    def _taken(self, gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> Iterator[Taken]:
        """Tell who has GPUs that it was granted and has no pods on: the node has no more."""
        for node, granted in sorted(gang.room.items()):
            mine = [pod for pod in pods if pod.node == node]
            unused = granted - sum(pod.requests.get(GPU, 0) for pod in mine)
            by = [pod for pod in self._strangers([node]) if not pod.terminating]
            if unused <= 0 or not by or not self._fleet.short(node, unused):
                gang.taken.pop(node, None)
                continue
            before, gang.taken[node] = gang.taken.get(node), frozenset(pod.uid for pod in by)
            if before is None or gang.taken[node] - before:
                yield Taken(
                    workload=gang.workload,
                    decision=gang.decision,
                    node=node,
                    by=tuple(seen_pod(pod, None) for pod in by),
                    vacant=not mine,
                    bare=all(pod.node is None for pod in pods),
                    seen=self._fleet.bare(node),
                    at=now,
                )

    def _let_go(self, gang: Gang, pods: tuple[PodFacts, ...]) -> None:
        free: Counter[NodeName] = Counter(gang.room)
        there = {pod.uid for pod in pods}
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if uid in there}
        hosts = {self._fleet.host(node): node for node in sorted(gang.room)}
        for pod in pods:
            node = pod.node or gang.pinned.get(pod.uid)
            if node is None and not pod.gated:  # on its way
                node = hosts.get(pod.host or "")
                self._call_back(gang, pod, node)
            if node is not None:
                free[node] -= pod.requests.get(GPU, 0)
        for pod in pods:
            if not pod.gated or pod.terminating or pod.uid in gang.pinned:
                continue
            gpus = pod.requests.get(GPU, 0)
            open_to = [one for one in sorted(gang.room) if one not in gang.taken]
            node = next((one for one in open_to if free[one] >= gpus), None)
            if node is not None:
                free[node] -= gpus
                gang.pinned[pod.uid] = node
                meant = functools.partial(_is_meant, gang, pod.uid, node)
                self._sender.let_go(gang, pod, node, hold=gang.workload, still=meant)

    def unredeemed(self, request: str, now: Seconds) -> Iterator[Wanted]:
        """The pods at the gate for a request that has no GPUs for them; each is told once."""
        pods = [pod for pod in self._pods(request) if not pod.finished]
        yield from self._tell(request, 0, pods, now)

    def _too_large(self, gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> Iterator[Wanted]:
        """The pods that no node of a hold has room for, whatever else ends; each is told once."""
        most = max(gang.room.values(), default=0)
        over = [pod for pod in pods if pod.requests.get(GPU, 0) > most]
        yield from self._tell(gang.workload, most, over, now)

    def _tell(
        self, request: str, most: int, pods: Sequence[PodFacts], now: Seconds
    ) -> Iterator[Wanted]:
        waiting = [pod for pod in pods if pod.gated and not pod.terminating]
        told = {_about(pod).uid: _wanted(pod, request, most, now) for pod in reversed(waiting)}
        before = self._told.pop(request, {})
        if told:
            self._told[request] = {uid: one.flaw for uid, one in told.items()}
        for uid in sorted(told):
            if told[uid].flaw != before.get(uid):
                yield told[uid]

    def _call_back(self, gang: Gang, pod: PodFacts, node: NodeName | None) -> None:
        """Delete a pod that was let go to a node which has been left: it goes to no other."""
        mine = decision_of(pod) == gang.decision and not pod.terminating
        if mine and node is None and not self._writer.busy(pod.uid):
            self._sender.remove(pod)


def _is_meant(gang: Gang, pod: str, node: NodeName) -> bool:
    """Whether a pod, by uid, is still to go to a node."""
    return gang.pinned.get(pod) == node


def _is_astray(gang: Gang, pod: PodFacts) -> bool:
    """Whether a pod was let go by an earlier decision, or is on a node that has been left.

    It was to be deleted then; a bot that died over it has not done it.
    """
    decision = decision_of(pod)
    there = pod.node is None or pod.node in gang.nodes
    return decision is not None and not (decision == gang.decision and there)


def _note_vacant(gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> None:
    """Keep since when how many GPUs have had no pod: those that had one last count from now."""
    used = sum(pod.requests.get(GPU, 0) for pod in pods if not pod.gated or pod.uid in gang.pinned)
    count = max(0, sum(gang.room.values()) - used)
    gang.vacant = [*gang.vacant[:count], *[now] * (count - len(gang.vacant))]


def _wanted(pod: PodFacts, request: str, most: int, now: Seconds) -> Wanted:
    """A pod that the hold it names has no room for, which is to be told."""
    kind = FlawKind.HELD_LESS if most else FlawKind.HELD_NOT
    size = pod.requests.get(GPU, 0)
    return Wanted(
        ref=_about(pod),
        marks={},
        pod_sets=(),
        created=pod.created,
        at=now,
        flaw=Flaw(kind=kind, values=(request,), there=most, size=size),
    )


def _about(pod: PodFacts) -> ObjectRef:
    """What is told of a pod's wait: its Job, whose pods come and go, or itself."""
    space, owner = pod.namespace, pod.owner
    if owner is not None and owner.kind in {JOB, JOB_SET}:
        return ObjectRef(kind=owner.kind, namespace=space, name=owner.name, uid=owner.uid)
    return ObjectRef(kind=POD, namespace=space, name=pod.name, uid=pod.uid)
