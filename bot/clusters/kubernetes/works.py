"""Jobs and JobSets: what waits by being suspended, and starts whole."""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.additions import additions_in
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import (
    JOB,
    JOB_SET,
    MAIN,
    Amounts,
    PodShape,
    moment_of,
    ours,
    owner_of,
    shape_of,
)
from bot.clusters.kubernetes.texts import read_number
from scheduler.model import GPU, PodSet, Seconds, Slice, TopologyRequest


class JobEnd(enum.StrEnum):
    """How a Job ended."""

    COMPLETE = "Complete"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFacts(abc.ABC):
    """What Jobs and JobSets have in common: they wait by being suspended, and start whole.

    `parked`: its controller has seen that it is suspended and will make no more pods. `once`:
    no pod takes the place of one that has succeeded. `ordered`: not all pods come at once, for
    some wait until others are ready. `child`: a JobSet has it, and is what we deal with. `final`:
    what of it is done is never made anew while it runs. `closing` is how it will have ended when
    its last pods have: that is decided. `after_end`: none takes the place of a pod before that has
    ended, however long a node which is lost keeps it. `manager` is who makes its pods where that is
    not the controller of its kind: whether that heeds `suspend` cannot be known. `seen` is what
    pods of a part were seen to ask for: it is planned with, but nobody wrote it into a template.
    """

    kind: ClassVar[str]

    uid: str
    namespace: str
    name: str
    version: str
    suspended: bool
    parked: bool
    once: bool
    end: JobEnd | None
    deleting: bool
    created: Seconds
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    ordered: bool = False
    child: bool = False
    final: bool = True
    manager: str | None = None
    closing: JobEnd | None = None
    after_end: bool = False
    seen: Mapping[str, Amounts] = field(default_factory=dict)

    @property
    def decision(self) -> str | None:
        """The decision that was carried out on it last."""
        return self.annotations.get(names.DECISION)

    @property
    def verdict(self) -> JobEnd | None:
        """How it has ended or is bound to, as far as its status shows."""
        return self.end

    @property
    @abc.abstractmethod
    def asked(self) -> tuple[object, ...]:
        """What its templates ask for: something else as soon as it is changed, and only then."""

    @property
    @abc.abstractmethod
    def shapes(self) -> tuple[PodShape, ...]:
        """What its templates describe."""

    @property
    def templates(self) -> tuple[Amounts, ...]:
        """What a pod of each of its templates asks for."""
        return tuple(shape.requests for shape in self.shapes)

    def with_seen(self, seen: Mapping[str, Amounts]) -> Self:
        """The same, of which pods, by part, were seen to ask for this."""
        return dataclasses.replace(self, seen=dict(seen))

    @property
    @abc.abstractmethod
    def pod_sets(self) -> tuple[PodSet, ...]:
        """Its pods, those of one shape together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts(WorkFacts):
    """A Job. `pods` is how many run at once.

    `completions` is how many pods are to succeed, None if that is not said; `done` how many have,
    and `lost` how many indexes have failed for good.
    """

    kind = JOB

    pods: int
    indexed: bool
    shape: PodShape
    completions: int | None = None
    done: int = 0
    lost: int = 0

    @property
    def verdict(self) -> JobEnd | None:
        """Also before its controller has said so, where all that was to succeed has."""
        done = self.completions is not None and 0 < self.completions <= self.done
        return self.end or self.closing or (JobEnd.COMPLETE if done else None)

    @property
    def to_come(self) -> int:
        """How many pods it has at once when it starts now: what is over does not come again."""
        if self.completions is None:
            return self.pods
        return min(self.pods, max(0, self.completions - self.done - self.lost))

    @property
    def shapes(self) -> tuple[PodShape, ...]:
        """It has one template."""
        return (self.shape,)

    @property
    def asked(self) -> tuple[object, ...]:
        """How many pods, and their shape."""
        return (self.to_come, self.shape)

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """All pods are of one shape; none where all is done."""
        shape = self.shape.with_seen(self.seen.get(MAIN, {}))
        return (shape.pod_set(self.to_come),) if self.to_come else ()


_VERDICTS = {"FailureTarget": JobEnd.FAILED, "SuccessCriteriaMet": JobEnd.COMPLETE}


def job_of(obj: Json) -> JobFacts:
    """The facts of a Job."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    held = {kind for kind, value in conditions.items() if value == "True"}
    template = (spec.get("template") or {}).get("spec") or {}
    pods, once = size_of(spec)
    marks = ours(meta.get("annotations"))
    owner = owner_of(meta)
    return JobFacts(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        version=meta["resourceVersion"],
        suspended=bool(spec.get("suspend")),
        parked="Suspended" in held,
        pods=pods,
        once=once,
        child=owner is not None and owner.kind == JOB_SET,
        manager=_manager(spec, "kubernetes.io/job-controller"),
        indexed=spec.get("completionMode") == "Indexed",
        shape=shape_of(
            template, f"Job {meta['namespace']}/{meta['name']}", additions_in(marks, MAIN)
        ),
        end=next((end for end in JobEnd if end.value in held), None),
        after_end=_is_after_end(spec),
        closing=next((end for kind, end in _VERDICTS.items() if kind in held), None),
        completions=spec.get("completions"),
        done=_succeeded(status),
        lost=_count_of(status.get("failedIndexes"), below=spec.get("completions") or 0),
        deleting=bool(meta.get("deletionTimestamp")),
        created=moment_of(meta.get("creationTimestamp")),
        labels=ours(meta.get("labels")),
        annotations=marks,
    )


def _is_after_end(spec: Json) -> bool:
    """Whether a pod that ends is waited for; so it is with failure rules, if nothing is said."""
    default = "Failed" if spec.get("podFailurePolicy") else None
    return (spec.get("podReplacementPolicy") or default) == "Failed"


def _manager(spec: Json, usual: str) -> str | None:
    named = spec.get("managedBy")
    return None if named in {None, "", usual} else str(named)


def _succeeded(status: Json) -> int:
    """Pods that have succeeded, those included that are not counted yet."""
    more = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
    return int(status.get("succeeded") or 0) + len(more)


def _count_of(indexes: object, *, below: int) -> int:
    """How many indexes are listed as in `0-2,5`, of those below a number; what is garbled is none.

    Where it was made smaller, those of ranks that it has no more are still listed.
    """
    found = 0
    for part in indexes.split(",") if isinstance(indexes, str) else ():
        first, dash, last = part.partition("-")
        low, high = read_number(first), read_number(last if dash else first)
        if low is not None and high is not None:
            found += max(0, min(high, below - 1) - low + 1)
    return found


def size_of(spec: Json) -> tuple[int, bool]:
    """How many pods of a Job run at once, and whether none takes the place of one that is done."""
    pods, completions = spec.get("parallelism", 1), spec.get("completions")
    if completions is None:
        return pods, False
    return min(pods, completions), completions <= pods


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedJob:
    """A part of a JobSet: so many Jobs of so many pods, all of one shape.

    `at` is its place in the list of the JobSet; `done` how many of its Jobs have succeeded, whose
    pods do not come again when it is suspended and resumed. `once` as of each of its Jobs; `domain`
    is the node label of which each Job is to have a value of its own.
    """

    name: str
    at: int
    replicas: int
    pods: int
    shape: PodShape
    done: int = 0
    once: bool = True
    domain: str | None = None

    @property
    def count(self) -> int:
        """The pods that it has, or will have."""
        return max(0, self.replicas - self.done) * self.pods

    def pod_set(self, seen: Amounts) -> PodSet:
        """What all of them ask for, where one was `seen` to ask for so much."""
        found = self.shape.with_seen(seen).pod_set(self.count, self.name)
        if self.domain is None:
            return found
        together = (Slice(level=self.domain, size=self.pods),)
        return dataclasses.replace(found, topology=TopologyRequest(slices=together))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetFacts(WorkFacts):
    """A JobSet. `annotated`: it has annotations, of anybody's."""

    kind = JOB_SET

    parts: tuple[ReplicatedJob, ...]
    annotated: bool

    @property
    def shapes(self) -> tuple[PodShape, ...]:
        """One for each part."""
        return tuple(part.shape for part in self.parts)

    @property
    def asked(self) -> tuple[object, ...]:
        """The size and shape of each part."""
        return self.parts

    @property
    def waits_for_nodes(self) -> bool:
        """Whether some of its pods are made when others have a node."""
        return any(part.domain is not None for part in self.parts)

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """One for each part that asks for GPUs, by the part's name.

        Where the pods of the others run is left to the Kubernetes scheduler. Only of a JobSet that
        asks for no GPUs at all are all parts told, so that its owner hears what is wrong with it.
        """
        sets = [part.pod_set(self.seen.get(part.name, {})) for part in self.parts if part.count > 0]
        with_gpus = [pods for pods in sets if pods.requests.get(GPU, 0)]
        return tuple(with_gpus or sets)


_SET_ENDS = {"Completed": JobEnd.COMPLETE, "Failed": JobEnd.FAILED}


def job_set_of(obj: Json) -> JobSetFacts:
    """The facts of a JobSet."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    held = {kind for kind, value in conditions.items() if value == "True"}
    held.add(status.get("terminalState"))
    marks = ours(meta.get("annotations"))
    templates = list(spec.get("replicatedJobs") or ())
    sizes = [size_of(_job_spec(one)) for one in templates]
    states = {one.get("name"): one for one in status.get("replicatedJobsStatus") or ()}
    whose = f"JobSet {meta['namespace']}/{meta['name']}"
    domains = [_domain_of(meta, one) for one in templates]
    return JobSetFacts(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        version=meta["resourceVersion"],
        suspended=bool(spec.get("suspend")),
        parked="Suspended" in held and not any(one.get("active") for one in states.values()),
        once=all(once for _, once in sizes),
        ordered=_is_ordered(spec),
        after_end=any(map(_is_after_end, map(_job_spec, templates))),
        final=not _may_restart(spec, status),
        manager=_manager(spec, names.JOB_SET + "jobset-controller"),
        parts=tuple(
            ReplicatedJob(
                name=str(one["name"]),
                at=at,
                replicas=one.get("replicas", 1),
                pods=pods,
                shape=shape_of(
                    _pod_spec(one),
                    f"{whose}, {one['name']}",
                    additions_in(marks, str(one["name"])),
                ),
                done=(states.get(one["name"]) or {}).get("succeeded") or 0,
                once=once,
                domain=domains[at],
            )
            for at, (one, (pods, once)) in enumerate(zip(templates, sizes, strict=True))
        ),
        end=next((end for kind, end in _SET_ENDS.items() if kind in held), None),
        deleting=bool(meta.get("deletionTimestamp")),
        created=moment_of(meta.get("creationTimestamp")),
        labels=ours(meta.get("labels")),
        annotations=marks,
        annotated=bool(meta.get("annotations")),
    )


def _job_spec(part: Json) -> Json:
    """The Job of a part; one that says nothing of its size has one pod, once."""
    spec: Json = (part.get("template") or {}).get("spec") or {}
    return spec if "parallelism" in spec or "completions" in spec else {**spec, "completions": 1}


def _pod_spec(part: Json) -> Json:
    spec: Json = (_job_spec(part).get("template") or {}).get("spec") or {}
    return spec


def _domain_of(meta: Json, part: Json) -> str | None:
    """The node label by which each Job of a part has a domain of its own, as its pods come.

    The first pod of a Job says which, the others are made when that has a node. Where somebody has
    labelled the nodes for each Job, that is by a node selector, and nothing waits.
    """
    template = (part.get("template") or {}).get("metadata") or {}
    notes = {**(meta.get("annotations") or {}), **(template.get("annotations") or {})}
    return None if names.JOB_SET_LABELLED in notes else notes.get(names.JOB_SET_EXCLUSIVE)


def _is_ordered(spec: Json) -> bool:
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    return in_order or any(one.get("dependsOn") for one in spec.get("replicatedJobs") or ())


def _may_restart(spec: Json, status: Json) -> bool:
    """Whether the failure of a Job may have others made anew, also such as are done.

    Restarts that a rule does not count have no end, and those in place are counted elsewhere; an
    action that we do not know may be anything. Without rules each restart counts, so that an older
    controller's count will do.
    """
    policy = spec.get("failurePolicy")
    if not policy:
        return False
    rules = policy.get("rules") or ()
    if any(rule.get("action") != "FailJobSet" for rule in rules):
        return True
    counted = status.get("restartsCountTowardsMax") or 0
    if not rules:
        counted = max(counted, status.get("restarts") or 0)
    if policy.get("restartStrategy") not in {None, "Recreate", "BlockingRecreate"}:
        counted = 0
    return bool(counted < (policy.get("maxRestarts") or 0))
