"""`gpubot doctor` on a Kubernetes cluster: from the way to it down to the labels of its nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence

from bot.cli.finding import Finding
from bot.clusters.base import ClusterUnreachable
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection, Json, Refused
from bot.clusters.kubernetes.facts import moment_of, node_of
from bot.clusters.kubernetes.leader import LEASE
from bot.clusters.kubernetes.rights import (
    JOB_SET_GROUP,
    LEADER_WORKER_SET_GROUP,
    is_granted,
    rights,
)
from scheduler.layout import Flavor, Layout
from scheduler.model import GPU, Node

SKEW = 30.0  # seconds by which our clock may differ from the API server's, which tells whole ones
PAGE = 500  # nodes asked for at once
_SHOWN = 5  # names in one line
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
# What need not be installed: API group, version, and the kind in the plural.
_EXTRAS = (
    (JOB_SET_GROUP, f"{JOB_SET_GROUP}/v1alpha2", "JobSets"),
    (LEADER_WORKER_SET_GROUP, f"{LEADER_WORKER_SET_GROUP}/v1", "LeaderWorkerSets"),
)
ADMISSION = "admissionregistration.k8s.io"
POLICIES = (
    ("mutatingadmissionpolicies", "gpubot-gate-pods"),
    ("mutatingadmissionpolicies", "gpubot-suspend-jobs"),
    ("validatingadmissionpolicies", "gpubot-guard-gates"),
    ("validatingadmissionpolicies", "gpubot-guard-jobs"),
    ("validatingadmissionpolicies", "gpubot-guard-places"),
    ("validatingadmissionpolicies", "gpubot-guard-teams"),
)
"""What deploy/kubernetes/policies installs, each with a binding of the same name."""

_INSTALL = "kubectl apply -k deploy/kubernetes/policies"
_APPLY = "apply the rights again: kubectl apply -k of your overlay (base/rights.yaml has each)"
_REACH = "check the way to the API server: its address, the NetworkPolicy, a proxy or firewall"
_CREDENTIALS = (
    "check the service account's token (automountServiceAccountToken), or the credentials in the"
    " file that KUBECONFIG names"
)


def examine_cluster(connection: Connection, layout: Layout | None, home: str) -> Iterator[Finding]:
    """Look at everything; `home` is the namespace of the bot, `layout` None without a policy."""
    try:
        yield from _reach(connection)
        yield from _kinds(connection)
        absent = {group for group, version, _ in _EXTRAS if not _served(connection, version)}
        yield _rights(connection, home, absent)
        yield from _look(lambda: _namespaces(connection), "namespaces")
        yield from _look(lambda: _nodes(connection, layout), "gpu nodes")
        yield from _look(lambda: _policies(connection), "admission policies")
        yield from _look(lambda: _lease(connection, home), "lease")
    except ClusterUnreachable as error:
        yield Finding(what="api server", well=False, seen=f"no answer: {error}", cure=_REACH)
    except Refused as error:
        what, cure = ("token", _CREDENTIALS) if error.status == 401 else ("api server", _APPLY)
        yield Finding(what=what, well=False, seen=str(error), cure=cure)


def _look(look: Callable[[], Iterator[Finding]], what: str) -> Iterator[Finding]:
    """Go on with the next thing when this one may not be seen."""
    try:
        yield from look()
    except Refused as error:
        if error.status == 401:
            raise
        yield Finding(what=what, well=False, seen=f"cannot be seen: {error}", cure=_APPLY)


def _reach(connection: Connection) -> Iterator[Finding]:
    version = connection.get("/version").get("gitVersion")
    yield Finding(what="api server", well=True, seen=f"answers, {version}")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    began = time.time()
    answer = connection.post(WHO, review)
    who = ((answer.get("status") or {}).get("userInfo") or {}).get("username")
    yield Finding(what="token", well=True, seen=f"taken, as {who}")
    theirs = moment_of(answer["metadata"].get("creationTimestamp"))
    skew = abs(theirs - (began + time.time()) / 2)
    if skew > SKEW:
        cure = "set the machine's clock (NTP): stops and leases are written with their time"
        yield Finding(
            what="cluster clock", well=False, seen=f"{skew:.0f} s off the API server's", cure=cure
        )
    else:
        seen = f"within {max(1.0, skew):.0f} s of the API server's"
        yield Finding(what="cluster clock", well=True, seen=seen)


def _kinds(connection: Connection) -> Iterator[Finding]:
    if "jobs" in _served(connection, "batch/v1"):
        yield Finding(what="jobs", well=True, seen="batch/v1 is served")
    else:
        cure = "use Kubernetes 1.29 or later"
        yield Finding(what="jobs", well=False, seen="batch/v1 is not served", cure=cure)
    groups = {one["name"] for one in connection.get("/apis").get("groups") or ()}
    for group, version, kinds in _EXTRAS:
        yield _extra(connection, version, kinds, there=group in groups)
    missing = {kind for kind, _ in POLICIES} - _served(connection, f"{ADMISSION}/v1")
    if missing:
        yield Finding(
            what="policy kinds",
            well=True,
            seen="the API server does not serve " + ", ".join(sorted(missing)),
            cure="use Kubernetes 1.36 or later; until then pods wait only if their template has"
            f" the scheduling gate {names.GATE}, and Jobs if they are made suspended",
        )
    else:
        yield Finding(what="policy kinds", well=True, seen="all are served")


def _extra(connection: Connection, version: str, kinds: str, *, there: bool) -> Finding:
    """A kind that may be missing; where its API group is `there`, in the version that we read."""
    what = kinds.lower()
    if not there:
        return Finding(what=what, well=True, seen="not installed, and not needed without it")
    if what in _served(connection, version):
        return Finding(what=what, well=True, seen=f"{version} is served")
    cure = f"install a version that serves {version}; until then {kinds} are not seen"
    return Finding(what=what, well=False, seen=f"{version} is not served", cure=cure)


def _served(connection: Connection, version: str) -> set[str]:
    try:
        found = connection.get(f"/apis/{version}")
    except Refused as error:
        if error.status != 404:
            raise
        return set()
    return {str(one["name"]) for one in found.get("resources") or ()}


def _rights(connection: Connection, home: str, absent: Collection[str]) -> Finding:
    asked = tuple(rights(home, absent=absent))
    missing = [right for right in asked if not is_granted(connection, right)]
    if missing:
        seen = "missing: " + ", ".join(str(right) for right in missing)
        return Finding(what="rights", well=False, seen=seen, cure=_APPLY)
    return Finding(what="rights", well=True, seen=f"{len(asked)} granted, none missing")


def _namespaces(connection: Connection) -> Iterator[Finding]:
    found = connection.get("/api/v1/namespaces", labelSelector=f"{names.MANAGED}=true")
    managed = sorted(str(one["metadata"]["name"]) for one in found.get("items") or ())
    if managed:
        yield Finding(what="namespaces", well=True, seen="managed: " + _list(managed))
        return
    yield Finding(
        what="namespaces",
        well=True,
        seen="none is managed: the admission policies act nowhere",
        cure=f"switch one over: kubectl label namespace nlp {names.MANAGED}=true",
    )


def _nodes(connection: Connection, layout: Layout | None) -> Iterator[Finding]:
    nodes = [node for node in _all_nodes(connection) if node.capacity.get(GPU, 0)]
    if not nodes:
        cure = "install the GPU vendor's device plugin, which tells the kubelet of nvidia.com/gpu"
        yield Finding(what="gpu nodes", well=False, seen="no node has GPUs", cure=cure)
        return
    gpus = sum(node.capacity[GPU] for node in nodes)
    yield Finding(what="gpu nodes", well=True, seen=f"{len(nodes):,} with {gpus:,} GPUs")
    if layout is None:
        return
    covered: set[str] = set()
    for flavor in layout.flavors:
        own = [node for node in nodes if _is_of(node, flavor)]
        covered.update(node.name for node in own)
        yield from _flavor(flavor, own)
    bare = [node.name for node in nodes if node.name not in covered]
    if bare:
        yield Finding(
            what="gpu nodes",
            well=True,
            seen=f"{len(bare):,} of no flavor of the policy, on which nothing starts: "
            + _list(bare),
            cure="add a flavor with their node_labels, or correct their labels",
        )


def _flavor(flavor: Flavor, nodes: Sequence[Node]) -> Iterator[Finding]:
    what = f"flavor {flavor.name}"
    if not nodes:
        wanted = ", ".join(f"{key}={text}" for key, text in sorted(flavor.node_labels.items()))
        cure = f"correct node_labels in the policy, or label the nodes: {wanted}"
        yield Finding(what=what, well=True, seen="covers no node now", cure=cure)
        return
    yield Finding(what=what, well=True, seen=f"covers {len(nodes):,} nodes")
    for level in flavor.levels:
        lack = [node.name for node in nodes if level not in node.labels]
        if lack:
            yield Finding(
                what=what,
                well=True,
                seen=f"{len(lack):,} nodes lack the label {level}, and nothing is placed on them: "
                + _list(lack),
                cure=f"kubectl label node {lack[0]} {level}=..., or leave the level out",
            )


def _is_of(node: Node, flavor: Flavor) -> bool:
    return all(node.labels.get(key) == text for key, text in flavor.node_labels.items())


def _all_nodes(connection: Connection) -> Iterator[Node]:
    query: dict[str, str | int] = {"limit": PAGE}
    while True:
        page = connection.get("/api/v1/nodes", **query)
        for one in page.get("items") or ():
            yield node_of(one)
        more = (page.get("metadata") or {}).get("continue")
        if not more:
            return
        query["continue"] = more


def _policies(connection: Connection) -> Iterator[Finding]:
    wanted = [
        (kind, name)
        for plural, name in POLICIES
        for kind in (plural, plural.removesuffix("ies") + "ybindings")
    ]
    lack = [(kind, name) for kind, name in wanted if not _is_there(connection, kind, name)]
    if not lack:
        seen = f"{len(POLICIES)} installed and bound"
        yield Finding(what="admission policies", well=True, seen=seen)
    elif len(lack) == len(wanted):
        yield Finding(
            what="admission policies",
            well=True,
            seen="none is installed: nothing waits for the bot but Jobs that are made suspended",
            cure=f"to hold all GPU pods of managed namespaces: {_INSTALL}",
        )
    else:
        seen = "missing: " + ", ".join(f"{kind} {name}" for kind, name in lack)
        yield Finding(what="admission policies", well=False, seen=seen, cure=_INSTALL)


def _is_there(connection: Connection, kind: str, name: str) -> bool:
    try:
        connection.get(f"/apis/{ADMISSION}/v1/{kind}/{name}")
    except Refused as error:
        if error.status != 404:
            raise
        return False
    return True


def _lease(connection: Connection, home: str) -> Iterator[Finding]:
    try:
        found: Json = connection.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{home}/leases/{LEASE}"
        )
    except Refused as error:
        if error.status != 404:
            raise
        yield Finding(what="lease", well=True, seen="free; the first bot that starts makes it")
        return
    holder = (found.get("spec") or {}).get("holderIdentity")
    yield Finding(what="lease", well=True, seen=f"held by {holder}" if holder else "free")


def _list(found: Sequence[str]) -> str:
    shown = ", ".join(sorted(found)[:_SHOWN])
    return shown if len(found) <= _SHOWN else f"{shown} and {len(found) - _SHOWN:,} more"
