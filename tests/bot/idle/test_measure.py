"""From series to requests."""

from __future__ import annotations

import pytest

from bot.idle.measure import Use, measure, window
from bot.idle.prometheus import Sample

PODS = {("nlp", "train-0"): "R-1001", ("nlp", "train-1"): "R-1001", ("vision", "note"): "R-1002"}


def gpu(namespace: str, pod: str, value: float, **labels: str) -> Sample:
    return Sample(labels={"namespace": namespace, "pod": pod, **labels}, value=value, at=0.0)


def request_of(namespace: str, pod: str) -> str | None:
    return PODS.get((namespace, pod))


def test_gpus_are_counted_by_request_and_below_the_threshold() -> None:
    samples = [
        gpu("nlp", "train-0", 0.0, gpu="0"),
        gpu("nlp", "train-0", 4.9, gpu="1"),
        gpu("nlp", "train-1", 5.0, gpu="0"),
        gpu("vision", "note", 97.5),
        gpu("other", "unknown", 0.0),
    ]
    assert measure(samples, request_of, 0.05) == {
        "R-1001": Use(measured=3, idle=2),
        "R-1002": Use(measured=1, idle=0),
    }


def test_what_the_exporter_watches_goes_before_the_exporter_itself() -> None:
    own = {"exported_namespace": "vision", "exported_pod": "note"}
    found = measure([gpu("gpu-operator", "dcgm-x7", 1.0, **own)], request_of, 0.05)
    assert found == {"R-1002": Use(measured=1, idle=1)}


def test_a_series_without_a_pod_is_nobodys() -> None:
    assert measure([gpu("", "", 0.0)], request_of, 0.05) == {}


@pytest.mark.parametrize(("seconds", "text"), [(3600.0, "3600s"), (0.2, "1s"), (90.4, "90s")])
def test_a_window_is_a_span_of_promql(seconds: float, text: str) -> None:
    assert window(seconds) == text
