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
