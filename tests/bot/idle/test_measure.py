"""From series to requests."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clusters.base import SeenPod
from bot.idle.measure import Use, measure, with_vacant
from bot.idle.prometheus import Sample
from storage.records import ObjectRef

PODS = {("nlp", "train-0"): "R-1001", ("nlp", "train-1"): "R-1001", ("vision", "note"): "R-1002"}
SINCE = 5_000.0


def gpu(namespace: str, pod: str, value: float, **labels: str) -> Sample:
    return Sample(labels={"namespace": namespace, "pod": pod, **labels}, value=value, at=0.0)


def a_pod(namespace: str, name: str, request: str | None, **more: Any) -> SeenPod:
    ref = ObjectRef(kind="Pod", namespace=namespace, name=name, uid="u-1")
    there: dict[str, Any] = {"node": "n1", "requests": {}, "runs": True, "since": SINCE, **more}
    return SeenPod(ref=ref, request=request, **there)


def find_pod(namespace: str, name: str) -> SeenPod | None:
    request = PODS.get((namespace, name))
    return None if request is None else a_pod(namespace, name, request)


def test_gpus_are_counted_by_request_and_below_the_threshold() -> None:
    samples = [
        gpu("nlp", "train-0", 0.0, gpu="0"),
        gpu("nlp", "train-0", 4.9, gpu="1"),
        gpu("nlp", "train-1", 5.0, gpu="0"),
        gpu("vision", "note", 97.5),
        gpu("other", "unknown", 0.0),
    ]
    assert measure(samples, find_pod, 0.05, SINCE) == {
        "R-1001": Use(measured=3, idle=2),
        "R-1002": Use(measured=1, idle=0),
    }


def test_what_the_exporter_watches_goes_before_the_exporter_itself() -> None:
    own = {"exported_namespace": "vision", "exported_pod": "note"}
    found = measure([gpu("gpu-operator", "dcgm-x7", 1.0, **own)], find_pod, 0.05, SINCE)
    assert found == {"R-1002": Use(measured=1, idle=1)}


def test_a_series_without_a_pod_is_nobodys() -> None:
    assert measure([gpu("", "", 0.0)], find_pod, 0.05, SINCE) == {}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"since": SINCE + 1.0}, id="of another pod that had its name"),
        pytest.param({"since": None}, id="of one that does not run yet"),
        pytest.param({"runs": False}, id="of one that is leaving"),
        pytest.param({"request": None}, id="of one that is nobody's"),
    ],
)
def test_figures_are_not_counted(more: dict[str, Any]) -> None:
    found = a_pod("nlp", "train-0", **{"request": "R-1001", **more})
    assert measure([gpu("nlp", "train-0", 0.0)], lambda *_: found, 0.05, SINCE) == {}


def test_gpus_without_a_pod_count_with_those_that_have_figures() -> None:
    uses = {"R-1": Use(measured=2, idle=1), "R-2": Use(measured=1, idle=0)}
    found = with_vacant(uses, {"R-1": (5.0, 10.0, 11.0), "R-3": (1.0,)}, since=10.0)
    assert found == {
        "R-1": Use(measured=5, idle=3, vacant=2),
        "R-2": Use(measured=1, idle=0),
        "R-3": Use(measured=1, idle=1, vacant=1),
    }
