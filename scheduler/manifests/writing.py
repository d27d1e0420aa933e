"""A layout as Kueue manifests (v1beta2), in an order in which they can be applied.

What Kueue has a field for goes into its objects; what goes beyond Kueue (pools, routing,
usage rules, options, …) goes into one ConfigMap, which Kueue does not look at. Reading the
documents back gives an equal layout, as long as every queue has a quota for each flavor of
its groups and cohorts have the same resources for each flavor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from scheduler import kueue
from scheduler.layout import (
    Cohort,
    Flavor,
    FlavorResource,
    Fungibility,
    Layout,
    Limits,
    LocalQueue,
    Order,
    Preference,
    Queue,
    ResourceGroup,
)
from scheduler.model import FlavorName, ResourceName, Taint, Toleration
from scheduler.quantities import write_exact, write_quantity

API = "kueue.x-k8s.io/v1beta2"
EXTRAS_KEY = "layout.json"
Document = dict[str, Any]
"""A manifest; only Kubernetes knows what its values may be."""


def write_manifests(layout: Layout, namespace: str = "gpubot") -> list[Document]:
    """The layout's documents. `namespace` holds the ConfigMap with what goes beyond Kueue."""
    topologies = _topologies(layout.flavors)
    namespaces = sorted({namespace, *(local.namespace for local in layout.local_queues)})
    return [
        *(_object("v1", "Namespace", name) for name in namespaces),
        *(
            _object(API, "Topology", name, {"levels": [{"nodeLabel": one} for one in levels]})
            for levels, name in topologies.items()
        ),
        *(_flavor(flavor, topologies) for flavor in layout.flavors),
        *(_cohort(cohort) for cohort in layout.cohorts),
        *(_queue(queue) for queue in layout.queues),
        *(_local_queue(local) for local in layout.local_queues),
        *(
            _object(API, "WorkloadPriorityClass", name.value) | {"value": value}
            for name, value in layout.priorities.items()
        ),
        _object("v1", "ConfigMap", kueue.EXTRAS_NAME, namespace=namespace)
        | {"data": {EXTRAS_KEY: kueue.write_extras(layout)}},
    ]


def _object(
    api: str, kind: str, name: str, spec: Document | None = None, *, namespace: str = ""
) -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    document: Document = {"apiVersion": api, "kind": kind, "metadata": metadata}
    return document if spec is None else document | {"spec": spec}


def _topologies(flavors: Iterable[Flavor]) -> dict[tuple[str, ...], str]:
    """A name for every list of levels, from the last parts of its labels."""
    names: dict[tuple[str, ...], str] = {}
    for flavor in flavors:
        if flavor.levels and flavor.levels not in names:
            parts = "-".join(level.rsplit("/", 1)[-1] for level in flavor.levels)
            name = re.sub(r"[^a-z0-9-]+", "-", parts.lower()).strip("-") or "levels"
            taken = set(names.values())
            number = 2
            unique = name
            while unique in taken:
                unique, number = f"{name}-{number}", number + 1
            names[flavor.levels] = unique
    return names


def _flavor(flavor: Flavor, topologies: Mapping[tuple[str, ...], str]) -> Document:
    spec: Document = {}
    if flavor.node_labels:
        spec["nodeLabels"] = dict(flavor.node_labels)
    if flavor.taints:
        spec["nodeTaints"] = [_taint(taint) for taint in flavor.taints]
    if flavor.tolerations:
        spec["tolerations"] = [_toleration(one) for one in flavor.tolerations]
    if flavor.levels:
        spec["topologyName"] = topologies[flavor.levels]
    return _object(API, "ResourceFlavor", flavor.name, spec)


def _taint(taint: Taint) -> Document:
    return {"key": taint.key, "value": taint.value, "effect": taint.effect.value}


def _toleration(toleration: Toleration) -> Document:
    one: Document = {"operator": "Exists" if toleration.value is None else "Equal"}
    if toleration.key:
        one["key"] = toleration.key
    if toleration.value is not None:
        one["value"] = toleration.value
    if toleration.effect is not None:
        one["effect"] = toleration.effect.value
    return one


def _cohort(cohort: Cohort) -> Document:
    spec: Document = {}
    if cohort.parent is not None:
        spec["parentName"] = cohort.parent
    if cohort.quotas:
        spec["resourceGroups"] = list(_groups(_group_quotas(cohort.quotas), cohort.quotas))
    if cohort.weight != 1.0:
        spec["fairSharing"] = {"weight": _weight(cohort.weight)}
    return _object(API, "Cohort", cohort.name, spec)


def _group_quotas(quotas: Mapping[FlavorResource, Limits]) -> list[ResourceGroup]:
    """Resources and flavors that belong together, so that none is in two groups."""
    groups: list[tuple[dict[ResourceName, None], dict[FlavorName, None]]] = []
    for flavor, resource in quotas:
        met = [group for group in groups if resource in group[0] or flavor in group[1]]
        merged = ({resource: None}, {flavor: None}) if not met else met[0]
        for group in met[1:]:
            merged[0].update(group[0])
            merged[1].update(group[1])
            groups.remove(group)
        if not met:
            groups.append(merged)
        merged[0].setdefault(resource)
        merged[1].setdefault(flavor)
    return [ResourceGroup(resources=tuple(r), flavors=tuple(f)) for r, f in groups]


def _groups(
    groups: Iterable[ResourceGroup], quotas: Mapping[FlavorResource, Limits]
) -> Iterator[Document]:
    for group in groups:
        yield {
            "coveredResources": list(group.resources),
            "flavors": [
                {
                    "name": flavor,
                    "resources": [
                        _limits(resource, quotas.get((flavor, resource), Limits()))
                        for resource in group.resources
                    ],
                }
                for flavor in group.flavors
            ],
        }


def _limits(resource: ResourceName, limits: Limits) -> Document:
    one: Document = {"name": resource, "nominalQuota": write_quantity(resource, limits.nominal)}
    if limits.borrowing is not None:
        one["borrowingLimit"] = write_quantity(resource, limits.borrowing)
    if limits.lending is not None:
        one["lendingLimit"] = write_quantity(resource, limits.lending)
    return one


def _weight(weight: float) -> str:
    return write_exact(Fraction(repr(weight)))


def _queue(queue: Queue) -> Document:
    preemption: Document = {
        "withinClusterQueue": queue.within.value,
        "reclaimWithinCohort": queue.reclaim.value,
    }
    if queue.borrow_within is not None:
        borrow: Document = {"policy": "LowerPriority"}
        if queue.borrow_within.max_priority is not None:
            borrow["maxPriorityThreshold"] = queue.borrow_within.max_priority
        preemption["borrowWithinCohort"] = borrow
    spec: Document = {
        "namespaceSelector": {},
        "queueingStrategy": queue.strategy.value,
        "preemption": preemption,
        "flavorFungibility": _fungibility(queue.fungibility),
        "resourceGroups": list(_groups(queue.groups, queue.quotas)),
    }
    if queue.cohort is not None:
        spec["cohortName"] = queue.cohort
    if queue.order is Order.USAGE:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    if queue.weight != 1.0:
        spec["fairSharing"] = {"weight": _weight(queue.weight)}
    return _object(API, "ClusterQueue", queue.name, spec)


def _fungibility(rules: Fungibility) -> Document:
    one: Document = {
        "whenCanBorrow": rules.when_can_borrow.value,
        "whenCanPreempt": rules.when_can_preempt.value,
    }
    if rules.preference is not Preference.BORROWING_OVER_PREEMPTION:
        one["preference"] = rules.preference.value
    return one


def _local_queue(local: LocalQueue) -> Document:
    spec: Document = {"clusterQueue": local.queue}
    if local.weight != 1.0:
        spec["fairSharing"] = {"weight": _weight(local.weight)}
    return _object(API, "LocalQueue", local.name, spec, namespace=local.namespace)
