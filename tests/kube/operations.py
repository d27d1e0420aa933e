"""Create, replace and patch: the way of a write through decoding, admission and checks."""

from __future__ import annotations

from typing import Any

from tests.kube.admission import admit_create, admit_update, check_namespace
from tests.kube.cluster import Cluster, Request
from tests.kube.decoding import check_patched, drop_nulls, unknown_fields
from tests.kube.defaults import fill
from tests.kube.documents import Json, copy_of, dig
from tests.kube.ownership import Manager, apply_configuration, note_update
from tests.kube.patches import json_patch, merge
from tests.kube.preparation import prepare_create, prepare_update
from tests.kube.removal import finish_if_released
from tests.kube.schemas import check_schema, fill_by_schema
from tests.kube.statuses import (
    STALE,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    internal_error,
    invalid,
    invalid_value,
    not_found,
    required_value,
    unsupported_media,
)
from tests.kube.store import Stored
from tests.kube.strategic import strategic_merge
from tests.kube.validation import validate_create, validate_update

APPLY = frozenset({"application/apply-patch+yaml"})
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"
_WIPED: list[Json] = [{}]  # managedFields of a body that gives up all ownership


def _named(cluster: Cluster, request: Request, body: Json) -> None:
    """Settle metadata.name and namespace of a new object."""
    kind, metadata = request.target.kind, body.setdefault("metadata", {})
    if kind.namespaced:
        given = metadata.setdefault("namespace", request.target.namespace)
        if given != request.target.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
    else:
        metadata.pop("namespace", None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = str(metadata["generateName"])[:58] + cluster.new_suffix()
    if not metadata.get("name"):
        cause = required_value("metadata.name", "name or generateName is required")
        raise invalid(kind.group, kind.name, "", [cause])


def create(
    cluster: Cluster, request: Request, body: Json, manager: Manager | None = None
) -> Stored:
    """Make an object; the body becomes the server's.

    Raises:
        Refusal: what the server would answer instead.

    """
    kind, target = request.target.kind, request.target
    check_namespace(cluster, request, body)
    _named(cluster, request, body)
    body.pop("kind", None)
    body.pop("apiVersion", None)
    body["metadata"].pop("resourceVersion", None)
    fill(kind, body)
    if kind in cluster.schemas:
        fill_by_schema(cluster.schemas[kind], body)
    if manager is None:
        by = Manager(request.options.manager, "Update", kind.api_version, target.subresource)
        body["metadata"].pop("managedFields", None)
        note_update(kind, {}, body, by, cluster.now())
    admit_create(cluster, request, body)
    prepare_create(cluster, kind, body)
    name = body["metadata"]["name"]
    validate_create(kind, body)
    _check_schema(cluster, request, body, None)
    for check in cluster.validators:
        check(cluster, request, body, None)
    key = (target.namespace, name)
    present = cluster.store.get(kind, key)
    if present is not None:
        refusal = already_exists(kind.group, kind.plural, name)
        if "deletionTimestamp" in present.body["metadata"]:
            refusal.message = f"object is being deleted: {refusal.message}"
        raise refusal
    if request.options.dry_run:
        return Stored(kind, key, 0, body)
    return cluster.store.put(kind, key, body)


def _check_schema(cluster: Cluster, request: Request, body: Json, before: Json | None) -> None:
    kind = request.target.kind
    schema = cluster.schemas.get(kind)
    causes = check_schema(schema, body, before) if schema is not None else []
    if causes:
        raise invalid(kind.group, kind.name, body["metadata"]["name"], causes)


def live_object(cluster: Cluster, request: Request) -> Stored:
    """The object a request names.

    Raises:
        Refusal: 404.

    """
    target = request.target
    stored = cluster.store.get(target.kind, target.key)
    if stored is None:
        raise not_found(target.kind.group, target.kind.plural, target.name)
    return stored


def replace(cluster: Cluster, request: Request, body: Json) -> tuple[Stored, bool]:
    """PUT; the second value tells whether the object was created."""
    kind, target = request.target.kind, request.target
    metadata = body.setdefault("metadata", {})
    name = metadata.setdefault("name", target.name)
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    live = cluster.store.get(kind, target.key)
    if live is None:
        if kind.upsert and not target.subresource:
            return create(cluster, request, body), True
        raise not_found(kind.group, kind.plural, target.name)
    if not metadata.get("resourceVersion") and not kind.unconditional:
        cause = invalid_value("metadata.resourceVersion", "0", "must be specified for an update")
        raise invalid(kind.group, kind.plural, target.name, [cause])
    uid = metadata.get("uid")
    if uid and uid != live.body["metadata"]["uid"]:
        raise _wrong_uid(request, uid, live)
    by = Manager(request.options.manager, "Update", kind.api_version, target.subresource)
    return update(cluster, request, live, body, by), False


def _wrong_uid(request: Request, uid: str, live: Stored) -> Refusal:
    kind, key = request.target.kind, live.key
    path = f"/registry/{kind.plural}/" + "/".join(part for part in key if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
        f"UID in object meta: {live.body['metadata']['uid']}"
    )
    return conflict(kind.group, kind.plural, key[1], why)


def update(
    cluster: Cluster, request: Request, live: Stored, body: Json, by: Manager | None
) -> Stored:
    """Write a changed object over the live one; `by` None means ownership is settled already."""
    kind, before = request.target.kind, live.body
    given = body.setdefault("metadata", {}).get("resourceVersion")
    if given and str(given) != before["metadata"]["resourceVersion"]:
        raise conflict(kind.group, kind.plural, live.key[1], STALE)
    body.pop("kind", None)
    body.pop("apiVersion", None)
    _restore_system_fields(before, body)
    fill(kind, body)
    body = _only_subresource(request, before, body)
    if by is not None and body["metadata"].get("managedFields") != _WIPED:
        body["metadata"].pop("managedFields", None)
        note_update(kind, before, body, by, cluster.now())
    elif by is not None:
        del body["metadata"]["managedFields"]
    admit_update(cluster, request, before, body)
    prepare_update(kind, before, body, request.target.subresource)
    validate_update(kind, before, body, request.target.subresource)
    _check_schema(cluster, request, body, before)
    for check in cluster.validators:
        check(cluster, request, body, before)
    if _same(before, body):
        return live
    if request.options.dry_run:
        return Stored(kind, live.key, live.version, body)
    gone = finish_if_released(cluster, kind, live, body)
    return gone or cluster.store.put(kind, live.key, body)


def _restore_system_fields(before: Json, body: Json) -> None:
    """Fields of metadata that only the server sets stay as they were."""
    was, now = before["metadata"], body["metadata"]
    for name in (
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "generateName",
    ):
        if name in was:
            now[name] = was[name]
        else:
            now.pop(name, None)
    now.setdefault("uid", was["uid"])
    for name in ("name", "namespace"):
        if name in was:
            now.setdefault(name, was[name])


def _only_subresource(request: Request, before: Json, body: Json) -> Json:
    """Status through the main path is ignored, everything else through status is."""
    kind = request.target.kind
    if "status" not in kind.subresources:
        return body
    if request.target.subresource == "status":
        merged = {**before, "metadata": body["metadata"]}
        merged["status"] = body.get("status", {})
        return merged
    kept = dict(body)
    kept.pop("status", None)
    if "status" in before:
        kept["status"] = before["status"]
    return kept


def _untimed(body: Json) -> Json:
    metadata = dict(body["metadata"])
    entries = metadata.pop("managedFields", [])
    metadata["owners"] = [{k: v for k, v in each.items() if k != "time"} for each in entries]
    return {**body, "metadata": metadata}


def _same(before: Json, after: Json) -> bool:
    return _untimed(before) == _untimed(after)


def patch(cluster: Cluster, request: Request, content_type: str, body: Any) -> tuple[Stored, bool]:
    """PATCH by any of the four types; the second value tells whether it created the object."""
    kind, target = request.target.kind, request.target
    if content_type in APPLY:
        return _apply(cluster, request, body)
    if content_type not in {MERGE, STRATEGIC, JSON}:
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if content_type == STRATEGIC and kind.custom:
        raise unsupported_media(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml"
        )
    live = live_object(cluster, request)
    document: Json = copy_of(live.document())
    version = document["metadata"].pop("resourceVersion")
    if content_type == JSON:
        document["metadata"]["resourceVersion"] = version
        changed = json_patch(document, body)
    else:
        if not isinstance(body, dict):
            raise bad_request(
                "json: cannot unmarshal array into Go value of type map[string]interface {}"
            )
        merged = content_type == MERGE
        changed = merge(document, body) if merged else strategic_merge(kind.name, document, body)
    check_patched(kind, changed, request)
    by = Manager(request.options.manager, "Update", kind.api_version, target.subresource)
    return update(cluster, request, live, changed, by), False


def _apply(cluster: Cluster, request: Request, body: Any) -> tuple[Stored, bool]:
    kind, target = request.target.kind, request.target
    if not isinstance(body, dict):
        raise bad_request("error decoding YAML: the patch is no object")
    _check_applied(request, body)
    manager = Manager(request.options.manager, "Apply", kind.api_version, target.subresource)
    live = cluster.store.get(kind, target.key)
    applied = copy_of({k: v for k, v in body.items() if k not in {"kind", "apiVersion"}})
    drop_nulls(applied)
    applied.setdefault("metadata", {}).setdefault("name", target.name)
    if live is None:
        if target.subresource:
            raise not_found(kind.group, kind.plural, target.name)
        fresh = apply_configuration(kind, {}, applied, manager, cluster.now(), force=True)
        return create(cluster, request, fresh, manager), True
    given = dig(applied, "metadata.resourceVersion")
    if given and given != live.body["metadata"]["resourceVersion"]:
        raise conflict(kind.group, kind.plural, target.name, STALE)
    applied["metadata"].pop("resourceVersion", None)
    merged = apply_configuration(
        kind, live.body, applied, manager, cluster.now(), force=request.options.force
    )
    return update(cluster, request, live, copy_of(merged), None), False


def _check_applied(request: Request, body: Json) -> None:
    kind = request.target.kind
    if not body.get("apiVersion") or not body.get("kind"):
        group, _, version = str(body.get("apiVersion", "")).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={body.get('kind', '')}")
    unknown = unknown_fields(kind, body)
    if unknown:
        raise internal_error(
            f"failed to create typed patch object ({dig(body, 'metadata.namespace', '')}/"
            f"{dig(body, 'metadata.name', '')}; {kind.api_version}, Kind={kind.name}): "
            f".{unknown[0]}: field not declared in schema"
        )
    if "managedFields" in (body.get("metadata") or {}):
        raise bad_request("metadata.managedFields must be nil")
