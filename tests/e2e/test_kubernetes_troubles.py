"""Who is stopped, loses a node or is not whole in time on Kubernetes, and who hears of it."""

from __future__ import annotations

from bot.clusters.kubernetes.fleet import PATIENCE
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import GENERAL, ONCALL

NIGHT = {"preemptible": "true"}
MINE = {"owner": ADA.id}
OPPORTUNISTIC_GRACE = 120.0


def used(kube: KubeRig) -> int:
    """GPUs that are not free, by the engine."""
    return kube.house.control.read(lambda engine: engine.figures().used)


def test_a_preempted_job_is_suspended_whole_and_all_concerned_hear_of_it(kube: KubeRig) -> None:
    ada, ben = kube.visitor(ADA), kube.visitor(BEN)
    kube.house.create_job("night", pods=6, gpus=8, labels=NIGHT, annotations=MINE)
    night = kube.named("night")
    kube.reach(night, S.RUNNING)
    hero = kube.ask(ben, "/gpu 4 nodes h100 8h name hero priority high")
    kube.reach(night, S.PREEMPTING)
    for channel in (GENERAL, ONCALL):
        told = kube.wait_for(ada, "*Preemption*", channel=channel)["text"]
        assert all(word in told for word in (night, "night", hero, "hero"))
        assert ("<!subteam^S0ONCALL>" in told) == (channel == ONCALL)
    mine = kube.wait_for(ada, f"*Being preempted* · {night}", channel=ada.direct())
    assert "2 min to stop" in mine["text"]
    # It was given notice, and time: all of its pods are as they were.
    kube.until(lambda: "gpubot.dev/stop-at" in kube.house.job("night")["metadata"]["annotations"])
    assert kube.phases() == ["Running"] * 6
    assert used(kube) == 48

    kube.confirms = False  # the containers take their time to end
    kube.pass_time(OPPORTUNISTIC_GRACE)
    kube.until(lambda: kube.house.job("night")["spec"]["suspend"])
    kube.until(lambda: kube.terminating() == 6)
    kube.house.hear()
    kube.pass_time(1.0)
    assert kube.state(hero) is S.WAITING
    assert used(kube) == 48
    kube.confirms = True
    kube.reach(hero, S.RUNNING)
    kube.reach(night, S.WAITING)
    assert kube.house.pods() == []  # suspended whole: none of its six is left
    kube.wait_for(ada, f"*Admitted* · {hero}")

    question = kube.command(ben, f"/gpu release {hero}")
    ben.press(GENERAL, question["ts"], "gpubot.release")
    kube.reach(night, S.RUNNING)
    kube.settled()
    assert kube.phases() == ["Running"] * 6
    assert len(kube.said(ada, "*Preemption*")) == 1
    assert len(kube.said(ada, f"*Admitted* · {night}")) == 2
    assert any("*Waiting again*" in text for text in kube.thread_of(ada, "night"))


def test_a_lost_node_is_replaced_and_the_owner_told(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    kube.house.create_job("train", pods=3, gpus=8)
    request = kube.named("train")
    kube.reach(request, S.RUNNING)
    before = kube.house.bound()
    lost = before["train-1"]
    lose(kube, lost)
    kube.until(lambda: lost not in kube.house.bound().values() and len(kube.house.bound()) == 3)
    kube.reach(request, S.RUNNING)
    after = kube.house.bound()
    assert {name for name in before if before[name] != after[name]} == {"train-1"}
    oncall = kube.wait_for(lea, f"*Node failed* · {lost}", channel=ONCALL)
    assert request in oncall["text"]
    kube.settled()
    assert any("*Repaired*" in text and lost in text for text in kube.thread_of(lea, "train"))
    assert len(kube.said(lea, "*Node failed*", channel=ONCALL)) == 1


def test_where_no_other_node_is_left_it_waits_whole_and_is_told_why(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    kube.house.create_job("night", pods=6, gpus=8, labels=NIGHT)
    request = kube.named("night")
    kube.reach(request, S.RUNNING)
    lost = kube.house.bound()["night-2"]
    lose(kube, lost)
    kube.reach(request, S.EVICTING)
    kube.pass_time(OPPORTUNISTIC_GRACE)
    kube.reach(request, S.WAITING)
    assert kube.house.job("night")["spec"]["suspend"]
    assert kube.house.pods() == []
    oncall = kube.wait_for(lea, f"*Node failed* · {lost}", channel=ONCALL)
    assert request in oncall["text"]
    assert "stopped whole" in oncall["text"]
    kube.api.kubelet.recover(lost)
    kube.reach(request, S.RUNNING)
    kube.settled()
    assert kube.phases() == ["Running"] * 6
    assert any("*Waiting again*" in text for text in kube.thread_of(lea, "night"))


def test_a_gang_that_is_not_whole_in_time_is_stopped_whole_and_told(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    kube.starts = lambda pod: not pod.startswith("train-2-")
    kube.house.create_job("train", pods=3, gpus=8)
    request = kube.named("train")
    kube.until(lambda: kube.phases() == ["Pending", "Running", "Running"])
    kube.house.hear()
    assert kube.state(request) is S.ADMITTED
    first = {pod["metadata"]["uid"] for pod in kube.house.pods()}
    kube.pass_time(Readiness().ready_in)
    kube.until(lambda: not first & {pod["metadata"]["uid"] for pod in kube.house.pods()})
    kube.starts = bool
    kube.reach(request, S.WAITING)  # it rests
    kube.pass_time(Readiness().backoff)
    kube.reach(request, S.RUNNING)
    assert kube.phases() == ["Running"] * 3
    assert kube.house.request("train").attempt == 2
    kube.settled()
    assert any("*Waiting again*" in text for text in kube.thread_of(lea, "train"))
    assert len(kube.said(lea, f"*Admitted* · {request}")) == 2


def lose(kube: KubeRig, node: str) -> None:
    """The machine is off, for good."""
    kube.api.change_node(node, ready=False)
    kube.api.kubelet.vanish(node)
    kube.house.hear()
    kube.pass_time(PATIENCE)


def test_a_group_that_loses_a_pod_while_it_waits_is_held_and_its_thread_says_so(
    kube: KubeRig,
) -> None:
    ada = kube.visitor(ADA)
    kube.house.create_job("first", pods=4, gpus=8)
    kube.reach(kube.named("first"), S.RUNNING)
    group = {"team": "nlp", "group": "g", "group_size": "2"}
    kube.house.create_pod("first", 8, role="leader", **group)
    kube.house.create_pod("a", 8, role="worker", **group)
    request = kube.named("g")
    kube.reach(request, S.WAITING)
    kube.house.person.delete("/api/v1/namespaces/team/pods/a", {})
    kube.house.hear()
    kube.pass_time(1.0)
    kube.until(lambda: any("*Held*" in text for text in kube.thread_of(ada, request)))
    (said,) = [text for text in kube.thread_of(ada, request) if "*Held*" in text]
    assert "It has 1 of its 2 pods" in said
    assert "It is held" in kube.command(ada, f"/gpu why {request}")["text"]
    kube.house.finish_pods()
    kube.pass_time(1.0)
    assert kube.state(request) is S.WAITING
    kube.house.create_pod("a", 8, role="worker", **group)
    kube.reach(request, S.RUNNING)
    thread = kube.thread_of(ada, request)
    assert [text.partition(" · ")[0] for text in thread if "*Waiting again*" in text]
    assert "16 GPUs" in kube.wait_for(ada, f"*Admitted* · {request}")["text"]


def test_a_group_that_loses_a_node_is_stopped_whole_and_told_nothing_else(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    for name in ("a", "b"):
        kube.house.create_pod(name, 8, team="nlp", group="g", group_size="2")
    request = kube.named("g")
    kube.reach(request, S.RUNNING)
    lost = kube.node("a")
    assert lost is not None
    kube.api.kubelet.silence(lost)
    kube.api.change_node(lost, ready=False)
    kube.house.hear()
    kube.pass_time(PATIENCE)
    kube.reach(request, S.RELEASED)  # nothing makes its pods anew
    oncall = kube.wait_for(lea, f"*Node failed* · {lost}", channel=ONCALL)
    assert "stopped whole, for its pods can be sent to no other node" in oncall["text"]
    kube.settled()
    thread = kube.thread_of(lea, request)
    assert any(f"node {lost} failed" in text and "stopped whole" in text for text in thread)
    assert not any("moved to" in text for text in thread)
    assert not any("To use it" in text for text in thread)  # it has its pods


def test_who_holds_gpus_of_a_lost_node_is_told_to_make_the_pods_anew(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    request = kube.ask(lea, "/gpu hold 8 h100 8h")
    kube.reach(request, S.RUNNING)
    kube.house.create_pod("x", 8, request=request)
    lost = kube.until(lambda: kube.node("x"))
    lose(kube, lost)
    kube.until(lambda: any("make them anew" in text for text in kube.thread_of(lea, request)))
    kube.house.create_pod("y", 8, request=request)
    assert kube.until(lambda: kube.node("y")) != lost
    assert any("To use it" in text for text in kube.thread_of(lea, request))
