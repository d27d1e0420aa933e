"""JSON patch (RFC 6902) and merge patch (RFC 7386), with the server's refusals."""

from __future__ import annotations

from typing import Any

from tests.kube.documents import Json, copy_of
from tests.kube.statuses import Refusal, bad_request


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: null removes a key, maps merge, everything else replaces."""
    if not isinstance(patch, dict):
        return copy_of(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _unprocessable(message: str) -> Refusal:
    return Refusal(422, "Invalid", message, {})


class _Missing(Exception):
    """A path of a JSON patch leads nowhere."""


def _step(container: Any, step: str) -> Any:
    if isinstance(container, list):
        try:
            return container[int(step)]
        except (ValueError, IndexError):
            raise _Missing from None
    if isinstance(container, dict) and step in container:
        return container[step]
    raise _Missing


def _split(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _walk(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        document = _step(document, token)
    return document


def _add(container: Any, step: str, value: Any) -> None:
    if isinstance(container, list):
        place = len(container) if step == "-" else int(step)
        if place > len(container):
            raise _Missing
        container.insert(place, value)
    elif isinstance(container, dict):
        container[step] = value
    else:
        raise _Missing


def _replace(container: Any, step: str, value: Any) -> None:
    _step(container, step)
    if isinstance(container, list):
        container[int(step)] = value
    else:
        container[step] = value


def _remove(container: Any, step: str) -> Any:
    value = _step(container, step)
    if isinstance(container, list):
        del container[int(step)]
    else:
        del container[step]
    return value


def _apply_one(document: Json, operation: Json) -> None:
    kind, path = operation.get("op"), str(operation.get("path", ""))
    tokens = _split(path)
    if not tokens:
        raise _unprocessable("the server rejected our request due to an error in our request")
    if kind == "test":
        try:
            seen = _walk(document, tokens)
        except _Missing:
            seen = None
        if seen != operation.get("value"):
            raise _Missing
        return
    container = _walk(document, tokens[:-1])
    if kind == "add":
        _add(container, tokens[-1], copy_of(operation.get("value")))
    elif kind == "replace":  # without a value this sets null, as the server does
        _replace(container, tokens[-1], copy_of(operation.get("value")))
    elif kind == "remove":
        _remove(container, tokens[-1])
    elif kind in {"move", "copy"}:
        source = _split(str(operation.get("from", "")))
        value = copy_of(_walk(document, source))
        if kind == "move":
            _remove(_walk(document, source[:-1]), source[-1])
        _add(container, tokens[-1], value)
    else:
        raise _unprocessable("the server rejected our request due to an error in our request")


def json_patch(target: Json, operations: Any) -> Json:
    """All operations or none.

    Raises:
        Refusal: 400 where the patch is no list; 422, with a message that says nothing, where a
            test fails or a path is missing.

    """
    if not isinstance(operations, list):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    document: Json = copy_of(target)
    for operation in operations:
        try:
            _apply_one(document, operation)
        except (_Missing, ValueError):
            raise _unprocessable(
                "the server rejected our request due to an error in our request"
            ) from None
    return document
