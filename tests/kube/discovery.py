"""Version, health, discovery, and the reviews by which a client asks about itself."""

from __future__ import annotations

import json

from tests.kube.cluster import Cluster
from tests.kube.documents import Json
from tests.kube.kinds import Kind
from tests.kube.rights import Access, Person
from tests.kube.statuses import Refusal, invalid, invalid_value, no_such_page

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
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


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
    document = _document(cluster, path.rstrip("/"))
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
        return _groups(cluster)
    if parts[0] == "api" and len(parts) == 2:
        return _resources(cluster, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        found = [each for each in _groups(cluster)["groups"] if each["name"] == parts[1]]
        return {"kind": "APIGroup", "apiVersion": "v1", **found[0]} if found else None
    if parts[0] == "apis" and len(parts) == 3:
        return _resources(cluster, parts[1], parts[2])
    return None


def _groups(cluster: Cluster) -> Json:
    versions: dict[str, list[str]] = {}
    for kind in cluster.kinds:
        if kind.group and kind.version not in versions.setdefault(kind.group, []):
            versions[kind.group].append(kind.version)
    groups = []
    for name, served in sorted(versions.items()):
        entries = [{"groupVersion": f"{name}/{v}", "version": v} for v in served]
        groups.append({"name": name, "versions": entries, "preferredVersion": entries[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(cluster: Cluster, group: str, version: str) -> Json | None:
    kinds = [each for each in cluster.kinds if (each.group, each.version) == (group, version)]
    if not kinds:
        return None
    resources: list[Json] = []
    for kind in sorted(kinds, key=lambda each: each.plural):
        resources.append({**_resource(kind, kind.plural, kind.name), "verbs": _VERBS})
        for sub in sorted(kind.subresources):
            entry = _resource(kind, f"{kind.plural}/{sub}", kind.name)
            entry["singularName"] = ""
            entry["verbs"] = ["create"] if sub in {"binding", "eviction"} else _STATUS_VERBS
            resources.append(entry)
    found: Json = {"kind": "APIResourceList"}
    if group:
        found["apiVersion"] = "v1"
    name = f"{group}/{version}" if group else version
    return {**found, "groupVersion": name, "resources": resources}


_STATUS_VERBS = ["get", "patch", "update"]


def _resource(kind: Kind, name: str, shown: str) -> Json:
    return {
        "name": name,
        "singularName": kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": shown,
    }


def review(cluster: Cluster, person: Person, plural: str, body: Json, manager: str = "") -> Json:
    """The answer to a SelfSubjectAccessReview, SelfSubjectRulesReview or SelfSubjectReview.

    Raises:
        Refusal: 422 for an access review without a question.

    """
    if plural == "selfsubjectreviews":
        who = {"username": person.name, "groups": list(person.groups)}
        now, uid = cluster.now(), "00000000-0000-4000-8000-00000000000b"
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={uid[:-1]}c"]}
        return {
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": now},
            "status": {"userInfo": {**who, "uid": uid, "extra": extra}},
        }
    if plural == "selfsubjectrulesreviews":
        return _rules_review(person)
    asked = (body.get("spec") or {}).get("resourceAttributes")
    if asked is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = invalid_value("spec.resourceAttributes", "null", why)
        raise invalid("authorization.k8s.io", "", "", [cause])
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    allowed = person.may(Access(*(asked.get(name, "") for name in names)))
    status: Json = {"allowed": allowed}
    if allowed and person.role:
        account = person.name.rpartition(":")[2]
        status["reason"] = (
            f'RBAC: allowed by ClusterRoleBinding "{person.role}" of ClusterRole "{person.role}" '
            f'to ServiceAccount "{account}/gpubot-system"'
        )
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {"managedFields": [_review_owner(cluster, manager)]},
        "spec": body["spec"],
        "status": status,
    }


def _review_owner(cluster: Cluster, manager: str) -> Json:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "authorization.k8s.io/v1",
        "time": cluster.now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:resourceAttributes": {}}},
    }


def _rules_review(person: Person) -> Json:
    rules = [
        {
            "verbs": list(rule.verbs),
            "apiGroups": list(rule.groups),
            "resources": list(rule.resources),
        }
        for rule in person.rights or ()
    ]
    if person.rights is None:
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    urls = [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version"]}]
    return {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {"resourceRules": rules, "nonResourceRules": urls, "incomplete": False},
    }
