"""Pods that wait by themselves: single ones, replicas of what keeps several, and groups.

Nothing is asked for before all pods of a group are there (`groups`), and all are let go together.
A replica is a request of its own, so an autoscaler keeps working. Of a Deployment or StatefulSet
its successor, after an eviction, is another; one of a LeaderWorkerSet waits again, as itself, and
keeps its nodes when its pods are made anew without that. Stopping is by eviction, within disruption
budgets.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from bot.clusters.base import ClusterEvent, EndKind, PodsLost, Started, Wanted
from bot.clusters.flaws import FlawKind
from bot.clusters.kubernetes import groups, names, patches
from bot.clusters.kubernetes.connection import Connection, Json
from bot.clusters.kubernetes.facts import MAIN, Phase, PodFacts
from bot.clusters.kubernetes.fleet import Fleet
from bot.clusters.kubernetes.gangs import (
    Gang,
    decision_of,
    is_granted,
    is_of_this_run,
    is_ready,
    part_of,
    seats,
    standing,
)
from bot.clusters.kubernetes.groups import Later, Roster, role_of
from bot.clusters.kubernetes.lateness import given_up, refusals
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.progress import news_of
from bot.clusters.kubernetes.replicas import LEADER, WORKER, read_key
from bot.clusters.kubernetes.sending import PodSender
from bot.clusters.kubernetes.writing import Write, Writer
from scheduler.model import GPU, Admission, NodeName, Seconds

log = logging.getLogger(__name__)

_SOON: Seconds = 60.0  # within which the pods of a replica are made anew
_ANYWHERE = NodeName("")  # where a pod is sent that the Kubernetes scheduler finds a node for


class PodGangs:
    """Carries out decisions about pods, under the lock of whoever calls.

    A group that is short is told once more when it has been so for `patience` seconds.
    """

    def __init__(
        self,
        connection: Connection,
        mirror: Mirror,
        writer: Writer,
        fleet: Fleet,
        patience: Seconds,
    ) -> None:
        self._connection, self._mirror, self._writer = connection, mirror, writer
        self._fleet, self._patience = fleet, patience
        self._sender = PodSender(connection, mirror, writer, fleet)
        self._short: dict[str, Seconds] = {}  # since when, by the group's key
        self._bare: dict[str, Seconds] = {}  # likewise, of replicas without any pod
        self._overdue: set[str] = set()

    def wanted(self, key: str, now: Seconds) -> Wanted | None:
        """What the pods of a key ask for; None if there are none, or not all of them wait."""
        there = [pod for pod in self._mirror.pods_of_unit(key) if not _is_stray(pod, None)]
        roster = self._roster(key, there)
        leaving = self._leaving(key, roster.pods[0]) if roster.pods else frozenset()
        found = groups.wanted(key, roster, now, leaving, lasting=key in self._overdue)
        if found is None or found.flaw is None or found.flaw.kind is not FlawKind.SHORT:
            self._short.pop(key, None)
            self._overdue.discard(key)
        else:
            self._short.setdefault(key, now)
        return found

    def is_forming(self, key: str, found: Wanted | None, now: Seconds) -> bool:
        """Whether pods of a replica are still to come by themselves: nothing is to be told yet.

        `found` is what is there. Whoever waits keeps his place, and may be granted GPUs meanwhile.
        """
        if read_key(key) is None:
            return False
        if found is None:
            return self._comes_soon(key, now)
        flaw = found.flaw
        return flaw is not None and flaw.kind is FlawKind.SHORT and not flaw.lasting

    def _comes_soon(self, key: str, now: Seconds) -> bool:
        """Whether a replica has no pods and is to have some, and has not lacked them for long."""
        there = groups.members(self._mirror.pods_of_unit(key))
        if there or not self._mirror.expects(key):
            self._bare.pop(key, None)
            return False
        return now - self._bare.setdefault(key, now) < _SOON

    def _roster(self, key: str, there: Sequence[PodFacts]) -> Roster:
        """The pods of a key that are to run, of those that are there, and how many are to come."""
        pods = groups.members(there)
        if not pods or not pods[0].is_in_replica:
            return Roster(pods, groups.size_of(pods[0]) if pods else None)
        size = groups.size_of(pods[0]) or 1
        keeper = self._mirror.set_of(key)
        leaders = tuple(pod for pod in pods if role_of(pod) == LEADER)
        if leaders and keeper is not None and keeper.ordered and size > 1:
            later = Later(keeper.worker, size - 1, keeper.alike)
            return Roster(leaders, 1, later)
        leader = self._mirror.pod_named(pods[0].namespace, pods[0].labels[names.GROUP])
        if leader is not None and leader.unit != key and not leader.terminating:
            size -= 1  # it wants no GPUs and does not wait
        return Roster(pods, size)

    def overdue(self, now: Seconds) -> list[str]:
        """The keys of groups that have lacked pods for too long by now; each is told once."""
        late = {key for key, since in self._short.items() if now - since >= self._patience}
        late |= {key for key, since in self._bare.items() if now - since >= _SOON}
        self._overdue -= self._bare.keys() - late
        found = sorted(late - self._overdue)
        self._overdue |= late
        return found

    def expel(self, key: str, gang: Gang | None) -> None:
        """Evict what a decision let go that is over: its write came late, or a bot died over it."""
        for pod in groups.members(self._mirror.pods_of_unit(key)):
            if _is_stray(pod, gang) and not self._writer.busy(pod.uid):
                log.warning("%s runs by %s, which is over", pod.name, decision_of(pod))
                self._sender.evict(pod)

    def _leaving(self, key: str, pod: PodFacts) -> frozenset[str]:
        """The replicas beside this one whose deletion was asked for."""
        if pod.owner is None or pod.family is None:
            return frozenset()
        others = self._mirror.pods_of(pod.owner.uid)
        return frozenset(one.unit or one.uid for one in others if one.terminating) - {key}

    def start(self, gang: Gang) -> EndKind | None:
        """Let the pods go that are not gone yet; how it ended if it has."""
        pods = self.pods_of(gang)
        left = self._mirror.left_by(gang.decision)
        if not pods and not left and not self._mirror.expects(gang.ref.uid):
            return EndKind.STOPPED
        if gang.marks is not None and pods:
            self._mark(pods[0], gang.marks)
        gang.whole = bool(left) or any(decision_of(pod) == gang.decision for pod in pods)
        begun = gang.whole or gang.ref.adopted  # then a node has time to be ready again
        if not begun and not all(map(self._fleet.ready, gang.nodes)):
            return EndKind.LOST
        return EndKind.STOPPED if self._is_another(gang, pods) else None

    def has_begun(self, gang: Gang) -> bool:
        """Whether pods of it were let go that are not over."""
        pods = self.pods_of(gang)
        if self._mirror.left_by(gang.decision):
            return True
        return any(self._was_let_go(gang, pod) and not pod.finished for pod in pods)

    def stop(self, gang: Gang, grace: Seconds, now: Seconds) -> None:
        """Have its pods evicted when its grace is over."""
        if gang.stop_at is None:
            there = (*self.pods_of(gang), *self._mirror.left_by(gang.decision))
            ready = any(pod.ready for pod in standing(there, self._fleet.dead))
            gang.stop_at = now + grace if ready else now
            if gang.stop_at <= now:
                self.suspend(gang)

    def suspend(self, gang: Gang) -> None:
        """Evict its pods, all of them if any was let go; else they wait on at the gate."""
        there = (pod for pod in self.pods_of(gang) if not self._is_newcomer(gang, pod))
        pods = groups.members(there)
        gang.stopping = True
        if any(self._was_let_go(gang, pod) for pod in pods):
            gang.evicted |= {pod.uid for pod in pods}
            for pod in pods:
                self._sender.evict(pod)

    def _was_let_go(self, gang: Gang, pod: PodFacts) -> bool:
        return not pod.gated or pod.uid in gang.pinned

    def replace(self, gang: Gang, admission: Admission) -> None:
        """A pod that was sent to a node goes to no other: the gang is stopped whole instead."""
        del admission
        gang.ending = EndKind.LOST
        self.suspend(gang)

    def give_up(self, gang: Gang, now: Seconds) -> Iterator[ClusterEvent]:
        """Stop a gang that was not whole in time; why, and which nodes hold it up."""
        pods = self.pods_of(gang)
        placed = all(pod.node is not None for pod in pods if not pod.finished)
        gang.ending = EndKind.LATE if placed else EndKind.UNPLACED
        yield from given_up(gang, pods, now)
        self.suspend(gang)

    def look(self, gang: Gang, events: list[ClusterEvent], now: Seconds) -> EndKind | None:
        """Let pods go, tell what is new; how it ended if it has."""
        pods = [pod for pod in self.pods_of(gang) if not self._is_newcomer(gang, pod)]
        lost = self._fleet.dead
        left = self._let_out(gang)
        if left and not standing(pods, lost):
            shown = all(names.DECISION not in pod.annotations for pod in left)
            return EndKind.LEFT if shown else None
        if self._is_restarting(gang, pods, now):
            gang.whole = False  # all of its pods come anew, and start together
        elif not standing(pods, lost) and all(pod.finished or pod.node in lost for pod in pods):
            there = [*pods, *self._gone_of(gang)]
            end = self._end(gang, there)
            events += refusals(gang, there, end, now)
            return end
        for node in sorted(gang.nodes - gang.hurt):
            if not self._fleet.usable(node):
                gang.hurt.add(node)
                events.append(
                    PodsLost(workload=gang.workload, decision=gang.decision, node=node, at=now)
                )
        if gang.stopping or gang.stop_at is not None or gang.hurt:
            return None
        if self._is_another(gang, pods):
            return EndKind.STOPPED
        self.expel(gang.ref.uid, gang)
        self._let_go(gang, pods)
        ready = is_ready(gang, pods) or _is_on(gang, pods)
        gang.since = None if ready else (gang.since or now)
        if ready and not gang.running:
            gang.running = True
            events.append(Started(workload=gang.workload, decision=gang.decision, at=now))
        events += news_of(gang, None, pods, now)
        return None

    def _let_out(self, gang: Gang) -> tuple[PodFacts, ...]:
        """Its pods whose label was taken off, which are let out of our care.

        What was told to stop is stopped all the same.
        """
        if gang.stopping or gang.stop_at is not None:
            return ()
        left = self._mirror.left_by(gang.decision)
        gang.out = tuple(role_of(pod) for pod in left if is_granted(gang, pod))
        for pod in left:
            if names.DECISION in pod.annotations:
                self._disown(pod, gang.decision)
        return left

    def _disown(self, pod: PodFacts, decision: str) -> None:
        body = patches.disown(pod.uid, decision)
        if not self._writer.busy(pod.uid):
            self._writer.put(
                Write(
                    about=pod.uid,
                    what=f"let {pod.name} out",
                    send=lambda: self._connection.patch(pod.path, body),
                    moot=self._mirror.is_without(pod.uid),
                )
            )

    def _is_restarting(self, gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> bool:
        """Whether a replica, which nobody stops, is without pods between two of its runs."""
        stopping = gang.stopping or gang.stop_at is not None
        return not pods and not stopping and self._comes_soon(gang.ref.uid, now)

    def _is_newcomer(self, gang: Gang, pod: PodFacts) -> bool:
        """Whether a pod at the gate has come for the next run.

        After this one was stopped, or of a replica whose template is another.
        """
        if pod.is_in_replica and pod.family != gang.ref.family:
            return not self._was_let_go(gang, pod)
        return gang.stopping and not (
            pod.terminating or pod.uid in gang.evicted or self._was_let_go(gang, pod)
        )

    def _is_another(self, gang: Gang, pods: Sequence[PodFacts]) -> bool:
        """Whether its pods, of which none has been let go, are not those that were decided on."""
        if gang.ref.adopted:
            return False
        there = groups.members(pods)
        if not there or any(self._was_let_go(gang, pod) for pod in there):
            return False
        roster = self._roster(gang.ref.uid, there)
        if there[0].is_in_replica and len(roster.pods) < (roster.size or 1):
            return False  # the others come by themselves
        return groups.ref_of(gang.ref.uid, roster).form != gang.ref.form

    def _end(self, gang: Gang, pods: Sequence[PodFacts]) -> EndKind | None:
        ended = [pod for pod in pods if not self._mirror.was_cut(pod)]
        if ended and len(ended) == len(pods) and all(p.phase is Phase.SUCCEEDED for p in ended):
            return EndKind.FINISHED
        if any(pod.phase is Phase.FAILED and not pod.disrupted for pod in ended):
            return gang.ending if gang.stopping else EndKind.FAILED
        key, stopped = gang.ref.uid, gang.stopping or gang.stop_at is not None
        others = bool(groups.members(self._mirror.pods_of_unit(key)))
        if read_key(key) is not None:  # of another template it is another request
            others = stopped and (others or self._mirror.expects(key))
        if others:
            return gang.ending  # they are there already, or will be, for the next run
        told, gang.bereft = gang.bereft, True  # deleted: that they are gone is told first
        return gang.ending if told else None

    def pods_of(self, gang: Gang) -> tuple[PodFacts, ...]:
        """The pods of a gang, by name and uid; one that was adopted need not show it yet.

        What was let go in an earlier run is not among them.
        """
        adopted = self._mirror.pods.items.get(gang.ref.uid) if gang.ref.adopted else None
        if adopted is not None and adopted.left is None:
            return (adopted,)
        pods = self._mirror.pods_of_unit(gang.ref.uid)
        if gang.stopping or gang.stop_at is not None:
            pods += self._mirror.left_by(gang.decision)
        return tuple(pod for pod in pods if is_of_this_run(gang, pod))

    def _gone_of(self, gang: Gang) -> Iterator[PodFacts]:
        """The pods of a gang that had ended, and were removed before we looked."""
        for pod in self._mirror.done_in(gang.ref.uid):
            if gang.ref.adopted or decision_of(pod) == gang.decision:
                yield pod

    def _mark(self, pod: PodFacts, body: Json) -> None:
        self._writer.put(
            Write(
                about=pod.uid,
                what=f"adopt {pod.name}",
                send=lambda: self._connection.patch(pod.path, body),
            )
        )

    def _let_go(self, gang: Gang, pods: Sequence[PodFacts]) -> None:
        """Send the pods of each role to the nodes of their part, when all are there."""
        alive = [pod for pod in groups.members(pods) if _fits(gang, pod)]
        hosts = {self._fleet.host(node): node for node in gang.nodes}
        parts = [
            (part, [pod for pod in alive if (part_of(gang, pod) or MAIN) == part.name])
            for part in gang.admission.assignments
        ]
        gang.ordered = gang.ordered or self._is_ordered(gang, pods)
        all_there = all(len(mine) >= part.count for part, mine in parts)
        gang.whole = gang.whole or gang.ordered or all_there
        there = {pod.uid for pod in alive}
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if uid in there}
        if not gang.whole:
            return
        for part, mine in parts:
            slots = [node for node, count in part.nodes for _ in range(count)]
            ranks = {pod.uid: _rank(pod, part.name) for pod in mine}
            places = seats(gang, slots, gang.places_in(part), mine, ranks, hosts)
            for pod in mine:
                node = places.get(pod.uid)
                if node is not None:
                    gang.pinned[pod.uid] = node
                    self._sender.let_go(gang, pod, node)
        for pod in alive:
            if pod.gated and not is_granted(gang, pod) and not pod.requests.get(GPU, 0):
                gang.pinned[pod.uid] = _ANYWHERE
                self._sender.let_go(gang, pod, None)

    def _is_ordered(self, gang: Gang, pods: Sequence[PodFacts]) -> bool:
        """Whether workers of a replica come when the leader, which waits at the gate, is ready."""
        if gang.ref.family is None:
            return False
        return self._roster(gang.ref.uid, pods).later is not None


def _is_stray(pod: PodFacts, gang: Gang | None) -> bool:
    """Whether a pod was let go by another decision than that which is carried out, if any is."""
    decision = decision_of(pod)
    if decision is None or (gang is not None and gang.ref.adopted):
        return False
    return gang is None or decision != gang.decision


def _is_on(gang: Gang, pods: Sequence[PodFacts]) -> bool:
    """Whether all are ready that a gang still needs: what is done may have been removed."""
    ready = [pod for pod in pods if is_granted(gang, pod) and pod.ready and pod.occupies]
    return gang.left is not None and len(ready) >= len(gang.places)


def _fits(gang: Gang, pod: PodFacts) -> bool:
    """Whether a pod at the gate takes no more than was granted for one of its role.

    Of pods that come later only GPUs are compared: of the rest, their template does not say all.
    """
    granted = gang.each.get(part_of(gang, pod) or MAIN)
    if granted is None or not pod.gated:
        return True
    amounts = {GPU: pod.requests.get(GPU, 0)} if gang.ordered else pod.requests
    return all(amount <= granted.get(name, 0) for name, amount in amounts.items())


def _rank(pod: PodFacts, part: str) -> int | None:
    """Its place among the pods of its part: where workers are one by themselves, 1 comes first."""
    if pod.index is None or not pod.is_in_replica or part != WORKER:
        return pod.index
    return pod.index - 1
