"""Gangs that are not whole in time, nodes that are lost, and nodes that hold gangs up."""

from __future__ import annotations

from bot.byhand import Wish
from bot.control.suspects import AVOIDED_FOR, MARKED_FOR
from scheduler.model import WaitReason, WorkloadId
from scheduler.rest import Readiness
from storage.audit import InterventionKind
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.house import ANA

RULES = Readiness()
READY_WITHIN = RULES.ready_in


def why(house: KubeHouse, name: str) -> tuple[WaitReason, dict[str, object]]:
    """The reason for which it waits, with its figures."""
    one = WorkloadId(house.request(name).id)
    verdict = house.control.read(lambda e: e.explain(one, house.clock.now())).verdict
    return verdict.reason, dict(verdict.figures)


def start_all_but_one(house: KubeHouse) -> None:
    """The pods of rank 0 never become ready."""
    for pod in house.pods():
        meta = pod["metadata"]
        pending = pod["status"]["phase"] == "Pending" and pod["spec"].get("nodeName")
        if pending and "-0-" not in meta["name"] and not meta.get("deletionTimestamp"):
            house.api.kubelet.start(f"{meta['namespace']}/{meta['name']}")
    house.settle()


def begin(house: KubeHouse) -> None:
    house.run(3, pods=False)
    start_all_but_one(house)
    house.step()


def be_late(house: KubeHouse) -> None:
    begin(house)
    house.step(READY_WITHIN)
    house.run(2, pods=False)


def test_a_gang_that_is_not_whole_in_time_is_stopped_whole(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    begin(house)
    house.step(READY_WITHIN - 1.0)
    assert house.state("train") is S.ADMITTED
    before = house.request("train")
    house.step(1.0)
    house.settle()
    house.control.step()
    again = house.request("train")
    assert (before.attempt, again.attempt) == (1, 1)
    house.step(RULES.backoff)
    assert house.request("train").attempt == 2
    (told,) = house.said("requeued")
    assert told.notice.args["cause"] == "late"


def test_its_own_fault_sends_it_to_the_back_of_its_queue(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    begin(house)
    created = house.request("train").workload.created
    house.step(READY_WITHIN)
    house.run(2, pods=False)
    assert house.request("train").workload.created > created


def test_each_pause_is_twice_as_long_until_it_is_held(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    for tries in range(1, RULES.tries):
        be_late(house)
        assert house.state("train") is S.WAITING
        pause = RULES.backoff * 2 ** (tries - 1)
        reason, figures = why(house, "train")
        assert reason is WaitReason.RESTING
        assert (figures["tries"], figures["most"]) == (tries, RULES.tries)
        until = figures["until"]
        assert isinstance(until, float)
        assert pause - 5.0 <= until - house.clock.now() <= pause
        house.step(until - house.clock.now() - 1.0)
        assert house.state("train") is S.WAITING
        house.step(1.0)
        assert house.state("train") is S.ADMITTED
    be_late(house)
    assert house.state("train") is S.WAITING
    assert "until" not in why(house, "train")[1]
    (held,) = [one for one in house.said("requeued") if one.notice.target is not None]
    assert held.notice.target == house.request("train").workload.owner
    house.step(10 * RULES.longest)
    assert house.state("train") is S.WAITING
    assert house.job("train")["spec"]["suspend"]


def test_who_is_held_goes_on_when_it_is_changed(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    for _ in range(RULES.tries):
        be_late(house)
        house.step(RULES.longest)
    assert "until" not in why(house, "train")[1]
    path = "/apis/batch/v1/namespaces/team/jobs/train"
    house.person.patch(path, {"metadata": {"annotations": {"gpubot.dev/tried-again": "1"}}})
    house.run()
    assert house.state("train") is S.RUNNING
    assert house.request("train").workload.rest is None


def test_a_pause_outlives_a_restart(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    be_late(house)
    before = why(house, "train")
    house.restart()
    house.step()
    assert why(house, "train") == before
    house.step(RULES.backoff)
    assert house.state("train") is S.ADMITTED


def test_tries_are_counted_from_the_last_time_that_all_was_well(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8, labels={"preemptible": "true"})
    be_late(house)
    house.step(RULES.backoff)
    house.run(3)
    assert house.state("train") is S.RUNNING
    house.create_job("mine", pods=4, gpus=8)
    house.run(1)
    house.pass_time(120.0)
    house.run(4)
    house.finish_pods()
    be_late(house)
    assert why(house, "train")[1]["tries"] == 1


def test_what_was_preempted_before_it_was_whole_does_not_rest(house: KubeHouse) -> None:
    house.create_job("train", pods=6, gpus=8, labels={"preemptible": "true"})
    begin(house)
    house.create_job("mine", pods=4, gpus=8)
    house.run(1, pods=False)
    assert house.state("train") is S.PREEMPTING
    house.step(READY_WITHIN)
    house.run(4)
    assert house.request("train").workload.rest is None


def test_who_gets_no_node_in_time_keeps_the_place(house: KubeHouse) -> None:
    """Something that the API does not show keeps the pods off: the scheduler refuses."""
    house.create_job("train", pods=2, gpus=8)
    house.step()
    for number in range(1, 7):  # behind our back, and not yet heard of
        house.api.change_node(f"n{number}", gpus=0)
    house.settle()
    house.step()
    house.settle()
    created = house.request("train").workload.created
    house.step(READY_WITHIN)
    house.run(2, pods=False)
    assert house.said("requeued")[0].notice.args["cause"] == "unplaced"
    assert house.request("train").workload.created == created
    reason, figures = why(house, "train")
    assert (reason, figures["cause"]) == (WaitReason.RESTING, "unplaced")
    assert "most" not in figures  # no fault of its own: it is tried as often as it takes


def hold_up(house: KubeHouse) -> str:
    """Three small Jobs on one node are not ready in time; the node."""
    for number in range(3):
        house.create_job(f"j{number}", pods=1, gpus=2)
    begin(house)
    (node,) = {str(pod["spec"]["nodeName"]) for pod in house.pods()}
    house.step(READY_WITHIN)
    house.settle()
    house.step()
    return node


def closed(house: KubeHouse) -> set[str]:
    return {node.name for node in house.cluster.fleet.all() if not node.schedulable}


def test_a_node_that_holds_up_several_gangs_is_avoided_for_a_while(house: KubeHouse) -> None:
    node = hold_up(house)
    assert closed(house) == {node}
    (told,) = house.said("node-avoided")
    assert told.notice.audience is Audience.ONCALL
    held_up = [house.request(f"j{number}").id for number in range(3)]
    assert (told.notice.args["node"], told.notice.args["held_up"]) == (node, held_up)
    house.step(RULES.backoff)
    house.run(3)
    assert house.state("j0") is S.RUNNING
    assert node not in house.bound().values()
    house.step(AVOIDED_FOR)
    assert closed(house) == set()
    (over,) = house.said("intervention-over")
    assert over.notice.audience is Audience.ONCALL


def test_that_a_node_is_avoided_outlives_a_restart_and_ends_by_hand(house: KubeHouse) -> None:
    node = hold_up(house)
    house.restart()
    house.step()
    house.step()
    assert closed(house) == {node}
    assert len(house.said("node-avoided")) == 1
    wish = Wish(kind=InterventionKind.UNDRAIN, target=node, reason="looked at it")
    house.desk.intervene(ANA.id, wish, key="k", confirmed=True)
    house.step()
    assert closed(house) == set()


def late_one(house: KubeHouse, name: str) -> str:
    """A small Job is not ready in time on the node that it went to, and is deleted; the node."""
    house.create_job(name, pods=1, gpus=2)
    begin(house)
    (node,) = {str(pod["spec"]["nodeName"]) for pod in house.pods()}
    house.step(READY_WITHIN)
    house.settle()
    house.step()
    house.delete_job(name)
    house.settle()
    house.step()
    return node


def test_whom_a_node_has_held_up_is_known_after_a_restart(house: KubeHouse) -> None:
    for number in range(2, 7):
        house.api.change_node(f"n{number}", ready=False)
    for number in range(3):
        assert closed(house) == set()
        assert late_one(house, f"j{number}") == "n1"
        if number < 2:
            house.restart()
            house.step()
    assert closed(house) == {"n1"}
    (told,) = house.said("node-avoided")
    assert told.notice.args["held_up"] == [house.request(f"j{n}").id for n in range(3)]


def test_what_lies_an_hour_back_or_was_told_does_not_count(house: KubeHouse) -> None:
    for number in range(2, 7):
        house.api.change_node(f"n{number}", ready=False)
    for number in range(2):
        late_one(house, f"j{number}")
    house.step(MARKED_FOR)
    late_one(house, "j2")
    assert house.said("node-avoided") == []
    for number in range(3, 5):
        late_one(house, f"j{number}")
    assert closed(house) == {"n1"}
    wish = Wish(kind=InterventionKind.UNDRAIN, target="n1", reason="looked at it")
    house.desk.intervene(ANA.id, wish, key="k", confirmed=True)
    house.run(2)
    late_one(house, "j5")
    assert closed(house) == set()


def test_a_node_that_somebody_drained_stays_as_they_said(house: KubeHouse) -> None:
    for number in range(3):
        house.create_job(f"j{number}", pods=1, gpus=2)
    begin(house)
    (node,) = {str(pod["spec"]["nodeName"]) for pod in house.pods()}
    wish = Wish(kind=InterventionKind.DRAIN, target=node, reason="fan", move=False)
    house.desk.intervene(ANA.id, wish, key="k", confirmed=True)
    house.step(READY_WITHIN)
    house.settle()
    house.step()
    assert house.said("node-avoided") == []
    house.step(AVOIDED_FOR)
    assert closed(house) == {node}


def test_a_lost_node_is_replaced_and_the_others_stay(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.run(4)
    before = house.bound()
    house.api.kubelet.silence(before["train-1"])
    house.api.change_node(before["train-1"], ready=False)
    house.run(4)
    house.api.kubelet.vanish(before["train-1"])
    house.pass_time(30.0)  # a Job's controller takes its time with successors
    house.run(4)
    after = house.bound()
    assert house.state("train") is S.RUNNING
    assert after["train-1"] != before["train-1"]
    assert [after[name] for name in ("train-0", "train-2")] == [
        before[name] for name in ("train-0", "train-2")
    ]
    assert len(house.said("repaired")) == 1
    assert len(house.said("node-failed")) == 1


def test_a_job_on_one_lost_node_starts_again_elsewhere(house: KubeHouse) -> None:
    """Its template names the node, so it cannot be mended: it is stopped whole."""
    house.create_job("train", pods=2, gpus=4)
    house.run(4)
    (before,) = set(house.bound().values())
    house.api.change_node(before, ready=False)
    house.api.kubelet.silence(before)
    house.run(4)
    house.api.kubelet.vanish(before)
    house.pass_time(30.0)
    house.run(6)
    assert house.state("train") is S.RUNNING
    assert before not in house.bound().values()
