"""The reviews by which a client asks about itself: who it is, and what it may."""

from __future__ import annotations

from tests.kube.cluster import Cluster
from tests.kube.documents import Json
from tests.kube.rights import Access, Person
from tests.kube.statuses import invalid, invalid_value


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
