"""How many GPUs a pod asks for."""

from __future__ import annotations

from tests.kube.documents import Json, dig

GPU = "nvidia.com/gpu"


def gpus_of(spec: Json) -> int:
    """The sum over the containers of a pod's spec."""
    return sum(
        int(dig(each, "resources.requests", {}).get(GPU, 0)) for each in spec.get("containers", ())
    )
