"""GPUs that do nothing, from a real Prometheus to the owner's answer and the pods' end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.idle import prometheus
from bot.idle.measure import query
from bot.idle.prometheus import Prometheus
from bot.workspace.visitor import Visitor
from scheduler.policy import compile_policy, load_policy
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, LEA, POLICY, START
from tests.bot.idle.server import Exporter, Switch, exporting, serving, switching
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import ONCALL, SECONDS, Json, eventually
from tests.kube.server import ApiServer

MINUTE, HOUR = 60.0, 3600.0
AFTER = 2.0  # of Prometheus' time as of the world's
RULE = f"idle: {{below: 5, after: {AFTER:.0f}s, answer: 30m, keep: 4h, then: release}}"
BUSY, IDLE = 90.0, 0.0


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    with exporting() as made:
        yield made


@pytest.fixture(scope="module")
def switch(exporter: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switch]:
    folder = tmp_path_factory.mktemp("prometheus")
    with serving(exporter, folder) as url, switching(url) as made:
        yield made


class IdleRig(KubeRig):
    """A bot that asks Prometheus, and what GPUs do."""

    def __init__(self, folder: Path, api: ApiServer, exporter: Exporter, switch: Switch) -> None:
        self.exporter, self.switch = exporter, switch
        self.prometheus_url = switch.url
        text = POLICY.replace("    grace:", f"    {RULE}\n    grace:")
        super().__init__(folder, api, compile_policy(load_policy(text, "idle.yaml")))

    def use(self, share: float, *pods: str) -> None:
        """Have the GPUs of all running pods, or of some, busy for a share of the time; no others.

        Until Prometheus has seen that for as long as the policy says.
        """
        found = {}
        for pod in self.house.pods():
            meta, limits = pod["metadata"], pod["spec"]["containers"][0]["resources"]["limits"]
            if pod["status"]["phase"] == "Running" and (not pods or meta["name"] in pods):
                for gpu in range(int(limits["nvidia.com/gpu"])):
                    found[meta["namespace"], meta["name"], str(gpu)] = share
        self.exporter.gpus = found
        client = Prometheus(self.switch.behind)

        def seen() -> bool:
            return [one.value for one in client.query(query(AFTER))] == [share] * len(found)

        eventually(seen, seconds=SECONDS)

    def look(self) -> None:
        """Have the bot look at what is idle."""
        pulse = self.bot.ticker.pulses()["idle"]
        eventually(lambda: not pulse.busy)
        ran = pulse.ran
        self.bot.ticker.wake("idle")
        self.until(lambda: pulse.ran > ran and not pulse.busy)
        self.settled()

    def questions(self, who: Visitor) -> list[Json]:
        """What a person was told of idle GPUs."""
        return [one for one in who.messages(who.direct()) if "*Idle GPUs*" in one["text"]]

    def hold(self, who: Visitor, gpus: int = 4) -> str:
        """A hold, redeemed by a pod `work` that runs."""
        request = self.ask(who, f"/gpu {gpus} h100 20h team nlp")
        self.reach(request, S.RUNNING)
        self.house.create_pod("work", gpus, request=request)
        self.until(lambda: self.phase("work") == "Running")
        return request


@pytest.fixture
def rig(tmp_path: Path, api: ApiServer, exporter: Exporter, switch: Switch) -> Iterator[IdleRig]:
    api.clock.set(dt.datetime.fromtimestamp(START, dt.UTC))
    exporter.gpus, switch.down = {}, False
    built = IdleRig(tmp_path, api, exporter, switch)
    built.look()
    yield built
    built.close()


def dm(who: Visitor) -> str:
    """Where the bot speaks with one person."""
    return who.direct()


def labels(message: Json) -> list[str]:
    """What the buttons of a message say."""
    return [
        element["text"]["text"]
        for block in message["blocks"]
        for element in block.get("elements", ())
        if element.get("type") == "button"
    ]


def test_what_is_kept_is_not_asked_about_again_before_its_time(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    request = rig.hold(ada)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    (question,) = rig.questions(ada)
    assert request in question["text"]
    assert "4 of 4 GPUs" in question["text"]
    assert labels(question) == ["Keep", "Release"]
    ada.press(dm(ada), question["ts"], "gpubot.keep")
    eventually(lambda: any("is kept" in one["text"] for one in ada.messages(dm(ada))))
    rig.pass_time(4 * HOUR - MINUTE)
    rig.look()
    assert len(rig.questions(ada)) == 1
    rig.pass_time(2 * MINUTE)
    rig.look()
    assert len(rig.questions(ada)) == 2
    assert (rig.state(request), rig.phase("work")) == (S.RUNNING, "Running")


def test_what_is_released_is_gone_and_the_card_says_so(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    request = rig.hold(ada)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    (question,) = rig.questions(ada)
    ada.press(dm(ada), question["ts"], "gpubot.release")
    rig.reach(request, S.STOPPING)
    rig.pass_time(5 * MINUTE + 1.0)
    rig.reach(request, S.RELEASED)
    assert rig.phase("work") is None
    assert "0 of 48 GPUs in use" in rig.command(ada, "/gpu status")["text"]
    rig.wait_for(ada, f"*Released* · {request}")


@pytest.mark.parametrize("what", ["hold", "preemptible job", "preemptible run"])
def test_without_an_answer_what_may_be_released_is(rig: IdleRig, what: str) -> None:
    ada = rig.visitor(ADA)
    request = begin(rig, ada, what)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    assert "given back" in rig.questions(ada)[0]["text"]
    rig.pass_time(29 * MINUTE)
    rig.look()
    assert rig.state(request) is S.RUNNING
    rig.pass_time(2 * MINUTE)
    rig.look()
    rig.reach(request, S.STOPPING)
    rig.pass_time(5 * MINUTE + 1.0)
    rig.reach(request, S.RELEASED)
    rig.until(lambda: rig.phases() == [])
    assert "Nobody answered" in rig.questions(ada)[-1]["text"]
    rig.wait_for(ada, f"*Released* · {request}")


@pytest.mark.parametrize("what", ["job", "run"])
def test_guaranteed_training_goes_on_and_those_who_can_ask_are_told(
    rig: IdleRig, what: str
) -> None:
    ada, lea = rig.visitor(ADA), rig.visitor(LEA)
    request = begin(rig, ada, what)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    assert "nothing is stopped" in rig.questions(ada)[0]["text"]
    rig.pass_time(31 * MINUTE)
    rig.look()
    rig.pass_time(HOUR)
    rig.look()
    assert (rig.state(request), rig.phases()) == (S.RUNNING, ["Running"])
    assert len(rig.questions(ada)) == 1
    assert labels(rig.questions(lea)[0]) == ["Keep", "Release"]
    rig.wait_for(lea, "*Idle GPUs*", channel=ONCALL)


def test_a_replica_goes_on_for_its_controller_would_have_another(rig: IdleRig) -> None:
    lea = rig.visitor(LEA)
    deploy(rig.house, 1, preemptible="true")
    request = rig.until(lambda: next((one.id for one in rig.open()), None))
    rig.reach(request, S.RUNNING)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    assert "nothing is stopped" in rig.questions(lea)[0]["text"]
    rig.pass_time(31 * MINUTE)
    rig.look()
    assert ([one.id for one in rig.open()], rig.phases()) == ([request], ["Running"])


def test_who_has_given_gpus_back_is_asked_about_the_rest(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    rig.house.create_job("train", pods=2, gpus=4, annotations={"owner": ADA.id})
    request = rig.named("train")
    rig.reach(request, S.RUNNING)
    first = rig.pods_of("train")[0]["metadata"]["name"]
    rig.api.kubelet.finish(f"{TEAM}/{first}")
    rig.until(lambda: [one.gpus for one in rig.open()] == [4])
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    assert "4 of 4 GPUs" in rig.questions(ada)[0]["text"]


def begin(rig: IdleRig, who: Visitor, what: str) -> str:
    """Have something run on four GPUs."""
    loose = "preemptible" in what
    if what == "hold":
        return rig.hold(who)
    if what.endswith("run"):
        wish = f"/gpu run registry.example/t:2 4 h100 20h team nlp{' preemptible' * loose}"
        request = rig.ask(who, f"{wish} -- python train.py")
    else:
        more = {"preemptible": "true"} if loose else {}
        rig.house.create_job("train", pods=1, gpus=4, labels=more, annotations={"owner": ADA.id})
        request = rig.named("train")
    rig.reach(request, S.RUNNING)
    return request


def test_a_hold_that_nobody_uses_is_asked_about_and_given_back(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    request = rig.ask(ada, "/gpu 4 h100 20h team nlp")
    rig.reach(request, S.RUNNING)
    rig.look()
    assert rig.questions(ada) == []
    rig.pass_time(AFTER + 1.0)
    rig.look()
    (question,) = rig.questions(ada)
    assert "No pod has been on 4 of its 4 GPUs" in question["text"]
    rig.pass_time(31 * MINUTE)
    rig.look()
    rig.reach(request, S.RELEASED)
    rig.wait_for(ada, f"*Released* · {request}")


def test_a_pod_without_figures_is_not_idle(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    rig.hold(ada)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.use(IDLE, "none of them")  # its exporter is gone
    rig.look()
    assert rig.questions(ada) == []
    rig.use(IDLE)
    rig.look()
    assert len(rig.questions(ada)) == 1


def test_figures_of_an_earlier_pod_of_the_same_name_do_not_count(rig: IdleRig) -> None:
    ada = rig.visitor(ADA)
    request = rig.hold(ada)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/work", {})
    rig.until(lambda: rig.phase("work") is None)
    rig.house.create_pod("work", 4, request=request)
    rig.until(lambda: rig.phase("work") == "Running")
    rig.look()
    assert rig.questions(ada) == []
    rig.pass_time(AFTER + 1.0)
    rig.look()
    assert len(rig.questions(ada)) == 1


@pytest.mark.parametrize("slow", [False, True])
def test_a_prometheus_that_does_not_answer_changes_nothing_and_is_told_once(
    rig: IdleRig, slow: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ada = rig.visitor(ADA)
    request = rig.hold(ada)
    rig.pass_time(AFTER + 1.0)
    rig.use(IDLE)
    rig.look()
    rig.pass_time(HOUR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig.switch, "down", not slow)
        if slow:
            patch.setattr(prometheus, "LONGEST", -1.0)
        for _ in range(3):
            rig.look()
    assert (rig.state(request), len(rig.questions(ada))) == (S.RUNNING, 1)
    assert caplog.text.count("idle GPUs are not known") == 1
    rig.look()
    rig.reach(request, S.STOPPING)  # it did nothing all the time
