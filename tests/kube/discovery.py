"""Version, health and discovery: what is served, in the plain form and in the aggregated one."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256

from tests.kube.cluster import Cluster
from tests.kube.documents import Json
from tests.kube.kinds import NAMESPACE, Kind
from tests.kube.openapi import document_of, listed_documents
from tests.kube.rights import Person
from tests.kube.statuses import Refusal, no_such_page

VERSION: Json = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-06-10T00:00:00Z",
    "goVersion": "go1.26.6",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_OPEN_TO_ALL = frozenset({"/version", "/version/", "/healthz", "/livez", "/readyz"})
_TEXT = "text/plain; charset=utf-8"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_OF_STATUS = ("get", "patch", "update")
_OF_PART = {"binding": ("create",), "eviction": ("create",), "finalize": ("update",)}
# What a part is asked for as, where that is not the kind itself.
_PARTS = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
}
# Groups in the order of the server: clients take the first that has a resource of a name.
_ORDER = (
    "apps",
    "events.k8s.io",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)


def _may_see(person: Person, path: str) -> bool:
    if person.rights is None or path in _OPEN_TO_ALL:
        return True
    known = "system:authenticated" in person.groups
    return known and path.startswith(("/api", "/openapi"))


def answer_plain_path(
    cluster: Cluster, person: Person, path: str, accept: str
) -> tuple[int, bytes, str]:
    """Code, body and content type of a path that names no resource.

    Raises:
        Refusal: 403 before 404.

    """
    if not _may_see(person, path):
        why = f'forbidden: User "{person.name}" cannot get path "{path}"'
        raise Refusal(403, "Forbidden", why, {})
    if path in {"/healthz", "/livez", "/readyz"}:
        return 200, b"ok", _TEXT
    path = path.rstrip("/")
    if path in {"/api", "/apis"} and _AGGREGATED in accept.partition(",")[0]:
        return 200, json.dumps(_aggregated(cluster, core=path == "/api")).encode(), _AGGREGATED
    if path == "/openapi/v3":
        return 200, json.dumps(listed_documents(cluster)).encode(), _TEXT
    document = _document(cluster, path)
    if document is None:
        raise no_such_page()
    return 200, json.dumps(document).encode(), "application/json"


def _document(cluster: Cluster, path: str) -> Json | None:
    parts = path.split("/")[1:]
    if path == "/version":
        return VERSION
    if path == "/api":
        client = {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [client],
        }
    if path == "/apis":
        groups = [_group(*each) for each in _versions(cluster)]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if path.startswith("/openapi/v3/"):
        return document_of(cluster, path.removeprefix("/openapi/v3/"))
    if parts[0] == "api" and len(parts) == 2:
        return _resources(cluster, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        found = [_group(*each) for each in _versions(cluster) if each[0] == parts[1]]
        return {"kind": "APIGroup", "apiVersion": "v1", **found[0]} if found else None
    if parts[0] == "apis" and len(parts) == 3:
        return _resources(cluster, parts[1], parts[2])
    return None


def _versions(cluster: Cluster) -> list[tuple[str, list[str]]]:
    """The groups, without the core group, each with its versions."""
    versions: dict[str, list[str]] = {}
    for kind in cluster.kinds:
        if kind.group and kind.version not in versions.setdefault(kind.group, []):
            versions[kind.group].append(kind.version)
    place = {name: number for number, name in enumerate(_ORDER)}
    return sorted(versions.items(), key=lambda each: (place.get(each[0], len(place)), each[0]))


def _group(name: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _kinds(cluster: Cluster, group: str, version: str) -> list[Kind]:
    kinds = [each for each in cluster.kinds if (each.group, each.version) == (group, version)]
    return sorted(kinds, key=lambda each: each.plural)


def _verbs(kind: Kind) -> list[str]:
    return [verb for verb in _VERBS if kind is not NAMESPACE or verb != "deletecollection"]


def _marks(kind: Kind) -> Json:
    """Short name and category, where there are some."""
    marks: Json = {"shortNames": [kind.short]} if kind.short else {}
    return {**marks, "categories": ["all"]} if kind.in_all else marks


def _parts(kind: Kind) -> Iterator[tuple[str, tuple[str, str, str], list[str]]]:
    """The subresources: name, what is asked for as group, version and kind, and verbs."""
    for part in sorted(kind.subresources):
        asked = _PARTS.get(part, ("", "", kind.name))
        yield part, asked, list(_OF_PART.get(part, _OF_STATUS))


def _resources(cluster: Cluster, group: str, version: str) -> Json | None:
    kinds = _kinds(cluster, group, version)
    if not kinds:
        return None
    resources = [entry for kind in kinds for entry in _entries(kind)]
    if not group:
        binding = _entry("bindings", "binding", "Binding", namespaced=True)
        resources.insert(0, {**binding, "verbs": ["create"]})
    found: Json = {"kind": "APIResourceList"}
    if group:
        found["apiVersion"] = "v1"
    return {**found, "groupVersion": kinds[0].api_version, "resources": resources}


def _entries(kind: Kind) -> Iterator[Json]:
    """A kind and its subresources in the plain form."""
    entry = _entry(kind.plural, kind.name.lower(), kind.name, namespaced=kind.namespaced)
    mark = sha256(f"{kind.group}/{kind.version}/{kind.name}".encode()).digest()[:8]
    stored = {"storageVersionHash": b64encode(mark).decode()}
    yield {**entry, "verbs": _verbs(kind), **_marks(kind), **stored}
    for part, (group, version, name), verbs in _parts(kind):
        entry = _entry(f"{kind.plural}/{part}", "", name, namespaced=kind.namespaced)
        asked = {"group": group, "version": version} if group else {}
        yield {**entry, **asked, "verbs": verbs}


def _entry(name: str, singular: str, kind: str, *, namespaced: bool) -> Json:
    return {"name": name, "singularName": singular, "namespaced": namespaced, "kind": kind}


def _aggregated(cluster: Cluster, *, core: bool) -> Json:
    """All that is served, in one document (apidiscovery.k8s.io/v2)."""
    groups = [("", ["v1"])] if core else _versions(cluster)
    items = []
    for name, versions in groups:
        listed = [
            {
                "version": version,
                "resources": [_shown(kind) for kind in _kinds(cluster, name, version)],
                "freshness": "Current",
            }
            for version in versions
        ]
        items.append({"metadata": {"name": name} if name else {}, "versions": listed})
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
    return {**head, "metadata": {}, "items": items}


def _shown(kind: Kind) -> Json:
    """A kind in the aggregated form."""
    parts = [
        {
            "subresource": part,
            "responseKind": {"group": group, "version": version, "kind": name},
            "verbs": verbs,
        }
        for part, (group, version, name), verbs in _parts(kind)
    ]
    return {
        "resource": kind.plural,
        "responseKind": {"group": "", "version": "", "kind": kind.name},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.name.lower(),
        "verbs": _verbs(kind),
        **_marks(kind),
        **({"subresources": parts} if parts else {}),
    }
