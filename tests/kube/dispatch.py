"""One HTTP request to one answer, without the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as altered
from typing import Any

from tests.kube import protobuf
from tests.kube.cluster import Cluster, Options, Request, Target
from tests.kube.decoding import check_fields, check_kind, duplicates, parse, report_unknown
from tests.kube.discovery import answer_plain_path
from tests.kube.documents import Json
from tests.kube.event_forms import to_core, to_new
from tests.kube.kinds import EVENT, NEW_EVENT, POD
from tests.kube.operations import APPLY, create, live_object, patch, replace
from tests.kube.reads import encode_list, get, is_true, list_objects
from tests.kube.removal import delete, read_options
from tests.kube.reviews import review
from tests.kube.rights import Person, require
from tests.kube.routing import Route, is_served, parse_path
from tests.kube.schemas import prune
from tests.kube.statuses import (
    Cause,
    Refusal,
    bad_request,
    forbidden_value,
    invalid,
    no_such_page,
    no_such_resource,
    not_allowed,
    unsupported_value,
)
from tests.kube.store import Stored
from tests.kube.subresources import bind, evict, scale
from tests.kube.views import View, show_list, show_one, view_of
from tests.kube.watching import Watch, open_watch

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}


@dataclass(frozen=True)
class Call:
    """A request as it came from the wire."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip()


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    code: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


def _json(code: int, document: Json, warnings: list[str] | None = None) -> Answer:
    return Answer(code, json.dumps(document).encode(), _warned(warnings or []))


def _warned(warnings: list[str]) -> dict[str, str]:
    if not warnings:
        return {}
    quoted = [w.replace("\\", "\\\\").replace('"', '\\"') for w in warnings]
    return {"Warning": ", ".join(f'299 - "{each}"' for each in quoted)}


def refuse(refusal: Refusal) -> Answer:
    """The answer of a refusal."""
    if refusal.plain is not None:
        text = "text/plain; charset=utf-8"
        return Answer(refusal.code, refusal.plain.encode(), dict(refusal.headers), text)
    return Answer(refusal.code, json.dumps(refusal.body()).encode(), dict(refusal.headers))


def serve(cluster: Cluster, call: Call) -> Answer | Watch:
    """Serve a call; a watch is given back for the caller to stream."""
    try:
        headers = call.headers
        person = cluster.gate.recognise(
            headers.get("authorization"), headers.get("impersonate-user", "")
        )
        call = _readable(call)
        route = parse_path(call.path)
        if route is None:
            plain = answer_plain_path(cluster, person, call.path, call.headers.get("accept", ""))
            return Answer(plain[0], plain[1], {}, plain[2])
        with cluster.store.lock:
            return _serve_resource(cluster, person, call, route)
    except Refusal as refusal:
        return refuse(refusal)


def _readable(call: Call) -> Call:
    """The call with a body that came in the binary form written as JSON."""
    if call.content_type != protobuf.CONTENT_TYPE:
        return call
    headers = {**call.headers, "content-type": "application/json"}
    return altered(call, headers=headers, body=json.dumps(protobuf.read(call.body)).encode())


def _verb(call: Call, route: Route) -> str:
    if call.method not in _VERBS:
        raise not_allowed()
    if route.name:
        return _VERBS[call.method]
    if call.method == "GET":
        return "watch" if route.watches or is_true(call.query, "watch") else "list"
    if call.method == "DELETE":
        return "deletecollection"
    return _VERBS[call.method]


def _serve_resource(cluster: Cluster, person: Person, call: Call, route: Route) -> Answer | Watch:
    verb = _verb(call, route)
    require(person, route.access(verb))
    if route.group in {"authorization.k8s.io", "authentication.k8s.io"}:
        agent = call.headers.get("user-agent", "").partition("/")[0]
        asked = json.loads(call.body or b"{}")
        return _json(201, review(cluster, person, route.plural, asked, agent))
    kind = cluster.kinds.find(route.group, route.version, route.plural)
    if kind is None:
        if (route.group, route.plural) == ("", "bindings") and verb == "create":
            body = json.loads(call.body)
            return _bind_old(cluster, person, route, body)
        if is_served(cluster.kinds, route):
            raise no_such_resource()
        raise no_such_page(watch=verb == "watch")
    if route.subresource and route.subresource not in kind.subresources:
        raise no_such_resource()
    namespace = route.namespace if kind.namespaced else ""
    target = Target(kind, namespace, route.name, route.subresource)
    if call.method == "GET":
        view = view_of(call.headers.get("accept", ""), call.query.get("includeObject", ""))
        if verb == "watch":
            return open_watch(cluster, target, call.query, view)
        return _read(cluster, target, call, view)
    request = Request(person, target, _options(call, verb))
    return _write(cluster, request, call, verb)


def _bind_old(cluster: Cluster, person: Person, route: Route, body: Json) -> Answer:
    """POST to the collection of bindings, the form before pods/binding."""
    target = Target(POD, route.namespace, body["metadata"]["name"], "binding")
    return _json(201, bind(cluster, Request(person, target), body))


def _stored_as(target: Target) -> Target:
    """Events of events.k8s.io are stored as those of the core group."""
    return altered(target, kind=EVENT) if target.kind is NEW_EVENT else target


def _shown_as(target: Target, stored: Stored) -> Stored:
    return to_new(stored) if target.kind is NEW_EVENT else stored


def _read(cluster: Cluster, target: Target, call: Call, view: View) -> Answer:
    asked, target, now = target, _stored_as(target), cluster.clock.now()
    if not target.name:
        listing = list_objects(cluster, target, call.query)
        if asked is not target:
            listing = altered(listing, items=[to_new(each) for each in listing.items])
        whole = view.is_whole
        shown = encode_list(asked, listing) if whole else show_list(asked.kind, listing, view, now)
        return Answer(200, shown)
    if target.subresource == "scale":
        request = Request(cluster.gate.people["admin-token"], target)
        return _json(200, scale(cluster, request, "GET", "", None))
    found = _shown_as(asked, get(cluster, target, call.query))
    return Answer(200, show_one(found, view, now))


def _options(call: Call, verb: str) -> Options:
    """The options of a write.

    Raises:
        Refusal: 422 for values the server does not know.

    """
    query = call.query
    apply = call.content_type in APPLY
    name = {"create": "Create", "update": "Update", "patch": "Patch"}.get(verb, "Delete")
    causes: list[Cause] = []
    manager = query.get("fieldManager", "")
    if apply and not manager:
        causes.append(
            Cause(
                "fieldManager", "FieldValueRequired", "Required value: is required for apply patch"
            )
        )
    if len(manager) > 128:
        why = "Too long: may not be more than 128 bytes"
        causes.append(Cause("fieldManager", "FieldValueTooLong", why))
    if query.get("force") and verb == "patch" and not apply:
        causes.append(forbidden_value("force", "may not be specified for non-apply patch"))
    dry = query.get("dryRun", "")
    if dry not in {"", "All"}:
        causes.append(unsupported_value("dryRun", f'["{dry}"]', ["All"]))
    validation = query.get("fieldValidation", "")
    if validation not in {"", "Ignore", "Strict", "Warn"}:
        allowed = ["", "Ignore", "Strict", "Warn"]
        causes.append(unsupported_value("fieldValidation", f'"{validation}"', allowed))
    if causes:
        raise invalid("meta.k8s.io", f"{name}Options", "", causes)
    agent = call.headers.get("user-agent", "").partition("/")[0]
    return Options(
        dry == "All", manager or agent or "unknown", is_true(query, "force"), validation or "Warn"
    )


def _write(cluster: Cluster, request: Request, call: Call, verb: str) -> Answer:
    target = request.target
    if verb == "deletecollection":
        return _delete_collection(cluster, request, call)
    if verb == "delete":
        return _delete(cluster, request, call)
    if target.subresource == "scale":
        body = json.loads(call.body or b"{}")
        wanted = scale(cluster, request, call.method, call.content_type, body)
        return _json(200, wanted, request.warnings)
    if verb == "create":
        return _create(cluster, request, call)
    if verb == "update":
        body = _object(cluster, request, call)
        stored, created = replace(cluster, request, body)
    else:
        content_type = call.content_type
        kind = target.kind
        if content_type.startswith("application/"):
            as_json = "application/yaml" if content_type in APPLY else "application/json"
            patch_body = parse(call.body, as_json, kind)
        else:
            patch_body = None
        if target.kind is NEW_EVENT and isinstance(patch_body, dict):
            request = altered(request, target=_stored_as(target))
            patch_body = to_core(patch_body)
        stored, created = patch(cluster, request, content_type, patch_body)
        stored = _shown_as(target, stored)
    return _written(201 if created else 200, stored, request)


def _written(code: int, stored: Stored, request: Request) -> Answer:
    return Answer(code, stored.encoded_alone(), _warned(request.warnings))


def _object(cluster: Cluster, request: Request, call: Call) -> Json:
    """The object of a POST or PUT, decoded and checked against its kind."""
    kind = request.target.kind
    body: Any = parse(call.body, call.content_type, kind)
    check_kind(kind, body)
    if call.content_type != "application/yaml":
        repeated = [f'duplicate field "{name}"' for name in duplicates(call.body)]
        report_unknown(kind, repeated, request)
    check_fields(kind, body, request)
    schema = cluster.schemas.get(kind)
    if schema is not None:
        unknown = [f'unknown field "{path}"' for path in prune(schema, body)]
        report_unknown(kind, unknown, request)
    return body  # type: ignore[no-any-return]  # check_kind made sure that it is an object


def _create(cluster: Cluster, request: Request, call: Call) -> Answer:
    target = request.target
    if target.subresource in {"binding", "eviction"}:
        body = json.loads(call.body or b"{}")
        act = bind if target.subresource == "binding" else evict
        return _json(201, act(cluster, request, body))
    if target.name:
        raise not_allowed()
    if target.kind.namespaced and not target.namespace:
        raise not_allowed()
    body = _object(cluster, request, call)
    if target.kind is NEW_EVENT:
        stored = altered(request, target=_stored_as(target))
        return _written(201, to_new(create(cluster, stored, to_core(body))), request)
    return _written(201, create(cluster, request, body), request)


def _delete_options(call: Call) -> Any:
    if not call.body:
        return None
    try:
        return json.loads(call.body)
    except ValueError:
        raise bad_request("the body of the DELETE is no JSON") from None


def _delete(cluster: Cluster, request: Request, call: Call) -> Answer:
    options = read_options(_delete_options(call), dict(call.query))
    live = live_object(cluster, request)
    stored, has_gone = delete(cluster, request, live, options)
    kind = request.target.kind
    if has_gone and not kind.answers_object:
        details: Json = {"name": live.key[1], "kind": kind.plural}
        if kind.group:
            details["group"] = kind.group
        details["uid"] = live.body["metadata"]["uid"]
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        return _json(200, status, request.warnings)
    return _written(200, stored, request)


def _delete_collection(cluster: Cluster, request: Request, call: Call) -> Answer:
    target = request.target
    options = read_options(_delete_options(call), {})
    listing = list_objects(cluster, target, call.query)
    for each in listing.items:
        delete(cluster, request, each, options)
    return Answer(200, encode_list(target, listing), _warned(request.warnings[:1]))
