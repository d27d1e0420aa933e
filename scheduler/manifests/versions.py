"""Older manifests in the words of v1beta2, field by field, where a field has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OLD = "kueue.x-k8s.io/v1beta1"
OLDER = "kueue.x-k8s.io/v1alpha1"
_MAY_STOP = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as v1beta2 would say it; anything newer or foreign is left as it is."""
    if document.get("apiVersion") not in (OLD, OLDER):
        return dict(document)
    change = _CHANGES.get(str(document.get("kind")))
    return dict(document) if change is None else change(document)


def _cohort(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "spec": _renamed(document.get("spec"), {"parent": "parentName"})}


def _queue(document: Mapping[str, Any]) -> dict[str, Any]:
    spec = _renamed(document.get("spec"), {"cohort": "cohortName"})
    fungibility = spec.get("flavorFungibility")
    if isinstance(fungibility, Mapping):
        spec["flavorFungibility"] = {
            key: _MAY_STOP.get(value, value) if isinstance(value, str) else value
            for key, value in fungibility.items()
        }
    return {**document, "spec": spec}


def _workload(document: Mapping[str, Any]) -> dict[str, Any]:
    spec = _renamed(document.get("spec"), {})
    spec.pop("priorityClassSource", None)
    if name := spec.pop("priorityClassName", None):
        spec.setdefault("priorityClassRef", {"name": name})
    changed = {**document, "spec": spec}
    status = document.get("status")
    if isinstance(status, Mapping):
        changed["status"] = _with_slices(status)
    return changed


def _with_slices(status: Mapping[str, Any]) -> dict[str, Any]:
    """Domains one by one, written as slices of one domain each."""
    changed = dict(status)
    admission = status.get("admission")
    if not isinstance(admission, Mapping):
        return changed
    changed["admission"] = {
        **admission,
        "podSetAssignments": [
            _sliced(one) if isinstance(one, Mapping) else one
            for one in admission.get("podSetAssignments") or ()
        ],
    }
    return changed


def _sliced(assignment: Mapping[str, Any]) -> Mapping[str, Any]:
    topology = assignment.get("topologyAssignment")
    if not isinstance(topology, Mapping) or "domains" not in topology:
        return assignment
    domains = [domain for domain in topology["domains"] or () if isinstance(domain, Mapping)]
    slices = [
        {
            "domainCount": 1,
            "valuesPerLevel": [{"universal": value} for value in domain.get("values") or ()],
            "podCounts": {"universal": domain.get("count")},
        }
        for domain in domains
    ]
    return {
        **assignment,
        "topologyAssignment": {"levels": topology.get("levels"), "slices": slices},
    }


def _renamed(part: object, names: Mapping[str, str]) -> dict[str, Any]:
    """A copy of a mapping with some keys renamed; nothing for what is no mapping."""
    if not isinstance(part, Mapping):
        return {}
    return {names.get(key, key): value for key, value in part.items()}


_CHANGES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "Cohort": _cohort,
    "ClusterQueue": _queue,
    "Workload": _workload,
}
