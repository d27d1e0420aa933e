"""How lists and maps of the built-in kinds merge: the part of the schema that patches need.

Within a kind the name of a field is enough to tell: where two fields of one name merge differently,
the one nearer to the root is what people write. Custom kinds have none of this: their lists are
replaced whole and their maps merge key by key.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cache

from tests.kube.built_in import REFERENCE, schema_name, schemas
from tests.kube.documents import Json
from tests.kube.kinds import BUILT_IN

_DEFAULT_KEYS = {"protocol": "TCP"}


@dataclass(frozen=True)
class Merging:
    """How one field merges.

    `keys` tell the items of a list apart for apply; `key` does for a strategic patch; `is_set`: its
    plain values merge one by one; `is_atomic`: the map or struct has one owner as a whole.
    """

    keys: tuple[str, ...] | None = None
    key: str | None = None
    is_set: bool = False
    is_atomic: bool = False


_PLAIN = Merging()


@cache
def _table(kind: str) -> dict[str, Merging]:
    """The fields of a kind that merge in a way of their own, by name."""
    root = next((schema_name(each) for each in BUILT_IN if each.name == kind), None)
    found: dict[str, Merging] = {}
    waiting = deque([root] if root else [])
    seen = set(waiting)
    while waiting:
        for name, field in (schemas()[waiting.popleft()].get("properties") or {}).items():
            below = _referred(field)
            found.setdefault(name, _merging(field, below))
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return {name: merging for name, merging in found.items() if merging != _PLAIN}


def _referred(field: Json) -> str | None:
    """The schema of a field's value, or of its items."""
    reference = field.get("$ref") or (field.get("items") or {}).get("$ref")
    return reference.removeprefix(REFERENCE) if reference else None


def _merging(field: Json, below: str | None) -> Merging:
    form = field.get("x-kubernetes-list-type")
    if form is None and "items" not in field:
        whole = schemas()[below] if below else {}
        atomic = "atomic" in {each.get("x-kubernetes-map-type") for each in (field, whole)}
        return Merging(is_atomic=atomic)
    keys = field.get("x-kubernetes-list-map-keys") if form == "map" else None
    return Merging(
        keys=tuple(keys) if keys else None,
        key=field.get("x-kubernetes-patch-merge-key"),
        is_set=form == "set",
    )


def _of(kind: str, field: str) -> Merging:
    return _table(kind).get(field, _PLAIN)


def list_keys(kind: str, field: str) -> tuple[str, ...] | None:
    """The keys that tell items of a list apart for apply, or None: the list is atomic."""
    return _of(kind, field).keys


def is_set(kind: str, field: str) -> bool:
    """Whether a list of plain values is a set, merged value by value."""
    return _of(kind, field).is_set


def is_atomic(kind: str, field: str) -> bool:
    """Whether a map or struct has one owner as a whole."""
    return _of(kind, field).is_atomic


def strategic_key(kind: str, field: str) -> str | None:
    """The merge key of a strategic patch, or None: the list is replaced."""
    return _of(kind, field).key


def key_default(key: str) -> str | None:
    """The value of a merge key that may be left out."""
    return _DEFAULT_KEYS.get(key)
