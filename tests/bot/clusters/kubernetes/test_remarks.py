"""What `kubectl describe` shows: why an object was refused, that it was admitted or stopped."""

from __future__ import annotations

import pytest

from bot.clusters.base import Remark, RemarkReason
from bot.clusters.kubernetes import remarks as under_test
from bot.clusters.kubernetes.connection import Json, Refused, Unanswered
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.remarks import Remarks
from storage.records import ObjectRef
from storage.states import RequestState
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.bot.house import ADA


def said(house: KubeHouse, reason: str, namespace: str = TEAM) -> list[Json]:
    """The Events with this reason, oldest first."""
    assert house.cluster.remarks.wait(10.0)
    found = house.person.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    mine = [one for one in found if one["reason"] == reason]
    return sorted(mine, key=lambda one: str(one["eventTime"]))


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"priority": "urgent"}, "cannot be `urgent`. Right would be `low`"),
        ({"lease": "soon"}, "cannot be `soon`. Right would be `90m`, `8h` or `2d`"),
        ({"team": "nobody"}, "nobody"),
    ],
)
def test_a_refusal_stands_on_the_object(
    house: KubeHouse, labels: dict[str, str], says: str
) -> None:
    uid = house.create_job("train", labels=labels)
    house.run()
    (event,) = said(house, "Refused")
    assert says in event["message"]
    assert "Change it with kubectl" in event["message"]
    assert event["type"] == "Warning"
    regarding = event["involvedObject"]
    assert (regarding["kind"], regarding["name"], regarding["uid"]) == ("Job", "train", uid)


def test_what_is_more_than_there_could_ever_be_says_how_much_that_is(house: KubeHouse) -> None:
    house.create_job("train", pods=40, gpus=8)
    house.run()
    (event,) = said(house, "Refused")
    assert "320 GPUs" in event["message"]
    assert "queue shared-multi gives at most 32." in event["message"]


def test_it_is_said_once_for_each_state_of_the_object(house: KubeHouse) -> None:
    house.create_job("train", labels={"priority": "urgent"})
    house.run()
    house.restart()
    house.run()
    assert len(said(house, "Refused")) == 1
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    house.person.patch(path, {"metadata": {"labels": {"gpubot.dev/priority": "soon"}}})
    house.run()
    first, second = said(house, "Refused")
    assert "`urgent`" in first["message"]
    assert "`soon`" in second["message"]
    assert len(house.said("not-taken")) == 2
    house.person.patch(path, {"metadata": {"labels": {"gpubot.dev/priority": "low"}}})
    house.run()
    assert house.request("train").state.holding
    assert len(said(house, "Refused")) == 2


def test_admission_preemption_and_the_wait_after_it_stand_there(house: KubeHouse) -> None:
    house.create_job("spare", pods=6, labels={"preemptible": "true"}, annotations={"owner": ADA.id})
    house.run(5)
    (event,) = said(house, "Admitted")
    assert event["type"] == "Normal"
    assert f"{ADA.name} (team nlp) has 48 GPUs of" in event["message"]
    house.create_job("mine", pods=1)
    house.run(1)
    (event,) = said(house, "Preempted")
    assert event["involvedObject"]["name"] == "spare"
    assert house.request("mine").id in event["message"]
    house.pass_time(120.0)
    house.run(4)
    (event,) = said(house, "Requeued")
    assert event["message"].startswith("Waiting again · ")
    assert not any(mark in event["message"] for mark in "*<>")


def test_nothing_is_said_of_what_only_waits(house: KubeHouse) -> None:
    house.create_job("first", pods=4)
    house.create_job("second", pods=4)
    house.run(4)
    assert [one["involvedObject"]["name"] for one in said(house, "Admitted")] == ["first"]


def test_who_makes_a_running_job_larger_is_told_that_the_rest_waits(house: KubeHouse) -> None:
    house.create_job("train", pods=2, completionMode="NonIndexed", completions=8)
    house.run(3)
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    house.person.patch(path, {"spec": {"parallelism": 3}})
    house.run(3)
    (event,) = said(house, "Ignored")
    assert "It was granted 2 pods and has 3 by now" in event["message"]
    house.person.patch(path, {"spec": {"suspend": True}})
    house.run(4)
    house.person.patch(path, {"spec": {"parallelism": 3}})
    house.run(4)
    assert house.request("train").workload.gpus == 24
    assert house.state("train") is RequestState.RUNNING
    assert len(said(house, "Ignored")) == 1


def test_a_group_is_told_on_its_first_pod(house: KubeHouse) -> None:
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", group_size="2", priority="urgent")
    house.run()
    (event,) = said(house, "Refused")
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Pod", "a")


@pytest.mark.parametrize("size", ["three", "0", None])
def test_a_group_whose_size_cannot_be_read_is_told_so_once(
    house: KubeHouse, size: str | None
) -> None:
    more = {} if size is None else {"group_size": size}
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", **more)
        house.run()
    (event,) = said(house, "Refused")
    assert "gpubot.dev/group-size" in event["message"]
    assert "Right would be `2` or `4`" in event["message"]
    assert house.requests() == []


def test_a_pod_at_the_gate_without_a_team_is_told_what_it_lacks(house: KubeHouse) -> None:
    house.create_pod("notebook", 8)
    house.run()
    (event,) = said(house, "Refused")
    assert event["involvedObject"]["name"] == "notebook"
    assert "`gpubot.dev/team` is missing. Right would be" in event["message"]
    assert "`nlp`" in event["message"]
    assert house.said("not_taken") == []  # nobody is called for it
    labels = {"metadata": {"labels": {"gpubot.dev/team": "nlp"}}}
    house.person.patch(f"/api/v1/namespaces/{TEAM}/pods/notebook", labels)
    house.run(3)
    assert house.state("notebook") is RequestState.RUNNING


def test_a_decision_waits_for_no_event(house: KubeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    post = house.cluster.remarks._connection.post

    def without_events(path: str, body: Json) -> Json:
        if "events.k8s.io" in path:
            raise Refused(403, "Forbidden", "events are not yours")
        return post(path, body)

    monkeypatch.setattr(house.cluster.remarks._connection, "post", without_events)
    house.create_job("train")
    house.run()
    assert house.request("train").state.holding
    assert said(house, "Admitted") == []


class Forbidding:
    """Lets nobody write Events until it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.forbids = True

    def post(self, path: str, body: Json) -> Json:
        del path
        self.asked += 1
        if self.forbids:
            raise Refused(403, "Forbidden", "events are not yours")
        return body


def test_without_the_right_it_says_so_once_and_is_silent_for_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server, now = Forbidding(), [1000.0]
    monkeypatch.setattr("bot.clusters.kubernetes.remarks.time.monotonic", lambda: now[0])
    remarks = Remarks(server, Mirror())  # type: ignore[arg-type]  # all that is called of it
    for number in range(5):
        remarks.put([a_remark(number)])
        wait_until(lambda: remarks.wait(0.0), "the line to be empty")
    assert server.asked == 1
    assert [r.message for r in caplog.records if "no Events" in r.message] == [
        "no Events for 10 min: 403 Forbidden: events are not yours; see `gpubot doctor`"
    ]
    server.forbids = False
    now[0] += under_test.SILENCE
    remarks.put([a_remark(9)])
    wait_until(lambda: remarks.wait(0.0), "the line to be empty")
    remarks.stop()
    assert server.asked == 2


def a_remark(number: int) -> Remark:
    ref = ObjectRef(kind="Job", namespace="team", name="x" * 250, uid=f"uid-{number}")
    return Remark(
        ref=ref,
        reason=RemarkReason.ADMITTED,
        state="R-1/1",
        warning=False,
        note=lambda: "ä" * 2000,
    )


class DeafConnection:
    """Answers nothing until it is let."""

    def __init__(self) -> None:
        self.posted: list[Json] = []
        self.deaf = True

    def post(self, path: str, body: Json) -> Json:
        del path
        if self.deaf:
            raise Unanswered("busy")
        self.posted.append(body)
        return body


def test_of_too_many_some_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "WAITING_AT_MOST", 10)
    deaf = DeafConnection()
    remarks = Remarks(deaf, Mirror())  # type: ignore[arg-type]  # all that is called of it
    remarks.put([a_remark(number) for number in range(100)])
    deaf.deaf = False
    wait_until(lambda: remarks.wait(0.0), "what has room to be said")
    assert len(deaf.posted) == 10  # also those that were tried in vain take room
    remarks.put([a_remark(100)])  # and give it back
    wait_until(lambda: remarks.wait(0.0), "one more to be said")
    remarks.stop()
    assert len(deaf.posted) == 11
    assert all(len(one["metadata"]["name"]) <= 253 for one in deaf.posted)
    assert all(len(one["note"].encode()) <= 1024 for one in deaf.posted)
