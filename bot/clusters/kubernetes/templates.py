"""What `/gpu run` and `/gpu debug` make: Jobs after templates that an admin owns.

A template is a Job as YAML with words in braces: {team}, {request}, {name}, {owner}. The image
and the command of the request, its size and its GPUs go to the first container.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from scheduler.model import GPU, Workload
from storage.records import Recipe, RecipeKind

_EXAMPLE = "for example  run: {metadata: {namespace: '{team}'}, spec: {template: {spec: ...}}}"
_WORD = re.compile(r"\{(team|request|name|owner)\}")


class TemplateError(Exception):
    """The templates cannot be used; the message names file, field, problem and an example."""


class _Meta(BaseModel):
    model_config = ConfigDict(extra="forbid")

    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Template(BaseModel):
    model_config = ConfigDict(extra="forbid")

    metadata: _Meta
    spec: dict[str, Any]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    debug: _Template
    run: _Template


class Templates:
    """The templates by what they are for."""

    def __init__(self, by_kind: Mapping[RecipeKind, Json]) -> None:
        self._by_kind = by_kind

    def make(self, workload: Workload, recipe: Recipe, decision: str) -> Json:
        """The Job of a request: not suspended, for it is made when it may run."""
        words = {
            "team": workload.team,
            "request": workload.id,
            "name": workload.name,
            "owner": workload.owner,
        }
        body: Json = _filled(copy.deepcopy(self._by_kind[recipe.kind]), words)
        (pods,) = workload.pod_sets
        meta, spec = body["metadata"], body["spec"]
        meta["name"] = name_of(decision)
        meta["labels"] = {**meta["labels"], names.TEAM: workload.team}
        meta["annotations"] = {**meta["annotations"], names.OWNER: workload.owner}
        pod_meta = spec["template"].setdefault("metadata", {})  # by which people find the pods
        pod_meta["labels"] = {**(pod_meta.get("labels") or {}), names.ADMITTED: workload.id}
        spec |= {
            "suspend": False,
            "completionMode": "Indexed",
            "completions": pods.count,
            "parallelism": pods.count,
        }
        main = spec["template"]["spec"]["containers"][0]
        if recipe.image:
            main["image"] = recipe.image
        if recipe.command:
            main["command"] = ["/bin/sh", "-c", recipe.command]
            main.pop("args", None)
        limits = main.setdefault("resources", {}).setdefault("limits", {})
        limits[str(GPU)] = str(pods.requests.get(GPU, 0))
        return {"apiVersion": "batch/v1", "kind": "Job", **body}


def name_of(decision: str) -> str:
    """The name of what is made for a decision: the same each time, another for each attempt."""
    return f"gpubot-{decision.lower().replace('/', '-')}"


def read_templates(path: Path) -> Templates:
    """The templates of a file. Raises TemplateError."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = _File.model_validate(raw)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TemplateError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "file"
        raise TemplateError(f"{path}: {field}: {first['msg']}; {_EXAMPLE}") from error
    by_kind = {
        RecipeKind.DEBUG: found.debug.model_dump(),
        RecipeKind.RUN: found.run.model_dump(),
    }
    for kind, body in by_kind.items():
        _check(path, kind, body["spec"])
    return Templates(by_kind)


def _check(path: Path, kind: RecipeKind, spec: Json) -> None:
    """A Job without a container, or one that would restart in place, is no template."""
    try:
        pod = spec["template"]["spec"]
        good = bool(pod["containers"][0]["name"]) and pod["restartPolicy"] in {"Never", "OnFailure"}
        good = good and not spec.get("managedBy")
    except (KeyError, IndexError, TypeError):
        good = False
    if not good:
        raise TemplateError(
            f"{path}: {kind}.spec.template.spec: needs a container with a name, and restartPolicy "
            "Never or OnFailure; spec has no managedBy; " + _EXAMPLE
        )


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _WORD.sub(lambda match: words[match[1]], value)
    if isinstance(value, dict):
        return {key: _filled(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, words) for one in value]
    return value
