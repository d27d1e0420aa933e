"""The official client against the emulator, end to end over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
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


def test_event_of_the_newer_group_is_the_same_object(api_server: ApiServer) -> None:
    events: Any = kube.EventsV1Api(api_server.client("admin"))
    core: Any = kube.CoreV1Api(api_server.client("admin"))
    body = {
        "metadata": {"name": "e"},
        "eventTime": "2026-03-02T08:00:00.000001Z",
        "regarding": {"kind": "Job", "name": "train", "namespace": "team"},
        "reason": "Admitted",
        "action": "Admit",
        "note": "granted",
        "type": "Normal",
        "reportingController": "gpubot.dev/bot",
        "reportingInstance": "gpubot-0",
    }
    assert events.create_namespaced_event("team", body).note == "granted"
    (listed,) = core.list_namespaced_event("team").items
    assert (listed.message, listed.involved_object.name) == ("granted", "train")
    events.patch_namespaced_event("e", "team", {"note": "granted again"})
    assert events.read_namespaced_event("e", "team").note == "granted again"


def test_bot_has_the_rights_that_are_shipped(api_server: ApiServer) -> None:
    api_server.grant_shipped_rights()
    leases: Any = kube.CoordinationV1Api(api_server.client("bot"))
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    leases.create_namespaced_lease("gpubot-system", {"metadata": {"name": "gpubot"}, "spec": {}})
    leases.read_namespaced_lease("gpubot", "gpubot-system")
    refusals: list[Callable[[], object]] = [
        lambda: leases.read_namespaced_lease("other", "gpubot-system"),
        lambda: leases.read_namespaced_lease("gpubot", "team"),
        lambda: core.patch_node("n1", {"metadata": {"labels": {"a": "b"}}}),
    ]
    for refused in refusals:
        with pytest.raises(kube.ApiException) as error:
            refused()
        assert error.value.status == 403


def test_shipped_policies_gate_pods_for_everybody_but_the_bot(api_server: ApiServer) -> None:
    api_server.add_namespace("managed", **{"gpubot.dev/managed": "true"})
    api_server.policies.install_shipped()
    person: Any = kube.CoreV1Api(api_server.client("alice"))
    bot: Any = kube.CoreV1Api(api_server.client("bot"))
    made = person.create_namespaced_pod("managed", pod("p", gated=False))
    assert [gate.name for gate in made.spec.scheduling_gates] == [GATE]
    merge = {"_content_type": "application/merge-patch+json"}
    with pytest.raises(kube.ApiException) as refused:
        person.patch_namespaced_pod("p", "managed", {"spec": {"schedulingGates": None}}, **merge)
    assert refused.value.status == 403
    assert "only gpubot may admit it, not alice" in str(refused.value.body)
    freed = bot.patch_namespaced_pod("p", "managed", {"spec": {"schedulingGates": None}}, **merge)
    assert freed.spec.scheduling_gates is None


def test_answers_carry_the_time_of_the_cluster(api_server: ApiServer) -> None:
    api_server.app.skew = timedelta(minutes=5)
    version: Any = kube.VersionApi(api_server.client("bot"))
    _, _, headers = version.get_code_with_http_info()
    assert headers["Date"] == "Mon, 02 Mar 2026 08:05:00 GMT"
