"""What is kept of objects, however little or garbled others have written."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clusters.kubernetes.facts import Phase, node_of, pod_of, requests_of
from bot.clusters.kubernetes.works import JobEnd, job_of
from scheduler import matching
from scheduler.model import GPU, Operator, Requirement, ResourceName, TaintEffect, Toleration

CPU = ResourceName("cpu")
META = {"name": "x", "namespace": "team", "uid": "u1", "resourceVersion": "7"}
GATE = {"name": "gpubot.dev/admission"}


def container(gpus: int, cpu: str = "1", **more: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus), "cpu": cpu}
    return {"name": "c", "resources": {"limits": limits}, **more}


def test_a_pod_takes_what_its_containers_take_together() -> None:
    assert requests_of({"containers": [container(2), container(1, "500m")]}, "x") == {
        "cpu": 1500,
        "nvidia.com/gpu": 3,
    }


def test_a_request_goes_before_a_limit() -> None:
    one = container(1, "4")
    one["resources"]["requests"] = {"cpu": "2"}
    assert requests_of({"containers": [one]}, "x")[CPU] == 2000


@pytest.mark.parametrize(
    ("level", "cpu"),
    [
        ({"requests": {"cpu": "9"}}, 9250),
        ({"requests": {"memory": "1Gi"}, "limits": {"cpu": "9"}}, 1250),  # the containers say less
        ({"limits": {"cpu": "9"}, "requests": {"cpu": "7"}}, 7250),
        ({}, 1250),
    ],
)
def test_what_is_said_of_a_pod_as_a_whole_stands_in_for_its_containers(
    level: dict[str, Any], cpu: int
) -> None:
    spec = {"containers": [container(1)], "resources": level, "overhead": {"cpu": "250m"}}
    found = requests_of(spec, "x")
    assert (found[CPU], found[GPU]) == (cpu, 1)


def test_a_limit_of_the_pod_counts_where_no_container_asks() -> None:
    bare = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [bare], "resources": {"limits": {"cpu": "9", "nvidia.com/gpu": "8"}}}
    found = requests_of(spec, "x")
    assert (found[CPU], found[GPU]) == (9000, 1)


@pytest.mark.parametrize(
    ("terms", "lets_in"),
    [
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n5"]}]}], {"n5"}),
        (
            [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n5"]}]}],
            {"n6"},
        ),
        ([{"matchFields": [{"key": "spec.x", "operator": "In", "values": ["n5"]}]}], set()),
        ([{"matchExpressions": []}], set()),
        ([{}, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}], {"n6"}),
    ],
)
def test_a_node_can_be_meant_by_its_name(terms: list[Any], lets_in: set[str]) -> None:
    body = job()
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    body["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    (pods,) = job_of(body).pod_sets
    marks: dict[str, dict[str, str]] = {"n5": {"metadata.name": "n6"}, "n6": {"a": "b"}}
    nodes = [node_of({"metadata": {"name": name, "labels": marks[name]}}) for name in marks]
    assert {node.name for node in nodes if matching.lets_in(node, pods, ())} == lets_in


def test_the_largest_first_step_counts_and_a_sidecar_counts_with_all() -> None:
    spec = {
        "containers": [container(1)],
        "initContainers": [
            container(0, "2", restartPolicy="Always"),
            container(4, "1"),
        ],
    }
    assert requests_of(spec, "x") == {"cpu": 3000, "nvidia.com/gpu": 4}


def test_overhead_is_added() -> None:
    spec = {"containers": [container(1)], "overhead": {"cpu": "250m"}}
    assert requests_of(spec, "x")[CPU] == 1250


def test_an_amount_that_cannot_be_read_is_left_out() -> None:
    assert "cpu" not in requests_of({"containers": [container(1, "much")]}, "x")


@pytest.mark.parametrize(
    ("phase", "node", "occupies"),
    [
        ("Pending", None, False),
        ("Pending", "n1", True),
        ("Running", "n1", True),
        ("Succeeded", "n1", False),
        ("Failed", "n1", False),
        ("Nonsense", "n1", True),
    ],
)
def test_a_bound_pod_occupies_until_it_has_ended(
    phase: str, node: str | None, occupies: bool
) -> None:
    spec = {"containers": [container(1)], "nodeName": node}
    pod = pod_of({"metadata": META, "spec": spec, "status": {"phase": phase}})
    assert pod.occupies is occupies


def test_a_terminating_pod_still_occupies() -> None:
    meta = {**META, "deletionTimestamp": "2026-03-02T08:00:00Z"}
    spec = {"containers": [container(1)], "nodeName": "n1"}
    pod = pod_of({"metadata": meta, "spec": spec, "status": {"phase": "Running"}})
    assert (pod.terminating, pod.occupies) == (True, True)


def test_the_shape_of_a_pod_is_kept_only_while_it_waits() -> None:
    spec = {"containers": [container(1)], "nodeSelector": {"a": "b"}}
    waits = pod_of({"metadata": META, "spec": {**spec, "schedulingGates": [GATE]}})
    assert waits.gated
    assert waits.shape is not None
    assert waits.shape.node_selector == {"a": "b"}
    assert pod_of({"metadata": META, "spec": spec}).shape is None


def test_a_completion_index_that_is_no_number_is_none() -> None:
    """Anybody may write it on a pod; one pod must not keep the others from being read."""
    meta = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    marks = {"batch.kubernetes.io/job-completion-index": "\u00b2"}
    assert pod_of({"metadata": {**meta, "annotations": marks}}).index is None


def test_a_pod_without_anything_can_be_read() -> None:
    pod = pod_of({"metadata": META})
    assert (pod.phase, pod.node, pod.requests, pod.ready) == (Phase.UNKNOWN, None, {}, False)


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": META, "spec": {"template": {"spec": {"containers": []}}, **spec}}


@pytest.mark.parametrize(
    ("spec", "pods", "once"),
    [
        ({}, 1, False),
        ({"parallelism": 4, "completions": 4}, 4, True),
        ({"parallelism": 4, "completions": 2}, 2, True),
        ({"parallelism": 2, "completions": 10}, 2, False),
    ],
)
def test_the_pods_of_a_job_are_those_that_run_at_once(
    spec: dict[str, int], pods: int, once: bool
) -> None:
    read = job_of(job(**spec))
    assert (read.pods, read.once) == (pods, once)


def test_a_job_ends_by_its_last_condition() -> None:
    body = job()
    body["status"] = {"conditions": [{"type": "FailureTarget", "status": "True"}]}
    assert (job_of(body).end, job_of(body).closing) == (None, JobEnd.FAILED)
    body["status"]["conditions"].append({"type": "Failed", "status": "True"})
    assert job_of(body).end is JobEnd.FAILED


def test_what_we_pinned_is_not_what_its_maker_asked_for() -> None:
    body = job()
    body["metadata"] = {**META, "annotations": {"gpubot.dev/pinned": "true"}}
    body["spec"]["template"]["spec"] |= {
        "nodeSelector": {"kubernetes.io/hostname": "n1", "disk": "fast"},
        "schedulingGates": [GATE, {"name": "other"}],
    }
    shape = job_of(body).shape
    assert shape.node_selector == {"disk": "fast"}
    assert shape.gates == ("other",)


def test_affinity_and_tolerations_are_read_as_the_engine_knows_them() -> None:
    body = job()
    body["spec"]["template"]["spec"] |= {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
                    ]
                }
            }
        },
        "tolerations": [
            {"key": "spot", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "a", "value": "b"},
        ],
    }
    shape = job_of(body).shape
    assert shape.affinity == ((Requirement(key="k", operator=Operator.IN, values=("v",)),),)
    assert shape.tolerations == (
        Toleration(key="spot", value=None, effect=TaintEffect.NO_SCHEDULE),
        Toleration(key="a", value="b", effect=None),
    )


@pytest.mark.parametrize(
    ("taint", "ready"),
    [("node.kubernetes.io/unreachable", False), ("node.kubernetes.io/unschedulable", True)],
)
def test_a_node_is_as_ready_as_its_taints_let_it_be(taint: str, ready: bool) -> None:
    body = {
        "metadata": {"name": "n1"},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    node = node_of(body)
    assert (node.ready, node.taints, node.schedulable) == (ready, (), True)
    assert node.capacity == {"nvidia.com/gpu": 8}
