"""The official client against the emulator, end to end over HTTP."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from kubernetes import client as kube
from kubernetes import watch

from tests.kube.samples import GATE, job, pod
from tests.kube.server import ApiServer


def test_client_lists_nodes(api_server: ApiServer) -> None:
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    listed = core.list_node()
    assert [node.metadata.name for node in listed.items] == ["n1", "n2", "n3", "n4"]
    assert listed.items[0].status.allocatable["nvidia.com/gpu"] == "8"


def test_gate_comes_off_by_merge_patch(api_server: ApiServer) -> None:
    person: Any = kube.CoreV1Api(api_server.client("alice"))
    bot: Any = kube.CoreV1Api(api_server.client("bot"))
    made = person.create_namespaced_pod("team", pod("p"))
    assert made.spec.scheduling_gates[0].name == GATE
    body = {"spec": {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "n2"}}}
    freed = bot.patch_namespaced_pod(
        "p", "team", body, _content_type="application/merge-patch+json"
    )
    assert freed.spec.scheduling_gates is None
    assert freed.spec.node_selector == {"kubernetes.io/hostname": "n2"}


def test_job_is_created_suspended_and_started(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("alice"))
    made = batch.create_namespaced_job("team", job("train"))
    assert made.spec.template.metadata.labels["job-name"] == "train"
    started = batch.patch_namespaced_job("train", "team", {"spec": {"suspend": False}})
    assert started.spec.suspend is False
    assert started.metadata.generation == 2


def test_lease_needs_the_version_it_was_read_with(api_server: ApiServer) -> None:
    leases: Any = kube.CoordinationV1Api(api_server.client("bot"))
    body = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a"}}
    made = leases.create_namespaced_lease("gpubot-system", body)
    made.spec.holder_identity = "b"
    leases.replace_namespaced_lease("leader", "gpubot-system", made)
    with pytest.raises(kube.ApiException) as refused:
        leases.replace_namespaced_lease("leader", "gpubot-system", made)
    assert refused.value.status == 409


def test_watch_sees_each_write_once(api_server: ApiServer) -> None:
    bot: Any = kube.CoreV1Api(api_server.client("bot"))
    person: Any = kube.CoreV1Api(api_server.client("alice"))
    version = bot.list_namespaced_pod("team").metadata.resource_version
    seen: list[tuple[str, str]] = []

    follow_up: Any = cast("Any", watch).Watch()

    def follow() -> None:
        stream = follow_up.stream(
            bot.list_namespaced_pod, "team", resource_version=version, timeout_seconds=60
        )
        for event in stream:
            item: Any = event["object"]
            seen.append((event["type"], item.metadata.name))

    follower = threading.Thread(target=follow)
    follower.start()
    person.create_namespaced_pod("team", pod("p"))
    person.patch_namespaced_pod("p", "team", {"metadata": {"labels": {"a": "b"}}})
    person.delete_namespaced_pod("p", "team")
    api_server.advance(61)
    follower.join(timeout=10)
    assert not follower.is_alive()
    assert seen == [("ADDED", "p"), ("MODIFIED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]
