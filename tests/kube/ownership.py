"""Field ownership: managedFields after a plain write, and server-side apply.

The algorithm is that of structured-merge-diff: an Update takes what it changes from every other
manager; an Apply that would change what others own is a conflict unless forced, and what the
manager applied before and leaves out now goes away where nobody else owns it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.kube.documents import Json, copy_of
from tests.kube.field_sets import (
    Change,
    FieldSet,
    Path,
    children,
    compare,
    fields_of,
    from_wire,
    item_element,
    to_wire,
)
from tests.kube.kinds import Kind
from tests.kube.merge_keys import is_set, list_keys
from tests.kube.statuses import Refusal


@dataclass(frozen=True)
class Manager:
    """Who wrote: the identity of an entry of managedFields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""


Owners = dict[Manager, tuple[FieldSet, str]]  # the fields of each, and when they were written


def read_owners(body: Json) -> Owners:
    entries = body["metadata"].get("managedFields") or []
    return {
        Manager(
            each.get("manager", ""),
            each["operation"],
            each["apiVersion"],
            each.get("subresource", ""),
        ): (from_wire(each.get("fieldsV1") or {}), each.get("time", ""))
        for each in entries
    }


def write_owners(body: Json, owners: Owners) -> None:
    """ManagedFields in the server's order: applied ones first, then by time and name."""
    entries = []
    for manager, (fields, time) in sorted(
        owners.items(), key=lambda item: (item[0].operation != "Apply", item[1][1], item[0].name)
    ):
        if not fields:
            continue
        entry: Json = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_wire(fields),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    if entries:
        body["metadata"]["managedFields"] = entries
    else:
        body["metadata"].pop("managedFields", None)


def schema_of(kind: Kind) -> str:
    """The name the schema is looked up by; custom kinds have none."""
    return "" if kind.custom else kind.name


def _visible(body: Json, subresource: str) -> Json:
    """The part of an object that a write through this path may own."""
    if subresource == "status":
        return {key: value for key, value in body.items() if key in {"metadata", "status"}}
    return {key: value for key, value in body.items() if key != "status"}


def note_update(kind: Kind, before: Json, after: Json, manager: Manager, now: str) -> None:
    """Set managedFields of `after`, the outcome of a plain write over `before`."""
    owners = read_owners(before) if "metadata" in before else {}
    change = compare(
        schema_of(kind),
        _visible(before, manager.subresource),
        _visible(after, manager.subresource),
    )
    write_owners(after, _take(owners, change, manager, now))


def _take(owners: Owners, change: Change, manager: Manager, now: str) -> Owners:
    written, gone = change.written, change.removed
    if not written and not gone:
        return owners
    taken: Owners = {}
    for each, (fields, time) in owners.items():
        if each != manager:
            taken[each] = (fields - written - gone, time)
    mine, time = owners.get(manager, (frozenset(), now))
    fields = (mine | written) - gone
    if fields:
        taken[manager] = (fields, now if fields != mine or written else time)
    return taken


def apply_configuration(
    kind: Kind, live: Json, applied: Json, manager: Manager, now: str, *, force: bool
) -> Json:
    """The live object after a server-side apply; `live` may be empty (a create).

    Raises:
        Refusal: 409 with one cause for each field that another manager owns with another value.

    """
    schema = schema_of(kind)
    owners = read_owners(live) if "metadata" in live else {}
    wanted = fields_of(schema, applied)
    merged: Json = _merge(schema, "", live, applied)
    mine = owners.get(manager, (frozenset(), now))[0]
    others: set[Path] = set()
    for each, (fields, _) in owners.items():
        if each != manager:
            others |= fields
    dropped = mine - wanted
    if dropped:
        merged = _prune(schema, "", (), merged, dropped | _named_parents(mine), others | wanted)
    change = compare(
        schema, _visible(live, manager.subresource), _visible(merged, manager.subresource)
    )
    contested = {
        each: fields & (change.written | _atomic_parents(change, fields))
        for each, (fields, _) in owners.items()
        if each != manager
    }
    if not force and any(contested.values()):
        raise _conflict(contested)
    after: Owners = {
        each: (fields - contested.get(each, frozenset()) - change.removed, time)
        for each, (fields, time) in owners.items()
        if each != manager
    }
    time = now if mine != wanted or manager not in owners else owners[manager][1]
    after[manager] = (wanted, time)
    merged.setdefault("metadata", {})
    write_owners(merged, after)
    return merged


def _named_parents(fields: FieldSet) -> FieldSet:
    """Maps and structs on the way to owned fields: they go whole where nobody owns a part."""
    return frozenset(
        path[:depth]
        for path in fields
        for depth in range(1, len(path))
        if path[depth - 1].startswith("f:")
    )


def _atomic_parents(change: Change, fields: FieldSet) -> FieldSet:
    """Owned compounds that a change goes through are not contested; kept for atomic ones only."""
    return frozenset(path for path in fields if path in change.modified)


def _conflict(contested: dict[Manager, FieldSet]) -> Refusal:
    causes: list[Json] = []
    shown: list[str] = []
    for manager, fields in sorted(contested.items(), key=lambda item: item[0].name):
        for path in sorted(fields):
            where = dotted(path)
            via = _described(manager)
            causes.append(
                {
                    "reason": "FieldManagerConflict",
                    "message": f"conflict with {via}",
                    "field": where,
                }
            )
            shown.append((f"conflict with {via}", where))  # type: ignore[arg-type]
    return Refusal(409, "Conflict", _conflict_message(causes), {"causes": causes})


def _conflict_message(causes: list[Json]) -> str:
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    grouped: dict[str, list[str]] = {}
    for cause in causes:
        grouped.setdefault(cause["message"].removeprefix("conflict with "), []).append(
            cause["field"]
        )
    lines = [
        f"conflicts with {who}:\n" + "\n".join(f"- {where}" for where in fields)
        for who, fields in grouped.items()
    ]
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)


def _described(manager: Manager) -> str:
    if manager.operation == "Apply":
        return f'"{manager.name}"'
    via = f'"{manager.name}"'
    if manager.subresource:
        via += f' with subresource "{manager.subresource}"'
    return f"{via} using {manager.api_version}"


def dotted(path: Path) -> str:
    """'.spec.template.spec.containers[name="main"].image'."""
    shown = ""
    for element in path:
        if element.startswith("f:"):
            shown += f".{element[2:]}"
        elif element.startswith("k:"):
            shown += (
                "[" + element[3:-1].replace('":', "=").replace('"', "", 1).replace(',"', ",") + "]"
            )
        else:
            shown += f"[={element[2:]}]"
    return shown


def merge_applied(kind: str, live: Json, applied: Json) -> Json:
    """A configuration merged into an object by the rules of the schema, without ownership."""
    merged: Json = _merge(kind, "", live, applied)
    return merged


def _merge(kind: str, name: str, live: Any, applied: Any) -> Any:
    """The applied value over the live one by the rules of the schema."""
    if isinstance(applied, dict) and isinstance(live, dict):
        if children(kind, name, applied) is None and applied:
            return copy_of(applied)
        merged = dict(live)
        for key, value in applied.items():
            merged[key] = _merge(kind, key, live.get(key), value)
        return merged
    if isinstance(applied, list) and isinstance(live, list) and kind:
        keys = list_keys(kind, name)
        if keys is not None:
            return _merge_items(kind, keys, live, applied)
        if is_set(kind, name):
            return live + [item for item in applied if item not in live]
    return copy_of(applied)


def _merge_items(
    kind: str, keys: tuple[str, ...], live: list[Any], applied: list[Any]
) -> list[Any]:
    fresh = {item_element(item, keys): item for item in applied}
    merged = []
    for item in live:
        match = fresh.pop(item_element(item, keys), None)
        merged.append(item if match is None else _merge(kind, "", item, match))
    return merged + [copy_of(item) for item in fresh.values()]


def _prune(kind: str, name: str, path: Path, value: Any, dropped: FieldSet, kept: set[Path]) -> Any:
    """The value without the dropped paths that nobody keeps."""
    parts = children(kind, name, value)
    if parts is None:
        return value
    gone = set()
    changed: dict[str, Any] = {}
    for element, (label, below) in parts.items():
        here = (*path, element)
        depth = len(here)
        if here in dropped and not any(each[:depth] == here for each in kept):
            gone.add(element)
        elif any(each[:depth] == here and len(each) > depth for each in dropped):
            changed[element] = _prune(kind, label, here, below, dropped, kept)
    if isinstance(value, dict):
        pruned = {k: changed.get(f"f:{k}", v) for k, v in value.items() if f"f:{k}" not in gone}
        return {k: v for k, v in pruned.items() if v not in ({}, []) or f"f:{k}" not in changed}
    keys = list_keys(kind, name)
    rebuilt = []
    for item in value:
        element = item_element(item, keys) if keys else "v:" + repr(item)
        if element not in gone:
            rebuilt.append(changed.get(element, item))
    return rebuilt
