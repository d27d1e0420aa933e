"""Jobs that people make with kubectl, from their first label to the end of their pods."""

from __future__ import annotations

import dataclasses

import pytest

from bot.clusters.kubernetes import names
from bot.views import CLUSTER
from scheduler.model import Rest, RestCause
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, LEA


def test_a_job_becomes_a_request_and_runs_by_one_write(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=2, annotations={"owner": ADA.id, "lease": "8h"})
    before = len(house.api.requests)
    house.run()
    request = house.request("train")
    assert request.state is S.RUNNING
    assert (request.workload.owner, request.workload.team) == (ADA.id, "nlp")
    assert request.workload.duration == 8 * 3600
    assert len(set(house.bound().values())) == 1
    writes = [r for r in house.api.requests[before:] if r.method != "GET"]
    writes = [w for w in writes if not w.path.endswith("/events")]  # one, behind everything else
    assert [(w.method, w.path.rpartition("/")[2]) for w in writes] == [("PATCH", "train")]


def test_its_card_and_its_thread_are_told(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8, annotations={"owner": ADA.id})
    house.run()
    request = house.request("train")
    (card,) = house.said("card")
    assert card.notice.key == f"card:{request.id}"
    heard = [item.notice.audience for item in house.said("admitted")]
    assert heard == [Audience.CHANNEL, Audience.THREAD]


def test_ranks_go_to_the_nodes_of_the_grant_in_order(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.run()
    admission = house.request("train").admission
    assert admission is not None
    nodes = [node for part in admission.assignments for node, _ in part.nodes]
    assert house.bound() == {f"train-{rank}": node for rank, node in enumerate(nodes)}
    assert house.state("train") is S.RUNNING


def test_nothing_is_written_for_what_only_waits(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.run()
    before = len(house.api.requests)
    house.create_job("second", pods=4, gpus=8)
    for _ in range(5):
        house.step(60.0)
    assert house.state("second") is S.WAITING
    methods = [seen.method for seen in house.api.requests[before:] if seen.method != "GET"]
    assert methods == ["POST"]  # the person's own


def test_without_an_owner_the_lead_of_the_team_has_it(house: KubeHouse) -> None:
    house.create_job("train")
    house.run()
    assert house.request("train").workload.owner == LEA.id


def test_a_finished_job_gives_its_quota_back(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_job("second", pods=4, gpus=8)
    house.run()
    assert [house.state(name) for name in ("first", "second")] == [S.RUNNING, S.WAITING]
    house.finish_pods()
    house.run()
    assert [house.state(name) for name in ("first", "second")] == [S.FINISHED, S.RUNNING]


def test_a_job_that_fails_ends_its_request(house: KubeHouse) -> None:
    house.create_job("train", backoffLimit=0)
    house.run()
    house.finish_pods(exit_code=1)
    house.run()
    assert house.state("train") is S.FAILED


@pytest.mark.parametrize("pods", [1, 4])
def test_preemption_suspends_the_whole_job_after_its_notice(house: KubeHouse, pods: int) -> None:
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(5)
    assert house.state("spare") is S.RUNNING
    house.create_job("mine", pods=pods, gpus=8)
    house.run(1)
    assert (house.state("spare"), house.state("mine")) == (S.PREEMPTING, S.WAITING)
    assert house.job("spare")["metadata"]["annotations"][names.STOP_AT] == "2027-01-15T08:02:00Z"
    assert not house.job("spare")["spec"]["suspend"]  # its grace is not over
    house.pass_time(120.0)
    house.run(4)
    assert house.job("spare")["spec"]["suspend"]
    assert names.STOP_AT not in house.job("spare")["metadata"]["annotations"]
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)


def test_gpus_are_free_only_when_the_pods_are_gone(house: KubeHouse) -> None:
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(5)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.clock.advance(120.0)
    for _ in range(3):  # suspended, its pods still end
        house.control.step()
        assert house.cluster.writer.wait(5.0)
        house.api.controllers.settle()
        house.hear()
    assert house.job("spare")["spec"]["suspend"]
    assert house.state("mine") is S.WAITING
    house.run(4)
    assert house.state("mine") is S.RUNNING


def test_a_requeued_job_starts_again_elsewhere(house: KubeHouse) -> None:
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(5)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    house.finish_pods()
    house.run(5)
    assert (house.state("mine"), house.state("spare")) == (S.FINISHED, S.RUNNING)
    assert house.request("spare").attempt == 2


@pytest.mark.parametrize("started", [False, True])
def test_who_deletes_a_job_ends_its_request(house: KubeHouse, started: bool) -> None:
    if not started:
        house.create_job("before", pods=4, gpus=8)
        house.run()
    house.create_job("train", pods=4, gpus=8)
    house.run()
    assert house.state("train") is (S.RUNNING if started else S.WAITING)
    house.delete_job("train")
    house.run()
    assert house.state("train") is (S.RELEASED if started else S.CANCELLED)


@pytest.mark.parametrize(
    ("away", "back"),
    [
        (
            {"metadata": {"labels": {"gpubot.dev/team": None}}},
            {"metadata": {"labels": {"gpubot.dev/team": "nlp"}}},
        ),
        ({"spec": {"parallelism": 0}}, {"spec": {"parallelism": 4}}),
    ],
    ids=["label", "size"],
)
def test_a_job_that_asks_for_nothing_for_a_while_is_another_request_after_that(
    house: KubeHouse, away: dict[str, object], back: dict[str, object]
) -> None:
    house.create_job("first", pods=4)
    house.run()
    house.create_job("second", pods=4)
    house.run()
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/second"
    house.person.patch(path, away)
    house.run()
    ended = house.request("second")
    assert (ended.state, ended.ended_by) == (S.CANCELLED, CLUSTER)
    (told,) = [item for item in house.said("ended") if item.notice.request == ended.id]
    assert (told.notice.audience, told.notice.args["by"]) == (Audience.THREAD, CLUSTER)
    house.person.patch(path, back)
    house.run()
    assert (house.state("second"), house.request("second").id > ended.id) == (S.WAITING, True)
    house.restart()
    house.run()
    assert len(house.requests()) == 3


def test_a_job_that_was_deleted_while_the_bot_was_away_ends_its_request(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_job("second", pods=4, gpus=8)
    house.run()
    house.cluster.close()
    for name in ("first", "second"):
        house.delete_job(name)
    house.api.controllers.settle()
    house.api.kubelet.confirm_all()
    house.restart()
    house.run()
    assert {house.state("first"), house.state("second")} <= {S.RELEASED, S.CANCELLED}


def test_one_of_the_same_name_is_another_request(house: KubeHouse) -> None:
    first = house.create_job("train")
    house.run()
    house.delete_job("train")
    house.run()
    second = house.create_job("train")
    house.run()
    uids = [one.ref.uid for one in house.requests() if one.ref is not None]
    assert uids == [first, second]
    assert house.state("train") is S.RUNNING


def test_a_job_that_is_changed_while_it_waits_is_asked_for_anew(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_job("second", pods=4, gpus=8)
    house.run()
    path = "/apis/batch/v1/namespaces/team/jobs/second"
    house.person.patch(path, {"spec": {"parallelism": 2, "completions": 2}})
    house.person.patch(path, {"metadata": {"labels": {"gpubot.dev/priority": "high"}}})
    house.run()
    request = house.request("second")
    assert request.workload.gpus == 16
    assert request.workload.priority_class == "high"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"gpubot.dev/preemptible": "maybe"}, {"gpubot.dev/preemptible": None}),
        ({"gpubot.dev/lease": "soon"}, {"gpubot.dev/lease": "2h"}),
    ],
    ids=["put back", "put right"],
)
def test_a_job_that_is_changed_to_what_cannot_be_asked_for_is_held(
    house: KubeHouse, wrong: dict[str, str], right: dict[str, str | None]
) -> None:
    house.create_job("first", pods=4)
    house.run()
    house.create_job("second", pods=4)
    house.run()
    before = house.request("second")
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/second"
    house.person.patch(path, {"metadata": {"labels": wrong}})
    house.run()
    house.finish_pods()
    house.run(4)
    held = house.request("second")
    assert (held.state, held.attempt) == (S.WAITING, 0)
    assert held.workload.rest == Rest(cause=RestCause.SPOILED, tries=0, most=None, until=None)
    heard = sorted(item.notice.audience for item in house.said("not-taken"))
    assert heard == [Audience.PERSON, Audience.THREAD]
    house.person.patch(path, {"metadata": {"labels": right}})
    house.run(4)
    after = house.request("second")
    assert (after.state, after.attempt) == (S.RUNNING, 1)
    assert after.workload.created == before.workload.created


def test_what_was_changed_in_chat_is_not_changed_back(house: KubeHouse) -> None:
    house.create_job("first", pods=4, gpus=8)
    house.create_job("second", pods=4, gpus=8, annotations={"owner": ADA.id, "lease": "8h"})
    house.run()
    with house.store.write() as work:
        old = house.request("second")
        shorter = dataclasses.replace(old.workload, duration=3600.0)
        work.requests.amend(old.id, workload=shorter)
    house.restart()
    house.run()
    assert house.request("second").workload.duration == 3600.0
    assert not house.said("changed")


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ({"priority": "urgent"}, "bad-mark"),
        ({"preemptible": "yes"}, "bad-mark"),
        ({"team": "nobody"}, "unknown-team"),
    ],
)
def test_a_wrong_label_is_told_to_its_owner(
    house: KubeHouse, labels: dict[str, str], code: str
) -> None:
    house.create_job("train", labels=labels, annotations={"owner": ADA.id})
    house.run()
    assert house.requests() == []
    (told,) = house.said("not-taken")
    assert told.notice.target == ADA.id
    assert told.notice.args["refusal"]["refused"] == code  # type: ignore[index]  # JSON


def test_what_can_never_fit_is_refused(house: KubeHouse) -> None:
    house.create_job("train", pods=40, gpus=8)
    house.run()
    assert house.requests() == []
    (told,) = house.said("not-taken")
    assert told.notice.args["refusal"]["refused"] == "never-fits"  # type: ignore[index]  # JSON


def test_pods_that_are_not_ours_are_occupancy_and_never_touched(house: KubeHouse) -> None:
    house.api.add_namespace("others")
    house.api.add_running_pods(6, namespace="others", gpus=4)  # one on each node
    house.create_job("whole", pods=1, gpus=8)
    house.create_job("half", pods=1, gpus=4)
    house.run()
    assert house.state("half") is S.RUNNING
    assert house.state("whole") is S.WAITING
    assert list(house.bound()) == ["", "half-0"]  # "": the others, whose names have no end
    others = [pod for pod in house.pods() if pod["metadata"]["namespace"] == "others"]
    assert len(others) == 6
