"""Flavors, cohorts and queues: the policy in a set of checked manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from scheduler import kueue
from scheduler import kueue_core as core
from scheduler.layout import (
    MODEL_LABEL,
    BorrowWithin,
    Cohort,
    Flavor,
    FlavorResource,
    Fungibility,
    Limits,
    LocalQueue,
    Order,
    Queue,
    ResourceGroup,
)
from scheduler.manifests.problems import ManifestError, Problem
from scheduler.model import CohortName, FlavorName, QueueName, ResourceName, Taint, Toleration
from scheduler.quantities import QuantityError, to_base

Found = TypeVar("Found", bound=kueue.Manifest)
Made = TypeVar("Made")


@dataclass(slots=True)
class Shelf:
    """Checked manifests in the order read, with the file of each, and what is wrong."""

    objects: list[tuple[str, kueue.Manifest]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def of(self, kind: type[Found]) -> Iterator[tuple[str, Found]]:
        """Every object of a kind, with its file."""
        return ((source, one) for source, one in self.objects if isinstance(one, kind))

    def read(self, kind: type[Found], make: Callable[[Found], Made]) -> list[Made]:
        """What `make` makes of every object of a kind. One that it refuses is left out."""
        made = []
        for source, one in self.of(kind):
            try:
                made.append(make(one))
            except (ManifestError, QuantityError) as error:
                self.refuse(source, one, error)
        return made

    def refuse(self, source: str, one: kueue.Manifest, error: Exception) -> None:
        """Note why an object does not count."""
        where, what = (
            (error.field, error.message)
            if isinstance(error, ManifestError)
            else ("spec", str(error))
        )
        self.problems.append(Problem(source, describe(one), where, what))

    def remark(self, one: kueue.Manifest, where: str, what: str) -> None:
        """Note something about an object that counts all the same."""
        source = next(source for source, other in self.objects if other is one)
        self.problems.append(Problem(source, describe(one), where, what, refused=False))


def describe(one: kueue.Manifest) -> str:
    """How an object is named in a problem."""
    if one.kind in NAMESPACED:
        return f"{one.kind} {one.metadata.namespace}/{one.metadata.name}"
    return f"{one.kind} {one.metadata.name}"


NAMESPACED = frozenset({"LocalQueue", "Workload", "Pod", "ConfigMap"})


def read_flavors(shelf: Shelf) -> tuple[Flavor, ...]:
    """Every flavor whose topology, if it names one, exists."""
    levels = {
        one.metadata.name: tuple(level.node_label for level in one.spec.levels)
        for _, one in shelf.of(kueue.TopologyObject)
    }

    def make(one: kueue.FlavorObject) -> Flavor:
        spec = one.spec
        if spec.topology_name and spec.topology_name not in levels:
            raise ManifestError(
                "spec.topologyName", f"names a Topology that does not exist: {spec.topology_name}"
            )
        return Flavor(
            name=FlavorName(one.metadata.name),
            node_labels=spec.node_labels,
            taints=tuple(read_taint(taint) for taint in spec.node_taints),
            tolerations=tuple(read_toleration(one) for one in spec.tolerations),
            levels=levels[spec.topology_name] if spec.topology_name else (),
            model=spec.node_labels.get(MODEL_LABEL, ""),
        )

    return tuple(shelf.read(kueue.FlavorObject, make))


def read_taint(taint: core.TaintPart) -> Taint:
    """A taint in the engine's words."""
    return Taint(key=taint.key, value=taint.value, effect=taint.effect)


def read_toleration(toleration: core.TolerationPart) -> Toleration:
    """A toleration in the engine's words. Raises ManifestError for one that says nothing."""
    if not toleration.key and toleration.operator != "Exists":
        raise ManifestError("tolerations.operator", "must be Exists where the key is empty")
    return Toleration(
        key=toleration.key,
        value=None if toleration.operator == "Exists" else toleration.value,
        effect=toleration.effect,
    )


def read_cohorts(shelf: Shelf, flavors: Mapping[FlavorName, Flavor]) -> tuple[Cohort, ...]:
    """Every declared cohort that lies in no cycle and not below one."""
    parents = {one.metadata.name: one.spec.parent_name for _, one in shelf.of(kueue.CohortObject)}

    def make(one: kueue.CohortObject) -> Cohort:
        if cycle := find_cycle(one.metadata.name, parents):
            raise ManifestError("spec.parentName", f"leads into a cycle: {' -> '.join(cycle)}")
        _, quotas = _read_groups(one.spec.resource_groups, flavors)
        parent = one.spec.parent_name
        return Cohort(
            name=CohortName(one.metadata.name),
            parent=CohortName(parent) if parent else None,
            quotas=quotas,
            weight=read_weight(one.spec.fair_sharing),
        )

    return tuple(shelf.read(kueue.CohortObject, make))


def find_cycle(name: str, parents: Mapping[str, str | None]) -> tuple[str, ...]:
    """The way from a cohort up into a cycle, or nothing if it has a root."""
    path = [name]
    while parent := parents.get(path[-1]):
        path.append(parent)
        if parent in path[:-1]:
            return tuple(path)
    return ()


def read_queues(
    shelf: Shelf, flavors: Mapping[FlavorName, Flavor], cohorts: Mapping[CohortName, Cohort]
) -> tuple[Queue, ...]:
    """Every ClusterQueue that is sound and whose cohort is not refused."""
    declared = {one.metadata.name for _, one in shelf.of(kueue.CohortObject)}

    def make(one: kueue.QueueObject) -> Queue:
        spec = one.spec
        cohort = CohortName(spec.cohort_name) if spec.cohort_name else None
        if cohort in declared and cohort not in cohorts:
            raise ManifestError("spec.cohortName", f"names a cohort that was refused: {cohort}")
        groups, quotas = _read_groups(spec.resource_groups, flavors)
        if cohort is None and any(limits.borrowing is not None for limits in quotas.values()):
            shelf.remark(one, "spec.resourceGroups", "has a borrowingLimit but no cohort")
        borrow = spec.preemption.borrow_within_cohort
        lends = borrow is not None and borrow.policy == "LowerPriority"
        if lends and spec.preemption.reclaim_within_cohort.value == "Never":
            raise ManifestError(
                "spec.preemption.borrowWithinCohort",
                "needs a reclaimWithinCohort that is not Never",
            )
        return Queue(
            name=QueueName(one.metadata.name),
            cohort=cohort,
            groups=groups,
            quotas=quotas,
            strategy=spec.queueing_strategy,
            order=_read_order(spec),
            within=spec.preemption.within_cluster_queue,
            reclaim=spec.preemption.reclaim_within_cohort,
            borrow_within=(
                BorrowWithin(max_priority=borrow.max_priority_threshold)
                if borrow is not None and lends
                else None
            ),
            fungibility=Fungibility(
                when_can_borrow=spec.flavor_fungibility.when_can_borrow,
                when_can_preempt=spec.flavor_fungibility.when_can_preempt,
                preference=spec.flavor_fungibility.preference,
            ),
            weight=read_weight(spec.fair_sharing),
        )

    return tuple(shelf.read(kueue.QueueObject, make))


def _read_order(spec: kueue.QueueSpec) -> Order:
    scope = spec.admission_scope
    usage = scope is not None and scope.admission_mode == "UsageBasedAdmissionFairSharing"
    return Order.USAGE if usage else Order.PRIORITY


def read_weight(part: kueue.Weight | None) -> float:
    """A weight of fair sharing, 1 if not given."""
    return 1.0 if part is None else float(part.weight)


def _read_groups(
    parts: list[kueue.GroupPart], flavors: Mapping[FlavorName, Flavor]
) -> tuple[tuple[ResourceGroup, ...], dict[FlavorResource, Limits]]:
    groups = []
    quotas: dict[FlavorResource, Limits] = {}
    seen: set[str] = set()
    for number, part in enumerate(parts):
        where = f"spec.resourceGroups[{number}]"
        for name in [*part.covered_resources, *(f"flavor {f.name}" for f in part.flavors)]:
            if name in seen:
                raise ManifestError(where, f"repeats {name}")
            seen.add(name)
        for at, flavor in enumerate(part.flavors):
            here = f"{where}.flavors[{at}]"
            if flavor.name not in flavors:
                raise ManifestError(
                    f"{here}.name", f"names a ResourceFlavor that does not exist: {flavor.name}"
                )
            if [r.name for r in flavor.resources] != part.covered_resources:
                raise ManifestError(
                    f"{here}.resources",
                    f"must list {', '.join(part.covered_resources)}, in this order",
                )
            for quota in flavor.resources:
                pair = FlavorName(flavor.name), ResourceName(quota.name)
                quotas[pair] = _read_limits(quota)
        groups.append(
            ResourceGroup(
                resources=tuple(ResourceName(name) for name in part.covered_resources),
                flavors=tuple(FlavorName(flavor.name) for flavor in part.flavors),
            )
        )
    return tuple(groups), quotas


def _read_limits(quota: kueue.ResourceQuota) -> Limits:
    resource = ResourceName(quota.name)

    def amount(value: Fraction | None) -> int | None:
        return None if value is None else to_base(resource, value)

    return Limits(
        nominal=to_base(resource, quota.nominal_quota),
        borrowing=amount(quota.borrowing_limit),
        lending=amount(quota.lending_limit),
    )


def read_local_queues(shelf: Shelf, queues: Mapping[QueueName, Queue]) -> tuple[LocalQueue, ...]:
    """Every LocalQueue whose ClusterQueue exists."""

    def make(one: kueue.LocalQueueObject) -> LocalQueue:
        queue = QueueName(one.spec.cluster_queue)
        if queue not in queues:
            raise ManifestError(
                "spec.clusterQueue", f"names a ClusterQueue that does not exist: {queue}"
            )
        return LocalQueue(
            name=one.metadata.name,
            namespace=one.metadata.namespace,
            queue=queue,
            weight=read_weight(one.spec.fair_sharing),
        )

    return tuple(shelf.read(kueue.LocalQueueObject, make))


def sum_nominal(
    queues: tuple[Queue, ...], cohorts: tuple[Cohort, ...]
) -> dict[FlavorResource, int]:
    """The sum of all nominal quotas of each flavor-resource."""
    total: dict[FlavorResource, int] = {}
    for quotas in [*(q.quotas for q in queues), *(c.quotas for c in cohorts)]:
        for pair, limits in quotas.items():
            total[pair] = total.get(pair, 0) + limits.nominal
    return total
