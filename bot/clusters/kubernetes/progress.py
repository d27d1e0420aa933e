"""How far a gang that runs has come: which of its places it needs no more, and what it has saved.

Towards its end a Job has fewer pods: those that are done are not replaced, and their places are
given back while the others run. What is given back is not taken again, except where a pod turns
up all the same: what holds room is counted.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence

from bot.clusters.base import ClusterEvent, NotSaved, Saved, Shrunk
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import Phase, PodFacts
from bot.clusters.kubernetes.gangs import Gang, is_granted, ref_of
from bot.clusters.kubernetes.works import JobFacts, JobSetFacts, WorkFacts
from scheduler.model import NodeName, Seconds
from storage.records import ObjectRef

POD = "Pod"
AHEAD_AT_MOST: Seconds = 300.0  # clocks differ a little; more is another time than it says
UNSAVED_AT_MOST = 20  # of one run: what says another wrong time each minute is not told each time


def news_of(
    gang: Gang, job: WorkFacts, pods: Sequence[PodFacts], now: Seconds
) -> Iterator[ClusterEvent]:
    """Tell what a running gang gives back, and that it has saved its progress; each once."""
    yield from _unsaved(gang, job, pods, now)
    saved = _saved(gang, job, pods, now)
    if saved is not None and (gang.saved is None or saved > gang.saved):
        gang.saved = saved
        yield Saved(workload=gang.workload, decision=gang.decision, saved=saved, at=now)
    if not isinstance(job, JobFacts) or not gang.running or gang.stopping or gang.hurt:
        return
    left = _left(gang, needed(job, pods), pods)
    told, gang.untold = gang.slots if gang.untold else gang.places, False
    if left != told:
        gang.left = left
        (part,) = gang.admission.assignments
        nodes = tuple(sorted(Counter(left).items()))
        yield Shrunk(
            workload=gang.workload,
            decision=gang.decision,
            left=(dataclasses.replace(part, count=len(left), nodes=nodes),),
            at=now,
        )


def needed(job: JobFacts, pods: Sequence[PodFacts]) -> int:
    """How many pods it still wants to have at once.

    Without a number of completions, one that is done says that no more are made.
    """
    done = max(job.done, sum(pod.phase is Phase.SUCCEEDED for pod in pods))
    if job.completions is not None:
        return min(job.pods, max(0, job.completions - done))
    return job.pods if not done else min(job.pods, sum(not pod.finished for pod in pods))


def is_on(gang: Gang, job: WorkFacts, pods: Sequence[PodFacts]) -> bool:
    """Whether of a gang that was whole all those are ready that it still needs."""
    if not gang.running:
        return False
    mine = [pod for pod in pods if is_granted(gang, pod)]
    good = sum(
        pod.ready and pod.occupies and not pod.terminating and pod.node in gang.nodes
        for pod in mine
    )
    if isinstance(job, JobSetFacts):  # pods of Jobs that are done may be there, or removed by now
        granted = {part.name for part in gang.admission.assignments}
        done = sum(pod.phase is Phase.SUCCEEDED for pod in mine)
        return good + done >= sum(part.count for part in job.parts if part.name in granted)
    if not isinstance(job, JobFacts):
        return False
    return good >= min(needed(job, pods), len(gang.places))


def _left(gang: Gang, need: int, pods: Sequence[PodFacts]) -> tuple[NodeName, ...]:
    """The places of its grant that it keeps, in their order.

    Those of pods that hold room, then as many as it needs of those that it has not given back.
    """
    held = Counter(pod.node for pod in pods if pod.occupies)
    going = {pod.uid for pod in pods if pod.node is None and not pod.finished}
    held += Counter(node for uid, node in gang.pinned.items() if uid in going)
    had = Counter(gang.places)
    kept = [False] * len(gang.slots)
    for at, node in enumerate(gang.slots):
        if held[node] > 0:
            kept[at] = True
            held[node] -= 1
            had[node] -= 1
    for at, node in enumerate(gang.slots):
        if not kept[at] and had[node] > 0 and sum(kept) < need:
            kept[at] = True
            had[node] -= 1
    return tuple(node for at, node in enumerate(gang.slots) if kept[at])


def _saved(gang: Gang, job: WorkFacts, pods: Sequence[PodFacts], now: Seconds) -> Seconds | None:
    """When it last saved its progress in this run, by the object or any of its pods."""
    said = {text for text, _ in _checkpoints(job, pods)} - gang.unsaved
    times = [at for text in said if (at := _moment(text)) is not None]
    return max((min(at, now) for at in times if _is_of_run(gang, at, now)), default=None)


def _unsaved(
    gang: Gang, job: WorkFacts, pods: Sequence[PodFacts], now: Seconds
) -> Iterator[NotSaved]:
    """Tell what it says of its progress that cannot be, each value once for all of its pods.

    What lay ahead is not believed later either.
    """
    for text, ref in _checkpoints(job, pods):
        moment = _moment(text)
        ahead = None if moment is None else moment - now
        good = ahead is not None and ahead <= AHEAD_AT_MOST
        if good or text in gang.unsaved or len(gang.unsaved) >= UNSAVED_AT_MOST:
            continue
        gang.unsaved.add(text)
        yield NotSaved(ref=ref, value=text, ahead=ahead, at=now)


def _is_of_run(gang: Gang, at: Seconds, now: Seconds) -> bool:
    return gang.admission.at <= at <= now + AHEAD_AT_MOST


def _checkpoints(job: WorkFacts, pods: Sequence[PodFacts]) -> Iterator[tuple[str, ObjectRef]]:
    """What is said of the progress, and where: the object first, then its pods."""
    if names.CHECKPOINTED in job.annotations:
        yield job.annotations[names.CHECKPOINTED], ref_of(job)
    for pod in pods:
        if names.CHECKPOINTED in pod.annotations:
            ref = ObjectRef(kind=POD, namespace=pod.namespace, name=pod.name, uid=pod.uid)
            yield pod.annotations[names.CHECKPOINTED], ref


def _moment(text: str) -> Seconds | None:
    """A time as RFC 3339 has it, in seconds since the epoch; None for anything else."""
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or dt.UTC).timestamp()
