"""Sets of fields, as managedFields keep them (fieldsV1), and what a write changed.

A path is a tuple of elements in wire form: 'f:spec', 'k:{"name":"main"}', 'v:"x"'. A path of a
compound in a set stands for the compound itself (the '.' of the wire form).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.kube.documents import Json
from tests.kube.merge_keys import is_atomic, is_set, key_default, list_keys

Path = tuple[str, ...]
FieldSet = frozenset[Path]
# Parts of every object of their kind, so a write never adds them as such.
_ALWAYS_THERE = frozenset({"metadata", "spec", "status", "template"})
_NEVER_OWNED = frozenset(
    {
        "managedFields",
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)


def to_wire(fields: FieldSet) -> Json:
    """fieldsV1 of a set."""
    tree: Json = {}
    for path in sorted(fields, key=lambda each: (len(each), each)):
        node = tree
        for depth, element in enumerate(path):
            below = node.get(element)
            if below is None:
                below = node[element] = {}
            elif not below and depth < len(path) - 1 and path[: depth + 1] in fields:
                below["."] = {}
            node = below
    return tree


def from_wire(tree: Json) -> FieldSet:
    """The set of a fieldsV1."""
    found: set[Path] = set()

    def visit(node: Json, path: Path) -> None:
        if not node or "." in node:
            found.add(path)
        for element, below in node.items():
            if element != ".":
                visit(below, (*path, element))

    for element, below in tree.items():
        visit(below, (element,))
    return frozenset(found)


def item_element(item: Any, keys: tuple[str, ...]) -> str:
    """'k:{...}' of an item of a list with keys."""
    shown = {key: item.get(key, key_default(key)) for key in keys}
    shown = {key: value for key, value in shown.items() if value is not None}
    return "k:" + json.dumps(shown, separators=(",", ":"))


def value_element(value: Any) -> str:
    return "v:" + json.dumps(value, separators=(",", ":"))


@dataclass
class Change:
    """What a write did: paths of leaves and compounds."""

    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    @property
    def written(self) -> FieldSet:
        return frozenset(self.added | self.modified)


def children(kind: str, name: str, value: Any) -> dict[str, tuple[str, Any]] | None:
    """The parts a field is owned by, as element to (field name, value); None: owned whole."""
    if isinstance(value, dict):
        if (kind and is_atomic(kind, name)) or not value:
            return None
        return {f"f:{key}": (key, below) for key, below in value.items()}
    if isinstance(value, list):
        keys = list_keys(kind, name) if kind else None
        if keys is not None and all(isinstance(item, dict) for item in value):
            return {item_element(item, keys): ("", item) for item in value}
        if kind and is_set(kind, name):
            return {value_element(item): ("", item) for item in value}
    return None


def compare(kind: str, before: Json, after: Json) -> Change:
    """The difference of two objects; kind "" means a custom kind without a schema."""
    change = Change()
    for part in before.keys() | after.keys():
        if part in {"kind", "apiVersion"}:
            continue
        _compare(kind, part, (f"f:{part}",), before.get(part), after.get(part), change)
    return change


def _compare(kind: str, name: str, path: Path, old: Any, new: Any, change: Change) -> None:
    if old == new or (len(path) == 2 and path[0] == "f:metadata" and name in _NEVER_OWNED):
        return
    if old is None:
        _collect(kind, name, path, new, change.added)
        return
    if new is None:
        _collect(kind, name, path, old, change.removed)
        return
    was, now = children(kind, name, old), children(kind, name, new)
    if was is None and now is None:
        change.modified.add(path)
        return
    was, now = was or {}, now or {}
    for element in was.keys() | now.keys():
        label, _ = now.get(element) or was[element]
        left = was.get(element, ("", None))[1]
        right = now.get(element, ("", None))[1]
        _compare(kind, label, (*path, element), left, right, change)


def _collect(kind: str, name: str, path: Path, value: Any, into: set[Path]) -> None:
    """Every path of a value, with the compounds on the way."""
    if (
        value is None
        or (value == {} and name in _ALWAYS_THERE)
        or (len(path) == 2 and path[0] == "f:metadata" and name in _NEVER_OWNED)
    ):
        return
    parts = children(kind, name, value)
    if parts is None:
        into.add(path)
        return
    if name not in _ALWAYS_THERE and not _is_plain_list(kind, name, path):
        into.add(path)
    for element, (label, below) in parts.items():
        _collect(kind, label, (*path, element), below, into)


def _is_plain_list(kind: str, name: str, path: Path) -> bool:
    """Containers are always there; their items are not."""
    return bool(kind) and name == "containers" and path[-1] == "f:containers"


def fields_of(kind: str, applied: Json) -> FieldSet:
    """The set an applied configuration owns: leaves, and the items of lists with keys."""
    found: set[Path] = set()

    def visit(name: str, path: Path, value: Any) -> None:
        if len(path) == 2 and path[0] == "f:metadata" and name in _NEVER_OWNED:
            return
        parts = children(kind, name, value)
        if parts is None:
            found.add(path)
            return
        if path[-1].startswith(("k:", "v:")):
            found.add(path)
        for element, (label, below) in parts.items():
            visit(label, (*path, element), below)

    for part, value in applied.items():
        if part not in {"kind", "apiVersion"}:
            visit(part, (f"f:{part}",), value)
    return frozenset(found)
