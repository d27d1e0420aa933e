"""The OpenAPI documents of what is served: by them kubectl checks, explains and merges manifests.

The schemas of the API itself in the form of OpenAPI 3, with the paths that say what a write takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from tests.kube.built_in import REFERENCE, schema_name, schemas
from tests.kube.cluster import Cluster
from tests.kube.documents import Json
from tests.kube.kinds import Kind

_THERE = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OPTIONS = ("pretty", "dryRun", "fieldManager", "fieldValidation", "force")
_PATCHES = ("apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json")


def _path(kind: Kind) -> str:
    """The document that a kind is in."""
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def listed_documents(cluster: Cluster) -> Json:
    """Which documents there are."""
    paths = dict.fromkeys(_path(kind) for kind in cluster.kinds)
    listed = {}
    for path in paths:
        kinds = [kind for kind in cluster.kinds if _path(kind) == path]
        told = [[_name(kind), cluster.schemas.get(kind)] for kind in kinds]
        mark = sha256(json.dumps(told).encode()).hexdigest().upper()
        listed[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
    return {"paths": listed}


def document_of(cluster: Cluster, path: str) -> Json | None:
    """The document of one version of a group, or None where nothing of it is served."""
    kinds = [kind for kind in cluster.kinds if _path(kind) == path]
    if not kinds:
        return None
    built_in = tuple(kind for kind in kinds if not kind.custom)
    parts = dict(_schemas(built_in))
    for kind in kinds:
        if kind.custom:
            parts[_name(kind)] = {**cluster.schemas.get(kind, {"type": "object"}), **_mark(kind)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": {place: item for kind in kinds for place, item in _places(kind)},
        "components": {"schemas": parts},
    }


@cache
def _schemas(kinds: tuple[Kind, ...]) -> Json:
    """The schemas of some built-in kinds, and all that they refer to."""
    wanted, found = [_META, *map(_name, kinds)], {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _opened(schemas()[name], wanted)
    return found


def _opened(value: Any, wanted: list[str]) -> Any:
    """A schema in the form of OpenAPI; what it refers to is added to `wanted`."""
    if isinstance(value, list):
        return [_opened(item, wanted) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, item in value.items():
        if name == "$ref" and isinstance(item, str):
            wanted.append(item.removeprefix(REFERENCE))
            made["allOf"] = [{"$ref": item.replace(REFERENCE, _THERE)}]
        elif name == "type" and isinstance(item, list):
            made[name] = next(each for each in item if each != "null")
        else:
            made[name] = _opened(item, wanted)
    return made


def _name(kind: Kind) -> str:
    return schema_name(kind) or ".".join(
        [*reversed(kind.group.split(".")), kind.version, kind.name]
    )


def _triple(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.name}


def _mark(kind: Kind) -> Json:
    return {"x-kubernetes-group-version-kind": [_triple(kind)]}


def _places(kind: Kind) -> Iterator[tuple[str, Json]]:
    """The paths of a kind with what its writes take."""
    root = f"/{_path(kind)}" + ("/namespaces/{namespace}" if kind.namespaced else "")
    whole = {"$ref": f"{_THERE}{_name(kind)}"}
    content = {"application/json": {"schema": whole}}
    options = [_parameter(name) for name in _OPTIONS]
    about = {"x-kubernetes-group-version-kind": _triple(kind), "parameters": options}

    def operation(action: str, body: Json | None = None) -> Json:
        answered = {"200": {"description": "OK", "content": content}}
        found = {**about, "x-kubernetes-action": action, "responses": answered}
        return {**found, "requestBody": {"content": body}} if body else found

    taken = {f"application/{form}": {"schema": {"type": "object"}} for form in _PATCHES}
    yield f"{root}/{kind.plural}", {"get": operation("list"), "post": operation("post", content)}
    yield (
        f"{root}/{kind.plural}/{{name}}",
        {
            "get": operation("get"),
            "put": operation("put", content),
            "patch": operation("patch", taken),
            "delete": operation("delete"),
        },
    )


def _parameter(name: str) -> Json:
    kind = "boolean" if name == "force" else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
