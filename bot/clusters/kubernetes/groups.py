"""What pods that wait by themselves ask for: single ones, and groups of them.

A group is the pods of a namespace with the same `gpubot.dev/group`, as many as
`gpubot.dev/group-size` says. They may be of several roles (`gpubot.dev/role`), each with a shape
of its own; in everything else that their marks say they are the same. A replica of a
LeaderWorkerSet is such a group, and belongs to a family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.clusters.base import Wanted
from bot.clusters.flaws import Flaw, FlawKind
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import MAIN, PodFacts, PodShape
from bot.clusters.kubernetes.forms import shorten
from bot.clusters.kubernetes.replicas import WORKER
from bot.clusters.kubernetes.texts import read_marks, read_number
from scheduler.model import GPU, PodSet, Seconds
from storage.records import ObjectRef

POD, GROUP = "Pod", "PodGroup"
V = TypeVar("V")


def members(pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """Those of the pods that are to run, or do: neither over nor on their way out."""
    return tuple(pod for pod in pods if not pod.finished and not pod.terminating)


@dataclass(frozen=True, slots=True)
class Later:
    """Pods of a replica that come when its leader is ready; `alike`: they ask for what it does."""

    shape: PodShape
    count: int
    alike: bool


@dataclass(frozen=True, slots=True)
class Roster:
    """The pods of a key that are to run, by name, and how many they are to be; None if unknown.

    `later` are those that nobody need wait for; they are not among the `pods`, nor counted.
    """

    pods: tuple[PodFacts, ...]
    size: int | None
    later: Later | None = None


def wanted(
    key: str, roster: Roster, now: Seconds, leaving: frozenset[str], *, lasting: bool
) -> Wanted | None:
    """What the pods of a key ask for; None if there are none, or not all of them wait.

    Of what can be no request as it is, a group that lacks pods or whose pods differ among it,
    the flaw is told; of what lacks a team or a size, its first pod, so that its owner hears of
    it. `lasting` is of a flaw that has been there for long.
    """
    pods = roster.pods
    if not pods or not all(pod.gated and pod.shape is not None for pod in pods):
        return None
    first = pods[0]
    if roster.size is None or names.TEAM not in first.labels:
        roster, flaw = Roster((first,), 1), None
    else:
        flaw = _flaw_of(pods, roster.size, lasting=lasting)
    marks = {**first.annotations, **_marks(first)}
    return Wanted(
        ref=ref_of(key, roster),
        marks=read_marks(marks),
        pod_sets=pod_sets_of(roster),
        created=min(pod.created for pod in pods),
        at=now,
        leaving=leaving,
        flaw=flaw,
    )


def pod_sets_of(roster: Roster) -> tuple[PodSet, ...]:
    """One for each role whose pods ask for GPUs, by name; all if none does.

    Where the pods of the others run is left to the Kubernetes scheduler. A leader and workers that
    ask for the same are one pod set, so that neighbours in rank stay neighbours.
    """
    sets = [
        mine[0].shape.pod_set(len(mine), role)
        for role, mine in _by_role(roster.pods).items()
        if mine[0].shape is not None
    ]
    alike = roster.pods[0].is_in_replica and len({_kind_of(one) for one in sets}) == 1
    if roster.later is not None:
        sets.append(roster.later.shape.pod_set(roster.later.count, WORKER))
        alike = roster.later.alike
    if alike and len(sets) > 1:
        return (replace(sets[0], name=MAIN, count=sum(one.count for one in sets)),)
    return tuple(one for one in sets if one.requests.get(GPU, 0)) or tuple(sets)


def _kind_of(pods: PodSet) -> str:
    """The same for pod sets that differ in name and number alone."""
    return repr(replace(pods, name=MAIN, count=1))


def ref_of(key: str, roster: Roster) -> ObjectRef:
    """What names the pods of a key, and what they ask for.

    A replica of another template asks for something else, for what is guaranteed is so by template.
    """
    pods, first = roster.pods, roster.pods[0]
    group = first.labels.get(names.GROUP)
    family = first.family if group is None or first.is_in_replica else None
    roles = _by_role(pods).items()
    shapes = [(role, len(mine), _distinct(pod.shape for pod in mine)) for role, mine in roles]
    asked: tuple[object, ...] = (
        shapes,
        [sorted(marks.items()) for marks in _distinct(map(_marks, pods))],
    )
    if first.is_in_replica:
        asked = (*asked, roster.later, family)
    return ObjectRef(
        kind=POD if group is None else GROUP,
        namespace=first.namespace,
        name=group or first.name,
        uid=key,
        form=shorten(asked),
        family=family,
        members="" if group is None else shorten(sorted(pod.uid for pod in pods)),
    )


def size_of(pod: PodFacts) -> int | None:
    """How many pods belong together; None where that cannot be read."""
    if names.GROUP not in pod.labels:
        return 1
    return read_number(pod.labels.get(names.GROUP_SIZE)) or None


def role_of(pod: PodFacts) -> str:
    """What part it has in its group."""
    return MAIN if pod.part is None else pod.part[0]


def _flaw_of(pods: tuple[PodFacts, ...], size: int, *, lasting: bool) -> Flaw | None:
    """What is wrong with a group: first what its marks say, then its shapes, then its size."""
    marks = _distinct(map(_marks, pods))
    for name in sorted({name for one in marks for name in one}):
        values = {one.get(name, "") for one in marks}
        if len(values) > 1:
            return Flaw(kind=FlawKind.MIXED, mark=name, values=tuple(sorted(values)))
    for role, mine in _by_role(pods).items():
        if len(_distinct(pod.shape for pod in mine)) > 1:
            return Flaw(kind=FlawKind.UNLIKE, mark=names.ROLE, values=(role,))
    if len(pods) < size:
        return Flaw(kind=FlawKind.SHORT, there=len(pods), size=size, lasting=lasting)
    return None


def _by_role(pods: Iterable[PodFacts]) -> dict[str, list[PodFacts]]:
    """The pods of each role, by its name."""
    found: dict[str, list[PodFacts]] = {}
    for pod in pods:
        found.setdefault(role_of(pod), []).append(pod)
    return dict(sorted(found.items()))


def _distinct(values: Iterable[V]) -> list[V]:
    """Each value once, in the order in which they come; few of them differ."""
    found: list[V] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _marks(pod: PodFacts) -> Mapping[str, str]:
    """What a pod's maker asks for, its role apart."""
    return {name: text for name, text in pod.labels.items() if name != names.ROLE}
