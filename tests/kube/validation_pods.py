"""What a pod must be, and what of it may change."""

from __future__ import annotations

import json

from tests.kube.documents import Json, dig
from tests.kube.statuses import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required_value,
)
from tests.kube.wording import name_problems

_TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_ONLY = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def check_spec(spec: Json, path: str) -> list[Cause]:
    """Checks of a pod's spec that templates share."""
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(required_value(f"{path}.containers"))
    for place, container in enumerate(spec.get("containers") or []):
        causes += _check_resources(container, f"{path}.containers[{place}].resources")
    gates = [gate.get("name", "") for gate in spec.get("schedulingGates") or []]
    for place, name in enumerate(gates):
        where = f"{path}.schedulingGates[{place}]"
        causes += [invalid_value(where, f'"{name}"', why) for why in name_problems(name)]
        if name in gates[:place]:
            causes.append(duplicate_value(where, f'"{name}"'))
    return causes


def _check_resources(container: Json, path: str) -> list[Cause]:
    """Extended resources (a name with a domain) are whole numbers, limits equal to requests."""
    limits, requests = (dig(container, f"resources.{part}", {}) for part in ("limits", "requests"))
    causes: list[Cause] = []
    for name in sorted(limits.keys() | requests.keys()):
        if "/" not in name:
            continue
        limit, request = limits.get(name), requests.get(name)
        if limit is None:
            why = "Limit must be set for non overcommitable resources"
            causes.append(required_value(f"{path}.limits", why))
        elif not str(limit).isdigit():
            shown = f"{round(float(limit) * 1000)}m" if "." in str(limit) else str(limit)
            where = f"{path}.limits[{name}]"
            causes.append(invalid_value(where, f'"{shown}"', "must be an integer"))
        elif request is not None and str(request) != str(limit):
            why = f"must be equal to {name} limit of {limit}"
            causes.append(invalid_value(f"{path}.requests", f'"{request}"', why))
    return causes


def check_pod(body: Json) -> list[Cause]:
    spec = body["spec"]
    causes = check_spec(spec, "spec")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        why = "cannot be set until all schedulingGates have been cleared"
        causes.append(forbidden_value("spec.nodeName", why))
    return causes


def _frozen(spec: Json) -> Json:
    """The spec without what may change on any pod."""
    kept = {
        name: value
        for name, value in spec.items()
        if name not in {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    }
    for part in ("containers", "initContainers"):
        if part in kept:
            kept[part] = [{k: v for k, v in each.items() if k != "image"} for each in kept[part]]
    return kept


def check_pod_change(before: Json, body: Json) -> list[Cause]:
    was, now = before["spec"], body["spec"]
    if was == now:
        return []
    causes = _check_gates(was, now)
    gated = bool(was.get("schedulingGates"))
    causes += _check_tolerations(was, now)
    left, right = _frozen(was), _frozen(now)
    if gated:
        causes += _check_narrowing(was, now)
        for part in (left, right):
            part.pop("nodeSelector", None)
            _drop_node_affinity(part)
    if left != right:
        causes.append(forbidden_value("spec", _ONLY))
    return causes


def _drop_node_affinity(spec: Json) -> None:
    affinity = {k: v for k, v in (spec.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
    if affinity:
        spec["affinity"] = affinity


def _check_gates(was: Json, now: Json) -> list[Cause]:
    old = {gate.get("name", "") for gate in was.get("schedulingGates") or []}
    return [
        forbidden_value(
            f"spec.schedulingGates[{place}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for place, gate in enumerate(now.get("schedulingGates") or [])
        if gate.get("name", "") not in old
    ]


def _check_tolerations(was: Json, now: Json) -> list[Cause]:
    old, new = was.get("tolerations") or [], now.get("tolerations") or []
    if all(each in new for each in old):
        return []
    why = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden_value("spec.tolerations", why)]


def _check_narrowing(was: Json, now: Json) -> list[Cause]:
    """While gated, selectors may be added, never changed or removed."""
    causes: list[Cause] = []
    old, new = was.get("nodeSelector") or {}, now.get("nodeSelector") or {}
    if any(new.get(key) != value for key, value in old.items()):
        shown = json.dumps(new, sort_keys=True, separators=(",", ":"))
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        causes.append(invalid_value("spec.nodeSelector", shown, why))
    return causes + _check_terms(dig(was, _TERMS), dig(now, _TERMS))


def _check_terms(terms: list[Json] | None, changed: list[Json] | None) -> list[Cause]:
    """Terms keep their number, and each of them all its expressions."""
    if not terms or terms == changed:
        return []
    if changed is None or len(changed) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid_value(f"spec.{_TERMS}", "[{}]", why)]
    why = "only additions are allowed (no mutations or deletions)"
    return [
        invalid_value(f"spec.{_TERMS}[{place}]", "{}", why)
        for place, old in enumerate(terms)
        if not _keeps(old, changed[place])
    ]


def _keeps(old: Json, new: Json) -> bool:
    for part in ("matchExpressions", "matchFields"):
        had, has = old.get(part) or [], new.get(part) or []
        if has[: len(had)] != had:
            return False
    return True
