"""From series of single GPUs to requests: how many of the GPUs a request holds do nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.clusters.base import SeenPod
from bot.idle.prometheus import Sample
from scheduler.model import Seconds

_POINTS, _ENOUGH = 10, 8  # moments of a window, and at how many there must have been a figure
_UTILISATION = "DCGM_FI_DEV_GPU_UTIL"

Vacancies = Callable[[], Mapping[str, Sequence[Seconds]]]
"""Since when GPUs of holds have been without a pod, one entry for each, by request."""

FindPod = Callable[[str, str], SeenPod | None]
"""The pod of a namespace and a name, as the cluster has it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """GPUs of one request that were measured, and how many of them stayed below a threshold.

    `vacant` of those had no pod all that time: they are a hold's, and not used at all.
    """

    measured: int
    idle: int
    vacant: int = 0


def query(seconds: Seconds) -> str:
    """What Prometheus is asked: percent of each GPU's time in which a kernel ran, over a window.

    One series a GPU. One that is not there now, or was not for most of the time, is left out: of
    what an exporter did not see nothing is known, and to have no figures is not to be idle.
    """
    whole = max(_POINTS, round(seconds * 1000))
    window, step = f"{whole}ms", f"{whole // _POINTS}ms"
    return (
        "avg by (namespace, pod, exported_namespace, exported_pod, gpu, UUID) ("
        f"avg_over_time({_UTILISATION}[{window}]) and {_UTILISATION}"
        f" and count_over_time({_UTILISATION}[{window}:{step}]) >= {_ENOUGH})"
    )


def measure(
    samples: Iterable[Sample], find_pod: FindPod, below: float, since: Seconds
) -> Mapping[str, Use]:
    """The use of each request; `below` is the share of time, 0 to 1, under which a GPU is idle.

    Figures have a pod's name only: those of one that began after `since`, the window's beginning,
    may be of another that had its name. Exporters name the pod they watch `exported_pod` where
    Prometheus keeps `pod` for itself.
    """
    measured: dict[str, int] = defaultdict(int)
    idle: dict[str, int] = defaultdict(int)
    for sample in samples:
        labels = sample.labels
        namespace = labels.get("exported_namespace") or labels.get("namespace", "")
        name = labels.get("exported_pod") or labels.get("pod", "")
        pod = find_pod(namespace, name) if name else None
        if pod is None or pod.request is None or not _ran(pod, since):
            continue
        measured[pod.request] += 1
        idle[pod.request] += sample.value < below * 100
    return {one: Use(measured=count, idle=idle[one]) for one, count in sorted(measured.items())}


def with_vacant(
    uses: Mapping[str, Use], vacancies: Mapping[str, Sequence[Seconds]], since: Seconds
) -> Mapping[str, Use]:
    """The uses with the GPUs that have no pod, which are idle if they have had none `since`."""
    found = dict(uses)
    for request, moments in sorted(vacancies.items()):
        use = found.get(request, Use(measured=0, idle=0))
        vacant = sum(moment <= since for moment in moments)
        found[request] = Use(
            measured=use.measured + len(moments), idle=use.idle + vacant, vacant=vacant
        )
    return found


def _ran(pod: SeenPod, since: Seconds) -> bool:
    """Whether it has run on its node from a moment until now."""
    return pod.runs and pod.since is not None and pod.since <= since
