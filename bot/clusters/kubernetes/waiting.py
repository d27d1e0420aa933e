"""What waits for us in the cluster without being known, and what was told of it.

One that is not suspended, whose pods wait at the gate all the same, is told as what it is: its
owner would wait for ever without a word. Without the label we see its pods alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from bot.clusters.base import Unwanted, Wanted
from bot.clusters.flaws import Flaw, FlawKind
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import JOB, JOB_SET, PodFacts, marks_of_no_ask
from bot.clusters.kubernetes.gangs import ref_of
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.pods import PodGangs
from bot.clusters.kubernetes.texts import read_marks
from bot.clusters.kubernetes.works import WorkFacts
from scheduler.model import GPU, Seconds
from storage.records import ObjectRef


def wanted(work: WorkFacts, mirror: Mirror, now: Seconds) -> Wanted | None:
    """What a Job or JobSet asks for; None unless it waits to be let in."""
    waits = work.suspended and not work.deleting and work.end is None and names.TEAM in work.labels
    waits = waits and names.MADE not in work.annotations and not work.child
    if not waits or not work.pod_sets:
        return None
    marks = {**work.annotations, **work.labels}
    for own in marks_of_no_ask(work.annotations):
        marks.pop(own)
    return Wanted(
        ref=ref_of(work),
        marks=read_marks(marks),
        pod_sets=work.pod_sets,
        created=work.created,
        at=now,
        flaw=_elsewhere(work) or _lingering(work, mirror),
    )


def _lingering(work: WorkFacts, mirror: Mirror) -> Flaw | None:
    """What a lost node keeps of work that makes nothing in the place of what has not ended.

    It would never be whole. Of a node that is no more the cluster ends the pods itself.
    """
    for pod in mirror.pods_of(work.uid) if work.after_end else ():
        node = mirror.nodes.items.get(pod.node or "")
        if pod.occupies and node is not None and not node.ready:
            return Flaw(kind=FlawKind.LINGERS, values=(pod.name, node.name))
    return None


def unheld(work: WorkFacts | None, pods: Sequence[PodFacts], now: Seconds) -> Wanted | None:
    """A Job or JobSet whose `pods` wait at the gate, one by one; None where there is none.

    `work` is None of one that we do not see, for it lacks the label.
    """
    if work is not None and not _is_loose(work):
        return None
    at_gate = (pod for pod in pods if is_at_gate(pod))
    first = min(at_gate, key=lambda pod: (pod.name, pod.uid), default=None)
    if first is None or first.owner is None:
        return None
    labels = {} if work is None else work.labels
    owner = first.annotations.get(names.OWNER) or first.labels.get(names.OWNER)
    said = {names.TEAM: labels.get(names.TEAM), names.OWNER: owner}
    return Wanted(
        ref=ObjectRef(
            kind=first.owner.kind,
            namespace=first.namespace,
            name=first.owner.name,
            uid=first.owner.uid,
        ),
        marks=read_marks({name: text for name, text in said.items() if text}),
        pod_sets=(),
        created=0.0 if work is None else work.created,
        at=now,
        flaw=_elsewhere(work) or Flaw(kind=FlawKind.LOOSE),
    )


def _elsewhere(work: WorkFacts | None) -> Flaw | None:
    if work is None:
        return None
    if work.manager is not None:
        return Flaw(kind=FlawKind.ELSEWHERE, values=(work.manager,))
    node = next((shape.node for shape in work.shapes if shape.node is not None), None)
    return None if node is None else Flaw(kind=FlawKind.NODE_NAMED, values=(node,))


def is_at_gate(pod: PodFacts) -> bool:
    """Whether a pod of a Job or JobSet of people's waits for GPUs at our gate, and for no hold."""
    if pod.owner is None or pod.owner.kind not in {JOB, JOB_SET}:
        return False
    ours = pod.request is not None or names.MADE in pod.annotations
    return pod.gated and not pod.terminating and not ours and pod.requests.get(GPU, 0) > 0


def _is_loose(work: WorkFacts) -> bool:
    """Whether it goes on although we have never let it go."""
    ours = work.child or names.MADE in work.annotations or work.decision is not None
    return not (ours or work.suspended or work.deleting or work.end is not None)


def _asks_nothing(work: WorkFacts | None) -> bool:
    """Whether a Job or JobSet of people's, which we do not let run, is not to be let in either.

    It asks for no pods now, is being deleted, or goes on because somebody else let it go.
    """
    return work is not None and not (work.child or names.MADE in work.annotations)


class Asked:
    """What was told that people want, so that each is told once, and that it is over.

    `pods` are those that wait by themselves.
    """

    def __init__(self, mirror: Mirror, pods: PodGangs) -> None:
        self._mirror, self._pods = mirror, pods
        self._told: dict[str, Wanted] = {}
        self._doubted: set[str] = set()
        self._idle: set[str] = set()  # what is there and asks for nothing, as was told

    def forget(self) -> None:
        """Tell everything anew."""
        for told in (self._told, self._doubted, self._idle):
            told.clear()

    def doubt(self, *uids: str) -> None:
        """Tell anew what is wanted of objects whose gangs are over."""
        self._doubted.update(uids)

    def news(self, uid: str, now: Seconds, *, named: bool) -> Iterator[Wanted | Unwanted]:
        """What is to be told of an object, or of pods by their key.

        `named` says that the object itself has changed, not pods of it: one that is no more is told
        whatever was told before. So is, once, one that asks for nothing: it may have asked before
        we looked.
        """
        work = self._mirror.work(uid)
        found = self._pods.wanted(uid, now) if work is None else wanted(work, self._mirror, now)
        if self._pods.is_forming(uid, found, now):
            return
        found = found or unheld(work, self._mirror.pods_of(uid), now)
        doubted = uid in self._doubted
        self._doubted.discard(uid)
        if found is not None:
            self._idle.discard(uid)
            before = self._told.get(uid)
            if before is None or doubted or _differs(before, found):
                self._told[uid] = found
                yield found
            return
        over = self._told.pop(uid, None) is not None
        over |= doubted and work is None  # what a gang that is over leaves behind asks for nothing
        over |= named and work is None and not self._mirror.pods_of_unit(uid)
        if _asks_nothing(work):
            over |= doubted or uid not in self._idle
            self._idle.add(uid)
        else:
            self._idle.discard(uid)
        if over and (work is None or work.end is None):
            yield Unwanted(uid=uid, at=now)  # gone, or somebody else let it go


def _differs(before: Wanted, after: Wanted) -> bool:
    """Whether something else is asked for now."""
    return dataclasses.replace(before, at=after.at, leaving=after.leaving) != after
