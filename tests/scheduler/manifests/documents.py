"""Short spellings for manifests, so that a test shows only what it is about."""

from __future__ import annotations

from typing import Any

from scheduler.manifests.problems import Problem
from scheduler.manifests.reading import Manifests, read_manifests

KUEUE = "kueue.x-k8s.io/v1beta2"
Document = dict[str, Any]


def an_object(kind: str, name: str, spec: Document, api: str = KUEUE, **metadata: Any) -> Document:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def a_flavor(name: str = "h100", **spec: Any) -> Document:
    return an_object("ResourceFlavor", name, {"nodeLabels": {"pool": name}, **spec})


def a_group(nominal: object = 8, flavor: str = "h100", **limits: Any) -> Document:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": nominal, **limits}
    return {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": flavor, "resources": [quota]}],
    }


def a_queue(name: str = "atlas", nominal: object = 8, **spec: Any) -> Document:
    return an_object(
        "ClusterQueue",
        name,
        {"namespaceSelector": {}, "resourceGroups": [a_group(nominal)], **spec},
    )


def a_local_queue(name: str = "atlas", queue: str = "atlas", **spec: Any) -> Document:
    return an_object("LocalQueue", name, {"clusterQueue": queue, **spec}, namespace="ml")


def a_workload(name: str = "job", gpus: object = 1, queue: str = "atlas", **spec: Any) -> Document:
    container = {"name": "c", "image": "app", "resources": {"requests": {"nvidia.com/gpu": gpus}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return an_object(
        "Workload",
        name,
        {"queueName": queue, "priority": 0, "podSets": [pods], **spec},
        namespace="ml",
        uid=f"uid-{name}",
        creationTimestamp="2026-03-02T10:00:00Z",
    )


def read(*documents: object) -> Manifests:
    return read_manifests([("file.yaml", list(documents))])


def refused(manifests: Manifests) -> list[Problem]:
    return [problem for problem in manifests.problems if problem.refused]


def remarks(manifests: Manifests) -> list[Problem]:
    return [problem for problem in manifests.problems if not problem.refused]


WHOLE: tuple[Document, ...] = (a_flavor(), a_queue(), a_local_queue(), a_workload())
