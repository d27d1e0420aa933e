"""Replicas of several pods: those of a LeaderWorkerSet, each a leader and its workers.

Its controller keeps the leaders by one StatefulSet, and the workers of each leader by another. What
a pod is of stands in the labels that the controller gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.texts import read_number
from storage.records import FamilyRef

LEADER_WORKER_SET, STATEFUL_SET = "LeaderWorkerSet", "StatefulSet"
LEADER, WORKER = "leader", "worker"  # the roles in a replica
_KEY = "replica:"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod's place in a replica: its number in that, and the labels of a group that it stands for.

    The group has the name of the leader, which is that of the set and the number of the replica.
    """

    family: FamilyRef
    index: str
    labels: Mapping[str, str]


def member_of(keeper: str, meta: Json) -> Member | None:
    """What a pod's labels say, whose controller is of the kind `keeper`; None of any other pod."""
    labels = meta.get("labels") or {}
    name, index = labels.get(names.LWS_NAME), labels.get(names.LWS_WORKER, "")
    number = labels.get(names.LWS_GROUP, "")
    notes = meta.get("annotations") or {}
    size, exclusive = notes.get(names.LWS_SIZE, ""), notes.get(names.LWS_EXCLUSIVE)
    known = None not in map(read_number, (index, number, size))
    if keeper != STATEFUL_SET or not name or not known:
        return None
    revision = labels.get(names.LWS_REVISION, "")
    return Member(
        family=FamilyRef(kind=LEADER_WORKER_SET, name=name, revision=revision),
        index=index,
        labels={
            names.GROUP: f"{name}-{number}",
            names.GROUP_SIZE: size,
            names.ROLE: WORKER if read_number(index) else LEADER,
            **({} if exclusive is None else {names.EXCLUSIVE: exclusive}),
        },
    )


def replica_key(namespace: str, leader: str) -> str:
    """What stands for the uid of a replica, which is no object of the cluster."""
    return f"{_KEY}{namespace}/{leader}"


def read_key(key: str) -> tuple[str, str, int] | None:
    """The namespace and name of the set, and the number of the replica; None for other keys."""
    namespace, _, leader = key.removeprefix(_KEY).partition("/")
    name, _, digits = leader.rpartition("-")
    number = read_number(digits)
    if not key.startswith(_KEY) or not name or number is None:
        return None
    return namespace, name, number
