"""Workloads and the machines: who waits, who runs where, and what the nodes have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from scheduler import kueue
from scheduler import kueue_core as core
from scheduler.layout import HOSTNAME, Flavor, LocalQueue, Queue
from scheduler.manifests.capacity import Shelf, read_taint, read_toleration
from scheduler.manifests.problems import ManifestError
from scheduler.model import (
    PODS,
    Admission,
    FlavorName,
    Node,
    NodeName,
    Operator,
    PodSet,
    PodSetAssignment,
    QueueName,
    Requirement,
    ResourceName,
    Seconds,
    Slice,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)
from scheduler.quantities import to_base

Amounts = dict[ResourceName, int]
MANAGED = frozenset({"kueue.x-k8s.io/managed", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/tas"})
"""Labels of pods that belong to a workload and are counted with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a workload is read against."""

    queues: Mapping[QueueName, Queue]
    local_queues: Mapping[tuple[str, str], LocalQueue]
    flavors: Mapping[FlavorName, Flavor]
    classes: Mapping[str, int]
    namespaces: Mapping[str, Mapping[str, str]]
    selectors: Mapping[QueueName, core.LabelSelector | None]
    hosts: Mapping[str, NodeName]


def seconds(moment: datetime | None) -> Seconds:
    """UTC seconds since the epoch; 0 for a moment that is not known."""
    return 0.0 if moment is None else moment.timestamp()


def read_nodes(shelf: Shelf) -> tuple[Node, ...]:
    """Every node, less what pods hold on it that belong to no workload; by name."""
    taken: dict[str, Amounts] = {}
    for _, pod in shelf.of(kueue.PodObject):
        over = pod.status.phase in ("Succeeded", "Failed")
        if pod.spec.node_name is None or over or not MANAGED.isdisjoint(pod.metadata.labels):
            continue
        held = taken.setdefault(pod.spec.node_name, {})
        for name, amount in {**pod_requests(pod.spec), PODS: 1}.items():
            held[name] = held.get(name, 0) + amount

    def make(one: kueue.NodeObject) -> Node:
        capacity = {
            ResourceName(name): to_base(ResourceName(name), amount)
            for name, amount in (one.status.allocatable or one.status.capacity).items()
        }
        outside = taken.get(one.metadata.name, {})
        for name, amount in outside.items():
            if name in capacity:
                capacity[name] -= amount
        return Node(
            name=NodeName(one.metadata.name),
            labels=one.metadata.labels,
            capacity=capacity,
            outside=outside,
            taints=tuple(read_taint(taint) for taint in one.spec.taints),
            ready=any(c.type == "Ready" and c.status == "True" for c in one.status.conditions),
            schedulable=not one.spec.unschedulable,
        )

    return tuple(sorted(shelf.read(kueue.NodeObject, make), key=lambda node: node.name))


def pod_requests(spec: core.PodSpec) -> Amounts:
    """What one pod takes, by Kubernetes' rules: containers together, or the largest init step."""
    total = _added(map(_container_requests, spec.containers))
    beside: dict[str, Fraction] = {}
    steps: dict[str, Fraction] = {}
    for container in spec.init_containers:
        needs = _container_requests(container)
        if container.restart_policy == "Always":
            beside = _added((beside, needs))
            needs = beside
        else:
            needs = _added((beside, needs))
        steps = {
            n: max(steps.get(n, Fraction(0)), needs.get(n, Fraction(0))) for n in {*steps, *needs}
        }
    total = _added((total, beside))
    total = {n: max(total.get(n, Fraction(0)), steps.get(n, Fraction(0))) for n in {*total, *steps}}
    total = _added((total, spec.overhead))
    return {
        ResourceName(name): to_base(ResourceName(name), amount)
        for name, amount in sorted(total.items())
        if amount
    }


def _container_requests(container: core.Container) -> dict[str, Fraction]:
    return {**container.resources.limits, **container.resources.requests}


def _added(parts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def read_workload(one: kueue.WorkloadObject, setting: Setting) -> Workload:
    """A workload whose LocalQueue exists. Raises ManifestError."""
    metadata, spec = one.metadata, one.spec
    local = setting.local_queues.get((metadata.namespace, spec.queue_name))
    if local is None:
        raise ManifestError(
            "spec.queueName",
            f"names a LocalQueue that does not exist: {metadata.namespace}/{spec.queue_name}",
        )
    queue = setting.queues[local.queue]
    labels = setting.namespaces.get(metadata.namespace, {})
    if not selects(setting.selectors[queue.name], labels):
        raise ManifestError(
            "metadata.namespace",
            f"is not selected by the namespaceSelector of ClusterQueue {queue.name}",
        )
    names = [part.name for part in spec.pod_sets]
    if len(set(names)) != len(names):
        raise ManifestError("spec.podSets", f"repeats a name: {', '.join(names)}")
    counts_pods = any(PODS in group.resources for group in queue.groups)
    return Workload(
        id=WorkloadId(metadata.uid or f"{metadata.namespace}/{metadata.name}"),
        team=local.team,
        owner=metadata.namespace,
        queue=queue.name,
        priority=_priority(spec, setting.classes),
        created=seconds(metadata.creation_timestamp),
        pod_sets=tuple(
            _read_pod_set(part, f"spec.podSets[{number}]", counts_pods=counts_pods)
            for number, part in enumerate(spec.pod_sets)
        ),
        preemptible=True,
        name=metadata.name,
    )


def _priority(spec: kueue.WorkloadSpec, classes: Mapping[str, int]) -> int:
    if spec.priority is not None:
        return spec.priority
    if spec.priority_class_ref is None:
        return 0
    value = classes.get(spec.priority_class_ref.name)
    if value is None:
        raise ManifestError(
            "spec.priorityClassRef",
            f"names a priority class that does not exist: {spec.priority_class_ref.name}",
        )
    return value


def selects(selector: core.LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector lets these labels in. Without a selector nothing gets in."""
    if selector is None:
        return False
    return selector.match_labels.items() <= labels.items() and all(
        _matches(expression, labels) for expression in selector.match_expressions
    )


def _matches(expression: core.Expression, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression.key)
    match expression.operator:
        case Operator.IN:
            return value in expression.values
        case Operator.NOT_IN:
            return value not in expression.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case _:
            raise ManifestError("namespaceSelector", f"cannot use {expression.operator}")


def _read_pod_set(part: kueue.PodSetPart, where: str, *, counts_pods: bool) -> PodSet:
    spec = part.template.spec
    if part.min_count is not None and part.min_count > part.count:
        raise ManifestError(f"{where}.minCount", f"is more than count, {part.count}")
    requests = pod_requests(spec)
    if counts_pods:
        requests[PODS] = 1
    return PodSet(
        name=part.name,
        count=part.count,
        requests=requests,
        min_count=part.min_count,
        node_selector=spec.node_selector,
        affinity=_read_affinity(spec.affinity),
        tolerations=tuple(read_toleration(one) for one in spec.tolerations),
        topology=_read_topology(part.topology_request, f"{where}.topologyRequest"),
    )


def _read_affinity(affinity: core.Affinity | None) -> tuple[tuple[Requirement, ...], ...]:
    node = affinity.node_affinity if affinity else None
    if node is None or node.required is None:
        return ()
    return tuple(
        tuple(
            Requirement(key=e.key, operator=e.operator, values=tuple(e.values))
            for e in term.match_expressions
        )
        for term in node.required.node_selector_terms
    )


def _read_topology(part: kueue.TopologyRequestPart | None, where: str) -> TopologyRequest | None:
    if part is None:
        return None
    wishes = [bool(part.required), bool(part.preferred), bool(part.unconstrained)]
    if sum(wishes) > 1:
        raise ManifestError(where, "asks for more than one of required, preferred, unconstrained")
    layers = [
        Slice(level=layer.topology, size=layer.size)
        for layer in part.podset_slice_required_topology_constraints
    ]
    if part.pod_set_slice_required_topology is not None:
        if part.pod_set_slice_size is None:
            raise ManifestError(f"{where}.podSetSliceSize", "is missing")
        size = part.pod_set_slice_size
        layers = [Slice(level=part.pod_set_slice_required_topology, size=size), *layers]
    mode = TopologyMode.UNCONSTRAINED
    if part.required or part.preferred:
        mode = TopologyMode.REQUIRED if part.required else TopologyMode.PREFERRED
    return TopologyRequest(
        mode=mode,
        level=part.required or part.preferred,
        slices=tuple(layers),
        group=part.pod_set_group_name,
    )


def holds_quota(one: kueue.WorkloadObject) -> bool:
    """Whether a workload holds its admission at the moment of the reading."""
    return one.status.admission is not None and condition(one, "QuotaReserved") is not None


def condition(one: kueue.WorkloadObject, name: str) -> core.Condition | None:
    """A condition that is true of the workload."""
    return next((c for c in one.status.conditions if c.type == name and c.status == "True"), None)


def read_admission(one: kueue.WorkloadObject, workload: Workload, setting: Setting) -> Admission:
    """What a running workload was granted. Raises ManifestError."""
    part = one.status.admission
    since = condition(one, "QuotaReserved")
    if part is None or since is None:
        raise ManifestError("status.admission", "is missing")
    if part.cluster_queue not in setting.queues:
        raise ManifestError(
            "status.admission.clusterQueue",
            f"names a ClusterQueue that does not exist: {part.cluster_queue}",
        )
    granted = {assignment.name: assignment for assignment in part.pod_set_assignments}
    gone = {pods.name: pods.count for pods in one.status.reclaimable_pods}
    assignments = []
    for pods in workload.pod_sets:
        found = granted.get(pods.name)
        if found is None:
            raise ManifestError("status.admission.podSetAssignments", f"lacks {pods.name}")
        if unknown := sorted({*found.flavors.values()} - {*setting.flavors}):
            raise ManifestError(
                "status.admission.podSetAssignments",
                f"names a ResourceFlavor that does not exist: {unknown[0]}",
            )
        count = pods.count if found.count is None else found.count
        assignments.append(
            PodSetAssignment(
                name=pods.name,
                count=max(0, count - gone.get(pods.name, 0)),
                flavors={ResourceName(r): FlavorName(f) for r, f in sorted(found.flavors.items())},
                nodes=_read_places(found, setting.hosts),
            )
        )
    return Admission(
        workload=workload.id,
        queue=QueueName(part.cluster_queue),
        assignments=tuple(assignments),
        at=seconds(since.last_transition_time),
    )


def _read_places(
    assignment: kueue.AssignmentPart, hosts: Mapping[str, NodeName]
) -> tuple[tuple[NodeName, int], ...]:
    """Pods per node; in a coarse topology per bundle, named by flavor and level values."""
    part = assignment.topology_assignment
    if part is None:
        return ()
    flavor = next(iter(assignment.flavors.values()), "")
    places: dict[NodeName, int] = {}
    for values, count in _domains(part):
        if part.levels[-1] == HOSTNAME:
            name = hosts.get(values[-1], NodeName(values[-1]))
        else:
            name = NodeName("/".join((flavor, *values)))
        places[name] = places.get(name, 0) + count
    return tuple(sorted(places.items()))


def _domains(part: kueue.TopologyAssignment) -> Iterator[tuple[Sequence[str], int]]:
    where = "status.admission.podSetAssignments.topologyAssignment"
    for one in part.slices:
        counts = one.pod_counts.individual
        if one.pod_counts.universal is not None:
            counts = [one.pod_counts.universal] * one.domain_count
        columns = [_values(level, one.domain_count) for level in one.values_per_level]
        sizes = {len(counts), *(len(column) for column in columns)}
        if sizes != {one.domain_count} or len(columns) != len(part.levels):
            raise ManifestError(where, f"does not list {one.domain_count} domains")
        yield from zip(zip(*columns, strict=True), counts, strict=True)


def _values(level: kueue.LevelValues, count: int) -> list[str]:
    if level.universal is not None:
        return [level.universal] * count
    found = level.individual
    return [] if found is None else [f"{found.prefix}{root}{found.suffix}" for root in found.roots]
