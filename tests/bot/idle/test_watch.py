"""From a real Prometheus to a question, without a word where there is no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from bot.clusters.base import SeenPod
from bot.idle.prometheus import Prometheus
from bot.idle.watch import IdleWatch
from scheduler.policy import compile_policy, load_policy
from tests.bot.house import POLICY, START, START_DELAY, House
from tests.bot.idle.server import exporting, scraping
from tests.bot.idle.test_measure import a_pod
from tests.fixtures_workspace import eventually

RULE = "idle: {below: 5, after: 2s, answer: 30m, keep: 4h, then: tell}"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    text = POLICY.replace("after_lease: release", f"after_lease: release\n    {RULE}", 1)
    built = House(tmp_path, compile_policy(load_policy(text, "idle.yaml")))
    built.step()
    yield built
    built.close()


def watch(
    house: House, prometheus: Prometheus | None, vacant: Mapping[str, Sequence[float]] | None = None
) -> IdleWatch:
    def find_pod(namespace: str, name: str) -> SeenPod | None:
        return a_pod(namespace, name, name.upper(), since=START) if namespace == "nlp" else None

    leads = house.core.directory.leads
    return IdleWatch(house.control, prometheus, find_pod, lambda: vacant or {}, leads)


def running(house: House) -> str:
    request = house.ask(gpus=2)
    house.step()
    house.step(START_DELAY)
    house.clock.advance(60.0)
    return request


def test_an_owner_is_asked_for_what_prometheus_saw(house: House, tmp_path: Path) -> None:
    request = running(house)
    with exporting() as exporter:
        exporter.gpus = {("nlp", request.lower(), str(gpu)): 0.0 for gpu in range(2)}
        with scraping(exporter, tmp_path) as prometheus:
            look = watch(house, prometheus).look

            def asked() -> bool:
                look()
                return bool(house.said("idle"))

            eventually(asked, seconds=30.0)
            look()
            assert len(house.said("idle")) == 2  # the owner and the thread


def test_without_an_answer_nobody_is_asked(house: House, caplog: pytest.LogCaptureFixture) -> None:
    running(house)
    with exporting() as exporter:
        looking = watch(house, Prometheus(f"http://127.0.0.1:{exporter.server_port}"))
        for _ in range(3):
            looking.look()
    assert house.said("idle") == []
    assert caplog.text.count("idle GPUs are not known") == 1


@pytest.mark.parametrize("silent", [False, True], ids=["no Prometheus", "one that is silent"])
def test_gpus_that_no_pod_is_on_are_asked_about_without_figures(house: House, silent: bool) -> None:
    request = running(house)
    begun = house.clock.now()
    prometheus = Prometheus("http://127.0.0.1:9") if silent else None
    house.clock.advance(1.0)
    watch(house, prometheus, {request: (begun, begun)}).look()
    assert house.said("idle") == []  # for less than the policy's time
    house.clock.advance(1.0)
    watch(house, prometheus, {request: (begun, begun)}).look()
    assert {item.notice.args["vacant"] for item in house.said("idle")} == {2}
