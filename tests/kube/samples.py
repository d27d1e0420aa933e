"""Objects as people write them."""

from __future__ import annotations

from tests.kube.documents import Json

GATE = "gpubot.dev/admission"


def pod_spec(gpus: int = 1, **more: object) -> Json:
    return {
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "main",
                "image": "example.com/train:1",
                "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
            }
        ],
        **more,
    }


def pod(name: str, *, gpus: int = 1, gated: bool = True, **labels: str) -> Json:
    more = {"schedulingGates": [{"name": GATE}]} if gated else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": pod_spec(gpus, **more),
    }


def job_set(name: str, *parts: Json, suspend: bool = True, **labels: str) -> Json:
    """A JobSet of `part(...)`s."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {"suspend": suspend, "replicatedJobs": list(parts)},
    }


def part(name: str, *, replicas: int = 1, pods: int = 1, gpus: int = 8, **more: object) -> Json:
    """So many Jobs of so many pods, each of so many GPUs; `more` is of the Job."""
    spec: Json = {
        "completions": pods,
        "parallelism": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": pod_spec(gpus, restartPolicy="Never")},
    }
    return {"name": name, "replicas": replicas, "template": {"spec": {**spec, **more}}}


def job(name: str, *, pods: int = 4, gpus: int = 8, suspend: bool = True, **labels: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completions": pods,
            "parallelism": pods,
            "completionMode": "Indexed",
            "suspend": suspend,
            "template": {"spec": pod_spec(gpus, restartPolicy="Never")},
        },
    }


def leader_worker_set(
    name: str,
    *,
    replicas: int = 1,
    size: int = 2,
    gpus: int = 8,
    leader: Json | None = None,
    **spec: object,
) -> Json:
    """A LeaderWorkerSet of pods at our gate; `leader` is the pod spec of leaders, if another."""
    labels = {"gpubot.dev/team": "nlp"}

    def template(pod: Json) -> Json:
        return {"metadata": {"labels": dict(labels)}, "spec": pod}

    groups: Json = {
        "size": size,
        "workerTemplate": template(pod_spec(gpus, schedulingGates=[{"name": GATE}])),
    }
    if leader is not None:
        groups["leaderTemplate"] = template(leader)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": groups, **spec},
    }
