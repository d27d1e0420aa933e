"""The cluster's loops, step by step, as a bot sees their work."""

from __future__ import annotations

from typing import Any

from kubernetes import client as kube

from tests.kube.samples import job, pod_spec
from tests.kube.server import ApiServer


def _pods(api: ApiServer) -> list[Any]:
    core: Any = kube.CoreV1Api(api.client("bot"))
    listed: list[Any] = core.list_namespaced_pod("team").items
    return listed


def test_job_lives_from_admission_to_completion(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    batch.create_namespaced_job("team", job("train", pods=2))
    api_server.controllers.settle()
    assert _pods(api_server) == []
    batch.patch_namespaced_job("train", "team", {"spec": {"suspend": False}})
    api_server.controllers.settle()
    assert [pod.spec.node_name for pod in _pods(api_server)] == ["n1", "n2"]
    api_server.kubelet.start_all()
    api_server.controllers.settle()
    assert batch.read_namespaced_job("train", "team").status.ready == 2
    for pod in _pods(api_server):
        api_server.kubelet.finish(f"team/{pod.metadata.name}")
    api_server.controllers.settle()
    status = batch.read_namespaced_job("train", "team").status
    assert status.succeeded == 2
    assert [each.type for each in status.conditions][-2:] == ["SuccessCriteriaMet", "Complete"]


def test_suspended_job_holds_its_nodes_until_the_kubelet_confirms(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    batch.create_namespaced_job("team", job("train", pods=2, suspend=False))
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    batch.patch_namespaced_job("train", "team", {"spec": {"suspend": True}})
    api_server.controllers.settle()
    assert all(pod.metadata.deletion_timestamp for pod in _pods(api_server))
    assert batch.read_namespaced_job("train", "team").status.terminating == 2
    assert api_server.kubelet.confirm_all() == 2
    api_server.controllers.settle()
    assert _pods(api_server) == []
    status = batch.read_namespaced_job("train", "team").status
    assert (status.failed, status.terminating) == (None, 0)


def test_lost_pod_is_replaced_after_ten_seconds(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    batch.create_namespaced_job("team", job("train", pods=1, suspend=False))
    api_server.controllers.settle()
    core.delete_namespaced_pod(_pods(api_server)[0].metadata.name, "team")
    api_server.controllers.settle()
    assert len(_pods(api_server)) == 1
    api_server.advance(10)
    api_server.controllers.settle()
    assert len(_pods(api_server)) == 2


def test_silent_node_keeps_its_pods_terminating(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    batch.create_namespaced_job("team", job("train", pods=1, suspend=False))
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    api_server.kubelet.silence("n1")
    api_server.advance(51)
    api_server.controllers.settle()
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    taints = core.read_node("n1").spec.taints
    assert {taint.key for taint in taints} == {"node.kubernetes.io/unreachable"}
    api_server.advance(301)
    api_server.controllers.settle()
    assert _pods(api_server)[0].metadata.deletion_timestamp is not None
    assert api_server.kubelet.confirm_all() == 0


def test_deployment_fills_up_and_replaces_what_is_evicted(api_server: ApiServer) -> None:
    apps: Any = kube.AppsV1Api(api_server.client("alice"))
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": job("x")["spec"]["template"]["spec"] | {"restartPolicy": "Always"},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    apps.create_namespaced_deployment("team", {"metadata": {"name": "web"}, "spec": spec})
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    api_server.controllers.settle()
    assert apps.read_namespaced_deployment("web", "team").status.available_replicas == 2
    first = _pods(api_server)[0].metadata.name
    eviction = {"metadata": {"name": first, "namespace": "team"}}
    core.create_namespaced_pod_eviction(first, "team", eviction)
    api_server.controllers.settle()
    assert len(_pods(api_server)) == 3


def _stateful_set(api: ApiServer, **more: object) -> Any:
    apps: Any = kube.AppsV1Api(api.client("bot"))
    spec = {
        "replicas": 2,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": pod_spec(1)},
        **more,
    }
    apps.create_namespaced_stateful_set("team", {"metadata": {"name": "db"}, "spec": spec})
    for _ in range(3):
        api.controllers.settle()
        api.kubelet.start_all()
    api.controllers.settle()
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x:2"}]}}}}
    apps.patch_namespaced_stateful_set("db", "team", image)
    return apps


def _images(api: ApiServer) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.containers[0].image for pod in _pods(api)}


def test_stateful_set_rolls_from_its_highest_ordinal_down(api_server: ApiServer) -> None:
    apps = _stateful_set(api_server)
    api_server.controllers.settle()
    gone = [pod.metadata.name for pod in _pods(api_server) if pod.metadata.deletion_timestamp]
    assert gone == ["db-1"]
    api_server.kubelet.confirm_all()
    api_server.controllers.settle()
    assert _images(api_server) == {"db-0": "example.com/train:1", "db-1": "x:2"}
    status = apps.read_namespaced_stateful_set("db", "team").status
    assert status.current_revision != status.update_revision
    assert (status.ready_replicas, status.updated_replicas) == (1, 1)
    api_server.kubelet.start_all()
    api_server.controllers.settle()
    api_server.kubelet.confirm_all()
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    api_server.controllers.settle()
    assert set(_images(api_server).values()) == {"x:2"}
    status = apps.read_namespaced_stateful_set("db", "team").status
    assert status.current_revision == status.update_revision
    assert status.updated_replicas == 2


def test_stateful_set_updates_on_delete_only_what_is_deleted(api_server: ApiServer) -> None:
    _stateful_set(api_server, updateStrategy={"type": "OnDelete"})
    api_server.controllers.settle()
    assert set(_images(api_server).values()) == {"example.com/train:1"}
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    core.delete_namespaced_pod("db-0", "team")
    api_server.kubelet.confirm_all()
    api_server.controllers.settle()
    assert _images(api_server) == {"db-0": "x:2", "db-1": "example.com/train:1"}


def test_stateful_set_leaves_what_is_below_the_partition(api_server: ApiServer) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    _stateful_set(api_server, updateStrategy=rolling)
    for _ in range(3):
        api_server.controllers.settle()
        api_server.kubelet.confirm_all()
        api_server.controllers.settle()
        api_server.kubelet.start_all()
    assert _images(api_server) == {"db-0": "example.com/train:1", "db-1": "x:2"}


def test_job_set_lets_its_jobs_go_together(api_server: ApiServer) -> None:
    api_server.serve_job_sets()
    sets: Any = kube.CustomObjectsApi(api_server.client("admin"))
    where = ("jobset.x-k8s.io", "v1alpha2", "team", "jobsets")
    groups = [
        {"name": "leader", "replicas": 1, "template": {"spec": job("x", pods=1)["spec"]}},
        {"name": "workers", "replicas": 2, "template": {"spec": job("x", pods=1)["spec"]}},
    ]
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"suspend": True, "replicatedJobs": groups},
    }
    sets.create_namespaced_custom_object(*where, body)
    api_server.controllers.settle()
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    made = batch.list_namespaced_job("team").items
    assert [each.metadata.name for each in made] == [
        "train-leader-0",
        "train-workers-0",
        "train-workers-1",
    ]
    assert all(each.spec.suspend for each in made)
    for group in groups:
        spec: Any = group["template"]
        spec["spec"]["template"]["spec"]["nodeSelector"] = {"topology.gpubot.dev/rack": "r2"}
    patch = {"spec": {"suspend": False, "replicatedJobs": groups}}
    sets.patch_namespaced_custom_object(*where, "train", patch)
    api_server.controllers.settle()
    assert sorted(str(pod.spec.node_name) for pod in _pods(api_server)) == ["None", "n3", "n4"]
    status = sets.get_namespaced_custom_object(*where, "train")["status"]
    assert [each["active"] for each in status["replicatedJobsStatus"]] == [1, 2]
    sets.patch_namespaced_custom_object(*where, "train", {"spec": {"suspend": True}})
    api_server.controllers.settle()
    api_server.kubelet.confirm_all()
    api_server.controllers.settle()
    assert _pods(api_server) == []


def test_node_that_vanishes_takes_its_pods_along(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    core: Any = kube.CoreV1Api(api_server.client("bot"))
    batch.create_namespaced_job("team", job("train", pods=2, suspend=False))
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    assert api_server.kubelet.vanish("n1") == 1
    api_server.change_node("n1", ready=False, gpus=0)
    api_server.controllers.settle()
    node = core.read_node("n1")
    assert node.status.allocatable["nvidia.com/gpu"] == "0"
    assert {taint.key for taint in node.spec.taints} == {"node.kubernetes.io/not-ready"}
    api_server.advance(10)
    api_server.controllers.settle()
    assert batch.read_namespaced_job("train", "team").status.failed == 1
    assert [pod.spec.node_name for pod in _pods(api_server)] == ["n3", "n2"]
