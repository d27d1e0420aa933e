"""The admission policies of the deployment, modelled by what they answer.

CEL is not evaluated. A policy acts where its object and a binding are in the store and its name is
one that is modelled here; its selectors and the actions of its binding are taken from the objects,
so that a namespace without the label is left alone as on a real server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.kube.cluster import Cluster, Request, Target
from tests.kube.documents import Json, dig, labels_of
from tests.kube.kinds import (
    JOB,
    MUTATING_BINDING,
    MUTATING_POLICY,
    NAMESPACE,
    POD,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
    Kind,
)
from tests.kube.operations import create
from tests.kube.rights import BOT
from tests.kube.selectors import selects
from tests.kube.statuses import Refusal, qualified

GATE = "gpubot.dev/admission"
GPU = "nvidia.com/gpu"
QUEUE = "gpubot.dev/queue"
MANAGED = {"matchLabels": {"gpubot.dev/managed": "true"}}


@dataclass(frozen=True)
class Denial:
    """A failed validation: its message, and the reason the policy gives (Invalid if none)."""

    message: str
    reason: str = "Invalid"


Mutation = Callable[[Json], None]
Validation = Callable[[Request, Json, Json], Denial | None]


def _has_gate(body: Json) -> bool:
    return any(gate["name"] == GATE for gate in dig(body, "spec.schedulingGates", []))


def _gate_pod(body: Json) -> None:
    asks = any(
        GPU in dig(each, "resources.limits", {}) for each in dig(body, "spec.containers", [])
    )
    if asks and not _has_gate(body):
        body["spec"].setdefault("schedulingGates", []).append({"name": GATE})


def _suspend_job(body: Json) -> None:
    body["spec"]["suspend"] = True


def _keep_gate(request: Request, before: Json, after: Json) -> Denial | None:
    if request.person.name == BOT or not _has_gate(before) or _has_gate(after):
        return None
    name = after["metadata"]["name"]
    who = request.person.name
    return Denial(f"pod {name} waits for GPUs: only gpubot may admit it, not {who}", "Forbidden")


def _keep_suspended(request: Request, before: Json, after: Json) -> Denial | None:
    queue = labels_of(before).get(QUEUE)
    if request.person.name == BOT or queue is None:
        return None
    if dig(before, "spec.suspend") and not dig(after, "spec.suspend"):
        name = after["metadata"]["name"]
        return Denial(f"Job {name} is queued in {queue}: only gpubot may start it")
    if QUEUE not in labels_of(after):
        return Denial(f"the label {QUEUE} may not be taken off")
    return None


MUTATIONS: dict[str, tuple[Kind, Mutation]] = {
    "gpubot-gate": (POD, _gate_pod),
    "gpubot-suspend": (JOB, _suspend_job),
}
VALIDATIONS: dict[str, tuple[Kind, Validation]] = {
    "gpubot-ungate": (POD, _keep_gate),
    "gpubot-unsuspend": (JOB, _keep_suspended),
}


def _binding_of(cluster: Cluster, kind: Kind, policy: str) -> Json | None:
    found = (each.body for each in cluster.store.all(kind))
    return next((each for each in found if dig(each, "spec.policyName") == policy), None)


def _applies(cluster: Cluster, request: Request, policy: Json, body: Json) -> bool:
    constraints = dig(policy, "spec.matchConstraints", {})
    namespace = cluster.get(NAMESPACE, "", request.target.namespace)
    labels = labels_of(namespace.body) if namespace is not None else {}
    return selects(constraints.get("namespaceSelector") or {}, labels) and selects(
        constraints.get("objectSelector") or {}, labels_of(body)
    )


def mutate(cluster: Cluster, request: Request, body: Json) -> None:
    """Let the mutating policies that are in force change a new object."""
    for name, (kind, mutation) in MUTATIONS.items():
        if kind is not request.target.kind:
            continue
        policy = cluster.get(MUTATING_POLICY, "", name)
        if policy is None or _binding_of(cluster, MUTATING_BINDING, name) is None:
            continue
        if _applies(cluster, request, policy.body, body):
            mutation(body)


def validate(cluster: Cluster, request: Request, body: Json, before: Json | None) -> None:
    """Let the validating policies that are in force look at an update.

    Raises:
        Refusal: 403 where the policy says Forbidden, else 422, with the same sentence.

    """
    if before is None or request.target.subresource:
        return
    for name, (kind, validation) in VALIDATIONS.items():
        if kind is not request.target.kind:
            continue
        policy = cluster.get(VALIDATING_POLICY, "", name)
        binding = _binding_of(cluster, VALIDATING_BINDING, name)
        if policy is None or binding is None:
            continue
        if not _applies(cluster, request, policy.body, before):
            continue
        denial = validation(request, before, body)
        if denial is not None:
            _act(request, name, binding, denial)


def _act(request: Request, policy: str, binding: Json, denial: Denial) -> None:
    actions: list[str] = dig(binding, "spec.validationActions", ["Deny"])
    about = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding['metadata']['name']}'"
    if "Warn" in actions:
        request.warnings.append(f"Validation failed for {about}: {denial.message}")
    if "Deny" not in actions:
        return
    kind, name = request.target.kind, request.target.name
    message = f"{about} denied request: {denial.message}"
    details: Json = {"name": name, "kind": kind.plural, "causes": [{"message": message}]}
    if kind.group:
        details["group"] = kind.group
    raise Refusal(
        403 if denial.reason == "Forbidden" else 422,
        denial.reason,
        f'{qualified(kind.group, kind.plural)} "{name}" is forbidden: {message}',
        details,
    )


def step_policies(cluster: Cluster) -> int:
    """Let the server type-check new validating policies; how many it wrote."""
    written = 0
    for stored in cluster.store.all(VALIDATING_POLICY):
        generation = stored.body["metadata"].get("generation", 1)
        status: Json = {"observedGeneration": generation, "typeChecking": {}}
        if stored.body.get("status") != status:
            body = {**stored.body, "metadata": dict(stored.body["metadata"]), "status": status}
            cluster.store.put(stored.kind, stored.key, body)
            written += 1
    return written


class Policies:
    """Put the modelled policies in force, without their CEL."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _install(self, kind: Kind, binding: Kind, name: str, constraints: Json) -> None:
        cluster = self._cluster
        spec: Json = {"matchConstraints": {"namespaceSelector": MANAGED, **constraints}}
        policy = {"metadata": {"name": name}, "spec": spec}
        bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
        with cluster.store.lock:
            create(cluster, cluster.as_controller(Target(kind), "kubectl"), policy)
            create(cluster, cluster.as_controller(Target(binding), "kubectl"), bound)

    def gate_pods(self) -> None:
        """GPU pods of namespaces labelled gpubot.dev/managed=true are gated at creation."""
        self._install(MUTATING_POLICY, MUTATING_BINDING, "gpubot-gate", {})

    def guard_gates(self) -> None:
        """There, only the bot takes our gate off."""
        self._install(VALIDATING_POLICY, VALIDATING_BINDING, "gpubot-ungate", {})

    def keep_jobs_suspended(self) -> None:
        """There, Jobs labelled gpubot.dev/queue are created suspended; only the bot starts them."""
        queued = {"objectSelector": {"matchExpressions": [{"key": QUEUE, "operator": "Exists"}]}}
        self._install(MUTATING_POLICY, MUTATING_BINDING, "gpubot-suspend", queued)
        self._install(VALIDATING_POLICY, VALIDATING_BINDING, "gpubot-unsuspend", {})
