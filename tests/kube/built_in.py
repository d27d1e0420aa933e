"""The schemas of all built-in types, as `kubernetes-validate` carries them from the API itself."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import kubernetes_validate

from tests.kube.documents import Json
from tests.kube.kinds import Kind

_FOLDER = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / "v1.36.0-local"
REFERENCE = "#/$defs/"


@cache
def schemas() -> Json:
    """The schemas by their full name."""
    found: Json = json.loads((_FOLDER / "_definitions.json").read_text())["$defs"]
    return found


@cache
def _names() -> dict[tuple[str, str, str], str]:
    """Group, version and kind to the name of the schema."""
    return {
        (mark["group"], mark["version"], mark["kind"]): name
        for name, schema in schemas().items()
        for mark in schema.get("x-kubernetes-group-version-kind", ())
    }


def schema_name(kind: Kind) -> str | None:
    """The full name of the schema of a kind, or None for what is not built in."""
    return _names().get((kind.group, kind.version, kind.name))
