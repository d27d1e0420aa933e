"""What goes wrong around the bot: namespaces that go, clocks that differ, nodes that flap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.asks import Ask
from bot.byhand import Intervened, Wish
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.leader import DURATION
from bot.views import Submitted
from scheduler.invariants import check_invariants
from storage.audit import InterventionKind
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import check, held_by_pods
from tests.bot.clusters.kubernetes.replicas import LEASE, SPACE, Hand, candidate
from tests.bot.clusters.kubernetes.serving import keep_state
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, ANA
from tests.kube.namespace_end import LINGERS
from tests.kube.samples import part
from tests.kube.server import ApiServer

ENDED = {S.RELEASED, S.CANCELLED, S.FAILED}


@pytest.fixture
def patient(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot for which a node has failed when it was not ready for a minute."""
    made = KubeHouse(api, tmp_path, patience=60.0)
    made.step()
    yield made
    made.close()


def used(house: KubeHouse) -> int:
    house.control.read(check_invariants)
    return house.control.read(lambda engine: engine.figures().used)


def delete_namespace(house: KubeHouse, name: str = TEAM) -> None:
    Connection(lambda: house.api.client("admin")).delete(f"/api/v1/namespaces/{name}", {})


def report_again(house: KubeHouse) -> None:
    """Kubelets that are back say of their pods that they run and are ready."""
    for pod in house.pods():
        if pod["spec"].get("nodeName"):
            house.api.kubelet.start(f"{TEAM}/{pod['metadata']['name']}")


def outlive(house: KubeHouse) -> None:
    """Let the namespace's content go, and what that means for the bot."""
    house.pass_time(LINGERS.total_seconds())
    for _ in range(3):
        house.run(2)
        house.pass_time(30.0)


# ---- namespaces


def test_a_namespace_that_is_deleted_ends_all_requests_of_it(house: KubeHouse) -> None:
    house.create_job("runs", pods=4, gpus=8)
    house.run(3)
    house.create_job("waits", pods=4, gpus=8)
    house.create_pod("single", 8, team="nlp")
    house.run(2)
    assert (house.state("runs"), house.state("waits")) == (S.RUNNING, S.WAITING)
    assert used(house) == 40
    delete_namespace(house)
    house.run(1)
    assert used(house) == 40  # until the pods are gone, they hold their GPUs
    outlive(house)
    assert {request.state for request in house.requests()} <= ENDED
    assert used(house) == 0
    assert house.pods() == []
    assert house.cluster.writer.wait(0.0)  # nothing is tried for ever


def test_a_namespace_that_goes_while_a_gang_is_half_started(house: KubeHouse) -> None:
    house.create_job("train", pods=3, gpus=8)
    house.step()
    house.settle()
    house.control.step()  # its pods are there, and are just let go
    delete_namespace(house)
    outlive(house)
    assert house.state("train") in ENDED
    assert used(house) == 0
    assert house.cluster.writer.wait(0.0)


def test_a_namespace_that_goes_before_the_start_is_written(house: KubeHouse) -> None:
    house.create_job("train", pods=1, gpus=8)
    house.settle()
    house.api.faults.before(lambda: delete_namespace(house), "PATCH", path="/jobs/train")
    outlive(house)
    assert house.state("train") in ENDED
    assert used(house) == 0


def test_nothing_is_made_in_a_namespace_that_ends_and_its_owner_is_told(house: KubeHouse) -> None:
    house.api.add_namespace("nlp")
    delete_namespace(house, "nlp")
    recipe = Recipe(kind=RecipeKind.RUN, image="x")
    asked = house.desk.submit(ADA.id, Ask(gpus=8, text="8"), key="k", recipe=recipe)
    assert isinstance(asked, Submitted)
    house.run(3)
    with house.store.read() as view:
        made = view.requests.get(asked.card.request)
    assert made is not None
    assert made.state is S.FAILED
    assert used(house) == 0
    assert [one.notice.args["state"] for one in house.said("ended")] == ["failed"]


def test_the_bot_may_be_away_while_a_namespace_goes(house: KubeHouse) -> None:
    house.create_job("runs", pods=4, gpus=8)
    house.run(3)
    house.create_job("waits", pods=4, gpus=8)
    house.run(1)
    house.cluster.close()
    delete_namespace(house)
    for _ in range(4):
        house.api.advance(LINGERS.total_seconds())
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
    house.restart()
    house.run(3)
    assert {request.state for request in house.requests()} <= ENDED
    assert used(house) == 0


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
def test_all_that_can_be_in_a_namespace_ends_with_it(house: KubeHouse, away: bool) -> None:
    """A JobSet, replicas, a group, a pod of a hold, and a Job that is just making way."""
    house.api.serve_job_sets()
    house.restart()
    house.create_job("spare", pods=1, gpus=8, labels={"preemptible": "true"})
    house.create_job_set("set", part("leader", gpus=4), part("workers", pods=2, gpus=2))
    keep_state(house, 2, more={"podManagementPolicy": "Parallel"}, preemptible="true")
    for name in ("left", "right"):
        house.create_pod(name, 2, team="nlp", group="g", group_size="2")
    held = house.desk.submit(ADA.id, Ask(gpus=4, text="4"), key="k")
    assert isinstance(held, Submitted)
    house.create_pod("mine", 4, request=held.card.request)
    house.run(6)
    wish = Wish(kind=InterventionKind.PREEMPT, target=house.request("spare").id, reason="test")
    assert isinstance(house.desk.intervene(ANA.id, wish, key="p", confirmed=True), Intervened)
    house.run(1)
    states = {one.workload.name: one.state for one in house.requests()}
    assert states.pop("spare") is S.PREEMPTING
    assert set(states.values()) == {S.RUNNING}
    assert used(house) == sum(held_by_pods(house).values()) == 40
    if away:
        house.cluster.close()
        delete_namespace(house)
        for _ in range(3):
            house.api.advance(LINGERS.total_seconds())
            house.api.controllers.settle()
            house.api.kubelet.confirm_all()
        house.restart()
        house.run(4)
    else:
        delete_namespace(house)
        outlive(house)
    assert {request.state for request in house.requests()} <= ENDED
    assert house.pods() == []
    assert used(house) == 4  # the hold is nobody's but hers
    assert house.cluster.writer.wait(0.0)


# ---- clocks


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
def test_the_clock_of_the_api_server_may_differ(
    api: ApiServer, tmp_path: Path, ahead: float
) -> None:
    house = KubeHouse(api, tmp_path)
    api.cluster.clock.set(dt.datetime.fromtimestamp(house.clock.now() + ahead, dt.UTC))
    house.step()
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(3)
    waited = house.request("spare").workload
    assert waited.created <= house.clock.now()  # nobody is from the future
    house.create_job("mine", pods=1, gpus=8)
    house.run(1)
    assert house.state("spare") is S.PREEMPTING
    house.step(60.0)
    assert not house.job("spare")["spec"]["suspend"]  # the grace goes by one clock: the bot's
    house.pass_time(120.0)
    house.run(4)
    assert house.job("spare")["spec"]["suspend"]
    assert house.state("mine") is S.RUNNING
    house.close()


def test_what_is_made_at_once_keeps_its_order_whatever_the_server_takes_for_now(
    api: ApiServer, tmp_path: Path
) -> None:
    house = KubeHouse(api, tmp_path)
    api.cluster.clock.set(dt.datetime.fromtimestamp(house.clock.now() + 7200.0, dt.UTC))
    house.step()
    house.create_job("fill", pods=4, gpus=8)
    house.run(2)
    house.create_job("early", pods=4, gpus=8)
    house.run(1)
    house.step(60.0)
    asked = house.desk.submit(ADA.id, Ask(nodes=4, text="4 nodes"), key="k")
    assert isinstance(asked, Submitted)
    house.run(1)
    waiting = [one.id for one in house.control.read(lambda engine: engine.pending())]
    assert waiting == [house.request("early").id, asked.card.request]
    house.close()


@pytest.mark.parametrize("ahead", [dt.timedelta(hours=-1), dt.timedelta(hours=1)])
def test_a_lease_is_judged_by_what_is_seen_of_it_and_not_by_its_times(
    api: ApiServer, ahead: dt.timedelta
) -> None:
    hand = Hand()
    first, second = candidate(api, "a", hand), candidate(api, "b", hand)
    first.attend()
    admin = Connection(lambda: api.client("admin"))

    def renew() -> None:
        moment = (dt.datetime.now(dt.UTC) + ahead).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        admin.patch(LEASE, {"spec": {"renewTime": moment}})

    for _ in range(10):  # the other's clock is wrong, but it lives
        renew()
        second.attend()
        hand.now += DURATION / 2
        assert not second.leads
    renew()
    second.attend()
    hand.now += DURATION
    second.attend()  # it was not renewed, whatever its time says
    assert second.leads
    assert SPACE in LEASE


# ---- nodes


def test_a_node_that_flaps_costs_nobody_anything(patient: KubeHouse) -> None:
    house = patient
    house.create_job("train", pods=3, gpus=8)
    house.run(3)
    before, node = house.bound(), house.bound()["train-1"]
    for number in range(6):
        house.api.change_node(node, ready=False)
        house.step(5.0)
        house.step(50.0)
        house.create_job(f"other-{number}", pods=1, gpus=8, labels={"preemptible": "true"})
        house.run(1)
        house.api.change_node(node, ready=True)
        house.step(20.0)
    house.run(2)
    assert house.state("train") is S.RUNNING
    assert house.request("train").attempt == 1
    assert {name: at for name, at in house.bound().items() if name in before} == before
    assert house.said("node-failed") == []
    assert used(house) == 48


def test_a_node_that_fails_again_and_again_is_told_each_time_and_given_to_nobody_twice(
    patient: KubeHouse,
) -> None:
    house = patient
    house.create_job("train", pods=2, gpus=8)
    house.run(3)
    for times in range(1, 4):
        node = house.bound()["train-1"]
        house.api.change_node(node, ready=False)
        house.api.kubelet.vanish(node)
        house.step(1.0)  # from now on it is down
        house.step(60.0)
        house.run(3)
        assert len(house.said("node-failed")) == times
        assert house.state("train") is S.RUNNING
        assert house.bound()["train-1"] != node
        assert used(house) == 16
        house.api.change_node(node, ready=True)
        house.api.kubelet.recover(node)
        house.run(1)


def test_a_node_that_flaps_while_a_gang_starts_holds_nothing_up(patient: KubeHouse) -> None:
    """Not ready for some seconds, again and again: before the pods are there, and as they come."""
    house = patient
    house.create_job("train", pods=4, gpus=8)
    house.settle()
    for number in range(8):
        node = f"n{1 + number % 4}"
        house.api.change_node(node, ready=False)
        house.step(2.0)
        house.let_pods_run()
        house.api.change_node(node, ready=True)
        report_again(house)
        house.step(2.0)
        assert len({at for name, at in house.bound().items() if name.startswith("train")}) in {0, 4}
        assert used(house) <= 32
    house.run(3)
    assert house.state("train") is S.RUNNING
    assert house.request("train").attempt <= 2  # what was to start on a node that was away waits
    assert len(house.bound()) == 4
    assert used(house) == 32
    assert house.said("node-failed") == []


@pytest.mark.parametrize("patience", [0.0, 60.0], ids=["fails", "waits"])
@pytest.mark.parametrize("path", ["/jobs/train", "/pods/train-1-"])
def test_a_node_that_goes_as_a_write_of_the_start_is_served(
    api: ApiServer, tmp_path: Path, path: str, patience: float
) -> None:
    """Back before it has failed it costs nothing; after that all goes elsewhere at once.

    A pod that was let go to it and did not come there goes to no other: its gang starts anew.
    """
    house = KubeHouse(api, tmp_path, patience=patience)
    house.step()
    house.create_job("train", pods=3, gpus=8)
    house.settle()
    api.faults.before(lambda: api.change_node("n2", ready=False), "PATCH", path=path)
    for _ in range(6):
        house.step(1.0)
        check(house)
        house.let_pods_run()
    assert "n2" not in house.bound().values()
    api.change_node("n2", ready=True)
    house.run(1)
    report_again(house)
    for _ in range(4):
        house.step(1.0)
        check(house)
        house.let_pods_run()
        report_again(house)
    attempts = 2 if "pods" in path and not patience else 1
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, attempts)
    assert used(house) == sum(held_by_pods(house).values()) == 24
    house.close()
