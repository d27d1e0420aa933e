"""A gang as we carry it out, and what the cluster shows of it.

What is derived here is derived anew from the mirror each time; what is kept beside it is only
what has been told or asked for already.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from bot.clusters.base import EndKind
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import JOB_SET, MAIN, Phase, PodFacts, marks_of_no_ask
from bot.clusters.kubernetes.forms import shorten
from bot.clusters.kubernetes.moments import read_moment
from bot.clusters.kubernetes.works import JobEnd, WorkFacts
from scheduler.model import (
    Admission,
    NodeName,
    PodSetAssignment,
    ResourceName,
    Seconds,
    Workload,
    WorkloadId,
)
from storage.records import ObjectRef

MOST_PODS = 100_000  # of a grant: one of more is none that anybody gave
_ADMISSION = TypeAdapter(Admission)
_ENDS = {JobEnd.COMPLETE: EndKind.FINISHED, JobEnd.FAILED: EndKind.FAILED}


class Whereabouts(enum.Enum):
    """Where an object is that we see no more. LEFT: it is there, without the team's label."""

    ASKED = enum.auto()
    LEFT = enum.auto()
    GONE = enum.auto()


@dataclass(slots=True, kw_only=True)
class Gang:
    """One attempt of a request, from its Start until its end was told.

    `bot` is what its marks are sealed with, `added` what was written into its templates; `homes`
    are the hosts that their maker wrote there. `seen`: its object carries the decision. `whole`:
    all of its pods have been there at once. `pinned` are the nodes that pods were let go to, by
    uid, until they are seen there. `hurt` are the lost nodes that were told. `ending` is how its
    stop will be told. `bereft`: its object is gone, which is told before its end. `made` is the
    object that we make for it; `marks` is what is written on a pod that ran before we knew of it;
    `gpus` what each pod of a hold was granted, `each` what one of each part was; `evicted` are the
    pods that were told to go, by uid; `since` from when on not all of it was ready; `ordered`: some
    of its pods come when others are ready. `left` are the places of each pod set that it has not
    given back, None for all; `saved` is when it saved its progress, as was told, and `unsaved` what
    it said of that and cannot be; `grown` how many pods it has beyond its grant, as was told;
    `taken` who has GPUs that a hold was granted, by node, as told. `told` is what of `left` the
    engine knows, None for all. `announced` is what its object says of when it will be stopped: that
    is believed only if it is to be stopped. `asked` is when that was last asked for; `unbegun`: its
    object has answered, after all that was sent, that it never began. `last` is its object as it
    was when it had ended and was removed. `out` are the roles of pods that have left our care;
    `object` what is known of an object that we see no more.
    """

    workload: WorkloadId
    decision: str
    admission: Admission
    ref: ObjectRef
    bot: str = ""
    added: str | None = None
    homes: frozenset[str] = frozenset()
    made: Json | None = None
    last: WorkFacts | None = None
    marks: Json | None = None
    since: Seconds | None = None
    gpus: int = 0
    each: Mapping[str, Mapping[ResourceName, int]] = field(default_factory=dict)
    seen: bool = False
    whole: bool = False
    running: bool = False
    bereft: bool = False
    ordered: bool = False
    stop_at: Seconds | None = None
    announced: Seconds | None = None
    stopping: bool = False
    asked: Seconds | None = None
    unbegun: bool = False
    ending: EndKind = EndKind.STOPPED
    left: Mapping[str, tuple[NodeName, ...]] | None = None
    saved: Seconds | None = None
    unsaved: set[str] = field(default_factory=set)
    grown: int = 0
    told: Mapping[str, tuple[NodeName, ...]] | None = None
    taken: dict[NodeName, frozenset[str]] = field(default_factory=dict)
    out: tuple[str, ...] = ()
    object: Whereabouts | None = None
    pinned: dict[str, NodeName] = field(default_factory=dict)
    hurt: set[NodeName] = field(default_factory=set)
    vacant: list[Seconds] = field(default_factory=list)
    evicted: set[str] = field(default_factory=set)

    @property
    def slots(self) -> tuple[NodeName, ...]:
        """The node of each pod, in the order of ranks."""
        return slots_of(self.admission)

    @property
    def places(self) -> tuple[NodeName, ...]:
        """The node of each pod that it may still have, in the order of ranks."""
        return tuple(node for part in self.admission.assignments for node in self.places_in(part))

    def places_in(self, part: PodSetAssignment) -> tuple[NodeName, ...]:
        """The same of one pod set."""
        return slots_in(part) if self.left is None else self.left[part.name]

    def give_back(self, kept: Sequence[PodSetAssignment] | None) -> None:
        """Take what the engine knows that it kept for what is left, unless less is by now."""
        if kept is None:
            return
        self.told = {part.name: slots_in(part) for part in kept}
        self.left = self.told if self.left is None else self.left

    @property
    def room(self) -> dict[NodeName, int]:
        """GPUs of a hold by node."""
        return {node: pods * self.gpus for node, pods in Counter(self.slots).items()}

    @property
    def nodes(self) -> frozenset[NodeName]:
        """The nodes that it was granted."""
        return frozenset(self.slots)


def homes_of(workload: Workload) -> frozenset[str]:
    """The hosts to which the selectors of what it asks for bind its pods."""
    selectors = [pods.node_selector for pods in workload.pod_sets]
    return frozenset(one[names.HOSTNAME] for one in selectors if names.HOSTNAME in one)


def slots_of(admission: Admission) -> tuple[NodeName, ...]:
    """The node of each pod, in the order of the admission's nodes."""
    return tuple(node for part in admission.assignments for node in slots_in(part))


def slots_in(part: PodSetAssignment) -> tuple[NodeName, ...]:
    """The same of one pod set."""
    return tuple(node for node, pods in part.nodes for _ in range(pods))


def write_grant(admission: Admission) -> str:
    """A placement as it stands in an annotation."""
    return _ADMISSION.dump_json(admission).decode()


def read_grant(text: str | None) -> Admission | None:
    """The placement of an annotation; None where it is missing or garbled."""
    try:
        found = None if text is None else _ADMISSION.validate_json(text)
    except ValidationError:
        return None
    if found is not None and sum(_pods_of(found)) > MOST_PODS:
        return None
    return found


def _pods_of(admission: Admission) -> Iterator[int]:
    """How many pods lie on each node."""
    return (pods for part in admission.assignments for _, pods in part.nodes)


def gang_on(job: WorkFacts, bot: str) -> Gang | None:
    """The gang that an object's annotations tell of; None if we have never let it start.

    Others can write there, too: a decision that is not about the request of the grant is none.
    """
    admission = read_grant(job.annotations.get(names.GRANT))
    if job.decision is None or admission is None:
        return None
    if not job.decision.startswith(f"{admission.workload}/"):
        return None
    return Gang(
        workload=admission.workload,
        decision=job.decision,
        admission=admission,
        ref=ref_of(job),
        bot=bot,
        added=job.annotations.get(names.PINNED),
        seen=True,
        announced=read_moment(job.annotations.get(names.STOP_AT, "")),
        stopping=job.suspended,
        ordered=job.ordered,
        made={} if names.MADE in job.annotations else None,
    )


def ref_of(job: WorkFacts) -> ObjectRef:
    """What names a Job or JobSet for good, and what it asks for."""
    return ObjectRef(
        kind=job.kind, namespace=job.namespace, name=job.name, uid=job.uid, form=form_of(job)
    )


def path_of(ref: ObjectRef) -> str:
    """Where the API server has a Job or JobSet."""
    group = "jobset.x-k8s.io/v1alpha2" if ref.kind == JOB_SET else "batch/v1"
    return f"/apis/{group}/namespaces/{ref.namespace}/{ref.kind.lower()}s/{ref.name}"


def form_of(job: WorkFacts) -> str:
    """A short word that is another whenever a Job or JobSet asks for something else."""
    people = {k: v for k, v in job.annotations.items() if k not in marks_of_no_ask(job.annotations)}
    asked = (*job.asked, sorted(job.labels.items()), sorted(people.items()))
    return shorten(asked)


def standing(pods: Sequence[PodFacts], lost: Collection[NodeName]) -> tuple[PodFacts, ...]:
    """The pods that hold room on a node that is there: what a lost one holds, nobody can have."""
    return tuple(pod for pod in pods if pod.occupies and pod.node not in lost)


def end_of(
    job: WorkFacts, pods: Sequence[PodFacts], lost: Collection[NodeName], stopped: EndKind
) -> EndKind | None:
    """How the gang of an object has ended; None while it holds something or may get more pods."""
    if standing(pods, lost):
        return None
    if job.end is not None:
        return _ENDS[job.end]
    waits = any(not pod.finished and pod.node not in lost for pod in pods)
    return stopped if job.suspended and job.parked and not waits else None


def is_granted(gang: Gang, pod: PodFacts) -> bool:
    """Whether the grant is for this pod of the gang.

    Of a JobSet or a group, some parts may want no GPUs, and pods that were done in an earlier run
    are still there in the next.
    """
    if pod.part is None:
        return True
    mine, name = is_of_this_run(gang, pod), part_of(gang, pod)
    return mine and any(part.name == name for part in gang.admission.assignments)


def part_of(gang: Gang, pod: PodFacts) -> str | None:
    """The name of the pod set that a pod of the gang is one of, granted or not; None without parts.

    A leader and workers that ask for the same are one pod set.
    """
    if pod.part is None:
        return None
    granted = {part.name for part in gang.admission.assignments}
    return MAIN if pod.is_in_replica and granted == {MAIN} else pod.part[0]


def is_of_this_run(gang: Gang, pod: PodFacts) -> bool:
    """Whether a pod was let go by the decision that the gang is, or by none yet."""
    return decision_of(pod) in {None, gang.decision}


def decision_of(pod: PodFacts) -> str | None:
    """The decision that let a pod go; None while it is at the gate, whatever was copied to it."""
    return None if pod.gated else pod.annotations.get(names.DECISION)


def is_over(gang: Gang, pod: PodFacts, there: Sequence[PodFacts]) -> bool:
    """Whether a pod of the gang is one more than the grant has room for on its node.

    `there` are all pods of the gang on that node. A Job that was made larger has such pods, and
    one of whose pods one still ends when the next is there.
    """
    part = part_of(gang, pod)
    alike = [one.uid for one in there if part_of(gang, one) == part]
    room = sum(
        count
        for one in gang.admission.assignments
        if part is None or one.name == part
        for node, count in one.nodes
        if node == pod.node
    )
    return sorted(alike).index(pod.uid) >= room


def is_ready(gang: Gang, pods: Sequence[PodFacts]) -> bool:
    """Whether every pod of the gang runs where it should, or has done its work.

    Of one whose pods come in order, those that are there. What was done in an earlier run says
    nothing of this one.
    """
    nodes = gang.nodes
    mine = [pod for pod in pods if is_granted(gang, pod)]
    good = sum(
        (pod.phase is Phase.SUCCEEDED and is_of_this_run(gang, pod))
        or (pod.ready and pod.occupies and not pod.terminating and pod.node in nodes)
        for pod in mine
    )
    if gang.ordered:
        return good > 0 and good >= sum(not pod.terminating for pod in mine)
    return good >= len(gang.slots) - len(gang.out)


def places_for(
    gang: Gang, pods: Sequence[PodFacts], hosts: Mapping[str, NodeName]
) -> dict[str, NodeName]:
    """Where the gang's gated pods go, by uid; nothing until the gang is whole.

    `hosts` are the nodes by their host label.
    """
    alive = [pod for pod in pods if not pod.finished and not pod.terminating]
    if not gang.whole and len(alive) < len(gang.slots):
        return {}
    ranks = _ranks(gang, pods)
    return seats(gang, gang.slots, gang.places, alive, ranks, hosts)


def _ranks(gang: Gang, pods: Sequence[PodFacts]) -> dict[str, int | None]:
    """The place of each pod among those of the run, by uid.

    Indexes that were over before it take no slot, so that those which follow are neighbours.
    """
    known = {pod.index for pod in pods if pod.index is not None and is_of_this_run(gang, pod)}
    order = {index: at for at, index in enumerate(sorted(known))}
    if len(order) != len(gang.slots):  # some are still to come, or there are more than granted
        return {pod.uid: pod.index for pod in pods}
    return {pod.uid: None if pod.index is None else order.get(pod.index) for pod in pods}


def seats(
    gang: Gang,
    slots: Sequence[NodeName],
    places: Sequence[NodeName],
    alive: Sequence[PodFacts],
    ranks: Mapping[str, int | None],
    hosts: Mapping[str, NodeName],
) -> dict[str, NodeName]:
    """Which of the `places` that are left of `slots` gated pods go to, by uid.

    A rank (`ranks`, by uid) goes to its own node, in the order of the slots, unless another pod is
    there already; then to the first that is free.
    """
    free = Counter(places)
    waiting = []
    for pod in alive:
        there = pod.node or gang.pinned.get(pod.uid)
        if there is None and not pod.gated:
            there = hosts.get(pod.host or "")
        if there is not None:
            free[there] -= 1
        elif pod.gated:
            waiting.append(pod)
    found: dict[str, NodeName] = {}

    def order(pod: PodFacts) -> tuple[bool, int, str, str]:
        return (ranks[pod.uid] is None, ranks[pod.uid] or 0, pod.name, pod.uid)

    for pod in sorted(waiting, key=order):
        index = ranks[pod.uid]
        own = slots[index] if index is not None and index < len(slots) else None
        node = own if own is not None and free[own] > 0 else None
        if node is None:
            node = next((one for one in slots if free[one] > 0), None)
        if node is not None:
            free[node] -= 1
            found[pod.uid] = node
    return found


def is_later(job: WorkFacts, gang: Gang) -> bool:
    """Whether an object tells of a later grant than that of a gang, or of one mended since."""
    found, ours = gang_on(job, gang.bot), gang.admission
    if found is None:
        return False
    return (found.admission.at, found.admission.repairs) > (ours.at, ours.repairs)
