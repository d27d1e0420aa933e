"""Schemas of custom kinds: pruning, defaults, and what is not valid.

The part of OpenAPI that small test definitions use.
"""

from __future__ import annotations

from typing import Any

from tests.kube.documents import Json, copy_of
from tests.kube.expressions import holds
from tests.kube.statuses import Cause, invalid_value, required_value

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def prune(schema: Json, value: Any, path: str = "") -> list[str]:
    """Drop what a schema does not know, in place; the dotted paths that went."""
    gone: list[str] = []
    if isinstance(value, list):
        for place, item in enumerate(value):
            gone += prune(schema.get("items") or {}, item, f"{path}[{place}]")
    if not isinstance(value, dict):
        return gone
    if schema.get("x-kubernetes-preserve-unknown-fields") or "properties" not in schema:
        return gone
    known: Json = schema["properties"]
    for name in list(value):
        here = f"{path}.{name}" if path else name
        if not path and name in {"metadata", "kind", "apiVersion"}:
            continue
        if name not in known:
            del value[name]
            gone.append(here)
        else:
            gone += prune(known[name], value[name], here)
    return gone


def fill_by_schema(schema: Json, value: Any) -> None:
    """Set the defaults that a schema gives, in place."""
    if not isinstance(value, dict):
        return
    for name, below in (schema.get("properties") or {}).items():
        if name not in value and "default" in below:
            value[name] = copy_of(below["default"])
        if name in value:
            fill_by_schema(below, value[name])


def problems(schema: Json, value: Any, path: str = "") -> list[Cause]:
    """What a schema has against a value: types, required fields, minimum."""
    wanted = schema.get("type")
    types = _TYPES.get(str(wanted), ())
    if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
        found = {bool: "boolean", int: "integer", str: "string"}.get(type(value), "object")
        message = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
        return [Cause(path, "FieldValueTypeInvalid", message)]
    causes: list[Cause] = []
    if "minimum" in schema and value < schema["minimum"]:
        why = f"{path} in body should be greater than or equal to {schema['minimum']}"
        causes.append(invalid_value(path, str(value), why))
    if isinstance(value, list):
        for place, item in enumerate(value):
            causes += problems(schema.get("items") or {}, item, f"{path}[{place}]")
    if not isinstance(value, dict):
        return causes
    for name in schema.get("required") or []:
        if name not in value:
            causes.append(required_value(f"{path}.{name}" if path else name))
    for name, below in (schema.get("properties") or {}).items():
        if name in value and (path or name != "metadata"):
            causes += problems(below, value[name], f"{path}.{name}" if path else name)
    return causes


def has_rules(schema: Json) -> bool:
    """Whether any part of a schema has rules in CEL."""
    if schema.get("x-kubernetes-validations"):
        return True
    return any(has_rules(below) for below in (schema.get("properties") or {}).values())


def broken_rules(schema: Json, value: Any, before: Any, path: str = "") -> list[Cause]:
    """The rules in CEL that do not hold, each with its message."""
    if not isinstance(value, dict):
        return []
    old = before if isinstance(before, dict) else None
    causes = [
        Cause(path, "FieldValueInvalid", f"Invalid value: {rule['message']}")
        for rule in schema.get("x-kubernetes-validations") or []
        if not holds(rule["rule"], value, old)
    ]
    for name, below in (schema.get("properties") or {}).items():
        where = f"{path}.{name}" if path else name
        causes += broken_rules(below, value.get(name), (old or {}).get(name), where)
    return causes


def check_schema(schema: Json, value: Json, before: Json | None) -> list[Cause]:
    """Everything a schema has against an object; rules only where its form is right."""
    causes = problems(schema, value)
    malformed = {"FieldValueTypeInvalid", "FieldValueRequired"}
    if not any(cause.reason in malformed for cause in causes):
        return causes + broken_rules(schema, value, before)
    if has_rules(schema):
        why = (
            "some validation rules were not checked because the object was invalid; correct the "
            "existing errors to complete validation"
        )
        causes.append(invalid_value("<nil>", "null", why))
    return causes
