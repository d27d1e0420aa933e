"""The kinds the emulator serves, built in and custom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_MAIN = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, eq=False)
class Kind:
    """One resource of the API.

    `upsert`: PUT of what is missing creates it. `unconditional`: PUT without resourceVersion is
    taken. `answers_object`: DELETE answers the object where it vanishes at once, else a Status.
    `names_kind`: the refusal of an unknown field label names the kind. `short`: its short name.
    """

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    generation: bool = False
    upsert: bool = False
    unconditional: bool = True
    answers_object: bool = False
    custom: bool = False
    field_labels: tuple[str, ...] = _MAIN
    names_kind: bool = True
    short: str = ""
    in_all: bool = False
    """Whether `kubectl get all` has it."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """'jobs.batch', or 'pods' for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """'Job.batch', or 'Pod' for the core group."""
        return f"{self.name}.{self.group}" if self.group else self.name


_POD_LABELS = (
    *_MAIN,
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)
_EVENT_LABELS = (
    *_MAIN,
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

POD = Kind(
    "",
    "v1",
    "pods",
    "Pod",
    subresources=("status", "eviction", "binding", "ephemeralcontainers", "resize"),
    generation=True,
    answers_object=True,
    field_labels=_POD_LABELS,
    names_kind=False,
    short="po",
    in_all=True,
)
NODE = Kind(
    "",
    "v1",
    "nodes",
    "Node",
    namespaced=False,
    subresources=("status",),
    field_labels=("metadata.name", "spec.unschedulable"),
    names_kind=False,
    short="no",
)
NAMESPACE = Kind(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    subresources=("status", "finalize"),
    answers_object=True,
    field_labels=("metadata.name", "status.phase"),
    names_kind=False,
    short="ns",
)
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap", names_kind=False, short="cm")
EVENT = Kind(
    "",
    "v1",
    "events",
    "Event",
    upsert=True,
    field_labels=_EVENT_LABELS,
    names_kind=False,
    short="ev",
)
# The same objects under another group, see event_forms.
NEW_EVENT = Kind("events.k8s.io", "v1", "events", "Event", upsert=True, short="ev")
SERVICE_ACCOUNT = Kind(
    "", "v1", "serviceaccounts", "ServiceAccount", answers_object=True, short="sa"
)
SERVICE = Kind(
    "",
    "v1",
    "services",
    "Service",
    subresources=("status",),
    answers_object=True,
    short="svc",
    in_all=True,
)
SECRET = Kind("", "v1", "secrets", "Secret")
CLAIM = Kind(
    "",
    "v1",
    "persistentvolumeclaims",
    "PersistentVolumeClaim",
    subresources=("status",),
    answers_object=True,
    short="pvc",
)
JOB = Kind(
    "batch",
    "v1",
    "jobs",
    "Job",
    subresources=("status",),
    generation=True,
    field_labels=(*_MAIN, "status.successful"),
    in_all=True,
)
DEPLOYMENT = Kind(
    "apps",
    "v1",
    "deployments",
    "Deployment",
    subresources=("status", "scale"),
    generation=True,
    short="deploy",
    in_all=True,
)
REPLICA_SET = Kind(
    "apps",
    "v1",
    "replicasets",
    "ReplicaSet",
    subresources=("status", "scale"),
    generation=True,
    field_labels=(*_MAIN, "status.replicas"),
    short="rs",
    in_all=True,
)
STATEFUL_SET = Kind(
    "apps",
    "v1",
    "statefulsets",
    "StatefulSet",
    subresources=("status", "scale"),
    generation=True,
    short="sts",
    in_all=True,
)
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease", upsert=True, unconditional=False)
BUDGET = Kind(
    "policy",
    "v1",
    "poddisruptionbudgets",
    "PodDisruptionBudget",
    subresources=("status",),
    generation=True,
    unconditional=False,
    short="pdb",
)
NETWORK_POLICY = Kind(
    "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", generation=True, short="netpol"
)
PRIORITY_CLASS = Kind(
    "scheduling.k8s.io",
    "v1",
    "priorityclasses",
    "PriorityClass",
    namespaced=False,
    short="pc",
)
ROLE = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role", upsert=True)
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", upsert=True)
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False, upsert=True
)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io",
    "v1",
    "clusterrolebindings",
    "ClusterRoleBinding",
    namespaced=False,
    upsert=True,
)
DEFINITION = Kind(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    subresources=("status",),
    generation=True,
    answers_object=True,
    short="crd",
)
_POLICY_GROUP = "admissionregistration.k8s.io"
MUTATING_POLICY = Kind(
    _POLICY_GROUP, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", False, (), True
)
MUTATING_BINDING = Kind(
    _POLICY_GROUP,
    "v1",
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    namespaced=False,
    generation=True,
)
VALIDATING_POLICY = Kind(
    _POLICY_GROUP,
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
    subresources=("status",),
    generation=True,
)
VALIDATING_BINDING = Kind(
    _POLICY_GROUP,
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
    generation=True,
)

BUILT_IN = (
    POD,
    NODE,
    NAMESPACE,
    CONFIG_MAP,
    EVENT,
    NEW_EVENT,
    SERVICE_ACCOUNT,
    SERVICE,
    SECRET,
    CLAIM,
    JOB,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    LEASE,
    BUDGET,
    NETWORK_POLICY,
    PRIORITY_CLASS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    DEFINITION,
    MUTATING_POLICY,
    MUTATING_BINDING,
    VALIDATING_POLICY,
    VALIDATING_BINDING,
)


class Registry:
    """Which kinds are served; custom ones come and go."""

    def __init__(self) -> None:
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in BUILT_IN}

    def __copy__(self) -> Registry:
        other = Registry()
        other._by_path = dict(self._by_path)
        return other

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def find_object(self, api_version: str, name: str) -> Kind | None:
        """The kind an object names in apiVersion and kind."""
        return next((k for k in self if k.api_version == api_version and k.name == name), None)

    def has_group(self, group: str, version: str) -> bool:
        """Whether a group exists: in any version if built in, in this one if custom."""
        return any(
            kind.group == group and (not kind.custom or kind.version == version) for kind in self
        )

    def add(self, kind: Kind) -> None:
        self._by_path[kind.group, kind.version, kind.plural] = kind

    def drop(self, kind: Kind) -> None:
        self._by_path.pop((kind.group, kind.version, kind.plural), None)

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._by_path.values()))
