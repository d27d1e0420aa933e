"""From series of single GPUs to requests: how many of the GPUs a request holds do nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bot.idle.prometheus import Sample

QUERY = (
    "avg by (namespace, pod, exported_namespace, exported_pod, gpu, UUID)"
    " (avg_over_time(DCGM_FI_DEV_GPU_UTIL[{window}]))"
)
"""Percent of each GPU's time in which a kernel ran, over a window; one series a GPU."""

RequestOf = Callable[[str, str], str | None]
"""The request that a pod (namespace and name) belongs to, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """GPUs of one request that were measured, and how many of them stayed below a threshold."""

    measured: int
    idle: int


def measure(samples: Iterable[Sample], request_of: RequestOf, below: float) -> Mapping[str, Use]:
    """The use of each request; `below` is the share of time, 0 to 1, under which a GPU is idle.

    Exporters name the pod they watch `exported_pod` where Prometheus keeps `pod` for itself.
    """
    measured: dict[str, int] = defaultdict(int)
    idle: dict[str, int] = defaultdict(int)
    for sample in samples:
        labels = sample.labels
        namespace = labels.get("exported_namespace") or labels.get("namespace", "")
        pod = labels.get("exported_pod") or labels.get("pod", "")
        request = request_of(namespace, pod) if pod else None
        if request is not None:
            measured[request] += 1
            idle[request] += sample.value < below * 100
    return {one: Use(measured=count, idle=idle[one]) for one, count in sorted(measured.items())}


def window(seconds: float) -> str:
    """A span as PromQL writes it."""
    return f"{max(1, round(seconds))}s"
