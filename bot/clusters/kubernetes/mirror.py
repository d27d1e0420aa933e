"""The cluster as it was last heard of, and what of it has changed since somebody looked.

Watchers write, the loop reads; one lock guards it, held for moments. Nothing here decides.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot import mishaps
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.claims import NO_CLAIMS, Claims, read_marked
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.departed import Departed
from bot.clusters.kubernetes.facts import Amounts, PodFacts, node_of, pod_of
from bot.clusters.kubernetes.leaderworkersets import SetFacts, set_of
from bot.clusters.kubernetes.replicas import read_key
from bot.clusters.kubernetes.works import JobFacts, JobSetFacts, WorkFacts, job_of, job_set_of
from scheduler.model import Node, NodeName, ResourceName

log = logging.getLogger(__name__)

V = TypeVar("V")
W = TypeVar("W", bound=WorkFacts)
_HOLD = "hold:"


class Shelf(Generic[V]):
    """Objects of one kind by a `key`, as a watcher's sink.

    `moved(before, after)` is told of each change, under the lock; None is "was not" or "is not".
    One that cannot be read is logged and stays as it was last: it holds up no others.
    """

    def __init__(
        self,
        lock: AbstractContextManager[bool],
        key: Callable[[Json], str],
        read: Callable[[Json], V],
        moved: Callable[[V | None, V | None], None],
    ) -> None:
        self.items: dict[str, V] = {}
        self.on_news: Callable[[], None] = lambda: None
        self._lock, self._key, self._read, self._moved = lock, key, read, moved

    def replace(self, objects: Iterable[Json]) -> None:
        """All there are."""
        found = {self._key(obj): self._read_or_none(obj) for obj in objects}
        with self._lock:
            for key in [key for key in self.items if key not in found]:
                self._moved(self.items.pop(key), None)
            for key, value in found.items():
                self._keep(key, value)
        self.on_news()

    def put(self, obj: Json) -> None:
        """One is new or changed."""
        value = self._read_or_none(obj)
        with self._lock:
            self._keep(self._key(obj), value)
        self.on_news()

    def drop(self, obj: Json) -> None:
        """One is gone; `obj` is as it was last."""
        key, last = self._key(obj), self._read_or_none(obj)
        with self._lock:
            if key in self.items:
                self._keep(key, last)
                self._moved(self.items.pop(key), None)
        self.on_news()

    def _read_or_none(self, obj: Json) -> V | None:
        try:
            return self._read(obj)
        except Exception as error:  # noqa: BLE001 - what others wrote may be anything
            meta = obj["metadata"]
            mishaps.note(log, f"reading {meta.get('namespace', '')}/{meta['name']}", error)
            return None

    def _keep(self, key: str, value: V | None) -> None:
        before = self.items.get(key)
        if value is not None and before != value:
            self.items[key] = value
            self._moved(before, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed since the last look: nodes by name, Jobs, JobSets and owners of pods by uid.

    The hold that a pod is labelled with counts as an owner (`hold_key`); `units` are pods that
    wait by themselves.
    """

    nodes: frozenset[NodeName]
    jobs: frozenset[str]
    owners: frozenset[str]
    units: frozenset[str]


class Mirror:
    """Nodes by name; pods, Jobs and JobSets by uid; LeaderWorkerSets by namespace and name.

    `bot` is the identity of the store, by which the bot knows its own marks; by the `claims` it
    knows those that are its own although they were made by another identity.
    """

    def __init__(self, bot: str = "", claims: Claims = NO_CLAIMS) -> None:
        self.lock = threading.RLock()
        self.nodes: Shelf[Node] = Shelf(self.lock, _name, node_of, self._move_node)
        self.pods: Shelf[PodFacts] = Shelf(
            self.lock, _uid, lambda obj: read_marked(obj, pod_of, bot, claims), self._move_pod
        )
        self.jobs: Shelf[JobFacts] = Shelf(
            self.lock,
            _uid,
            lambda obj: self._as_seen(read_marked(obj, job_of, bot, claims)),
            self._move_work,
        )
        self.job_sets: Shelf[JobSetFacts] = Shelf(
            self.lock,
            _uid,
            lambda obj: self._as_seen(read_marked(obj, job_set_of, bot, claims)),
            self._move_work,
        )
        self.sets: Shelf[SetFacts] = Shelf(self.lock, _path, set_of, self._move_set)
        self._on_node: dict[str, set[str]] = {}
        self._of_owner: dict[str, set[str]] = {}
        self._of_request: dict[str, set[str]] = {}
        self._of_unit: dict[str, set[str]] = {}
        self._of_left: dict[str, set[str]] = {}
        self._by_name: dict[tuple[str, str], str] = {}
        # What templates of works ask for, and what their pods by part, where that is more.
        self._seen: dict[str, tuple[tuple[Amounts, ...], dict[str, Amounts]]] = {}
        self._departed, self._departing = Departed(), Departed()
        self._changed_nodes: set[NodeName] = set()
        self._changed_jobs: set[str] = set()
        self._changed_owners: set[str] = set()
        self._changed_units: set[str] = set()
        self._on_news: Callable[[], None] = lambda: None
        self._told = False
        for shelf in (self.nodes, self.pods, self.jobs, self.job_sets, self.sets):
            shelf.on_news = self.tell

    def hear(self, on_news: Callable[[], None]) -> None:
        """Have something called, without the lock, once whenever there is news to take."""
        self._on_news = on_news

    def tell(self) -> None:
        """There is news: say so, unless that was said and nobody has looked since."""
        with self.lock:
            told, self._told = self._told, True
        if not told:
            self._on_news()

    def note(self, work: str) -> None:
        """Have a Job or JobSet, by uid, looked at as if it had changed."""
        with self.lock:
            self._changed_jobs.add(work)
        self.tell()

    def units(self) -> frozenset[str]:
        """The keys of all pods that are admitted by themselves."""
        with self.lock:
            return frozenset(self._of_unit)

    def holds(self) -> frozenset[str]:
        """The keys of all holds that pods are labelled with."""
        with self.lock:
            return frozenset(map(hold_key, self._of_request))

    def take_changes(self) -> Changes:
        """What changed since the last call."""
        with self.lock:
            self._told = False
            found = Changes(
                nodes=frozenset(self._changed_nodes),
                jobs=frozenset(self._changed_jobs),
                owners=frozenset(self._changed_owners),
                units=frozenset(self._changed_units),
            )
            self._departed, self._departing = self._departing, Departed()
            self._departing.cut |= self._departed.cut
            self._changed_nodes.clear()
            for changed in (self._changed_jobs, self._changed_owners, self._changed_units):
                changed.clear()
            return found

    def work(self, uid: str) -> WorkFacts | None:
        """The Job or JobSet of this uid, if there is one."""
        with self.lock:
            return self.jobs.items.get(uid) or self.job_sets.items.get(uid)

    def learn(self, uid: str, part: str, asked: Amounts) -> None:
        """A pod of a part of a Job or JobSet asks for this: others add to pods as they are made.

        It counts as asked for until the templates ask for something else, so that it is granted the
        next time.
        """
        with self.lock:
            work = self.work(uid)
            if work is None:
                return
            _, known = self._seen.setdefault(uid, (work.templates, {}))
            had = known.get(part, {})
            known[part] = {n: max(asked.get(n, 0), had.get(n, 0)) for n in {*asked, *had}}
            if uid in self.jobs.items:
                self.jobs.items[uid] = self.jobs.items[uid].with_seen(known)
            if uid in self.job_sets.items:
                self.job_sets.items[uid] = self.job_sets.items[uid].with_seen(known)

    def _as_seen(self, work: W) -> W:
        """As it was read, with what its pods were seen to ask for."""
        with self.lock:
            templates, seen = self._seen.get(work.uid, ((), {}))
            if templates != work.templates:
                self._seen.pop(work.uid, None)
                return work
            return work.with_seen(seen)

    def last_of(self, uid: str) -> WorkFacts | None:
        """A Job or JobSet that had ended and is gone, if that was told by the last changes."""
        with self.lock:
            return self._departed.works.get(uid)

    def done_in(self, key: str) -> tuple[PodFacts, ...]:
        """The pods of a unit, or of this uid, that had ended by themselves and went as lately."""
        with self.lock:
            return tuple(self._departed.pods.get(key, ()))

    def was_cut(self, pod: PodFacts) -> bool:
        """Whether a pod that is there has ended because its deletion was asked for."""
        with self.lock:
            return pod.uid in self._departing.cut

    def works(self) -> tuple[WorkFacts, ...]:
        """All Jobs and JobSets, by uid."""
        with self.lock:
            found: list[WorkFacts] = [*self.jobs.items.values(), *self.job_sets.items.values()]
        return tuple(sorted(found, key=lambda work: work.uid))

    def pods_of(self, owner: str) -> tuple[PodFacts, ...]:
        """The pods that an object (by uid) controls, by name and uid."""
        with self.lock:
            found = [self.pods.items[uid] for uid in self._of_owner.get(owner, ())]
        return tuple(sorted(found, key=lambda pod: (pod.name, pod.uid)))

    def owners_of(self, true: Callable[[PodFacts], bool]) -> frozenset[str]:
        """The uids of what controls the pods of which something is true."""
        with self.lock:
            pods = self.pods.items.values()
            return frozenset(pod.owner.uid for pod in pods if pod.owner is not None and true(pod))

    def pod_named(self, namespace: str, name: str) -> PodFacts | None:
        """The pod of this name, if there is one."""
        with self.lock:
            return self.pods.items.get(self._by_name.get((namespace, name), ""))

    def is_without(self, uid: str) -> Callable[[], bool]:
        """What tells, whenever it is asked, whether a pod is no more. From any thread."""

        def gone() -> bool:
            with self.lock:
                return uid not in self.pods.items

        return gone

    def pods_for(self, request: str) -> tuple[PodFacts, ...]:
        """The pods that their makers labelled with a request, by namespace, name and uid."""
        with self.lock:
            found = [self.pods.items[uid] for uid in self._of_request.get(request, ())]
        return tuple(sorted(found, key=lambda pod: (pod.namespace, pod.name, pod.uid)))

    def pods_of_unit(self, key: str) -> tuple[PodFacts, ...]:
        """The pods that are admitted together by themselves (`PodFacts.unit`), by name and uid."""
        with self.lock:
            found = [self.pods.items[uid] for uid in self._of_unit.get(key, ())]
        return tuple(sorted(found, key=lambda pod: (pod.name, pod.uid)))

    def left_by(self, decision: str) -> tuple[PodFacts, ...]:
        """The pods that a decision let go and that have left our care, by name and uid."""
        with self.lock:
            found = [self.pods.items[uid] for uid in self._of_left.get(decision, ())]
        return tuple(sorted(found, key=lambda pod: (pod.name, pod.uid)))

    def outlasting(self) -> frozenset[str]:
        """The uids or keys of what has pods that we let go, whether we see it or not."""
        with self.lock:
            left = [self.pods.items[uid] for uids in self._of_left.values() for uid in uids]
            keys = {pod.former_unit for pod in left}
        owners = self.owners_of(lambda pod: pod.occupies and names.DECISION in pod.annotations)
        return owners | {key for key in keys if key is not None}

    def set_of(self, key: str) -> SetFacts | None:
        """The LeaderWorkerSet that the replica of this key is of, as far as we see it."""
        read = read_key(key)
        with self.lock:
            return None if read is None else self.sets.items.get(f"{read[0]}/{read[1]}")

    def expects(self, key: str) -> bool:
        """Whether there is to be a replica of this key: its pods come by themselves."""
        found, read = self.set_of(key), read_key(key)
        if found is None or read is None:
            return False
        return not found.deleting and read[2] < found.replicas

    def expected(self) -> frozenset[str]:
        """The keys of all replicas that are to be."""
        with self.lock:
            return frozenset().union(*(one.replica_keys for one in self.sets.items.values()))

    def pods_on(self, node: NodeName) -> tuple[PodFacts, ...]:
        """The pods that take room on a node, by uid."""
        with self.lock:
            return tuple(self.pods.items[uid] for uid in sorted(self._on_node.get(node, ())))

    def occupied(
        self, node: NodeName, uncounted: Callable[[PodFacts], Amounts]
    ) -> dict[ResourceName, int]:
        """What pods hold of a node that the engine does not count by itself, by resource."""
        held: dict[ResourceName, int] = {}
        for pod in self.pods_on(node):
            for name, amount in uncounted(pod).items():
                held[name] = held.get(name, 0) + amount
        return held

    def _move_node(self, before: Node | None, after: Node | None) -> None:
        for node in (before, after):
            if node is not None:
                self._changed_nodes.add(node.name)

    def _move_work(self, before: WorkFacts | None, after: WorkFacts | None) -> None:
        for work in (before, after):
            if work is not None:
                self._changed_jobs.add(work.uid)
        if before is not None and after is None:
            self._departing.take_work(before)
            self._seen.pop(before.uid, None)

    def _move_set(self, before: SetFacts | None, after: SetFacts | None) -> None:
        for one in (before, after):
            if one is not None:
                self._changed_units |= one.replica_keys

    def _move_pod(self, before: PodFacts | None, after: PodFacts | None) -> None:
        if before is not None:
            self._departing.take_pod(before, after)
        if before is not None:
            self._by_name.pop((before.namespace, before.name), None)
            for index, key in self._places(before):
                _discard(index, key, before.uid)
        if after is not None:
            self._by_name[after.namespace, after.name] = after.uid
            for index, key in self._places(after):
                if index is not self._on_node or after.occupies:
                    index.setdefault(key, set()).add(after.uid)
        for pod in (before, after):
            if pod is not None:
                self._note(pod)

    def _places(self, pod: PodFacts) -> list[tuple[dict[str, set[str]], str]]:
        """Under which key of which index a pod is found."""
        found: list[tuple[dict[str, set[str]], str]] = []
        if pod.node is not None:
            found.append((self._on_node, pod.node))
        if pod.owner is not None:
            found.append((self._of_owner, pod.owner.uid))
        if pod.request is not None:
            found.append((self._of_request, pod.request))
        if pod.unit is not None:
            found.append((self._of_unit, pod.unit))
        if pod.left is not None:
            found.append((self._of_left, pod.left))
        return found

    def _note(self, pod: PodFacts) -> None:
        if pod.node is not None:
            self._changed_nodes.add(pod.node)
        if pod.owner is not None:
            self._changed_owners.add(pod.owner.uid)
        if pod.request is not None:
            self._changed_owners.add(hold_key(pod.request))
        if pod.unit is not None:
            self._changed_units.add(pod.unit)
        if pod.left is not None and pod.former_unit is not None:
            self._changed_units.add(pod.former_unit)


def _name(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def _uid(obj: Json) -> str:
    return str(obj["metadata"]["uid"])


def _path(obj: Json) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def hold_key(request: str) -> str:
    """What stands for the uid of a hold, which is no object of the cluster."""
    return f"{_HOLD}{request}"


def request_of_hold(key: str) -> str | None:
    """The request that such a key is of; None of anything else."""
    return key.removeprefix(_HOLD) if key.startswith(_HOLD) else None


def _discard(index: dict[str, set[str]], key: str, uid: str) -> None:
    held = index.get(key)
    if held is not None:
        held.discard(uid)
        if not held:
            del index[key]
