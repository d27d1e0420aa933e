"""The rights that the bot uses: the same list as deploy/kubernetes/base/rights.yaml.

`gpubot doctor` asks the API server for each of them; a test holds the two lists together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bot.clusters.kubernetes.connection import Connection, Json

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
JOB_SET_GROUP = "jobset.x-k8s.io"
LEADER_WORKER_SET_GROUP = "leaderworkerset.x-k8s.io"
_FOLLOW = ("list", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Verbs on resources of one API group, in all namespaces unless `at_home` (the bot's own).

    `name` limits them to one object; a subresource is written 'pods/eviction'.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    name: str = ""
    at_home: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One verb on one resource."""

    verb: str
    group: str
    resource: str
    name: str
    namespace: str

    def __str__(self) -> str:
        """Say it as kubectl does: 'patch jobs.batch'."""
        kind, _, sub = self.resource.partition("/")
        what = f"{kind}.{self.group}" if self.group else kind
        named = f" {self.name}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{'/' + sub if sub else ''}{named}{where}"


NEEDS = (
    Need(group="", resources=("nodes",), verbs=_FOLLOW),
    Need(group="", resources=("namespaces",), verbs=("list",)),
    Need(group="", resources=("pods",), verbs=(*_FOLLOW, "patch", "delete")),
    Need(group="", resources=("pods/eviction",), verbs=("create",)),
    Need(group="batch", resources=("jobs",), verbs=(*_FOLLOW, "create", "patch", "delete")),
    Need(group=JOB_SET_GROUP, resources=("jobsets",), verbs=(*_FOLLOW, "patch")),
    Need(group=LEADER_WORKER_SET_GROUP, resources=("leaderworkersets",), verbs=_FOLLOW),
    Need(group="events.k8s.io", resources=("events",), verbs=("create",)),
    Need(
        group="admissionregistration.k8s.io",
        resources=(
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ),
        verbs=("get",),
    ),
    Need(group="coordination.k8s.io", resources=("leases",), verbs=("create",), at_home=True),
    Need(
        group="coordination.k8s.io",
        resources=("leases",),
        verbs=("get", "update"),
        name="gpubot",
        at_home=True,
    ),
)


def rights(home: str, *, absent: Collection[str] = ()) -> Iterator[Right]:
    """Each right by itself; `home` is the namespace of the bot.

    Those for `absent` API groups are left out: they are not installed.
    """
    for need in NEEDS:
        if need.group in absent:
            continue
        for resource in need.resources:
            for verb in need.verbs:
                yield Right(
                    verb=verb,
                    group=need.group,
                    resource=resource,
                    name=need.name,
                    namespace=home if need.at_home else "",
                )


def is_granted(connection: Connection, right: Right) -> bool:
    """Ask the API server whether we have a right. Raises Unanswered or Refused."""
    kind, _, sub = right.resource.partition("/")
    asked = {
        "verb": right.verb,
        "group": right.group,
        "resource": kind,
        "subresource": sub,
        "name": right.name,
        "namespace": right.namespace,
    }
    review: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: text for key, text in asked.items() if text}},
    }
    answer = connection.post(REVIEWS, review)
    return bool((answer.get("status") or {}).get("allowed"))
