"""Pods that run outside the bot: shown, counted, left alone, and adopted by those they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.views import RefusalCode, Refused, StatusView, Submitted
from storage.records import Audience, Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import Doom
from tests.bot.house import ADA, ANA, BEN, LEA, NOA, House
from tests.kube.samples import job, pod, pod_spec

SPACE = "nlp"  # a namespace that the bot does not manage, called after a team


@pytest.fixture(autouse=True)
def _space(house: KubeHouse) -> None:
    house.api.add_namespace(SPACE)


def pods_of(house: KubeHouse) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: dict(one) for one in house.pods()}


def run_outside(house: KubeHouse, name: str, gpus: int, **marks: str) -> None:
    """A pod that somebody starts past the bot, and that runs."""
    body = pod(name, gpus=gpus, gated=False)
    if not gpus:
        body["spec"]["containers"][0]["resources"] = {}
    body["metadata"]["annotations"] = {f"gpubot.dev/{mark}": text for mark, text in marks.items()}
    house.person.post(f"/api/v1/namespaces/{SPACE}/pods", body)
    house.run(2)


def adopt(house: KubeHouse, who: str, name: str, **more: Any) -> Submitted | Refused:
    where = name if "/" in name else f"{SPACE}/{name}"
    key = more.pop("key", f"{who} {name}")
    found = house.desk.adopt(who, where, key=key, **more)
    house.run(2)
    return found


def only(house: KubeHouse) -> Request:
    (request,) = house.requests()
    return request


def code(found: object) -> RefusalCode:
    assert isinstance(found, Refused)
    return found.code


def status(house: KubeHouse) -> StatusView:
    found = house.desk.status(ADA.id)
    assert isinstance(found, StatusView)
    return found


def used(house: KubeHouse) -> tuple[int, int]:
    """GPUs that requests hold, and those that are free."""
    cluster = status(house).cluster
    return cluster.used, cluster.free


def test_what_runs_outside_is_shown_and_counted_and_left_alone(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    run_outside(house, "big", 8)
    shown = status(house).outside
    assert [(one.where, one.gpus) for one in shown] == [("nlp/big", 8), ("nlp/notebook", 4)]
    assert {one.node for one in shown} == {one["spec"]["nodeName"] for one in house.pods()}
    assert used(house) == (0, 36)
    assert house.requests() == []
    before = pods_of(house)
    house.restart()
    house.run(3)
    assert pods_of(house) == before


def test_what_runs_outside_on_a_node_that_is_back_counts_at_once(house: KubeHouse) -> None:
    run_outside(house, "big", 8)
    (there,) = house.pods()
    node = there["spec"]["nodeName"]
    house.api.kubelet.silence(node)
    house.api.change_node(node, ready=False)
    house.run(2)
    house.api.kubelet.recover(node)
    house.api.controllers.settle()
    house.run(1)
    assert used(house) == (0, 40)
    assert [(one.where, one.gpus) for one in status(house).outside] == [("nlp/big", 8)]


def test_an_adopted_pod_goes_on_where_it_runs_as_a_request(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    before = pods_of(house)["notebook"]
    answer = adopt(house, ADA.id, "notebook", lease=7200.0)
    assert isinstance(answer, Submitted)
    request = only(house)
    assert request.state is S.RUNNING
    assert (request.workload.owner, request.workload.team) == (ADA.id, "nlp")
    assert (request.workload.name, request.gpus) == ("notebook", 4)
    assert request.lease_ends is not None
    assert (request.lease_ends - request.created).total_seconds() == 7200.0
    after = pods_of(house)["notebook"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"]["gpubot.dev/team"] == "nlp"
    assert after["metadata"]["annotations"]["gpubot.dev/admitted"] == request.id
    assert house.desk.card(request.id).nodes == ((before["spec"]["nodeName"], 4),)
    assert used(house) == (4, 44)
    assert status(house).outside == ()
    assert len(house.said("card")) == 1
    told = {item.notice.audience for item in house.said("admitted")}
    assert told == {Audience.CHANNEL, Audience.THREAD}
    assert house.said("overfull") == []


def test_a_release_ends_an_adopted_pod_and_gives_its_gpus_back(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    adopt(house, ADA.id, "notebook")
    house.desk.release(ADA.id, only(house).id, key="k2")
    house.run(2)
    assert "notebook" in pods_of(house)  # its grace is not over
    house.pass_time(301.0)
    house.run(5)
    assert only(house).state is S.RELEASED
    assert house.pods() == []
    assert used(house) == (0, 48)


def test_an_adopted_pod_that_ends_by_itself_has_finished(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    adopt(house, ADA.id, "notebook")
    house.api.kubelet.finish(f"{SPACE}/notebook")
    house.run(3)
    assert only(house).state is S.FINISHED
    assert used(house) == (0, 48)


def test_one_that_is_deleted_by_hand_is_no_request_any_more(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    adopt(house, ADA.id, "notebook")
    house.person.delete(f"/api/v1/namespaces/{SPACE}/pods/notebook", {})
    house.run(5)
    assert only(house).state.final
    assert used(house) == (0, 48)


def test_one_that_is_deleted_before_it_is_marked_is_none_either(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    house.desk.adopt(ADA.id, f"{SPACE}/notebook", key="k1")
    house.person.delete(f"/api/v1/namespaces/{SPACE}/pods/notebook", {})
    house.run(6)
    assert only(house).state.final
    assert used(house) == (0, 48)


@pytest.mark.parametrize("sent", [True, False])
def test_a_bot_that_dies_while_it_marks_the_pod_goes_on_with_it(
    house: KubeHouse, *, sent: bool
) -> None:
    run_outside(house, "notebook", 4)
    house.desk.adopt(ADA.id, f"{SPACE}/notebook", key="k1")
    house.doom = Doom(1, sent=sent)
    house.step()
    house.settle()
    house.restart()
    house.run(4)
    request = only(house)
    assert (request.state, request.attempt) == (S.RUNNING, 1)
    assert pods_of(house)["notebook"]["metadata"]["labels"]["gpubot.dev/team"] == "nlp"
    assert used(house) == (4, 44)
    assert len(house.said("card")) == 1
    house.restart()
    house.run(3)
    assert only(house).state is S.RUNNING
    assert used(house) == (4, 44)


def test_an_order_that_is_stored_and_not_carried_out_outlives_a_restart(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    house.desk.adopt(ADA.id, f"{SPACE}/notebook", key="k1")
    house.restart()
    house.run(4)
    assert (only(house).state, only(house).attempt) == (S.RUNNING, 1)
    assert used(house) == (4, 44)


def test_the_same_delivery_adopts_once_and_is_told_the_same(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    first = adopt(house, ADA.id, "notebook", key="k1")
    again = adopt(house, ADA.id, "notebook", key="k1")
    assert isinstance(first, Submitted)
    assert isinstance(again, Submitted)
    assert (again.card.request, again.again) == (first.card.request, True)
    other = adopt(house, LEA.id, "notebook", key="k2")
    assert code(other) is RefusalCode.POD_TAKEN
    assert isinstance(other, Refused)
    assert other.args["request"] == first.card.request
    assert len(house.requests()) == 1


def test_two_who_adopt_at_once_make_one_request(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    first = house.desk.adopt(ADA.id, f"{SPACE}/notebook", key="k1")
    second = house.desk.adopt(LEA.id, f"{SPACE}/notebook", key="k2")
    house.run(2)
    assert isinstance(first, Submitted)
    assert code(second) is RefusalCode.POD_TAKEN
    assert only(house).state is S.RUNNING


def test_what_cannot_be_adopted_says_why(house: KubeHouse) -> None:
    run_outside(house, "plain", 0)
    run_outside(house, "ends", 4)
    house.api.kubelet.finish(f"{SPACE}/ends")
    house.create_pod("runs", 4, team="nlp")
    house.create_pod("waits", 4)
    house.run(3)
    assert code(adopt(house, LEA.id, "nobody")) is RefusalCode.NO_SUCH_POD
    assert code(adopt(house, LEA.id, "plain")) is RefusalCode.POD_WITHOUT_GPUS
    assert code(adopt(house, LEA.id, "ends")) is RefusalCode.POD_NOT_RUNNING
    assert code(adopt(house, LEA.id, "team/waits")) is RefusalCode.POD_NOT_RUNNING
    assert code(adopt(house, LEA.id, "team/runs")) is RefusalCode.POD_TAKEN
    assert only(house).workload.name == "runs"


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_what_a_controller_keeps_is_not_adopted_pod_by_pod(house: KubeHouse, kind: str) -> None:
    if kind == "Job":
        house.person.post(f"/apis/batch/v1/namespaces/{SPACE}/jobs", job("chat", suspend=False))
    else:
        labels = {"app": "chat"}
        template = {"metadata": {"labels": labels}, "spec": pod_spec(8)}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": "chat"}, "spec": spec}
        house.person.post(f"/apis/apps/v1/namespaces/{SPACE}/deployments", body)
    house.run(3)
    name = min(pods_of(house))
    refused = adopt(house, ANA.id, name)
    assert code(refused) is RefusalCode.POD_KEPT
    assert isinstance(refused, Refused)
    assert (refused.args["kind"], refused.args["name"]) == (kind, "chat")


@pytest.mark.parametrize(
    ("who", "owner", "right"),
    [
        pytest.param(ADA, None, True, id="of the team that the namespace is called after"),
        pytest.param(BEN, None, False, id="of another team"),
        pytest.param(NOA, None, False, id="of no team"),
        pytest.param(BEN, BEN, True, id="named as its owner"),
        pytest.param(ADA, BEN, False, id="another is named as its owner"),
        pytest.param(LEA, BEN, True, id="leads the team"),
        pytest.param(ANA, BEN, True, id="an admin"),
    ],
)
def test_who_may_adopt(house: KubeHouse, who: Any, owner: Any, *, right: bool) -> None:
    run_outside(house, "notebook", 4, **({} if owner is None else {"owner": owner.id}))
    found = adopt(house, who.id, "notebook")
    assert isinstance(found, Submitted) is right
    if right:
        assert only(house).workload.owner == (owner or who).id
        assert only(house).workload.team == ("vision" if who is BEN else "nlp")
    else:
        assert code(found) is RefusalCode.POD_NOT_YOURS
        assert house.requests() == []


def test_the_team_that_is_named_is_charged_if_it_may_be(house: KubeHouse) -> None:
    run_outside(house, "notebook", 4)
    assert code(adopt(house, LEA.id, "notebook", team="vision")) is RefusalCode.NOT_YOUR_TEAM
    too_long = adopt(house, ADA.id, "notebook", lease=1e7)
    assert code(too_long) is RefusalCode.LEASE_TOO_LONG
    assert isinstance(adopt(house, ADA.id, "notebook", team="vision", key="k2"), Submitted)
    assert only(house).workload.team == "vision"


def test_without_quota_it_stays_outside_unless_it_may_be_stopped(house: KubeHouse) -> None:
    for name in ("a", "b", "c"):
        run_outside(house, name, 8)
    assert isinstance(adopt(house, ADA.id, "a"), Submitted)
    assert isinstance(adopt(house, ADA.id, "b"), Submitted)
    refused = adopt(house, ADA.id, "c")
    assert code(refused) is RefusalCode.POD_WITHOUT_QUOTA
    assert isinstance(refused, Refused)
    assert refused.args == {"where": "nlp/c", "team": "nlp", "queue": "team-nlp", "gpus": 8}
    assert used(house) == (16, 24)
    assert isinstance(adopt(house, ADA.id, "c", preemptible=True, key="k2"), Submitted)
    assert used(house) == (24, 24)


def test_a_quota_that_another_takes_in_that_moment_is_none(house: KubeHouse) -> None:
    for name in ("a", "b", "c"):
        run_outside(house, name, 8)
    for name in ("a", "b", "c"):  # each is judged before the loop carries any out
        house.desk.adopt(ADA.id, f"{SPACE}/{name}", key=name)
    house.run(2)
    states = sorted(one.state for one in house.requests())
    assert states == [S.CANCELLED, S.RUNNING, S.RUNNING]
    assert used(house) == (16, 24)
    again = house.desk.adopt(ADA.id, f"{SPACE}/c", key="c")
    assert code(again) is RefusalCode.POD_WITHOUT_QUOTA


def test_a_simulated_cluster_has_nothing_to_adopt(tmp_path: Path) -> None:
    simulated = House(tmp_path)
    refused = simulated.desk.adopt(ADA.id, "nlp/notebook", key="k1")
    assert code(refused) is RefusalCode.NOTHING_TO_ADOPT
    simulated.step()
    assert simulated.desk.status(ADA.id).outside == ()  # type: ignore[union-attr]
    simulated.close()
