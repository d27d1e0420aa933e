"""Strategic merge patches: lists with a merge key merge item by item."""

from __future__ import annotations

from typing import Any

from tests.kube.documents import Json, copy_of
from tests.kube.merge_keys import is_set, strategic_key
from tests.kube.statuses import bad_request

_DIRECTIVES = ("$patch", "$retainKeys")
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge(kind: str, target: Any, patch: Json) -> Json:
    """The document of a kind with the patch merged in.

    Raises:
        Refusal: 400 where an item of a merged list lacks its key.

    """
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: copy_of(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    merged: Json = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name in _DIRECTIVES or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE_FROM):
            field = name.removeprefix(_DELETE_FROM)
            merged[field] = [item for item in merged.get(field, []) if item not in value]
        elif value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            merged[name] = strategic_merge(kind, merged.get(name), value)
        elif isinstance(value, list):
            merged[name] = _merge_list(kind, name, merged.get(name) or [], value)
        else:
            merged[name] = value
    return _arranged(kind, merged, patch)


def _arranged(kind: str, merged: Json, patch: Json) -> Json:
    """Lists in the order that a patch says, and of a union only what it keeps."""
    for name, order in patch.items():
        field = name.removeprefix(_ORDER)
        if field != name and isinstance(merged.get(field), list):
            merged[field] = _ordered(strategic_key(kind, field), merged[field], order)
    kept = patch.get("$retainKeys")
    return merged if kept is None else {k: v for k, v in merged.items() if k in kept}


def _ordered(key: str | None, items: list[Any], order: list[Any]) -> list[Any]:
    """The items in the order of a patch; what that does not name keeps its place."""

    def mark(item: Any) -> Any:
        return item.get(key) if isinstance(item, dict) else item

    wanted = [mark(each) for each in order]
    named = iter(
        sorted((i for i in items if mark(i) in wanted), key=lambda i: wanted.index(mark(i)))
    )
    return [next(named) if mark(item) in wanted else item for item in items]


def _merge_list(kind: str, name: str, present: list[Any], patch: list[Any]) -> list[Any]:
    key = strategic_key(kind, name)
    if is_set(kind, name):
        return present + [item for item in patch if item not in present]
    replaces = any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch)
    if key is None or replaces:
        return [copy_of(item) for item in patch if not _is_directive(item)]
    kept = list(present)
    fresh: list[Any] = []
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"map: {item!r} does not contain declared merge key: {key}")
        place = next((n for n, old in enumerate(kept) if old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            kept = [old for old in kept if old.get(key) != item[key]]
        elif place is None:
            fresh.append(strategic_merge(kind, {}, item))
        else:
            kept[place] = strategic_merge(kind, kept[place], item)
    return fresh + kept  # the server puts new items first


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and "$patch" in item
