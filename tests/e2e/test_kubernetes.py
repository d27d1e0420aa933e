"""Each kind of work on Kubernetes, from whoever wants it to its pods and back into the channel."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, BEN, LEA
from tests.deploy.manifests import FOLDER
from tests.e2e.kube_rig import KubeRig
from tests.e2e.rig import GENERAL
from tests.kube.samples import pod, pod_spec
from tests.kubectl import Kubectl


@pytest.fixture
def kubectl(kube: KubeRig, tmp_path: Path) -> Kubectl:
    """Ada's own kubectl."""
    return Kubectl(kube.api, tmp_path, "alice")


def test_a_job_from_kubectl_has_its_card_its_pods_and_its_end(
    kube: KubeRig, kubectl: Kubectl
) -> None:
    text = (FOLDER / "examples" / "job.yaml").read_text().replace("U0123ABCD", ADA.id)
    kubectl("apply", "-f", "-", text=text)
    ada = kube.visitor(ADA)
    request = kube.named("llama-sft")
    kube.reach(request, S.RUNNING)
    card = kube.wait_for(ada, f"*Running* · {request}")
    assert f"<@{ADA.id}>" in card["text"]
    ranks = kube.house.bound()
    assert ranks.keys() == {f"llama-sft-{rank}" for rank in range(4)}
    assert len(set(ranks.values())) == 4
    told = kube.wait_for(ada, f"*Admitted* · {request}")["text"]
    assert all(node in told for node in ranks.values())
    assert kubectl("get", "pods", "-n", "nlp", "-o", "name").count("pod/llama-sft-") == 4
    kube.house.finish_pods()
    kube.reach(request, S.FINISHED)
    kube.wait_for(ada, f"*Finished* · {request}")
    kube.settled()
    assert len(kube.said(ada, "*Admitted*")) == 1
    assert len(ada.thread(GENERAL, card["ts"])) >= 3  # card, admission, end


def test_a_hold_is_asked_for_in_chat_redeemed_by_a_label_and_released(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    request = kube.ask(ada, "/gpu 8 h100 2h name paper")
    kube.reach(request, S.RUNNING)
    kube.wait_for(ada, f"*Admitted* · {request}")
    kube.settled()
    assert any(f"gpubot.dev/request={request}" in text for text in kube.thread_of(ada, "paper"))
    kube.house.create_pod("mine", 8, request=request)
    kube.house.create_pod("more", 8, request=request)
    kube.until(lambda: kube.phase("mine") == "Running")
    assert kube.node("mine") == kube.house.desk.card(request).nodes[0][0]
    assert kube.node("more") is None  # beyond what was granted
    question = kube.command(ada, f"/gpu release {request}")
    ada.press(GENERAL, question["ts"], "gpubot.release")
    kube.reach(request, S.STOPPING)
    assert kube.phase("mine") == "Running"  # its grace is not over
    kube.pass_time(301.0)
    kube.reach(request, S.RELEASED)
    assert kube.phase("mine") is None
    kube.wait_for(ada, f"*Released* · {request}")


def test_run_and_debug_make_their_jobs_from_the_templates_of_the_admin(kube: KubeRig) -> None:
    ada = kube.visitor(ADA)
    job = kube.ask(ada, "/gpu run registry.example/t:2 16 h100 2h team nlp -- python train.py")
    shell = kube.ask(ada, "/gpu debug h100 1h team nlp")
    for request in (job, shell):
        kube.reach(request, S.RUNNING)
        kube.wait_for(ada, f"*Admitted* · {request}")
    made = {pod["metadata"]["labels"]["job-name"]: pod for pod in kube.house.pods()}
    runs, waits = (made[f"gpubot-{one.lower()}-1"] for one in (job, shell))
    (container,) = runs["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c", "python train.py"]
    assert container["image"] == "registry.example/t:2"
    assert waits["spec"]["containers"][0]["command"] == ["sleep", "infinity"]
    kube.finish(f"gpubot-{job.lower()}-1")
    kube.reach(job, S.FINISHED)
    kube.wait_for(ada, f"*Finished* · {job}")
    question = kube.command(ada, f"/gpu release {shell}")
    ada.press(GENERAL, question["ts"], "gpubot.release")
    kube.reach(shell, S.STOPPING)
    kube.pass_time(301.0)
    kube.reach(shell, S.RELEASED)
    kube.until(lambda: not kube.pods_of(f"gpubot-{shell.lower()}-1"))


def test_replicas_come_and_go_as_their_autoscaler_says(kube: KubeRig) -> None:
    lea = kube.visitor(LEA)  # the team's lead: nobody else is named as their owner
    deployments = f"/apis/apps/v1/namespaces/{TEAM}/deployments"
    labels = {"app": "chat", "gpubot.dev/team": "nlp"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(8)}
    selector = {"matchLabels": {"app": "chat"}}
    kube.house.person.post(
        deployments,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "chat"},
            "spec": {"replicas": 2, "selector": selector, "template": template},
        },
    )
    kube.until(lambda: kube.phases() == ["Running", "Running"])
    kube.until(lambda: [one.state for one in kube.open()] == [S.RUNNING, S.RUNNING])
    head = min(one.id for one in kube.open())
    kube.wait_for(lea, f"*Started* · {head}")
    kube.wait_for(lea, f"*Running* · {head} · Deployment {TEAM}/chat · 2 replicas")
    kube.house.person.patch(f"{deployments}/chat", {"spec": {"replicas": 3}})
    kube.until(lambda: len(kube.open()) == 3)
    kube.wait_for(lea, f"*2 of 3 running* · {head}")
    answer = kube.command(lea, f"/gpu release {head}")["text"]
    assert "--replicas=2" in answer
    kube.house.person.patch(f"{deployments}/chat", {"spec": {"replicas": 1}})
    kube.until(lambda: kube.phases() == ["Running"])
    (left,) = kube.until(lambda: kube.open() if len(kube.open()) == 1 else None)
    assert left.state is S.RUNNING
    kube.settled()
    assert kube.house.desk.card(left.id).nodes
    told = [message["text"] for message in kube.said(lea, f"Deployment {TEAM}/chat")]
    assert sorted(text.partition(" · ")[0] for text in told) == [
        "*Running*",
        "*Started*",
    ]
    story = "\n".join(kube.thread_of(lea, f"*Running* · {head}"))
    assert story.count("R-") == 1 + 2 + 2  # the card, two starts, two ends


def test_a_pod_that_runs_outside_is_shown_and_adopted_in_chat(kube: KubeRig) -> None:
    ada, ben = kube.visitor(ADA), kube.visitor(BEN)
    kube.api.add_namespace("nlp")
    body = pod("notebook", gpus=4, gated=False)
    kube.house.person.post("/api/v1/namespaces/nlp/pods", body)
    kube.until(lambda: kube.phase("notebook") == "Running")
    kube.until(lambda: "nlp/notebook · 4 GPUs" in kube.command(ada, "/gpu status")["text"])
    assert "is not yours to adopt" in kube.command(ben, "/gpu adopt nlp/notebook")["text"]
    request = kube.ask(ada, "/gpu adopt nlp/notebook 2h")
    kube.reach(request, S.RUNNING)
    card = kube.wait_for(ada, f"*Running* · {request} · 4 × H100 · notebook")
    assert f"<@{ADA.id}>" in card["text"]
    kube.wait_for(ada, f"*Admitted* · {request}")
    assert "Outside the bot" not in kube.command(ada, "/gpu status")["text"]
    question = kube.command(ada, f"/gpu release {request}")
    ada.press(GENERAL, question["ts"], "gpubot.release")
    kube.reach(request, S.STOPPING)
    kube.pass_time(301.0)
    kube.reach(request, S.RELEASED)
    assert kube.phase("notebook") is None


def test_a_group_of_pods_waits_for_its_last_and_ends_with_it(kube: KubeRig) -> None:
    ben = kube.visitor(BEN)
    for name in ("a", "b"):
        kube.house.create_pod(name, 8, team="nlp", group="g", group_size="3")
    kube.house.hear()
    kube.pass_time(1.0)
    assert kube.house.requests() == []
    kube.house.create_pod("c", 8, team="nlp", group="g", group_size="3")
    request = kube.named("g")
    kube.reach(request, S.RUNNING)
    assert len({kube.node(name) for name in ("a", "b", "c")}) == 3
    assert "24 GPUs" in kube.wait_for(ben, f"*Admitted* · {request}")["text"]
    kube.house.finish_pods()
    kube.reach(request, S.FINISHED)
    kube.wait_for(ben, f"*Finished* · {request}")


def test_the_example_of_a_group_starts_its_leader_and_its_workers_together(
    kube: KubeRig, kubectl: Kubectl
) -> None:
    text = (FOLDER / "examples" / "group.yaml").read_text()
    kubectl("apply", "-f", "-", text=text)
    ada = kube.visitor(ADA)
    request = kube.named("rl")
    kube.reach(request, S.RUNNING)
    assert "2×8 + 1×1" in kube.wait_for(ada, f"*Running* · {request}")["text"]
    assert len({kube.node(f"rl-worker-{rank}") for rank in (0, 1)}) == 2
    assert kube.node("rl-leader")
