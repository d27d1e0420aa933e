"""What a bot with another store let start: after a new database, or beside another bot.

It is no request of ours, counts as outside our care, and goes on. It is told once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.clusters.base import Foreign
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import JOB, JOB_SET, PodFacts
from bot.clusters.kubernetes.gangs import ref_of
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.seals import other_bot
from bot.clusters.kubernetes.texts import read_word
from bot.clusters.kubernetes.works import WorkFacts
from scheduler.model import GPU
from storage.records import ObjectRef

POD = "Pod"


def foreign_in(mirror: Mirror, bot: str) -> tuple[Foreign, ...]:
    """All there is of other bots, by kind, namespace and name; `bot` is ours."""
    found = [*_works(mirror, bot), *_pods(mirror, bot)]
    return tuple(sorted(found, key=lambda one: (one.ref.kind, one.ref.namespace, one.ref.name)))


def _works(mirror: Mirror, bot: str) -> Iterator[Foreign]:
    for work in mirror.works():
        if work.end is None:
            yield from _foreign(ref_of(work), work, mirror.pods_of(work.uid), bot)


def _pods(mirror: Mirror, bot: str) -> Iterator[Foreign]:
    """Those that are a gang by themselves; of others their Job is told."""
    for pod in mirror.pods.items.values():
        if pod.owner is None or pod.owner.kind not in {JOB, JOB_SET}:
            ref = ObjectRef(kind=POD, namespace=pod.namespace, name=pod.name, uid=pod.uid)
            yield from _foreign(ref, pod, (pod,), bot)


def _foreign(
    ref: ObjectRef, marked: WorkFacts | PodFacts, pods: Iterable[PodFacts], bot: str
) -> Iterator[Foreign]:
    other = other_bot(marked.annotations, bot)
    if other is not None:
        gpus = sum(pod.requests.get(GPU, 0) for pod in pods if pod.occupies)
        decision = marked.annotations[names.FORMER]
        yield Foreign(ref=ref, bot=read_word(other), decision=decision, gpus=gpus)
