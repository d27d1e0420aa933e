"""Refusals of what is not valid: the checks common to all kinds, and the way to those of each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.kube.documents import Json
from tests.kube.expressions import Malformed, check
from tests.kube.kinds import (
    BUDGET,
    CONFIG_MAP,
    DEPLOYMENT,
    EVENT,
    JOB,
    LEASE,
    MUTATING_POLICY,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    VALIDATING_POLICY,
    Kind,
)
from tests.kube.selectors import selects
from tests.kube.statuses import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid,
    invalid_value,
    required_value,
    unsupported_value,
)
from tests.kube.validation_jobs import check_job_change, check_job_status, check_new_job
from tests.kube.validation_pods import check_pod, check_pod_change, check_spec
from tests.kube.wording import (
    KEY_PATTERN,
    NAME_ADVICE,
    NAME_PATTERN,
    name_problems,
    value_problem,
)

_ANNOTATION_LIMIT = 262_144
_DATA_LIMIT = 1_048_576

__all__ = ["KEY_PATTERN", "NAME_ADVICE", "validate_create", "validate_update"]


def _too_long(path: str, limit: int) -> Cause:
    return Cause(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def _check_metadata(kind: Kind, body: Json) -> list[Cause]:
    metadata = body["metadata"]
    causes: list[Cause] = []
    name = metadata["name"]
    if kind is not EVENT and re.fullmatch(NAME_PATTERN, name) is None:
        causes.append(invalid_value("metadata.name", f'"{name}"', NAME_ADVICE))
    for key, value in (metadata.get("labels") or {}).items():
        causes += [invalid_value("metadata.labels", f'"{key}"', why) for why in name_problems(key)]
        why = value_problem(value)
        if why and not (kind is JOB and value == name):  # a generated label, see check_new_job
            causes.append(invalid_value("metadata.labels", f'"{value}"', why))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        causes += [
            invalid_value("metadata.annotations", f'"{key}"', why)
            for why in name_problems(key.lower())
        ]
    size = sum(len(key) + len(value) for key, value in annotations.items())
    if size > _ANNOTATION_LIMIT:
        causes.append(_too_long("metadata.annotations", _ANNOTATION_LIMIT))
    return causes


def _check_lease(body: Json) -> list[Cause]:
    spec, causes = body.get("spec") or {}, []
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        why = "must be greater than 0"
        causes.append(invalid_value("spec.leaseDurationSeconds", str(duration), why))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        causes.append(invalid_value("spec.leaseTransitions", str(transitions), why))
    return causes


def _check_mutating(body: Json) -> list[Cause]:
    causes: list[Cause] = []
    if not body["spec"].get("reinvocationPolicy"):
        causes.append(required_value("spec.reinvocationPolicy"))
    for place, mutation in enumerate(body["spec"].get("mutations") or []):
        for part in ("applyConfiguration", "jsonPatch"):
            if part in mutation:
                path = f"spec.mutations[{place}].{part}.expression"
                causes += _check_expression(path, mutation[part]["expression"])
    return causes


def _check_validating(body: Json) -> list[Cause]:
    causes: list[Cause] = []
    for place, rule in enumerate(body["spec"].get("validations") or []):
        causes += _check_expression(f"spec.validations[{place}].expression", rule["expression"])
    return causes


def _check_expression(path: str, expression: str) -> list[Cause]:
    try:
        check(expression)
    except Malformed as error:
        return [invalid_value(path, json.dumps(expression), f"compilation failed: {error}")]
    return []


def _check_node(body: Json) -> list[Cause]:
    allowed = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
    causes: list[Cause] = []
    for place, taint in enumerate((body.get("spec") or {}).get("taints") or []):
        path = f"metadata.taints[{place}]"
        if not taint.get("key"):
            causes.append(required_value(f"{path}.key"))
        if not taint.get("effect"):
            causes.append(required_value(f"{path}.effect"))
        elif taint["effect"] not in allowed:
            causes.append(unsupported_value(f"{path}.effect", f'"{taint["effect"]}"', allowed))
    return causes + causes  # the server finds them twice


def _check_config_map(body: Json) -> list[Cause]:
    size = sum(len(key) + len(value) for key, value in (body.get("data") or {}).items())
    return [_too_long("[]", _DATA_LIMIT)] if size > _DATA_LIMIT else []


def _check_event(body: Json) -> list[Cause]:
    where = (body.get("involvedObject") or {}).get("namespace", "")
    if where != body["metadata"].get("namespace"):
        why = "does not match event.namespace"
        return [invalid_value("involvedObject.namespace", f'"{where}"', why)]
    return []


def _check_workload(body: Json) -> list[Cause]:
    """What Deployments, ReplicaSets and StatefulSets share."""
    spec = body["spec"]
    causes = check_spec(spec["template"]["spec"], "spec.template.spec")
    if spec["replicas"] < 0:
        why = "must be greater than or equal to 0"
        causes.append(invalid_value("spec.replicas", str(spec["replicas"]), why))
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    if not spec.get("selector"):
        causes.append(required_value("spec.selector"))
    elif not selects(spec["selector"], labels):
        why = "`selector` does not match template `labels`"
        shown = json.dumps(labels, separators=(",", ":"))
        causes.append(invalid_value("spec.template.metadata.labels", shown, why))
    return causes


def _check_budget(body: Json) -> list[Cause]:
    causes: list[Cause] = []
    for name in ("minAvailable", "maxUnavailable"):
        value = body["spec"].get(name)
        share = isinstance(value, str) and re.fullmatch(r"\d+%", value)
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if value is not None and not share and not whole:
            why = "must be a whole number or a percentage (e.g. '3' or '5%')"
            causes.append(invalid_value(f"spec.{name}", json.dumps(value), why))
    return causes


def _check_workload_change(before: Json, body: Json) -> list[Cause]:
    was, now = before["spec"].get("selector"), body["spec"].get("selector")
    causes = _check_workload(body)
    if was != now:
        causes.append(invalid_value("spec.selector", json.dumps(now), "field is immutable"))
    return causes


_CHECKS: dict[Kind, Callable[[Json], list[Cause]]] = {
    POD: check_pod,
    JOB: check_new_job,
    DEPLOYMENT: _check_workload,
    REPLICA_SET: _check_workload,
    STATEFUL_SET: _check_workload,
    BUDGET: _check_budget,
    MUTATING_POLICY: _check_mutating,
    VALIDATING_POLICY: _check_validating,
    NODE: _check_node,
    LEASE: _check_lease,
    CONFIG_MAP: _check_config_map,
    EVENT: _check_event,
}
_CHANGE_CHECKS: dict[Kind, Callable[[Json, Json], list[Cause]]] = {
    POD: check_pod_change,
    JOB: check_job_change,
    DEPLOYMENT: _check_workload_change,
    REPLICA_SET: _check_workload_change,
    STATEFUL_SET: _check_workload_change,
}


def validate_create(kind: Kind, body: Json) -> None:
    """Pass a valid new object.

    Raises:
        Refusal: 422 with all causes.

    """
    check = _CHECKS.get(kind)
    causes = _check_metadata(kind, body) + (check(body) if check else [])
    if causes:
        raise invalid(kind.group, kind.name, body["metadata"]["name"], causes)


def validate_update(kind: Kind, before: Json, body: Json, subresource: str) -> None:
    """Pass a valid change.

    Raises:
        Refusal: 422 with all causes.

    """
    fixed = _check_immutable(before, body)
    causes = _check_metadata(kind, body) + fixed
    if subresource == "status":
        if kind is JOB:
            causes += check_job_status(before, body)
    else:
        check, change = _CHECKS.get(kind), _CHANGE_CHECKS.get(kind)
        if change is not None:
            causes += change(before, body)
        elif check is not None:
            causes += check(body)
    if kind in {POD, JOB}:
        causes += fixed  # the server checks metadata once more after the rest
    if causes:
        raise invalid(kind.group, kind.name, body["metadata"]["name"], causes)


def _check_immutable(before: Json, body: Json) -> list[Cause]:
    was, now = before["metadata"], body["metadata"]
    causes: list[Cause] = []
    for name in ("name", "namespace", "uid"):
        if now.get(name) != was.get(name):
            shown = json.dumps(now.get(name))
            causes.append(invalid_value(f"metadata.{name}", shown, "field is immutable"))
    if "deletionTimestamp" in was:
        fresh = [f for f in now.get("finalizers", []) if f not in was.get("finalizers", [])]
        if fresh:
            listed = ", ".join(f'"{each}"' for each in fresh)
            why = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            causes.append(forbidden_value("metadata.finalizers", why))
    return causes


def check_unique(path: str, names: list[str]) -> list[Cause]:
    """One cause for each name that came before."""
    return [
        duplicate_value(f"{path}[{place}]", f'"{name}"')
        for place, name in enumerate(names)
        if name in names[:place]
    ]


def check_present(path: str, value: object) -> list[Cause]:
    return [] if value else [required_value(path)]
