"""What is kept of each object: the few fields that decisions hang on.

A pod costs a few hundred bytes here and some ten thousand as the API sends it. Everything is
read defensively: an object that others wrote may lack or garble any field.
"""

from __future__ import annotations

import datetime as dt
import enum
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.additions import NONE, Additions
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.placing import refusal_of, rules_of
from bot.clusters.kubernetes.replicas import (
    LEADER_WORKER_SET,
    STATEFUL_SET,
    member_of,
    replica_key,
)
from bot.clusters.kubernetes.seals import is_former
from bot.clusters.kubernetes.texts import read_number, read_word
from bot.clusters.kubernetes.troubles import Trouble, trouble_of
from scheduler.model import (
    GPU,
    PODS,
    Node,
    NodeName,
    Operator,
    PodSet,
    Requirement,
    ResourceName,
    Seconds,
    Taint,
    TaintEffect,
    Toleration,
)
from scheduler.quantities import QuantityError, read_quantity
from storage.records import FamilyRef

log = logging.getLogger(__name__)

Amounts = Mapping[ResourceName, int]
JOB, JOB_SET = "Job", "JobSet"
_GROUPS = {JOB: "batch", JOB_SET: "jobset.x-k8s.io"}
MAIN = "main"  # the role of pods that name none
_NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_NAME_FIELD = "metadata.name"  # the one field of nodes that an affinity may name
_NEVER = Requirement(key="", operator=Operator.IN)  # no node meets it
_OF_PODS = ("cpu", "memory", "hugepages-")  # what may be said of a pod as a whole
_CORDONED = "node.kubernetes.io/unschedulable"
_NO_ASK = (
    names.LEFT,
    names.ADMITTED,
    names.DECISION,
    names.GRANT,
    names.PINNED,
    names.STOP_AT,
    names.SEAL,
    names.FORMER,
    names.CHECKPOINTED,
)


class Phase(enum.StrEnum):
    """A pod's phase as the kubelet tells it."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """What controls an object."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """A pod. `terminating`: its deletion was asked for; it holds its node until it is gone.

    `gates` are the names of its scheduling gates; `labels` and `annotations` only those of our
    prefix; `index` its completion index; `part` the replicated job of its JobSet, and which of its
    Jobs; `host` what its selector says of the node's name; `shape` what it asks for, kept while it
    waits at our gate. The `owner` of a JobSet's pod is the JobSet, not the Job in between. Of a
    pod of a group, `part` is its role. `family` is what it is a replica of; `trouble` what keeps
    it from being ready on its node. A pod of a LeaderWorkerSet has the labels of a group, its
    replica, as if its maker had written them; `index` is its number in that. `rules` place it by
    other pods, kept until it has a node; `unplaced` is why the scheduler finds none.
    """

    uid: str
    namespace: str
    name: str
    version: str
    node: NodeName | None
    phase: Phase
    ready: bool
    terminating: bool
    gates: tuple[str, ...]
    requests: Amounts
    owner: Owner | None
    index: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    host: str | None = None
    part: tuple[str, int] | None = None
    disrupted: bool = False
    created: Seconds = 0.0
    begun: Seconds | None = None
    shape: PodShape | None = None
    rules: tuple[str, ...] = ()
    unplaced: str = ""
    family: FamilyRef | None = None
    trouble: Trouble | None = None

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    @property
    def finished(self) -> bool:
        """Whether its containers have ended for good: it holds nothing any more."""
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED}

    @property
    def occupies(self) -> bool:
        """Whether it takes room on a node."""
        return self.node is not None and not self.finished

    @property
    def unit(self) -> str | None:
        """What it is admitted by: its uid, or its group's key; None if by a Job or a hold.

        What runs by a decision that is not ours, or about another object, is by none. One at the
        gate that wants GPUs for no team waits by itself, to be told what it lacks; one
        of a replica with the others of that. What needs no GPUs and was never at the gate is no
        member of a group.
        """
        is_jobs = self.owner is not None and self.owner.kind in {JOB, JOB_SET}
        if is_jobs or self.request is not None:
            return None
        if is_former(self.annotations) and not self.gated:
            return None
        group = self.labels.get(names.GROUP)
        if names.TEAM not in self.labels:
            if not self.gated or not self.requests.get(GPU, 0):
                return None
            return replica_key(self.namespace, group) if group and self.is_in_replica else self.uid
        return self._key(group)

    def _key(self, group: str | None) -> str | None:
        if group is None:
            return self.uid
        counts = self.gated or self.requests.get(GPU, 0) or names.DECISION in self.annotations
        if not counts:
            return None
        if self.is_in_replica:
            return replica_key(self.namespace, group)
        return f"group:{self.namespace}/{group}"

    @property
    def left(self) -> str | None:
        """The decision that it ran by, of a pod whose team's label was taken off since.

        Of those of a Job or JobSet, that has the label.
        """
        is_jobs = self.owner is not None and self.owner.kind in {JOB, JOB_SET}
        if is_jobs or self.finished or names.TEAM in self.labels or names.REQUEST in self.labels:
            return None
        return self.annotations.get(names.LEFT) or (
            None if self.gated else self.annotations.get(names.DECISION)
        )

    @property
    def former_unit(self) -> str | None:
        """What it would be admitted by if it had the label."""
        return self._key(self.labels.get(names.GROUP))

    @property
    def is_in_replica(self) -> bool:
        """Whether it is one of several pods that are a replica together."""
        return self.family is not None and self.family.kind == LEADER_WORKER_SET

    @property
    def request(self) -> str | None:
        """The request that its maker says it is for; the hold that it was let go for, if it was.

        What was let go for anything else, or adopted, is for no hold, whatever is written on it;
        nor is what runs by a decision that is not ours, or about another object.
        """
        said = self.labels.get(names.REQUEST)
        if is_former(self.annotations) and not self.gated:
            return None
        decision = None if self.gated else self.annotations.get(names.DECISION)
        if decision is None:
            return said
        redeemed = self.annotations.get(names.REDEEMED) or said
        return redeemed if redeemed and decision.startswith(f"{redeemed}/") else None

    @property
    def holds(self) -> Amounts:
        """What it takes of its node."""
        return {**self.requests, PODS: 1}

    @property
    def gated(self) -> bool:
        """Whether our gate is on it."""
        return names.GATE in self.gates


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """One pod as its template describes it, without what we have put there.

    `written` are its tolerations as they stand there: a list that is only ever replaced whole.
    `node` is where its maker puts it, past every scheduler.
    """

    requests: Amounts
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    written: tuple[Json, ...] = ()
    gates: tuple[str, ...] = ()
    node: str | None = None

    def with_seen(self, seen: Amounts) -> PodShape:
        """The same, asking for at least what pods of it were seen to ask for, but for GPUs."""
        more = {n: amount for n, amount in seen.items() if amount > self.requests.get(n, 0)}
        more.pop(GPU, None)
        return replace(self, requests={**self.requests, **more}) if more else self

    def pod_set(self, count: int, name: str = MAIN) -> PodSet:
        """So many pods of this shape, as they are asked for."""
        return PodSet(
            name=name,
            count=count,
            requests=self.requests,
            node_selector=self.node_selector,
            affinity=self.affinity,
            tolerations=self.tolerations,
        )


def node_of(obj: Json) -> Node:
    """A node with what it allows pods to use; what others hold is taken off by the mirror."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    taints = tuple(_taints(spec.get("taints") or ()))
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    return Node(
        name=NodeName(meta["name"]),
        labels=dict(meta.get("labels") or {}),
        capacity=amounts_of(status.get("allocatable") or {}, f"node {meta['name']}"),
        taints=tuple(t for t in taints if t.key != _CORDONED and t.key not in _NOT_READY),
        ready=conditions.get("Ready") == "True" and not any(t.key in _NOT_READY for t in taints),
        schedulable=not spec.get("unschedulable", False),
    )


def pod_of(obj: Json) -> PodFacts:
    """The facts of a pod."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    node = spec.get("nodeName")
    phase, ready = status.get("phase"), conditions.get("Ready") == "True"
    owner, part = _owner_of_pod(meta)
    member = None if owner is None else member_of(owner.kind, meta)
    index = (meta.get("annotations") or {}).get(names.INDEX) if member is None else member.index
    labels = {**ours(meta.get("labels")), **({} if member is None else member.labels)}
    gates = tuple(gate["name"] for gate in spec.get("schedulingGates") or ())
    return PodFacts(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        version=meta["resourceVersion"],
        node=NodeName(node) if node else None,
        phase=Phase(phase) if phase in set(Phase) else Phase.UNKNOWN,
        ready=ready,
        terminating=bool(meta.get("deletionTimestamp")),
        gates=gates,
        requests=requests_of(spec, f"pod {meta['namespace']}/{meta['name']}"),
        rules=() if node else rules_of(spec),
        unplaced=refusal_of(status),
        owner=owner,
        part=_role_of(owner, labels) if part is None else part,
        index=read_number(index),
        labels=labels,
        annotations=ours(meta.get("annotations")),
        host=(spec.get("nodeSelector") or {}).get(names.HOSTNAME),
        disrupted=conditions.get("DisruptionTarget") == "True",
        created=moment_of(meta.get("creationTimestamp")),
        begun=moment_of(status.get("startTime")) or None,
        shape=shape_of(spec, f"pod {meta['name']}") if names.GATE in gates else None,
        family=_family_in(owner, meta) if member is None else member.family,
        trouble=trouble_of(status) if node and not ready else None,
    )


def _family_in(owner: Owner | None, meta: Json) -> FamilyRef | None:
    return None if owner is None else family_of(owner, meta.get("labels") or {})


def family_of(owner: Owner, labels: Mapping[str, str]) -> FamilyRef | None:
    """What keeps a pod as one of several replicas; None where nothing does.

    A Deployment names each of its ReplicaSets after itself and the hash of the template, which
    is on every pod, too: so it is known without reading ReplicaSets.
    """
    if owner.kind == STATEFUL_SET:
        revision = labels.get(names.REVISION_HASH, "")
        return FamilyRef(kind=owner.kind, name=owner.name, revision=revision)
    if owner.kind != "ReplicaSet":
        return None
    revision = labels.get(names.TEMPLATE_HASH, "")
    name = owner.name.removesuffix(f"-{revision}")
    if revision and name != owner.name:
        return FamilyRef(kind="Deployment", name=name, revision=revision)
    return FamilyRef(kind=owner.kind, name=owner.name)


def moment_of(text: str | None) -> Seconds:
    """A time of the API in seconds since the epoch; 0 without one."""
    return dt.datetime.fromisoformat(text).timestamp() if text else 0.0


def shape_of(spec: Json, whose: str, ours: Additions = NONE) -> PodShape:
    """What one pod of a template needs and puts up with, without what we have added to it."""
    written = ours.tolerations_without(spec.get("tolerations") or ())
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return PodShape(
        requests={**requests_of(spec, whose), ResourceName("pods"): 1},
        node_selector=ours.selector_without(spec.get("nodeSelector") or {}),
        affinity=tuple(_requirements(term) for term in required.get("nodeSelectorTerms") or ()),
        tolerations=tuple(_tolerations(written)),
        written=written,
        node=str(spec["nodeName"]) if spec.get("nodeName") else None,
        gates=ours.gates_without([gate["name"] for gate in spec.get("schedulingGates") or ()]),
    )


def requests_of(spec: Json, whose: str) -> dict[ResourceName, int]:
    """What a pod takes of each resource: its containers together, or its largest first step.

    Sidecars (init containers that go on) count with the containers, and with every init
    container that starts after them, as the scheduler counts. What is said of the pod as a whole
    stands in for its containers.
    """
    steady: dict[ResourceName, int] = {}
    for container in spec.get("containers") or ():
        _add(steady, _needs(container, whose))
    first: dict[ResourceName, int] = {}
    sidecars: dict[ResourceName, int] = {}
    for container in spec.get("initContainers") or ():
        needs = _needs(container, whose)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, needs)
            needs = {}
        at_once = dict(sidecars)
        _add(at_once, needs)
        first = {name: max(first.get(name, 0), at_once.get(name, 0)) for name in {*first, *at_once}}
    _add(steady, sidecars)
    total = {name: max(steady.get(name, 0), first.get(name, 0)) for name in {*steady, *first}}
    level = spec.get("resources") or {}
    total |= _of_whole(level.get("requests"), whose)
    for name, amount in _of_whole(level.get("limits"), whose).items():
        total.setdefault(name, amount)
    _add(total, amounts_of(spec.get("overhead") or {}, whose))
    return dict(sorted(total.items()))


def _of_whole(raw: Mapping[str, Any] | None, whose: str) -> dict[ResourceName, int]:
    return amounts_of({k: v for k, v in (raw or {}).items() if k.startswith(_OF_PODS)}, whose)


def amounts_of(raw: Mapping[str, Any], whose: str) -> dict[ResourceName, int]:
    """Amounts in the engine's units; one that cannot be read is left out and logged."""
    found: dict[ResourceName, int] = {}
    for name, text in raw.items():
        try:
            found[ResourceName(name)] = read_quantity(ResourceName(name), text)
        except QuantityError as error:
            log.warning("%s: %s: %s", whose, name, error)
    return found


def ours(marks: Mapping[str, str] | None) -> dict[str, str]:
    """The labels or annotations of our prefix."""
    return {name: value for name, value in (marks or {}).items() if name.startswith(names.PREFIX)}


def marks_of_no_ask(annotations: Mapping[str, str]) -> dict[str, str]:
    """Those of the annotations that ask for nothing: the bot's, and what work tells of itself."""
    return {name: annotations[name] for name in _NO_ASK if name in annotations}


def _needs(container: Json, whose: str) -> dict[ResourceName, int]:
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    return amounts_of({**limits, **(resources.get("requests") or {})}, whose)


def _add(total: dict[ResourceName, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _owner_of_pod(meta: Json) -> tuple[Owner | None, tuple[str, int] | None]:
    """What controls a pod, past the Job where that belongs to a JobSet, and its part of that.

    The labels are the JobSet controller's. They outlast the Job, which may go before its pods, and
    are copied with it: of a copy, which has another name, they say nothing.
    """
    owner, labels = owner_of(meta), meta.get("labels") or {}
    uid = labels.get(names.JOB_SET + "jobset-uid")
    if owner is None or owner.kind != JOB or not uid:
        return owner, None
    number = labels.get(names.JOB_SET + "job-index", "")
    part = str(labels.get(names.JOB_SET + "replicatedjob-name"))
    name = str(labels.get(names.JOB_SET + "jobset-name"))
    if owner.name != f"{name}-{part}-{number}":
        return owner, None
    found = Owner(kind=JOB_SET, name=name, uid=uid)
    index = read_number(number)
    return found, None if index is None else (part, index)


def _role_of(owner: Owner | None, labels: Mapping[str, str]) -> tuple[str, int] | None:
    """The part that a pod has in its group; None without a group."""
    if names.GROUP not in labels or (owner is not None and owner.kind in {JOB, JOB_SET}):
        return None
    return labels.get(names.ROLE) or MAIN, 0


def owner_of(meta: Json) -> Owner | None:
    """What controls an object. A Job of another API group (Volcano's) is another kind than ours."""
    for one in meta.get("ownerReferences") or ():
        if one.get("controller"):
            kind, group = read_word(one["kind"]), str(one.get("apiVersion") or "").partition("/")[0]
            if group and group != _GROUPS.get(kind, group):
                kind = f"{kind}.{group}"
            return Owner(kind=kind, name=read_word(one["name"]), uid=read_word(one["uid"]))
    return None


def _taints(raw: Iterable[Json]) -> Iterable[Taint]:
    for one in raw:
        if one.get("effect") in set(TaintEffect):
            yield Taint(
                key=str(one["key"]),
                value=str(one.get("value") or ""),
                effect=TaintEffect(one["effect"]),
            )


def _tolerations(raw: Iterable[Json]) -> Iterable[Toleration]:
    for one in raw:
        exists = one.get("operator") == "Exists"
        effect = one.get("effect")
        yield Toleration(
            key=str(one.get("key") or ""),
            value=None if exists else str(one.get("value") or ""),
            effect=TaintEffect(effect) if effect in set(TaintEffect) else None,
        )


def _requirements(term: Json) -> tuple[Requirement, ...]:
    """The demands of one alternative. One that is empty is met by no node.

    So is an operator that nobody knows, and a field that is not the node's name.
    """
    labels = [_requirement(one) for one in term.get("matchExpressions") or ()]
    fields = [_requirement(one, of_name=True) for one in term.get("matchFields") or ()]
    return (*labels, *fields) or (_NEVER,)


def _requirement(one: Json, *, of_name: bool = False) -> Requirement:
    known = one.get("operator") in set(Operator)
    known = known and (not of_name or one.get("key") == _NAME_FIELD)
    if not known:
        return _NEVER
    values, operator = tuple(map(str, one.get("values") or ())), Operator(one["operator"])
    return Requirement(key=str(one.get("key")), operator=operator, values=values, of_name=of_name)
