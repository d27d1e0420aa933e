"""JobSets that people make with kubectl: several kinds of pods that start together or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Refused
from bot.clusters.kubernetes.watching import Pace
from bot.rows import card_of, queue_row
from bot.terms import Terms
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import JOB_SETS, TEAM
from tests.bot.house import ADA
from tests.kube.samples import part
from tests.kube.server import ApiServer

READY_WITHIN, BACKOFF = Readiness().ready_in, Readiness().backoff
LEADER, WORKERS = part("leader", gpus=4), part("workers", replicas=2, pods=2, gpus=4)


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


def granted(house: KubeHouse, name: str) -> dict[str, list[str]]:
    """The node of each pod that was granted, by part."""
    admission = house.request(name).admission
    assert admission is not None
    return {
        each.name: [node for node, pods in each.nodes for _ in range(pods)]
        for each in admission.assignments
    }


def spare(house: KubeHouse, **more: object) -> None:
    """A preemptible one on four whole nodes, which runs."""
    whole = [part("a", pods=2), part("b", replicas=2)]
    house.create_job_set("spare", *whole, labels={"preemptible": "true"}, **more)
    house.run(5)
    assert house.state("spare") is S.RUNNING


def test_it_is_one_request_and_starts_by_one_write_and_one_for_each_pod(house: KubeHouse) -> None:
    marks = {"owner": ADA.id, "lease": "8h"}
    house.create_job_set("train", LEADER, WORKERS, annotations=marks)
    before = len(house.api.requests)
    house.run()
    (request,) = house.requests()
    assert request.state is S.RUNNING
    assert (request.workload.name, request.workload.owner) == ("train", ADA.id)
    assert request.workload.duration == 8 * 3600
    assert {one.name: one.count for one in request.workload.pod_sets} == {"leader": 1, "workers": 4}
    assert request.workload.gpus == 20
    writes = [seen for seen in house.api.requests[before:] if seen.method == "PATCH"]
    assert [seen.path.split("/")[-2] for seen in writes] == ["jobsets", *5 * ["pods"]]


def test_each_pod_goes_to_the_node_of_its_part_job_and_rank(house: KubeHouse) -> None:
    house.create_job_set("train", part("leader", gpus=4), part("workers", replicas=3, gpus=8))
    house.run()
    nodes = granted(house, "train")
    assert len({*nodes["leader"], *nodes["workers"]}) == 4
    wanted = {f"train-workers-{job}-0": node for job, node in enumerate(nodes["workers"])}
    assert house.bound() == {"train-leader-0-0": nodes["leader"][0], **wanted}


def test_its_card_and_its_queue_show_its_parts(house: KubeHouse) -> None:
    house.create_job_set("first", part("w", pods=4, gpus=8))
    house.run()
    house.create_job_set("train", LEADER, part("workers", replicas=2, gpus=8))
    house.run()
    request = house.request("train")
    assert len(house.said("card")) == 2
    terms = Terms(house.layout)
    assert card_of(request, terms, house.clock.now()).whole == "2×8 + 1×4"
    why = house.control.read(lambda e: e.explain(request.workload.id, house.clock.now()))
    assert queue_row(request.workload, why, house.clock.now(), ADA.id).shape == "2×8 + 1×4"


def test_its_jobs_are_no_requests_even_with_labels_of_ours(house: KubeHouse) -> None:
    labelled = part("workers", pods=2, gpus=8)
    labelled["template"]["metadata"] = {"labels": {names.TEAM: "nlp"}}
    labelled["template"]["spec"]["template"]["metadata"] = {"labels": {names.TEAM: "nlp"}}
    house.create_job_set("train", labelled)
    house.run()
    assert [one.workload.name for one in house.requests()] == ["train"]
    assert house.state("train") is S.RUNNING
    house.restart()
    house.run()
    assert [(one.workload.name, one.state) for one in house.requests()] == [("train", S.RUNNING)]


def test_a_part_without_gpus_starts_with_the_others(house: KubeHouse) -> None:
    driver = part("driver", gpus=0)
    driver["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    house.create_job_set("train", driver, part("workers", pods=2, gpus=8))
    house.run()
    assert house.state("train") is S.RUNNING
    assert set(house.bound()) == {"train-driver-0-0", "train-workers-0-0", "train-workers-0-1"}


def test_nothing_is_written_for_one_that_only_waits(house: KubeHouse) -> None:
    house.create_job_set("first", part("w", pods=4, gpus=8))
    house.run()
    before = len(house.api.requests)
    house.create_job_set("second", part("w", pods=4, gpus=8))
    for _ in range(3):
        house.step(60.0)
    assert house.state("second") is S.WAITING
    methods = [seen.method for seen in house.api.requests[before:] if seen.method != "GET"]
    assert methods == ["POST"]  # the person's own


def test_a_finished_one_gives_its_quota_back(house: KubeHouse) -> None:
    house.create_job_set("first", part("a", pods=2), part("b", pods=2))
    house.create_job_set("second", part("w", pods=4, gpus=8))
    house.run()
    assert [house.state(name) for name in ("first", "second")] == [S.RUNNING, S.WAITING]
    house.finish_pods()
    house.run()
    assert [house.state(name) for name in ("first", "second")] == [S.FINISHED, S.RUNNING]


def test_one_that_fails_ends_its_request(house: KubeHouse) -> None:
    house.create_job_set("train", LEADER, WORKERS)
    house.run()
    house.finish_pods(exit_code=1)
    house.run()
    assert house.state("train") is S.FAILED
    assert house.job_set("train")["status"]["terminalState"] == "Failed"


def test_one_that_restarts_all_its_jobs_keeps_what_it_was_granted(house: KubeHouse) -> None:
    again = {"failurePolicy": {"maxRestarts": 1}}
    house.create_job_set("train", LEADER, part("workers", pods=2), **again)
    house.run()
    before = house.bound()
    house.finish_pods(exit_code=1)
    house.run(5)
    assert house.job_set("train")["status"]["restarts"] == 1
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert house.bound() == before
    house.finish_pods(exit_code=1)
    house.run(5)
    assert house.state("train") is S.FAILED


def test_preemption_suspends_it_whole_after_its_notice(house: KubeHouse) -> None:
    spare(house)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    assert (house.state("spare"), house.state("mine")) == (S.PREEMPTING, S.WAITING)
    assert names.STOP_AT in house.job_set("spare")["metadata"]["annotations"]
    assert not house.job_set("spare")["spec"]["suspend"]  # its grace is not over
    house.pass_time(120.0)
    house.run(4)
    assert house.job_set("spare")["spec"]["suspend"]
    assert names.STOP_AT not in house.job_set("spare")["metadata"]["annotations"]
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)
    assert set(house.bound()) == {f"mine-{rank}" for rank in range(4)}


def test_its_gpus_are_free_only_when_its_pods_are_gone(house: KubeHouse) -> None:
    spare(house)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.clock.advance(120.0)
    for _ in range(3):  # suspended, its pods still end
        house.control.step()
        assert house.cluster.writer.wait(5.0)
        house.api.controllers.settle()
        house.hear()
    assert house.job_set("spare")["spec"]["suspend"]
    assert house.state("mine") is S.WAITING
    house.run(4)
    assert house.state("mine") is S.RUNNING


def test_after_a_preemption_it_starts_again_on_other_nodes(house: KubeHouse) -> None:
    spare(house)
    before = granted(house, "spare")
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    house.finish_pods()
    for name in before["a"]:  # where it was before, there is no room any more
        house.api.change_node(name, labels={"gpubot.dev/model": "other"})
    house.run(6)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    after = granted(house, "spare")
    assert not set(before["a"]) & {*after["a"], *after["b"]}
    running = {k: v for k, v in house.bound().items() if k.startswith("spare")}
    assert running == {
        **{f"spare-a-0-{rank}": node for rank, node in enumerate(after["a"])},
        **{f"spare-b-{job}-0": node for job, node in enumerate(after["b"])},
    }
    assert names.STOP_AT not in house.job_set("spare")["metadata"]["annotations"]


@pytest.mark.parametrize("started", [False, True])
def test_who_deletes_it_ends_its_request(house: KubeHouse, started: bool) -> None:
    if not started:
        house.create_job("before", pods=4, gpus=8)
        house.run()
    house.create_job_set("train", part("a", pods=2), part("b", pods=2))
    house.run()
    assert house.state("train") is (S.RUNNING if started else S.WAITING)
    house.delete_job_set("train")
    house.run()
    assert house.state("train") is (S.RELEASED if started else S.CANCELLED)


def test_one_that_was_deleted_while_the_bot_was_away_ends_its_request(house: KubeHouse) -> None:
    house.create_job_set("train", part("a", pods=2), part("b", pods=2))
    house.run()
    house.cluster.close()
    house.delete_job_set("train")
    house.api.controllers.settle()
    house.api.kubelet.confirm_all()
    house.restart()
    house.run()
    assert house.state("train") in {S.RELEASED, S.CANCELLED}


def test_one_that_is_changed_while_it_waits_is_asked_for_anew(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_job_set("train", part("a", pods=2), part("b", pods=2))
    house.run()
    parts = [part("a", pods=2), part("b", pods=2)]
    selector = {"gpubot.dev/provision": "reserved"}
    parts[1]["template"]["spec"]["template"]["spec"]["nodeSelector"] = selector
    house.person.patch(f"{JOB_SETS}/train", {"spec": {"replicatedJobs": parts}})
    house.person.patch(
        f"{JOB_SETS}/train", {"metadata": {"labels": {"gpubot.dev/priority": "high"}}}
    )
    house.run()
    request = house.request("train")
    assert request.workload.priority_class == "high"
    assert {
        one.name: one.node_selector.get("gpubot.dev/provision") for one in request.workload.pod_sets
    } == {"a": None, "b": "reserved"}


def test_one_that_somebody_suspends_while_it_runs_waits_and_starts_again(house: KubeHouse) -> None:
    house.create_job_set("train", LEADER, WORKERS)
    house.run()
    before = {pod["metadata"]["uid"] for pod in house.pods()}
    house.person.patch(f"{JOB_SETS}/train", {"spec": {"suspend": True}})
    house.run(4)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 2)
    assert not before & {pod["metadata"]["uid"] for pod in house.pods()}


def test_a_lost_node_is_replaced_while_the_others_wait(house: KubeHouse) -> None:
    house.create_job_set("train", LEADER, part("workers", pods=2, gpus=8, backoffLimit=6))
    house.run(4)
    before = house.bound()
    lost = before["train-workers-0-1"]
    house.api.kubelet.silence(lost)
    house.api.change_node(lost, ready=False)
    house.run(4)
    house.api.kubelet.vanish(lost)
    house.pass_time(30.0)
    house.run(4)
    after = house.bound()
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert after.pop("train-workers-0-1") in set(granted(house, "train")["workers"]) - {lost}
    before.pop("train-workers-0-1")
    assert after == before


def test_one_that_is_not_whole_in_time_is_stopped_whole(house: KubeHouse) -> None:
    house.create_job_set("train", LEADER, WORKERS)
    house.run(3, pods=False)
    one, *_ = (pod for pod in house.pods() if pod["spec"].get("nodeName"))
    house.api.kubelet.start(f"{TEAM}/{one['metadata']['name']}")
    house.step(READY_WITHIN - 1.0)
    assert (house.state("train"), house.request("train").attempt) == (S.ADMITTED, 1)
    house.step(1.0)
    house.settle()
    house.step()
    assert (house.state("train"), house.request("train").attempt) == (S.WAITING, 1)
    house.step(BACKOFF)
    assert house.request("train").attempt == 2
    (told,) = house.said("requeued")
    assert told.notice.args["cause"] == "late"


def test_parts_that_start_in_order_are_let_go_as_they_come(house: KubeHouse) -> None:
    policy = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
    house.create_job_set("train", part("leader", gpus=4), part("workers", pods=2), **policy)
    house.run(2, pods=False)
    assert set(house.bound()) == {"train-leader-0-0"}
    assert house.state("train") is S.ADMITTED
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert set(house.bound()) == {"train-leader-0-0", "train-workers-0-0", "train-workers-0-1"}


def test_a_part_that_waits_for_the_end_of_another_is_not_late(house: KubeHouse) -> None:
    after = part("train", pods=2)
    after["dependsOn"] = [{"name": "prepare", "status": "Complete"}]
    house.create_job_set("train", part("prepare", gpus=4), after)
    house.run(3)
    assert house.state("train") is S.RUNNING
    assert set(house.bound()) == {"train-prepare-0-0"}
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    house.finish_pods()
    house.run(3)
    assert house.state("train") is S.RUNNING
    assert set(house.bound()) == {"train-prepare-0-0", "train-train-0-0", "train-train-0-1"}
    house.finish_pods()
    house.run(3)
    assert house.state("train") is S.FINISHED


def finish_part(house: KubeHouse, name: str) -> None:
    for pod in house.pods():
        labels = pod["metadata"]["labels"]
        if labels.get("jobset.sigs.k8s.io/replicatedjob-name") == name:
            house.api.kubelet.finish(f"{TEAM}/{pod['metadata']['name']}")
    house.settle()


def test_a_part_that_is_done_is_not_missed(house: KubeHouse) -> None:
    """Its pods may be removed by anybody, as the garbage collector does when there are many."""
    house.create_job_set("train", part("short", gpus=4), part("long", pods=2))
    house.run()
    finish_part(house, "short")
    (done,) = (pod for pod in house.pods() if pod["status"]["phase"] == "Succeeded")
    path = f"/api/v1/namespaces/{TEAM}/pods/{done['metadata']['name']}"
    house.person.delete(path, {"gracePeriodSeconds": 0})
    house.run()
    assert set(house.bound()) == {"train-long-0-0", "train-long-0-1"}
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)


def test_after_a_preemption_only_what_is_not_done_starts_again(house: KubeHouse) -> None:
    parts = [part("short", pods=1), part("long", pods=3)]
    house.create_job_set("spare", *parts, labels={"preemptible": "true"})
    house.run(5)
    finish_part(house, "short")
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)
    house.finish_pods()
    house.run(6)
    assert (house.state("spare"), house.request("spare").attempt) == (S.RUNNING, 2)
    assert {one.name: one.count for one in house.request("spare").workload.pod_sets} == {"long": 3}
    house.finish_pods()
    house.run(3)
    assert house.state("spare") is S.FINISHED


def test_it_goes_on_after_the_bot_was_away(house: KubeHouse) -> None:
    house.create_job_set("train", LEADER, WORKERS)
    house.run()
    house.restart()
    before = len(house.api.requests)
    house.run()
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 1)
    assert not [seen for seen in house.api.requests[before:] if seen.method != "GET"]
    house.finish_pods()
    house.run()
    assert house.state("train") is S.FINISHED


def test_under_the_policies_only_the_bot_starts_it_and_its_controller_does_the_rest(
    house: KubeHouse,
) -> None:
    house.api.policies.install_shipped()
    labelled = part("workers", pods=2, gpus=8)
    labelled["template"]["metadata"] = {"labels": {names.TEAM: "nlp"}}
    again = {"failurePolicy": {"maxRestarts": 1}}
    house.create_job_set("train", LEADER, labelled, suspend=False, **again)
    assert house.job_set("train")["spec"]["suspend"]
    with pytest.raises(Refused, match="JobSet train waits for GPUs of team nlp: only gpubot may"):
        house.person.patch(f"{JOB_SETS}/train", {"spec": {"suspend": False}})
    house.run()
    assert house.state("train") is S.RUNNING
    house.finish_pods(exit_code=1)
    house.run(5)
    assert house.job_set("train")["status"]["restarts"] == 1
    assert (house.state("train"), len(house.bound())) == (S.RUNNING, 3)


def test_job_sets_that_are_installed_while_the_bot_runs_are_taken_up(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.withdraw_job_sets()
    monkeypatch.setattr(KubeHouse, "pace", Pace(absent=0.02))
    house = KubeHouse(api, tmp_path)
    house.create_job("job", pods=2, gpus=8)
    house.run()
    assert house.state("job") is S.RUNNING  # nothing is amiss without them
    api.serve_job_sets()
    house.create_job_set("train", LEADER, part("workers"))
    house.run()
    assert house.state("train") is S.RUNNING
    house.close()
