"""Kueue's manifests: the shape of every document that is read, and the check of one.

Documents are checked one by one, so that a broken one is refused with file, object and field
named while the others go on. A field that is not understood is named in a remark; nothing
that could change a decision is passed over in silence. What the checked documents mean is
put together in `scheduler.manifests`.

Only the fields that decide something are modelled. `Quiet` parts (containers, conditions,
…) have further fields, none of which has a bearing on admission.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    Field,
    TypeAdapter,
    ValidationError,
)

from scheduler.kueue_core import (
    Amount,
    Condition,
    LabelSelector,
    Metadata,
    NodeSpec,
    NodeStatus,
    Part,
    PodSpec,
    PodStatus,
    PodTemplate,
    Quiet,
    TaintPart,
    TolerationPart,
)
from scheduler.layout import (
    FairStrategy,
    Flavor,
    Layout,
    Preference,
    Queue,
    Reclaim,
    Search,
    Strategy,
    Within,
)
from scheduler.manifests.problems import Problem
from scheduler.manifests.versions import upgrade


class FlavorSpec(Part):
    node_labels: dict[str, str] = Field(default_factory=dict)
    node_taints: list[TaintPart] = Field(default_factory=list)
    tolerations: list[TolerationPart] = Field(default_factory=list)
    topology_name: str | None = None


class LevelPart(Part):
    node_label: str


class TopologySpec(Part):
    levels: Annotated[list[LevelPart], Field(min_length=1)]


class ResourceQuota(Part):
    name: str
    nominal_quota: Amount
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


class FlavorQuotas(Part):
    name: str
    resources: list[ResourceQuota]


class GroupPart(Part):
    covered_resources: Annotated[list[str], Field(min_length=1)]
    flavors: Annotated[list[FlavorQuotas], Field(min_length=1)]


class Weight(Part):
    weight: Amount = Fraction(1)


class CohortSpec(Part):
    parent_name: str | None = None
    resource_groups: list[GroupPart] = Field(default_factory=list)
    fair_sharing: Weight | None = None


class BorrowWithinPart(Part):
    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class PreemptionPart(Part):
    within_cluster_queue: Within = Within.NEVER
    reclaim_within_cohort: Reclaim = Reclaim.NEVER
    borrow_within_cohort: BorrowWithinPart | None = None


class FungibilityPart(Part):
    when_can_borrow: Search = Search.MAY_STOP
    when_can_preempt: Search = Search.TRY_NEXT
    preference: Preference = Preference.BORROWING_OVER_PREEMPTION


class AdmissionScope(Part):
    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class QueueSpec(Part):
    resource_groups: list[GroupPart] = Field(default_factory=list)
    cohort_name: str | None = None
    queueing_strategy: Strategy = Strategy.BEST_EFFORT
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FungibilityPart = FungibilityPart()
    preemption: PreemptionPart = PreemptionPart()
    stop_policy: StopPolicy = "None"
    fair_sharing: Weight | None = None
    admission_scope: AdmissionScope | None = None


class LocalQueueSpec(Part):
    cluster_queue: str
    stop_policy: StopPolicy = "None"
    fair_sharing: Weight | None = None


class ConsumedPart(Quiet):
    consumed_resources: dict[str, Amount] = Field(default_factory=dict)
    last_update: AwareDatetime | None = None


class FairSharingStatus(Quiet):
    admission_fair_sharing_status: ConsumedPart | None = None


class LocalQueueStatus(Quiet):
    fair_sharing: FairSharingStatus | None = None


class Layer(Part):
    topology: str
    size: Annotated[int, Field(ge=1)]


class TopologyRequestPart(Part):
    idle = frozenset({"podIndexLabel", "subGroupIndexLabel", "subGroupCount"})
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Annotated[int, Field(ge=1)] | None = None
    podset_slice_required_topology_constraints: list[Layer] = Field(default_factory=list)


class PodSetPart(Part):
    name: str = "main"
    count: Annotated[int, Field(ge=0)] = 1
    min_count: Annotated[int, Field(ge=1)] | None = None
    template: PodTemplate = PodTemplate()
    topology_request: TopologyRequestPart | None = None


class ClassRef(Part):
    idle = frozenset({"group", "kind"})
    name: str


class WorkloadSpec(Part):
    queue_name: str = ""
    priority: int | None = None
    priority_class_ref: ClassRef | None = None
    active: bool = True
    pod_sets: Annotated[list[PodSetPart], Field(min_length=1)]


class IndividualValues(Part):
    prefix: str = ""
    suffix: str = ""
    roots: list[str]


class LevelValues(Part):
    universal: str | None = None
    individual: IndividualValues | None = None


class Counts(Part):
    universal: int | None = None
    individual: list[int] = Field(default_factory=list)


class DomainSlice(Part):
    domain_count: int
    values_per_level: list[LevelValues]
    pod_counts: Counts


class TopologyAssignment(Part):
    levels: list[str]
    slices: list[DomainSlice]


class AssignmentPart(Part):
    idle = frozenset({"resourceUsage", "delayedTopologyRequest"})
    name: str = "main"
    count: int | None = None
    flavors: dict[str, str] = Field(default_factory=dict)
    topology_assignment: TopologyAssignment | None = None


class AdmissionPart(Part):
    cluster_queue: str
    pod_set_assignments: list[AssignmentPart]


class Reclaimable(Part):
    name: str
    count: Annotated[int, Field(ge=0)]


class WorkloadStatus(Quiet):
    conditions: list[Condition] = Field(default_factory=list)
    admission: AdmissionPart | None = None
    reclaimable_pods: list[Reclaimable] = Field(default_factory=list)


class AdmissionFairSharing(Part):
    usage_half_life_time: str = "0s"
    usage_sampling_interval: str = "5m"
    resource_weights: dict[str, float] = Field(default_factory=dict)


class FairSharingPart(Part):
    idle = frozenset({"enable"})
    preemption_strategies: list[FairStrategy] = Field(default_factory=list)


class Settings(Part):
    """What Kueue's own configuration says about fair sharing."""

    fair_sharing: FairSharingPart | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None


class Manifest(Part):
    """What every document has. `api_version` is not looked at again after `upgrade`."""

    api_version: str = ""
    kind: str
    metadata: Metadata


class FlavorObject(Manifest):
    spec: FlavorSpec = FlavorSpec()


class TopologyObject(Manifest):
    spec: TopologySpec


class CohortObject(Manifest):
    idle = frozenset({"status"})
    spec: CohortSpec = CohortSpec()


class QueueObject(Manifest):
    idle = frozenset({"status"})
    spec: QueueSpec = QueueSpec()


class LocalQueueObject(Manifest):
    spec: LocalQueueSpec
    status: LocalQueueStatus = LocalQueueStatus()


class ClassObject(Manifest):
    idle = frozenset({"description"})
    value: int


class WorkloadObject(Manifest):
    spec: WorkloadSpec
    status: WorkloadStatus = WorkloadStatus()


class NodeObject(Manifest):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PodObject(Manifest):
    spec: PodSpec
    status: PodStatus = PodStatus()


class NamespaceObject(Manifest):
    idle = frozenset({"spec", "status"})


class ConfigMapObject(Manifest):
    idle = frozenset({"binaryData", "immutable"})
    data: dict[str, str] = Field(default_factory=dict)


KINDS: Mapping[str, type[Manifest]] = {
    "ResourceFlavor": FlavorObject,
    "Topology": TopologyObject,
    "Cohort": CohortObject,
    "ClusterQueue": QueueObject,
    "LocalQueue": LocalQueueObject,
    "WorkloadPriorityClass": ClassObject,
    "Workload": WorkloadObject,
    "Node": NodeObject,
    "Pod": PodObject,
    "Namespace": NamespaceObject,
    "ConfigMap": ConfigMapObject,
}


def check(document: object, source: str) -> tuple[Manifest | None, tuple[Problem, ...]]:
    """One document, checked: the manifest (None if refused) and what is to be said of it.

    A manifest of a kind that decides nothing here is passed over with a remark.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        return None, (Problem(source, "document", "kind", "is not a Kubernetes object"),)
    name = object_name(document)
    kind = KINDS.get(document["kind"])
    if kind is None:
        return None, (
            Problem(source, name, "kind", "has no bearing on admission here", refused=False),
        )
    try:
        found = kind.model_validate(upgrade(document))
    except ValidationError as error:
        return None, tuple(_problems(error, source, name))
    remarks = (
        Problem(source, name, path, "is not understood and was left out", refused=False)
        for path in _unknown(found, "")
    )
    return found, tuple(remarks)


def check_settings(
    document: object, source: str, name: str
) -> tuple[Settings, tuple[Problem, ...]]:
    """Kueue's configuration, or the settings of a case. Defaults where it is refused."""
    try:
        found = Settings.model_validate(document)
    except ValidationError as error:
        return Settings(), tuple(_problems(error, source, name))
    remarks = (
        Problem(source, name, path, "is not understood and was left out", refused=False)
        for path in _unknown(found, "")
    )
    return found, tuple(remarks)


def object_name(document: Mapping[str, Any]) -> str:
    """How an object is named in a problem: its kind, namespace and name."""
    metadata = document.get("metadata")
    parts = metadata if isinstance(metadata, Mapping) else {}
    path = "/".join(str(parts[key]) for key in ("namespace", "name") if parts.get(key))
    return f"{document.get('kind')} {path}".strip()


def _problems(error: ValidationError, source: str, name: str) -> Iterator[Problem]:
    for one in error.errors():
        path = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        yield Problem(source, name, path.lstrip("."), message)


def _unknown(part: Part, path: str) -> Iterator[str]:
    """Every field below that nobody understands, with its path."""
    for name in part.model_extra or {}:
        if name not in part.idle:
            yield f"{path}{name}"
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if isinstance(value, Part):
            yield from _unknown(value, f"{path}{field.alias}.")
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, Part):
                    yield from _unknown(item, f"{path}{field.alias}[{number}].")


EXTRAS_NAME = "gpubot-layout"
_FLAVOR_EXTRAS = {"model", "provision", "weight"}
_KUEUE_LAYOUT = {"flavors", "queues", "cohorts", "local_queues"}
_KUEUE_QUEUE = {
    "name",
    "cohort",
    "groups",
    "quotas",
    "strategy",
    "order",
    "within",
    "reclaim",
    "borrow_within",
    "fungibility",
    "weight",
}


@dataclass(frozen=True, slots=True)
class Extras:
    """What a layout has beyond Kueue: a layout without queues, and fields by object name."""

    layout: Layout
    flavors: Mapping[str, Flavor]
    queues: Mapping[str, Queue]


def write_extras(layout: Layout) -> str:
    """What Kueue has no field for, as JSON."""
    flavor, queue = TypeAdapter(Flavor), TypeAdapter(Queue)
    beyond = {
        "layout": TypeAdapter(Layout).dump_python(
            layout, mode="json", exclude=_KUEUE_LAYOUT, exclude_defaults=True
        ),
        "flavors": {
            one.name: flavor.dump_python(
                one, mode="json", include=_FLAVOR_EXTRAS, exclude_defaults=True
            )
            for one in layout.flavors
        },
        "queues": {
            one.name: queue.dump_python(
                one, mode="json", exclude=_KUEUE_QUEUE, exclude_defaults=True
            )
            for one in layout.queues
        },
    }
    return json.dumps(beyond, indent=1)


def read_extras(text: str) -> Extras:
    """The inverse of `write_extras`. Raises ValueError for anything else."""
    try:
        beyond = json.loads(text)
        layout = {"flavors": [], "queues": [], **beyond["layout"]}
        return Extras(
            layout=TypeAdapter(Layout).validate_python(layout),
            flavors={
                name: TypeAdapter(Flavor).validate_python({"name": name, **fields})
                for name, fields in beyond["flavors"].items()
            },
            queues={
                name: TypeAdapter(Queue).validate_python({"name": name, **fields})
                for name, fields in beyond["queues"].items()
            },
        )
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no layout: {error}") from error
