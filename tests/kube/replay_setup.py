"""The cluster in which a scenario was recorded, and what happened in it out of sight."""

from __future__ import annotations

import re
from datetime import timedelta

from tests.kube.cluster import Options, Request, Target
from tests.kube.documents import Json
from tests.kube.kinds import (
    CONFIG_MAP,
    JOB,
    MUTATING_BINDING,
    MUTATING_POLICY,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    Kind,
)
from tests.kube.operations import create
from tests.kube.recording import Scenario, load
from tests.kube.rights import ADMIN
from tests.kube.samples import job, pod
from tests.kube.server import ApiServer

_NAMESPACE = re.compile(r"/namespaces/([a-z0-9-]+)/")
_MISSING = frozenset({"nosuch", "n1", "write-06-gone"})

# Before these steps a kubelet acted without a recorded request: pods that were bound started,
# containers ended, or time passed.
_STARTED = ("settle", "start")
HINTS: dict[str, dict[int, tuple[str, ...]]] = {
    "deploy-02-scale-up-down": {
        1: ("settle", "admit web n1 n2", "settle", "start", "settle"),
        7: (*_STARTED, "settle"),
    },
    "deploy-03-rollout-stalls-on-gate": {
        1: ("settle", "admit web n1 n2", "settle", "start", "settle"),
    },
    "deploy-04-evicted-replica-returns-gated": {2: (*_STARTED, "settle")},
    "job-10-pod-failure-policy": {1: (*_STARTED, "settle")},
    "job-11-backoff-per-index-and-success-policy": {
        1: ("settle", "fail idx-0", "settle"),
        2: ("succeed idx-1", "settle"),
        4: (*_STARTED, "settle", "succeed lead-0", "settle"),
    },
    "job-12-delete-propagation": dict.fromkeys((1, 7, 14, 17), (*_STARTED, "settle")),
    "job-18-pod-lost-and-replaced": {1: _STARTED, 2: ("as it is",), 3: ("as it is",)},
    "job-19-deadline-and-nonindexed": {3: (*_STARTED, "wait 2", "settle")},
    "node-03-lost-node": {
        2: (*_STARTED, "settle"),
        4: ("silence x2", "wait 12", "settle"),
        7: ("wait 6", "settle"),
    },
    "node-04-deleted-node": {1: (*_STARTED, "settle")},
    "policy-04-broken-policies": {
        6: ("bind needs-label",),
        14: ("unbind needs-label", "bind pin"),
        16: ("unbind pin", "bind pin2"),
    },
    "policy-05-right-instead-of-name": {2: ("bind gpubot-admit",), 5: ("grant",)},
    "pod-11-scheduler-preemption": {1: (*_STARTED, "settle")},
    "watch-03-streaming-list": {3: ("wait 61",)},
    "watch-04-selector-transitions": {11: (*_STARTED, "settle")},
    "watch-05-limit-and-continue": {0: ("make c0 c1 c2 c3 c4 openshift-service-ca.crt",)},
    "watch-06-resource-version-match": {0: ("make openshift-service-ca.crt",)},
    "watch-08-expired-and-restart": {
        0: ("make openshift-service-ca.crt",),
        1: ("make a1 a2",),
        5: ("make later1 later2 later3 later4 later5 later6 later7", "compact"),
    },
    "pod-07-eviction": {
        **dict.fromkeys((1, 9, 19, 28), (*_STARTED, "settle")),
        30: ("settle", "succeed d", "settle"),
    },
    "pod-08-delete": {
        **dict.fromkeys((1, 10, 26), (*_STARTED, "settle")),
        23: ("settle", "start", "succeed s", "settle"),
    },
}
# Nodes that were there beside the usual four.
_MORE_NODES = {"node-03-lost-node": ["x2"], "node-04-deleted-node": ["x3"]}


def prepare(scenario: Scenario) -> ApiServer:
    """The emulator, without HTTP, with four nodes and the namespaces of the scenario."""
    api = ApiServer()
    api.cluster.annotates_nodes = scenario.name.startswith("node-")
    racks = {"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2"}
    for name in [*racks, *_MORE_NODES.get(scenario.name, [])]:
        rack = racks.get(name, "r9")
        api.add_node(name, labels={"gpubot.dev/gpu": "h100", "topology.gpubot.dev/rack": rack})
    found = {
        match.group(1)
        for step in scenario.steps
        for match in _NAMESPACE.finditer(step.request["path"])
    }
    for name in sorted(found - _MISSING):
        managed = scenario.name.startswith("policy-") and not name.endswith("-free")
        api.add_namespace(name, **({"gpubot.dev/managed": "true"} if managed else {}))
    if scenario.name.startswith("node-03"):
        api.cluster.node_grace = timedelta(seconds=12)  # as the laboratory had it
    _add_what_was_there(api, scenario.name)
    api.controllers.settle()
    return api


def _add(api: ApiServer, kind: Kind, namespace: str, body: Json) -> None:
    request = Request(ADMIN, Target(kind, namespace), Options(manager="kubectl"))
    create(api.cluster, request, body)


def _add_what_was_there(api: ApiServer, name: str) -> None:
    """Objects that earlier steps of the laboratory left, or that were made unrecorded."""
    if name.startswith("policy-02"):
        gate = load("policy-01-mutating-gate").steps
        _add(api, MUTATING_POLICY, "", gate[1].request["body"])
        _add(api, MUTATING_BINDING, "", gate[2].request["body"])
    if name.startswith("client-01"):
        _add(api, JOB, "client-01", job("j", pods=2, gpus=1))
        _add(api, POD, "client-01", pod("p"))
    if name.startswith("pod-11"):
        _add(api, PRIORITY_CLASS, "", {"metadata": {"name": "high"}, "value": 1000})
    if name.startswith("write-06"):
        gone = "write-06-gone"
        _add(api, NAMESPACE, "", {"metadata": {"name": gone}})
        hold = {"metadata": {"name": "hold", "finalizers": ["gpubot.dev/hold"]}, "data": {"k": "0"}}
        _add(api, CONFIG_MAP, gone, hold)
        _add(api, JOB, gone, job("j", pods=1, gpus=1))
