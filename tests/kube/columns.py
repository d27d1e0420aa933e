"""What `kubectl get` shows of each kind: the columns that the server gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from tests.kube import cells
from tests.kube import kinds as of
from tests.kube.built_in import schemas
from tests.kube.cells import Cell, age, at
from tests.kube.documents import Json
from tests.kube.jobsets import JOB_SET

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_CORE = "io.k8s.api.core.v1"


@dataclass(frozen=True)
class Column:
    """One column. `wide`: only with `-o wide`; `about`: its description, or where that is.

    'PodSpec.nodeName' is the description of a field in the schemas of the core group.
    """

    name: str
    cell: Cell
    form: str = "string"
    wide: bool = False
    about: str = ""


NAME = Column("Name", at("metadata.name", ""), about=f"{_META}.name")
AGE = Column("Age", age, about=f"{_META}.creationTimestamp")
_CREATED = Column("Created At", at("metadata.creationTimestamp"), about=AGE.about)
_WIDE_CONTAINERS = (
    Column("Containers", cells.of_containers("name"), wide=True),
    Column("Images", cells.of_containers("image"), wide=True),
)
_SELECTOR = Column("Selector", cells.selector("spec.selector.matchLabels"), wide=True)


def _number(name: str, path: str) -> Column:
    return Column(name, at(path, 0), "integer")


_POD = (
    NAME,
    Column(
        "Ready",
        cells.containers_ready,
        about="The aggregate readiness state of this pod for accepting traffic.",
    ),
    Column(
        "Status",
        cells.pod_state,
        about="The aggregate status of the containers in this pod.",
    ),
    Column(
        "Restarts",
        cells.restarts,
        about="The number of times the containers in this pod have been restarted and when the "
        "last container in this pod has restarted.",
    ),
    AGE,
    Column("IP", at("status.podIP"), wide=True, about=f"{_CORE}.PodStatus.podIP"),
    Column("Node", at("spec.nodeName"), wide=True, about=f"{_CORE}.PodSpec.nodeName"),
    Column(
        "Nominated Node",
        at("status.nominatedNodeName"),
        wide=True,
        about=f"{_CORE}.PodStatus.nominatedNodeName",
    ),
    Column(
        "Readiness Gates",
        cells.readiness_gates,
        wide=True,
        about=f"{_CORE}.PodSpec.readinessGates",
    ),
)
_NODE = (
    NAME,
    Column("Status", cells.node_state),
    Column("Roles", cells.node_roles),
    AGE,
    Column("Version", at("status.nodeInfo.kubeletVersion", "")),
)
_EVENT = (
    Column("Last Seen", cells.event_seen),
    Column("Type", at("type", "")),
    Column("Reason", at("reason", "")),
    Column("Object", cells.event_object),
    Column("Subobject", at("involvedObject.fieldPath", ""), wide=True),
    Column("Source", cells.event_source, wide=True),
    Column("Message", cells.event_message),
    Column("First Seen", cells.event_first, wide=True),
    Column("Count", cells.event_count, wide=True),
    Column("Name", at("metadata.name", ""), wide=True, about=NAME.about),
)
_JOB = (
    NAME,
    Column("Status", cells.job_state),
    Column("Completions", cells.job_completions),
    Column("Duration", cells.job_duration),
    AGE,
    *_WIDE_CONTAINERS,
    _SELECTOR,
)
_DEPLOYMENT = (
    NAME,
    Column("Ready", cells.ratio("status.readyReplicas", "spec.replicas")),
    _number("Up-to-date", "status.updatedReplicas"),
    _number("Available", "status.availableReplicas"),
    AGE,
    *_WIDE_CONTAINERS,
    _SELECTOR,
)
_REPLICA_SET = (
    NAME,
    _number("Desired", "spec.replicas"),
    _number("Current", "status.replicas"),
    _number("Ready", "status.readyReplicas"),
    AGE,
    *_WIDE_CONTAINERS,
    _SELECTOR,
)
_STATEFUL_SET = (
    NAME,
    Column("Ready", cells.ratio("status.readyReplicas", "spec.replicas")),
    AGE,
    *_WIDE_CONTAINERS,
)
_SERVICE = (
    NAME,
    Column("Type", at("spec.type", "ClusterIP")),
    Column("Cluster-IP", at("spec.clusterIP")),
    Column("External-IP", at("spec.externalName")),
    Column("Port(s)", cells.service_ports),
    AGE,
    Column("Selector", cells.selector("spec.selector"), wide=True),
)
_CLAIM = (
    NAME,
    Column("Status", at("status.phase", "Pending")),
    Column("Volume", at("spec.volumeName", "")),
    Column("Capacity", at("status.capacity.storage", "")),
    Column("Access Modes", cells.claim_modes),
    Column("StorageClass", at("spec.storageClassName", "")),
    AGE,
)
_BUDGET = (
    NAME,
    Column("Min Available", cells.budget_limit("minAvailable")),
    Column("Max Unavailable", cells.budget_limit("maxUnavailable")),
    _number("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
)
_BINDING = (NAME, Column("Role", cells.role_of), AGE)
_POLICY_BINDING = (
    NAME,
    Column("PolicyName", at("spec.policyName", "")),
    Column("ParamRef", cells.parameters("spec.paramRef")),
    AGE,
)
_JOB_SET = (
    NAME,
    Column("TerminalState", at("status.terminalState", "")),
    Column("Restarts", at("status.restarts", "")),
    Column("Suspended", at("spec.suspend", "")),
    AGE,
)


def _counted(name: str, path: str) -> tuple[Column, ...]:
    return NAME, Column(name, cells.number_of(path), "integer"), AGE


def _policy(name: str, path: str) -> tuple[Column, ...]:
    counted = Column(name, cells.number_of(path), "integer")
    return NAME, counted, Column("ParamKind", cells.parameters("spec.paramKind")), AGE


_COLUMNS: dict[of.Kind, tuple[Column, ...]] = {
    of.POD: _POD,
    of.NODE: _NODE,
    of.EVENT: _EVENT,
    of.JOB: _JOB,
    of.DEPLOYMENT: _DEPLOYMENT,
    of.REPLICA_SET: _REPLICA_SET,
    of.STATEFUL_SET: _STATEFUL_SET,
    of.SERVICE: _SERVICE,
    of.CLAIM: _CLAIM,
    of.BUDGET: _BUDGET,
    of.NAMESPACE: (NAME, Column("Status", at("status.phase", "")), AGE),
    of.CONFIG_MAP: _counted("Data", "data"),
    of.SECRET: (NAME, Column("Type", at("type", "Opaque")), *_counted("Data", "data")[1:]),
    of.SERVICE_ACCOUNT: _counted("Secrets", "secrets"),
    of.LEASE: (NAME, Column("Holder", at("spec.holderIdentity", "")), AGE),
    of.NETWORK_POLICY: (
        NAME,
        Column("Pod-Selector", cells.selector("spec.podSelector.matchLabels")),
        AGE,
    ),
    of.PRIORITY_CLASS: (
        NAME,
        _number("Value", "value"),
        Column("Global-Default", at("globalDefault", default=False), "boolean"),
        AGE,
    ),
    of.ROLE: (NAME, _CREATED),
    of.CLUSTER_ROLE: (NAME, _CREATED),
    of.DEFINITION: (NAME, _CREATED),
    of.ROLE_BINDING: _BINDING,
    of.CLUSTER_ROLE_BINDING: _BINDING,
    of.VALIDATING_POLICY: _policy("Validations", "spec.validations"),
    of.MUTATING_POLICY: _policy("Mutations", "spec.mutations"),
    of.VALIDATING_BINDING: _POLICY_BINDING,
    of.MUTATING_BINDING: _POLICY_BINDING,
    JOB_SET: _JOB_SET,
}


def columns_of(kind: of.Kind) -> Sequence[Column]:
    """The columns of a kind; name and age for one that says nothing of its own."""
    return _COLUMNS.get(kind, (NAME, AGE))


@cache
def heads_of(kind: of.Kind) -> list[Json]:
    """The definitions of the columns of a kind."""
    return [
        {
            "name": each.name,
            "type": each.form,
            "format": "name" if each.name == "Name" else "",
            "description": _described(each.about),
            "priority": int(each.wide),
        }
        for each in columns_of(kind)
    ]


def _described(about: str) -> str:
    """The text, or that of the schema's field which is named."""
    schema, _, field = about.rpartition(".")
    return (
        str(schemas()[schema]["properties"][field]["description"]) if schema in schemas() else about
    )


def cells_of(kind: of.Kind, body: Json, now: datetime) -> list[object]:
    """The row of an object."""
    return [each.cell(body, now) for each in columns_of(kind)]
