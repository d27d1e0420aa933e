"""From a request's body to an object: syntax, kind, types and unknown fields.

The types come from the models of the `kubernetes` client, which are generated from the API's own
description.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import yaml
from kubernetes import client as models

from tests.kube.cluster import Request
from tests.kube.documents import Json
from tests.kube.kinds import BUILT_IN, Kind
from tests.kube.statuses import Cause, Refusal, bad_request, internal_error, unsupported_media

LIMIT = 3 * 1024 * 1024
_OBJECT_TYPES = frozenset({"application/json", "application/yaml", ""})
_MICRO = re.compile(r"\.\d{6}")
_MICRO_FIELDS = frozenset({"renewTime", "acquireTime", "eventTime"})
_GO = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_WANTED = {"int": "int32", "str": "string", "bool": "bool", "float": "float64"}


def parse(raw: bytes, content_type: str, kind: Kind) -> Any:
    """The JSON value of a body.

    Raises:
        Refusal: 400 for what is no JSON or YAML, 413 for too much, 415 for another type.

    """
    if len(raw) > LIMIT:
        message = f"Request entity too large: limit is {LIMIT}"
        raise Refusal(413, "RequestEntityTooLarge", message)
    if content_type not in _OBJECT_TYPES:
        raise unsupported_media(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    if content_type == "application/yaml":
        return _parse_yaml(raw, kind)
    try:
        return json.loads(raw)
    except ValueError:
        shown = f"{raw[:30].decode(errors='replace')} ..." if len(raw) > 30 else raw.decode()
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): couldn't get "
            f"version/kind; json parse error: unexpected end of JSON input ({shown or '<empty>'})"
        ) from None


def _parse_yaml(raw: bytes, kind: Kind) -> Any:
    try:
        return yaml.load(raw, Loader=_Yaml11)  # noqa: S506  # a safe loader with bare y and n
    except yaml.YAMLError:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): yaml: mapping "
            f"values are not allowed in this context ({raw[:32].hex()})"
        ) from None


class _Yaml11(yaml.SafeLoader):
    """The server reads y and n as booleans, which PyYAML leaves as text."""


_Yaml11.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:y|Y|n|N)$"), list("yYnN"))
_Yaml11.add_constructor(
    "tag:yaml.org,2002:bool",
    lambda _, node: str(node.value).lower() in {"y", "yes", "true", "on"},
)


class _Noted(dict[str, Any]):
    """An object of a JSON body that remembers which of its keys came twice."""

    repeated: list[str]


def duplicates(raw: bytes) -> list[str]:
    """Dotted paths of keys that a JSON body has twice."""

    def pairs(items: list[tuple[str, Any]]) -> _Noted:
        names = [name for name, _ in items]
        made = _Noted(items)
        made.repeated = sorted({name for name in names if names.count(name) > 1})
        return made

    found: list[str] = []

    def visit(value: Any, path: str) -> None:
        if isinstance(value, _Noted):
            found.extend(f"{path}{name}" for name in value.repeated)
            for name, item in value.items():
                visit(item, f"{path}{name}.")
        elif isinstance(value, list):
            for item in value:
                visit(item, path)

    visit(json.loads(raw, object_pairs_hook=pairs), "")
    return found


def check_kind(kind: Kind, body: Any, known: tuple[Kind, ...] = BUILT_IN) -> None:
    """The object must be of the kind its path names; apiVersion and kind may be left out.

    Raises:
        Refusal: 400 for another kind or no object at all.

    """
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.name})")
    if kind.custom and "kind" not in body:
        shown = json.dumps(body)
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): Object 'Kind' is "
            f"missing in '{shown}' ({shown[:30]} ...)"
        )
    name, version = body.get("kind") or kind.name, body.get("apiVersion") or kind.api_version
    for field, value in (("apiVersion", version), ("kind", name)):
        if not isinstance(value, str):
            raise bad_request(
                "couldn't get version/kind; json parse error: "
                + _mismatch(value, f"struct.{field}", "string")
            )
    if name == kind.name and version == kind.api_version:
        return
    start = f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.name}: '
    if any(each.name == name and each.api_version == version for each in known):
        group = kind.group.partition(".")[0] or "core"
        other = version.replace("/", ".")
        raise bad_request(
            f"{start}converting ({other}.{name}) to ({group}.{kind.name}): unknown conversion"
        )
    if name == kind.name:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    raise bad_request(
        f'{start}no kind "{name}" is registered for version "{version}" in scheme '
        '"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
    )


@cache
def _fields(model: str) -> dict[str, str]:
    """Wire name to type of a model of the client."""
    cls = getattr(models, model)
    return {cls.attribute_map[name]: kind for name, kind in cls.openapi_types.items()}


def model_of(kind: Kind) -> str | None:
    """The client's model of a built-in kind."""
    if kind.custom:
        return None
    if kind.name == "Event":
        return "EventsV1Event" if kind.group else "CoreV1Event"
    name = f"V1{kind.name}"
    return name if hasattr(models, name) else None


class _Wrong(Exception):
    """A value has another type than the field."""


def check_patched(kind: Kind, body: Json, request: Request) -> None:
    """Check what a patch made of an object.

    Raises:
        Refusal: 422 that blames the patch, where a new object would get 400.

    """
    try:
        check_fields(kind, body, request)
    except Refusal as refusal:
        why = refusal.message.partition(f"cannot be handled as a {kind.name}: ")[2]
        shown = json.dumps(json.dumps(body, separators=(",", ":")))
        cause = Cause("patch", "FieldValueInvalid", f"Invalid value: {shown}: {why}")
        details: Json = {"causes": [cause.to_wire()]}
        message = f' "" is invalid: patch: {cause.message}'
        raise Refusal(422, "Invalid", message, details) from None


def check_fields(kind: Kind, body: Json, request: Request) -> None:
    """Drop unknown fields (with a warning, or refuse) and refuse wrong types.

    Raises:
        Refusal: 400 for a wrong type, or for an unknown field where validation is Strict.

    """
    model = model_of(kind)
    if model is None:
        return
    unknown: list[str] = []
    try:
        _check(model, body, "", f"{kind.name}.", unknown)
    except _Wrong as wrong:
        start = f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: '
        raise bad_request(start + str(wrong)) from None
    report_unknown(kind, [f'unknown field "{path}"' for path in unknown], request)
    for path in unknown:
        _drop(body, path)
    drop_nulls(body)


def drop_nulls(value: Any) -> None:
    """Null means that a field is not there; in place."""
    if isinstance(value, dict):
        for name in [name for name, item in value.items() if item is None]:
            del value[name]
        for item in value.values():
            drop_nulls(item)
    elif isinstance(value, list):
        for item in value:
            drop_nulls(item)


def unknown_fields(kind: Kind, body: Json) -> list[str]:
    """Paths of fields the kind does not have; none for custom kinds.

    Raises:
        Refusal: 500 for a wrong type, which is how apply answers.

    """
    model = model_of(kind)
    unknown: list[str] = []
    if model is not None:
        try:
            _check(model, body, "", f"{kind.name}.", unknown)
        except _Wrong as wrong:
            raise internal_error(f"failed to create typed patch object: {wrong}") from None
    return unknown


def report_unknown(kind: Kind, problems: list[str], request: Request) -> None:
    """Warn of unknown or repeated fields, or refuse them.

    Raises:
        Refusal: 400 where fieldValidation is Strict.

    """
    if not problems:
        return
    if request.options.validation == "Strict":
        raise bad_request(
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: '
            f"strict decoding error: {', '.join(problems)}"
        )
    if request.options.validation == "Warn":
        request.warnings.extend(problems)


def _drop(body: Any, path: str) -> None:
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    for index, name in steps[:-1]:
        body = body[int(index)] if index else body[name]
    body.pop(steps[-1][1], None)


def _check(model: str, value: Any, path: str, owner: str, unknown: list[str]) -> None:
    fields = _fields(model)
    if not isinstance(value, dict):
        raise _Wrong(_mismatch(value, owner.rstrip("."), model.removeprefix("V1")))
    for name, item in value.items():
        here = f"{path}.{name}" if path else name
        if name not in fields:
            unknown.append(here)
        elif item is not None:
            _check_value(fields[name], item, here, f"{model.removeprefix('V1')}.", unknown)


def _check_value(kind: str, value: Any, path: str, owner: str, unknown: list[str]) -> None:
    if kind.startswith("List["):
        if not isinstance(value, list):
            raise _Wrong(_mismatch(value, owner + path, "[]" + kind[5:-1].removeprefix("V1")))
        for place, item in enumerate(value):
            _check_value(kind[5:-1], item, f"{path}[{place}]", owner, unknown)
    elif kind.startswith("Dict["):
        _check_map(kind, value, path, owner)
    elif kind == "datetime":
        _check_time(path, value)
    elif kind in _WANTED:
        _check_plain(kind, value, owner + path)
    elif kind not in {"object", "bytes"}:
        _check(kind, value, path, owner + path, unknown)


def _check_map(kind: str, value: Any, path: str, owner: str) -> None:
    if not isinstance(value, dict):
        raise _Wrong(_mismatch(value, owner + path, "map"))
    below = kind[5:-1].split(", ", 1)[1]
    for item in value.values():
        if below == "str" and not isinstance(item, str) and not _is_quantity(path, item):
            raise _Wrong(_mismatch(item, owner + path, "string"))


def _is_quantity(path: str, value: Any) -> bool:
    """Quantities may be written as numbers."""
    return isinstance(value, int | float) and path.rsplit(".", 1)[-1] in {
        "limits",
        "requests",
        "capacity",
        "allocatable",
    }


def _check_plain(kind: str, value: Any, where: str) -> None:
    ok = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
    }[kind]
    if not ok:
        raise _Wrong(_mismatch(value, where, _WANTED[kind]))


def _check_time(path: str, value: Any) -> None:
    if path.rsplit(".", 1)[-1] not in _MICRO_FIELDS or not isinstance(value, str):
        return
    if _MICRO.search(value) is None:
        rest = value[19:]
        raise _Wrong(
            f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": '
            f'cannot parse "{rest}" as ".000000"'
        )


def _mismatch(value: Any, where: str, wanted: str) -> str:
    return (
        f"json: cannot unmarshal {_GO[type(value)]} into Go struct field {where} of type {wanted}"
    )
