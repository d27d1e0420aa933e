"""How far a gang that runs has come: which of its places it needs no more, and what it has saved.

Towards its end a Job, JobSet or group has fewer pods: those that are done are not replaced, and
their places are given back while the others run; of a JobSet that may start all of its Jobs anew,
only when it can no more. What is given back is not taken again, except where a pod turns up all the
same: what holds room is counted.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from bot.clusters.base import ClusterEvent, NotSaved, Saved, Shrunk
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import Phase, PodFacts
from bot.clusters.kubernetes.gangs import Gang, is_granted, ref_of, slots_in
from bot.clusters.kubernetes.groups import role_of
from bot.clusters.kubernetes.moments import read_moment
from bot.clusters.kubernetes.texts import read_word
from bot.clusters.kubernetes.works import JobFacts, JobSetFacts, ReplicatedJob, WorkFacts
from scheduler.model import NodeName, PodSetAssignment, Seconds
from storage.records import ObjectRef

POD = "Pod"
AHEAD_AT_MOST: Seconds = 300.0  # clocks differ a little; more is another time than it says
UNSAVED_AT_MOST = 20  # of one run: what says another wrong time each minute is not told each time


def news_of(
    gang: Gang, job: WorkFacts | None, pods: Sequence[PodFacts], now: Seconds
) -> Iterator[ClusterEvent]:
    """Tell what a running gang gives back, and that it has saved its progress; each once.

    `job` is None of pods that are a gang by themselves: those that nothing keeps are not replaced.
    """
    yield from _unsaved(gang, job, pods, now)
    saved = _saved(gang, job, pods, now)
    if saved is not None and (gang.saved is None or saved > gang.saved):
        gang.saved = saved
        yield Saved(workload=gang.workload, decision=gang.decision, saved=saved, at=now)
    final = all(pod.owner is None for pod in pods) if job is None else job.final
    if not final or not gang.running or gang.stopping or gang.hurt:
        return
    parts = gang.admission.assignments
    left = {part.name: _left(gang, job, part, pods) for part in parts}
    whole = {part.name: slots_in(part) for part in parts}
    if left != (gang.left or whole):
        gang.left = left
    if left != (gang.told or whole):
        gang.told = left
        yield Shrunk(
            workload=gang.workload,
            decision=gang.decision,
            left=tuple(_counted(part, left[part.name]) for part in parts),
            at=now,
        )


def needed(job: JobFacts, pods: Sequence[PodFacts]) -> int:
    """How many pods it still wants to have at once.

    Without a number of completions, one that is done says that no more are made. None are made of
    one that is decided, nor of an index that has failed for good.
    """
    done = max(job.done, sum(pod.phase is Phase.SUCCEEDED for pod in pods))
    if job.closing:
        return 0
    if job.completions is not None:
        return min(job.pods, max(0, job.completions - done - job.lost))
    return job.pods if not done else min(job.pods, sum(not pod.finished for pod in pods))


def needed_in(
    gang: Gang, job_set: JobSetFacts, part: PodSetAssignment, pods: Sequence[PodFacts]
) -> int:
    """How many pods of a granted part of a JobSet still run, or are to come.

    Done are those of Jobs that have completed since the grant. Where none takes the place of
    another, so are all that have succeeded, in Jobs that were not complete when it was granted.
    """
    now = next((one for one in job_set.parts if one.name == part.name), None)
    if now is None:
        return part.count
    done = part.count - now.count
    if now.once:
        done = max(done, sum(_done_of_jobs(gang, now, pods)))
    return min(part.count, max(0, part.count - done))


def still_needed(gang: Gang, job: WorkFacts, pods: Sequence[PodFacts]) -> int:
    """How many pods it is to have at once by now, of those that it was granted."""
    if isinstance(job, JobSetFacts):
        return sum(still_needed_in(gang, job, part, pods) for part in gang.admission.assignments)
    want = needed(job, pods) if isinstance(job, JobFacts) else len(gang.places)
    return min(want, len(gang.places))


def still_needed_in(
    gang: Gang, job_set: JobSetFacts, part: PodSetAssignment, pods: Sequence[PodFacts]
) -> int:
    """The same, but for those whose places it has given back: what is done may be gone."""
    return min(needed_in(gang, job_set, part, pods), len(gang.places_in(part)))


def _done_of_jobs(gang: Gang, part: ReplicatedJob, pods: Sequence[PodFacts]) -> Iterator[int]:
    """Of each Job of a part, how many of the pods that were granted have succeeded."""
    of_jobs: dict[int, list[PodFacts]] = {}
    for pod in pods:
        if pod.part is not None and pod.part[0] == part.name and pod.phase is Phase.SUCCEEDED:
            of_jobs.setdefault(pod.part[1], []).append(pod)
    for done in of_jobs.values():
        if len(done) < part.pods or any(is_granted(gang, pod) for pod in done):
            yield min(len(done), part.pods)


def is_on(gang: Gang, job: WorkFacts, pods: Sequence[PodFacts]) -> bool:
    """Whether of a gang all those are ready that it still needs: what is done may be gone."""
    good = [
        pod
        for pod in pods
        if is_granted(gang, pod) and pod.ready and pod.occupies and not pod.terminating
    ]
    good = [pod for pod in good if pod.node in gang.nodes]
    if isinstance(job, JobSetFacts):
        return all(
            len(_in_part(part, good)) >= still_needed_in(gang, job, part, pods)
            for part in gang.admission.assignments
        )
    if not isinstance(job, JobFacts) or (job.completions is None and not gang.running):
        return False
    if job.closing:
        return gang.running
    want, places = needed(job, pods), len(gang.places)
    return len(good) >= min(want, places) and (places > 0 or not want)


def _in_part(part: PodSetAssignment, pods: Sequence[PodFacts]) -> list[PodFacts]:
    return [pod for pod in pods if pod.part is not None and pod.part[0] == part.name]


def _counted(part: PodSetAssignment, left: tuple[NodeName, ...]) -> PodSetAssignment:
    nodes = tuple(sorted(Counter(left).items()))
    return dataclasses.replace(part, count=len(left), nodes=nodes)


def _left(
    gang: Gang, job: WorkFacts | None, part: PodSetAssignment, pods: Sequence[PodFacts]
) -> tuple[NodeName, ...]:
    """The places of a pod set of its grant that it keeps, in their order.

    Those of pods that hold room, then as many as it needs of those that it has not given back.
    """
    slots, need = slots_in(part), part.count
    if isinstance(job, JobSetFacts):
        need = needed_in(gang, job, part, pods)
        pods = _in_part(part, pods)
    elif isinstance(job, JobFacts):
        need = needed(job, pods)
    elif job is None:
        pods = [pod for pod in pods if is_granted(gang, pod) and role_of(pod) == part.name]
        need -= sum(pod.phase is Phase.SUCCEEDED for pod in pods) + gang.out.count(part.name)
    held = Counter(pod.node for pod in pods if pod.occupies)
    going = {pod.uid for pod in pods if pod.node is None and not pod.finished}
    held += Counter(node for uid, node in gang.pinned.items() if uid in going)
    had = Counter(gang.places_in(part))
    kept = [False] * len(slots)
    for at, node in enumerate(slots):
        if held[node] > 0:
            kept[at] = True
            held[node] -= 1
            had[node] -= 1
    for at, node in enumerate(slots):
        if not kept[at] and had[node] > 0 and sum(kept) < need:
            kept[at] = True
            had[node] -= 1
    return tuple(node for at, node in enumerate(slots) if kept[at])


def _saved(
    gang: Gang, job: WorkFacts | None, pods: Sequence[PodFacts], now: Seconds
) -> Seconds | None:
    """When it last saved its progress in this run, by the object or any of its pods."""
    said = {text for text, _ in _checkpoints(job, pods)} - gang.unsaved
    times = [at for text in said if (at := read_moment(text)) is not None]
    return max((min(at, now) for at in times if _is_of_run(gang, at, now)), default=None)


def _unsaved(
    gang: Gang, job: WorkFacts | None, pods: Sequence[PodFacts], now: Seconds
) -> Iterator[NotSaved]:
    """Tell what it says of its progress that cannot be, each value once for all of its pods.

    What lay ahead is not believed later either.
    """
    for text, ref in _checkpoints(job, pods):
        moment = read_moment(text)
        ahead = None if moment is None else moment - now
        good = ahead is not None and ahead <= AHEAD_AT_MOST
        if good or text in gang.unsaved or len(gang.unsaved) >= UNSAVED_AT_MOST:
            continue
        gang.unsaved.add(text)
        yield NotSaved(ref=ref, value=text, ahead=ahead, at=now)


def _is_of_run(gang: Gang, at: Seconds, now: Seconds) -> bool:
    return gang.admission.at <= at <= now + AHEAD_AT_MOST


def _checkpoints(
    job: WorkFacts | None, pods: Sequence[PodFacts]
) -> Iterator[tuple[str, ObjectRef]]:
    """What is said of the progress, and where: the object first, then its pods."""
    if job is not None and names.CHECKPOINTED in job.annotations:
        yield read_word(job.annotations[names.CHECKPOINTED]), ref_of(job)
    for pod in pods:
        if names.CHECKPOINTED in pod.annotations:
            ref = ObjectRef(kind=POD, namespace=pod.namespace, name=pod.name, uid=pod.uid)
            yield read_word(pod.annotations[names.CHECKPOINTED]), ref
