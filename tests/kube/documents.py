"""JSON documents as plain dictionaries: copies, look-ups, and what counts as empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]


def copy_of(value: Any) -> Any:
    """A deep copy of JSON data; several times faster than copy.deepcopy."""
    if isinstance(value, dict):
        return {key: copy_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_of(item) for item in value]
    return value


def dig(document: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path, or default where a step is missing or null."""
    for step in path.split("."):
        if not isinstance(document, dict) or document.get(step) is None:
            return default
        document = document[step]
    return document


def labels_of(body: Json) -> dict[str, str]:
    labels: dict[str, str] = dig(body, "metadata.labels", {})
    return labels


def annotations_of(body: Json) -> dict[str, str]:
    annotations: dict[str, str] = dig(body, "metadata.annotations", {})
    return annotations


def controller_of(body: Json) -> Json | None:
    """The owner reference with controller=true."""
    owners: Iterable[Json] = dig(body, "metadata.ownerReferences", [])
    return next((owner for owner in owners if owner.get("controller")), None)


def condition_of(body: Json, kind: str) -> Json | None:
    found: Iterable[Json] = dig(body, "status.conditions", [])
    return next((each for each in found if each.get("type") == kind), None)


def set_condition(status: Json, condition: Json) -> None:
    """Replace the condition of that type, or append it."""
    conditions = status.setdefault("conditions", [])
    for place, each in enumerate(conditions):
        if each.get("type") == condition["type"]:
            conditions[place] = condition
            return
    conditions.append(condition)
