"""LeaderWorkerSets as a bot sees what their controller makes: a leader and workers, by group."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import client as kube

from tests.kube.documents import Json
from tests.kube.leaderworkersets import INDEX, KEY, LEADER, NAME, PREFIX, REVISION, SIZE, WORKER
from tests.kube.samples import leader_worker_set
from tests.kube.server import ApiServer

WHERE = ("leaderworkerset.x-k8s.io", "v1", "team", "leaderworkersets")


@pytest.fixture
def api(api_server: ApiServer) -> ApiServer:
    api_server.serve_leader_worker_sets()
    return api_server


def _sets(api: ApiServer) -> Any:
    return kube.CustomObjectsApi(api.client("admin"))


def _create(api: ApiServer, *, replicas: int = 2, size: int = 2, **spec: Any) -> None:
    """One of pods without a gate, which come and run."""
    body = leader_worker_set("llama", replicas=replicas, size=size, gpus=4, **spec)
    del body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulingGates"]
    _sets(api).create_namespaced_custom_object(*WHERE, body)
    api.controllers.settle()


def _change(api: ApiServer, spec: Json) -> None:
    _sets(api).patch_namespaced_custom_object(*WHERE, "llama", {"spec": spec})


def _go_on(api: ApiServer, rounds: int = 3) -> None:
    for _ in range(rounds):
        api.controllers.settle()
        api.kubelet.confirm_all()
        api.controllers.settle()
        api.kubelet.start_all()
        api.controllers.settle()


def _pods(api: ApiServer) -> dict[str, Any]:
    core: Any = kube.CoreV1Api(api.client("admin"))
    return {pod.metadata.name: pod for pod in core.list_namespaced_pod("team").items}


def _uids(api: ApiServer) -> dict[str, str]:
    return {name: pod.metadata.uid for name, pod in _pods(api).items()}


def test_each_group_has_a_leader_and_its_workers_with_their_labels(api: ApiServer) -> None:
    _create(api, size=3)
    _go_on(api)
    pods = _pods(api)
    names = ["llama-0", "llama-0-1", "llama-0-2", "llama-1", "llama-1-1", "llama-1-2"]
    assert sorted(pods) == names
    leader, worker = pods["llama-1"].metadata, pods["llama-1-2"].metadata
    assert (leader.labels[NAME], leader.labels[INDEX], leader.labels[WORKER]) == ("llama", "1", "0")
    assert (worker.labels[NAME], worker.labels[INDEX], worker.labels[WORKER]) == ("llama", "1", "2")
    assert leader.labels[KEY] == worker.labels[KEY] != pods["llama-0"].metadata.labels[KEY]
    assert leader.labels[REVISION] == worker.labels[REVISION]
    assert (leader.annotations[SIZE], worker.annotations[SIZE]) == ("3", "3")
    assert worker.annotations[LEADER] == "llama-1"
    status = _sets(api).get_namespaced_custom_object(*WHERE, "llama")["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)


def test_scaled_down_the_highest_group_goes_whole(api: ApiServer) -> None:
    _create(api)
    _go_on(api)
    before = _uids(api)
    _change(api, {"replicas": 1})
    _go_on(api)
    assert _uids(api) == {name: before[name] for name in ("llama-0", "llama-0-1")}


def test_workers_come_when_the_leader_is_ready(api: ApiServer) -> None:
    _create(api, replicas=1, size=3, startupPolicy="LeaderReady")
    assert list(_pods(api)) == ["llama-0"]
    _go_on(api, 1)
    assert sorted(_pods(api)) == ["llama-0", "llama-0-1", "llama-0-2"]


@pytest.mark.parametrize("policy", ["RecreateGroupOnPodRestart", "None"])
def test_a_worker_that_is_deleted_takes_its_group_along_if_that_is_said(
    api: ApiServer, policy: str
) -> None:
    _create(api)
    _go_on(api)
    _change(api, {"leaderWorkerTemplate": {"restartPolicy": policy}})
    _go_on(api, 6)
    before = _uids(api)
    core: Any = kube.CoreV1Api(api.client("admin"))
    core.delete_namespaced_pod("llama-1-1", "team")
    _go_on(api)
    after = _uids(api)
    same = {name for name in before if after[name] == before[name]}
    kept = {"llama-0", "llama-0-1"} | ({"llama-1"} if policy == "None" else set())
    assert same == kept


def test_a_rollout_goes_from_the_highest_group_down_with_one_more_for_a_while(
    api: ApiServer,
) -> None:
    _create(api, rolloutStrategy={"rollingUpdateConfiguration": {"maxSurge": 1}})
    _go_on(api)
    before = _uids(api)
    template = {"metadata": {"annotations": {f"{PREFIX}/x": "2"}}}
    _change(api, {"leaderWorkerTemplate": {"workerTemplate": template}})
    seen = []
    for _ in range(8):
        _go_on(api, 1)
        seen.append({name for name, uid in _uids(api).items() if before.get(name) != uid})
    assert any({"llama-2", "llama-2-1"} <= names for names in seen)
    assert "llama-0" not in next(names for names in seen if "llama-1" in names)
    assert sorted(_uids(api)) == ["llama-0", "llama-0-1", "llama-1", "llama-1-1"]
    assert seen[-1] == {"llama-0", "llama-0-1", "llama-1", "llama-1-1"}
