"""Admission policies: which are in force for a request, and what they do to it.

A policy acts where its object and a binding are in the store. Match constraints, conditions,
variables, mutations and validations are those of the object; their CEL is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from tests.kube.cluster import Cluster, Request, Target
from tests.kube.documents import Json, copy_of, dig, labels_of
from tests.kube.expressions import Failed, Scope
from tests.kube.field_sets import fields_of
from tests.kube.kinds import (
    MUTATING_BINDING,
    MUTATING_POLICY,
    NAMESPACE,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
    Kind,
)
from tests.kube.merge_keys import is_atomic
from tests.kube.operations import create
from tests.kube.ownership import dotted, merge_applied, schema_of
from tests.kube.patches import json_patch
from tests.kube.selectors import selects
from tests.kube.statuses import Refusal, qualified

SHIPPED = Path(__file__).parents[2] / "deploy" / "kubernetes" / "policies"


def _in_force(
    cluster: Cluster, request: Request, kinds: tuple[Kind, Kind], operation: str, body: Json
) -> Iterator[tuple[Json, Json]]:
    """Policies with their bindings whose constraints select the request."""
    policies = cluster.store.all(kinds[0])
    if not policies:
        return
    bound = {dig(each.body, "spec.policyName"): each.body for each in cluster.store.all(kinds[1])}
    for policy in policies:
        binding = bound.get(policy.key[1])
        if binding is not None and _selects(cluster, request, policy.body, operation, body):
            yield policy.body, binding


def _selects(cluster: Cluster, request: Request, policy: Json, operation: str, body: Json) -> bool:
    constraints = dig(policy, "spec.matchConstraints", {})
    target = request.target
    resource = target.kind.plural + (f"/{target.subresource}" if target.subresource else "")
    rules: list[Json] = constraints.get("resourceRules") or []
    if not any(_rule_fits(rule, target.kind.group, resource, operation) for rule in rules):
        return False
    namespace = _namespace(cluster, request)
    labels = labels_of(namespace) if namespace is not None else {}
    return selects(constraints.get("namespaceSelector") or {}, labels) and selects(
        constraints.get("objectSelector") or {}, labels_of(body)
    )


def _namespace(cluster: Cluster, request: Request) -> Json | None:
    found = cluster.get(NAMESPACE, "", request.target.namespace)
    return None if found is None else found.body


def _rule_fits(rule: Json, group: str, resource: str, operation: str) -> bool:
    def fits(name: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(name) or ()))

    return (
        fits("apiGroups", group) and fits("resources", resource) and fits("operations", operation)
    )


def _shown(request: Request, body: Json) -> Json:
    kind = request.target.kind
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


def _conditions_hold(policy: Json, scope: Scope) -> bool:
    conditions: list[Json] = dig(policy, "spec.matchConditions", [])
    return all(scope.evaluate(each["expression"]) for each in conditions)


def mutate(cluster: Cluster, request: Request, body: Json) -> None:
    """Let the mutating policies that are in force change a new object, in place.

    Raises:
        Refusal: 403 where one fails and its failurePolicy is Fail.

    """
    kinds = (MUTATING_POLICY, MUTATING_BINDING)
    for policy, binding in _in_force(cluster, request, kinds, "CREATE", body):
        about = (
            f"policy '{policy['metadata']['name']}' with binding "
            f"'{binding['metadata']['name']}' denied request"
        )
        try:
            changed = _mutated(request, policy, body)
        except Failed as failure:
            if dig(policy, "spec.failurePolicy", "Fail") == "Fail":
                raise _refused(request, 403, "Invalid", f"{about}: {failure}", body) from None
            continue
        if changed is not body:
            body.clear()
            body.update(changed)


def _mutated(request: Request, policy: Json, body: Json) -> Json:
    scope = Scope(request.person, _shown(request, body), None)
    if not _conditions_hold(policy, scope):
        return body
    for variable in dig(policy, "spec.variables", []):
        scope.define(variable["name"], variable["expression"])
    for mutation in dig(policy, "spec.mutations", []):
        part = mutation.get("applyConfiguration") or mutation["jsonPatch"]
        expression = part["expression"]
        try:
            value = scope.evaluate(expression)
        except Failed as failure:
            text = f"expression '{expression}' resulted in error: {failure}"
            raise Failed(text) from None
        if mutation["patchType"] == "JSONPatch":
            body = json_patch(body, value)
        else:
            body = _apply(request.target.kind, body, value)
        scope = Scope(request.person, _shown(request, body), None)
    return body


def _apply(kind: Kind, body: Json, value: Json) -> Json:
    """Merge an ApplyConfiguration; it may not touch what is atomic.

    Raises:
        Failed: it does.

    """
    schema = schema_of(kind)
    for path in sorted(fields_of(schema, value)):
        if schema and is_atomic(schema, path[-1].removeprefix("f:")):
            raise Failed(
                "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, "
                f"maps or structs: {dotted(path)}"
            )
    merged: Json = copy_of(merge_applied(schema, body, value))
    return merged


def validate(cluster: Cluster, request: Request, body: Json, before: Json | None) -> None:
    """Let the validating policies that are in force look at a write.

    Raises:
        Refusal: 403 where the policy says Forbidden, else 422, with the same sentence.

    """
    operation = "CREATE" if before is None else "UPDATE"
    kinds = (VALIDATING_POLICY, VALIDATING_BINDING)
    for policy, binding in _in_force(cluster, request, kinds, operation, before or body):
        old = _shown(request, before) if before is not None else None
        scope = Scope(request.person, _shown(request, body), old, _namespace(cluster, request))
        if not _conditions_hold(policy, scope):
            continue
        for variable in dig(policy, "spec.variables", []):
            scope.define(variable["name"], variable["expression"])
        for rule in dig(policy, "spec.validations", []):
            message = _objection(scope, rule)
            if message is not None:
                _act(request, policy, binding, rule, message, body)
                break  # only the first failed rule is reported


def _objection(scope: Scope, rule: Json) -> str | None:
    """The message of a rule that does not hold."""
    expression = rule["expression"]
    try:
        if scope.evaluate(expression):
            return None
    except Failed as failure:
        return f"expression '{expression}' resulted in error: {failure}"
    said = rule.get("messageExpression")
    try:
        if said:
            return str(scope.evaluate(said))
    except Failed:
        pass  # the fixed message stands in for one that cannot be made
    return str(rule.get("message") or f"failed expression: {expression}")


def _act(
    request: Request, policy: Json, binding: Json, rule: Json, message: str, body: Json
) -> None:
    actions: list[str] = dig(binding, "spec.validationActions", ["Deny"])
    about = (
        f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding "
        f"'{binding['metadata']['name']}'"
    )
    if "Warn" in actions:
        request.warnings.append(f"Validation failed for {about}: {message}")
    if "Deny" not in actions:
        return
    reason = rule.get("reason") or "Invalid"
    code = 403 if reason == "Forbidden" else 422
    said = f"{about} denied request: {message}"
    refusal = _refused(request, code, reason, said, body)
    kind, name = request.target.kind, (refusal.details or {}).get("name", "")
    refusal.message = f'{qualified(kind.group, kind.plural)} "{name}" is forbidden: {said}'
    raise refusal


def _refused(request: Request, code: int, reason: str, message: str, body: Json) -> Refusal:
    kind = request.target.kind
    name = request.target.name or dig(body, "metadata.name", "")
    details: Json = {"name": name, "kind": kind.plural, "causes": [{"message": message}]}
    if kind.group:
        details["group"] = kind.group
    return Refusal(code, reason, message, details)


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


@cache
def _documents(path: Path) -> list[Json]:
    """What a file says. Read once: each of many servers puts the same policies in force."""
    return list(yaml.safe_load_all(path.read_text()))


class Policies:
    """Put the policies that the deployment ships in force."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def install(self, path: Path) -> None:
        """All objects of a file of policies and bindings."""
        cluster = self._cluster
        with cluster.store.lock:
            for body in copy_of(_documents(path)):
                kind = cluster.kinds.find_object(body["apiVersion"], body["kind"])
                if kind is None:
                    raise ValueError(f"{path}: {body['kind']} is not served")
                create(cluster, cluster.as_controller(Target(kind), "kubectl"), body)

    def install_shipped(self) -> None:
        """Gates on GPU pods, Jobs with a team's label suspended, and only the bot lets them go."""
        listed = yaml.safe_load((SHIPPED / "kustomization.yaml").read_text())
        for name in listed["resources"]:
            self.install(SHIPPED / name)
