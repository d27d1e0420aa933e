"""Pods and StatefulSets from kubectl to their end, and one that nobody can stop."""

from __future__ import annotations

from typing import Any

from bot.control.stuck import PATIENCE, StuckCheck
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.serving import STATEFUL_SETS, keep_state, scale
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, LEA
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import GENERAL, ONCALL

GRACE = 300.0  # of the team's pool


def test_a_pod_from_kubectl_has_its_card_and_makes_room_for_the_owner_of_the_quota(
    kube: KubeRig,
) -> None:
    lea = kube.visitor(LEA)
    for number in range(6):
        kube.house.create_pod(f"night-{number}", 8, team="nlp", preemptible="true")
    requests = [kube.named(f"night-{number}") for number in range(6)]
    for request in requests:
        kube.reach(request, S.RUNNING)
        kube.wait_for(lea, f"*Running* · {request}")
    kube.house.create_pod("mine", 8, team="nlp")
    mine = kube.named("mine")
    kube.wait_for(lea, "*Preemption*", channel=ONCALL)
    (victim,) = [one.id for one in kube.open() if one.state is S.PREEMPTING]
    kube.pass_time(121.0)
    kube.reach(mine, S.RUNNING)
    kube.reach(victim, S.RELEASED)  # nothing makes a bare pod again
    thread = "\n".join(kube.thread_of(lea, victim))
    assert "gone from the cluster" in thread
    assert kube.phases() == ["Running"] * 6


def test_a_stateful_set_has_one_card_and_starts_in_order(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    keep_state(kube.house, 2, more={})
    first = kube.named("index-0")
    kube.reach(first, S.RUNNING)
    second = kube.named("index-1")
    kube.reach(second, S.RUNNING)
    kube.wait_for(lea, f"*Running* · {first} · StatefulSet {TEAM}/index · 2 replicas")
    scale(kube.house, 1, f"{STATEFUL_SETS}/index")
    kube.until(lambda: kube.phases() == ["Running"])
    kube.until(lambda: [one.id for one in kube.open()] == [first])
    answer = kube.command(lea, f"/gpu release {first}")["text"]
    assert "kubectl" in answer
    assert "statefulset" in answer.lower()


def test_on_call_hears_of_an_eviction_that_a_budget_forbids(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)
    budget: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"gpubot.dev/team": "nlp"}}},
    }
    budgets = f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets"
    kube.house.person.post(budgets, budget)
    kube.house.create_pod("notebook", 4, team="nlp", owner=ADA.id)
    request = kube.named("notebook")
    kube.reach(request, S.RUNNING)
    question = kube.command(lea, f"/gpu release {request}")
    lea.press(GENERAL, question["ts"], "gpubot.release")
    kube.reach(request, S.STOPPING)
    kube.pass_time(GRACE + 1.0)
    kube.pass_time(PATIENCE + 1.0)
    kube.house.control.propose(StuckCheck(kube.house.control.terms))  # a minute has passed here
    told = kube.wait_for(lea, "*Stuck*", channel=ONCALL)["text"]
    assert "`kubectl get pdb -A`" in told
    assert kube.phase("notebook") == "Running"
    kube.house.person.delete(f"{budgets}/all", {})
    kube.reach(request, S.RELEASED)
    assert kube.phase("notebook") is None
