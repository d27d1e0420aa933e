"""How many GPUs a pod asks for."""

from __future__ import annotations

from tests.kube.documents import Json, dig

GPU = "nvidia.com/gpu"


def gpus_of(spec: Json) -> int:
    """The sum over the containers of a pod's spec."""
    containers = spec.get("containers", ())
    return sum(int(dig(each, "resources.requests", {}).get(GPU, 0)) for each in containers)
