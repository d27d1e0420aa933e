"""What is read from manifests, and what is said of those that are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scheduler.kueue import check_settings
from scheduler.layout import BorrowWithin, Limits, Search
from scheduler.manifests.reading import read_duration, read_manifests
from scheduler.model import GPU, FlavorName, NodeName, ResourceName
from tests.scheduler.manifests.documents import (
    WHOLE,
    Document,
    a_flavor,
    a_group,
    a_local_queue,
    a_queue,
    a_workload,
    an_object,
    read,
    refused,
    remarks,
)

H100 = FlavorName("h100")


def test_a_whole_set_is_read() -> None:
    found = read(*WHOLE)
    assert found.problems == ()
    assert found.layout.queue(found.layout.queues[0].name).quotas == {
        (H100, GPU): Limits(nominal=8)
    }
    assert [(w.name, w.id, w.gpus, w.queue) for w in found.waiting] == [
        ("job", "uid-job", 1, "atlas")
    ]


def test_a_list_from_kubectl_is_read_like_its_items() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(WHOLE)}
    assert read(listed) == read(*WHOLE)


def test_the_older_version_is_read_where_fields_map() -> None:
    old = "kueue.x-k8s.io/v1beta1"
    queue = a_queue(
        cohort="org",
        flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        preemption={
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
        },
    ) | {"apiVersion": old}
    job = a_workload(priority=None, priorityClassName="high", priorityClassSource="x")
    classed = {"apiVersion": old, "kind": "WorkloadPriorityClass", "value": 7}
    found = read(
        a_flavor(), queue, a_local_queue(), job | {"apiVersion": old},
        classed | {"metadata": {"name": "high"}},
    )  # fmt: skip
    assert found.problems == ()
    only = found.layout.queues[0]
    assert only.cohort == "org"
    assert only.fungibility.when_can_borrow is Search.MAY_STOP
    assert only.borrow_within == BorrowWithin(max_priority=5)
    assert found.waiting[0].priority == 7


def test_an_unknown_field_is_named_and_the_object_counts() -> None:
    found = read(a_flavor(), a_queue(admissionChecksStrategy={"x": 1}, quota=3), a_local_queue())
    assert [(p.object, p.field) for p in remarks(found)] == [
        ("ClusterQueue atlas", "spec.admissionChecksStrategy"),
        ("ClusterQueue atlas", "spec.quota"),
    ]
    assert len(found.layout.queues) == 1


def test_a_kind_without_bearing_is_named() -> None:
    found = read(*WHOLE, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    assert [(p.object, p.field) for p in remarks(found)] == [("Secret s", "kind")]


def _cycle() -> list[Document]:
    return [
        an_object("Cohort", "a", {"parentName": "b"}),
        an_object("Cohort", "b", {"parentName": "c"}),
        an_object("Cohort", "c", {"parentName": "b"}),
        a_queue("below", cohortName="a"),
    ]


def _twice() -> list[Document]:
    return [{"coveredResources": ["nvidia.com/gpu"], "flavors": a_group()["flavors"]}] * 2


BROKEN: dict[str, tuple[Sequence[Any], list[tuple[str, str]]]] = {
    "cycle of cohorts": (
        _cycle(),
        [
            ("Cohort a", "spec.parentName"),
            ("Cohort b", "spec.parentName"),
            ("Cohort c", "spec.parentName"),
            ("ClusterQueue below", "spec.cohortName"),
        ],
    ),
    "missing flavor": (
        [a_queue("odd", resourceGroups=[a_group(flavor="b200")])],
        [("ClusterQueue odd", "spec.resourceGroups[0].flavors[0].name")],
    ),
    "missing topology": (
        [a_flavor("odd", topologyName="fabric")],
        [("ResourceFlavor odd", "spec.topologyName")],
    ),
    "missing queue": (
        [a_local_queue("odd", "nowhere"), a_workload("odd", queue="odd")],
        [
            ("LocalQueue ml/odd", "spec.clusterQueue"),
            ("Workload ml/odd", "spec.queueName"),
        ],
    ),
    "negative quota": (
        [a_queue("odd", nominal=-1)],
        [("ClusterQueue odd", "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota")],
    ),
    "malformed quota": (
        [a_queue("odd", nominal="8 GPUs")],
        [("ClusterQueue odd", "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota")],
    ),
    "not a number": (
        [a_queue("odd", nominal=float("nan"))],
        [("ClusterQueue odd", "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota")],
    ),
    "negative weight": (
        [a_queue("odd", fairSharing={"weight": "-1"})],
        [("ClusterQueue odd", "spec.fairSharing.weight")],
    ),
    "duplicate name": ([a_queue()], [("ClusterQueue atlas", "metadata.name")]),
    "resource in two groups": (
        [a_queue("odd", resourceGroups=_twice())],
        [("ClusterQueue odd", "spec.resourceGroups[1]")],
    ),
    "flavor lacks a resource": (
        [
            a_queue(
                "odd",
                resourceGroups=[
                    {"coveredResources": ["nvidia.com/gpu", "cpu"], "flavors": a_group()["flavors"]}
                ],
            )
        ],
        [("ClusterQueue odd", "spec.resourceGroups[0].flavors[0].resources")],
    ),
    "odd word": (
        [a_queue("odd", queueingStrategy="Random")],
        [("ClusterQueue odd", "spec.queueingStrategy")],
    ),
    "borrowing without reclaim": (
        [a_queue("odd", preemption={"borrowWithinCohort": {"policy": "LowerPriority"}})],
        [("ClusterQueue odd", "spec.preemption.borrowWithinCohort")],
    ),
    "negative request": (
        [a_workload("odd", gpus="-1")],
        [
            (
                "Workload ml/odd",
                "spec.podSets[0].template.spec.containers[0].resources.requests.nvidia.com/gpu",
            )
        ],
    ),
    "uid of another": (
        [a_workload("odd") | {"metadata": a_workload("odd")["metadata"] | {"uid": "uid-job"}}],
        [("Workload ml/odd", "metadata.uid")],
    ),
    "running on no flavor": (
        [
            a_workload("odd")
            | {
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admission": {
                        "clusterQueue": "atlas",
                        "podSetAssignments": [
                            {"name": "main", "flavors": {"nvidia.com/gpu": "b200"}}
                        ],
                    },
                }
            }
        ],
        [("Workload ml/odd", "status.admission.podSetAssignments")],
    ),
    "no pod sets": ([a_workload("odd", podSets=[])], [("Workload ml/odd", "spec.podSets")]),
    "minimum above count": (
        [a_workload("odd", podSets=[{"count": 1, "minCount": 2, "template": {}}])],
        [("Workload ml/odd", "spec.podSets[0].minCount")],
    ),
    "unknown class": (
        [a_workload("odd", priority=None, priorityClassRef={"name": "gold"})],
        [("Workload ml/odd", "spec.priorityClassRef")],
    ),
    "no object": (["text"], [("document", "kind")]),
    "no name": ([{"kind": "ClusterQueue", "metadata": {}}], [("ClusterQueue", "metadata.name")]),
}


@pytest.mark.parametrize(("documents", "problems"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_is_refused_by_name_and_the_others_go_on(
    documents: Sequence[Any], problems: list[tuple[str, str]]
) -> None:
    found = read(*WHOLE, *documents)
    assert [(p.object, p.field) for p in refused(found)] == problems
    assert {p.source for p in refused(found)} == {"file.yaml"}
    assert [queue.name for queue in found.layout.queues] == ["atlas"]
    assert [workload.name for workload in found.waiting] == ["job"]


def test_a_namespace_must_be_selected() -> None:
    selector = {"matchLabels": {"team": "a"}}
    queue = a_queue(namespaceSelector=selector)
    labelled = {"apiVersion": "v1", "kind": "Namespace"}
    wrong = labelled | {"metadata": {"name": "ml", "labels": {"team": "b"}}}
    right = labelled | {"metadata": {"name": "ml", "labels": {"team": "a"}}}
    rest = (a_flavor(), queue, a_local_queue(), a_workload())
    assert [p.field for p in refused(read(wrong, *rest))] == ["metadata.namespace"]
    assert refused(read(right, *rest)) == []


def test_requests_follow_the_rules_for_containers() -> None:
    def container(gpus: int, **more: Any) -> Document:
        return {"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus}}, **more}

    pod = {
        "containers": [container(1), container(2)],
        "initContainers": [container(1, restartPolicy="Always"), container(6)],
        "overhead": {"nvidia.com/gpu": 1},
    }
    job = a_workload(podSets=[{"name": "main", "count": 2, "template": {"spec": pod}}])
    found = read(a_flavor(), a_queue(), a_local_queue(), job)
    assert found.waiting[0].pod_sets[0].requests == {GPU: 8}


def a_node(name: str, **more: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": "h100"}},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        },
        "spec": {"unschedulable": more.get("cordoned", False)},
    }


def test_quota_above_the_usable_nodes_is_named_with_the_gap() -> None:
    nodes = [a_node("n1"), a_node("n2", ready="False"), a_node("n3", cordoned=True)]
    found = read(a_flavor(), a_queue(nominal=20), *nodes)
    assert refused(found) == []
    assert [(p.object, p.field, p.message) for p in remarks(found)] == [
        (
            "ResourceFlavor h100",
            "nvidia.com/gpu",
            "has 20 of quota on nodes with 8: 12 too many",
        )
    ]


def test_pods_outside_any_workload_take_room() -> None:
    def a_pod(name: str, phase: str, **labels: str) -> Document:
        pod = a_workload(name)["spec"]["podSets"][0]["template"]["spec"]
        metadata = {"name": name, "labels": labels}
        spec = pod | {"nodeName": "n1"}
        status = {"phase": phase}
        return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec} | {
            "status": status
        }

    found = read(
        a_node("n1"),
        a_pod("stranger", "Running"),
        a_pod("over", "Succeeded"),
        a_pod("ours", "Running", **{"kueue.x-k8s.io/managed": "true"}),
    )
    node = found.nodes[0]
    assert (node.name, node.capacity) == (NodeName("n1"), {GPU: 7})
    assert node.outside[GPU] == 1


def test_who_runs_holds_what_was_granted() -> None:
    granted = {"name": "main", "count": 2, "flavors": {"nvidia.com/gpu": "h100"}}
    status = {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "lastTransitionTime": "2026-03-02T10:30:00Z",
            }
        ],
        "admission": {"clusterQueue": "atlas", "podSetAssignments": [granted]},
        "reclaimablePods": [{"name": "main", "count": 1}],
    }
    job = a_workload("runs") | {"status": status}
    over = a_workload("over") | {"status": {"conditions": [{"type": "Finished", "status": "True"}]}}
    found = read(*WHOLE, job, over)
    [(workload, admission)] = found.running
    assert (workload.name, admission.queue) == ("runs", "atlas")
    assert admission.assignments[0].count == 1
    assert [w.name for w in found.waiting] == ["job"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"usageHalfLifeTime": "0s"}, "usageHalfLifeTime"),
        ({"usageHalfLifeTime": "1h", "usageSamplingInterval": "0s"}, "usageSamplingInterval"),
        ({"usageHalfLifeTime": "soon"}, "settings.admissionFairSharing"),
        ({"usageHalfLifeTime": "1h", "resourceWeights": {"cpu": float("nan")}}, "cpu"),
        ({"usageHalfLifeTime": "1h", "resourceWeights": {"cpu": -1}}, "cpu"),
    ],
)
def test_settings_that_switch_fairness_off_unseen_are_refused(
    settings: dict[str, Any], field: str
) -> None:
    found, _ = check_settings({"admissionFairSharing": settings}, "case.yaml", "Case")
    manifests = read_manifests([("case.yaml", WHOLE)], found)
    assert [p.field.rsplit(".", 1)[-1] for p in refused(manifests)] == [field.rsplit(".", 1)[-1]]
    assert manifests.layout.usage is None


def test_an_unknown_setting_is_named() -> None:
    settings, problems = check_settings({"fairness": True}, "case.yaml", "Case")
    assert (settings.fair_sharing, settings.admission_fair_sharing) == (None, None)
    assert [p.field for p in problems] == ["fairness"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("168h", 604800), ("1h30m", 5400), ("500ms", 0.5), ("0", 0), ("90s", 90)]
)
def test_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "5 m", "-5m", "5d", "m"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        read_duration(text)


def test_pods_are_counted_where_the_queue_covers_them() -> None:
    covered = {
        "coveredResources": ["pods"],
        "flavors": [{"name": "any", "resources": [{"name": "pods", "nominalQuota": 3}]}],
    }
    queue = a_queue(resourceGroups=[a_group(), covered])
    found = read(a_flavor(), a_flavor("any"), queue, a_local_queue(), a_workload())
    assert found.waiting[0].pod_sets[0].requests == {GPU: 1, ResourceName("pods"): 1}
