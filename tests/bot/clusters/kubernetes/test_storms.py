"""The API server answers no write for a good while, or not those about one object."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.clusters.kubernetes import cluster, names, writing
from bot.views import Done
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.bot.house import ADA, LEA
from tests.kube.faults import Effect
from tests.kube.kinds import POD
from tests.kube.statuses import Refusal

LIMIT = 901.0  # a moment more than a gang has to be ready
WEBHOOK = 'Internal error occurred: failed calling webhook "pods.example.com": no endpoints'


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes are tried again as fast as a test wants."""
    monkeypatch.setattr(writing, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 0.02)


def go_round(house: KubeHouse, seconds: float = 0.0) -> None:
    """One round, of which writes may be left over."""
    if seconds:
        house.clock.advance(seconds)
        house.api.advance(seconds)
    for _ in range(2):
        house.api.controllers.settle()
        house.api.kubelet.confirm_all()
        house.let_pods_run()
        house.hear()
        house.control.step()


def go_until(house: KubeHouse, true: Callable[[], bool], what: str) -> None:
    def done() -> bool:
        go_round(house)
        return true()

    wait_until(done, what)


def let_go(house: KubeHouse, name: str) -> list[str]:
    """The pods of a gang whose gate is off, and that are not to end."""
    with house.api.cluster.store.lock:
        return [
            pod.key[1]
            for pod in house.api.cluster.store.all(POD)
            if pod.key[1].startswith(f"{name}-")
            and not pod.body["spec"].get("schedulingGates")
            and not pod.body["metadata"].get("deletionTimestamp")
        ]


def break_webhook(house: KubeHouse, path: str) -> None:
    """Every write there fails, for the server asks somebody who does not answer."""
    refusal = Refusal(500, "InternalError", WEBHOOK)
    house.api.faults.add(Effect.ANSWER, "PATCH", path=path, times=None, refusal=refusal)


@pytest.mark.parametrize("how", ["429", "503", "webhook"])
def test_a_gang_half_let_go_is_stopped_whole_at_its_limit_and_others_go_on(
    house: KubeHouse, how: str
) -> None:
    """More of its pods cannot be let go than there are writes under way at once."""
    house.create_job("train", pods=32, gpus=1)
    house.settle()
    stormy = r"/pods/train-([4-9]|\d\d)-"  # the first four pass
    if how == "webhook":
        break_webhook(house, stormy)
    elif how == "429":
        house.api.faults.shed("PATCH", path=stormy, times=None, after=0)
    else:
        house.api.faults.fail(503, "PATCH", path=stormy, times=None)
    go_until(house, lambda: len(let_go(house, "train")) == 4, "some of its pods to be let go")
    house.create_job("other")
    go_until(house, lambda: house.state("other") is S.RUNNING, "the other to run")
    assert house.state("train") is S.ADMITTED
    go_round(house, LIMIT)
    go_until(house, lambda: house.state("train") is S.WAITING, "it to be stopped whole")
    assert let_go(house, "train") == []
    assert house.job("train")["spec"]["suspend"]
    house.api.faults.clear()
    go_round(house, LIMIT)
    go_until(house, lambda: house.state("train") is S.RUNNING, "it to start anew")
    assert len(let_go(house, "train")) == 32


@pytest.mark.parametrize("code", [429, 503])
def test_a_storm_that_passes_costs_no_attempt(house: KubeHouse, code: int) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.create_job("small", pods=1, gpus=8)
    house.settle()
    if code == 429:
        house.api.faults.shed("PATCH", times=60, after=0)
    else:
        house.api.faults.fail(code, "PATCH", times=60)
    names = ("train", "small")
    go_until(house, lambda: {house.state(name) for name in names} == {S.RUNNING}, "both to run")
    assert [house.request(name).attempt for name in names] == [1, 1]


def test_nothing_is_decided_while_no_write_gets_through(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.settle()
    house.api.faults.shed("PATCH", times=None, after=0)
    go_round(house)
    assert house.state("train") is S.ADMITTED
    wait_until(lambda: house.cluster.writer.stuck > 0.0, "a write to fail")
    monkeypatch.setattr(cluster, "STUCK_AT_MOST", 0.0)
    house.create_job("late")
    go_round(house, LIMIT)
    assert "no write got through" in (house.control.health().cluster_trouble or "")
    assert [one.workload.name for one in house.requests()] == ["train"]
    assert house.state("train") is S.ADMITTED  # nor is it stopped for what the server withheld
    house.api.faults.clear()
    wait_until(lambda: house.cluster.writer.stuck == 0.0, "the storm to be over")
    go_until(house, lambda: len(house.requests()) == 2, "the loop to go on")
    go_until(house, lambda: house.state("late") is S.RUNNING, "the second to run")


def test_what_a_webhook_hinders_is_no_storm(
    house: KubeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One namespace's trouble: the server takes all other writes, so decisions go on."""
    monkeypatch.setattr(cluster, "STUCK_AT_MOST", 0.0)
    break_webhook(house, "/jobs/train")
    house.create_job("train", pods=1, gpus=8)
    go_round(house)
    house.create_job("other", pods=1, gpus=8)
    go_until(house, lambda: house.request("other").state is S.RUNNING, "the other to run")
    assert house.control.health().cluster_trouble is None


def test_a_start_that_cannot_be_written_is_given_up_at_its_limit(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8)
    house.settle()
    failing = house.api.faults.fail(503, "PATCH", path="/jobs/train", times=None)
    go_round(house)
    assert house.state("train") is S.ADMITTED
    go_round(house, LIMIT)
    before = failing.taken
    wait_until(lambda: failing.taken >= before + 2, "the start to be left off")
    house.api.faults.clear()
    go_until(house, lambda: house.state("train") is S.WAITING, "it to wait again")
    assert house.job("train")["spec"]["suspend"]
    assert not house.job("train")["metadata"].get("annotations")  # it was never begun
    assert house.control.read(lambda engine: engine.figures().used) == 0
    go_round(house, LIMIT)
    go_until(house, lambda: house.state("train") is S.RUNNING, "it to start after all")


def test_who_cancels_what_could_not_be_started_yet_is_done_with_it(house: KubeHouse) -> None:
    house.create_job("train", pods=4, gpus=8, annotations={"owner": ADA.id})
    house.settle()
    house.api.faults.fail(503, "PATCH", path="/jobs/train", times=None)
    go_round(house)
    told = house.desk.release(ADA.id, house.request("train").id, key="k")
    assert isinstance(told, Done)
    go_round(house)
    house.api.faults.clear()
    go_until(house, lambda: house.state("train").final, "it to end")
    assert let_go(house, "train") == []
    assert house.job("train")["spec"]["suspend"]
    assert house.control.read(lambda engine: engine.figures().used) == 0


def test_a_token_that_has_run_out_fails_no_request(house: KubeHouse) -> None:
    """The watches that are open go on, so that decisions are made; their writes wait."""
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(5)
    house.create_job("mine", pods=1, gpus=8)
    house.settle()
    house.api.expire_token("bot")
    go_round(house)
    assert house.state("spare") is S.PREEMPTING
    go_round(house, 121.0)
    wait_until(lambda: house.cluster.writer.stuck > 0.0, "the suspension to be refused")
    assert not house.job("spare")["spec"]["suspend"]
    house.api.renew_token("bot")
    go_until(house, lambda: house.state("mine") is S.RUNNING, "room to be made")
    assert house.state("spare") is S.WAITING


@pytest.mark.parametrize("code", [403, 422])
def test_a_stop_that_is_refused_is_asked_for_again(house: KubeHouse, code: int) -> None:
    house.create_job("spare", pods=6, gpus=8, labels={"preemptible": "true"})
    house.run(5)
    refused = house.api.faults.fail(code, "PATCH", path="/jobs/spare", times=2)
    house.create_job("mine", pods=1, gpus=8)
    house.run(1)
    house.pass_time(121.0)
    house.run(2)
    assert refused.taken == 2  # the notice and the suspension
    assert not house.job("spare")["spec"]["suspend"]
    house.pass_time(cluster.ASKED_AGAIN)
    house.run(4)
    assert house.job("spare")["spec"]["suspend"]
    assert (house.state("spare"), house.state("mine")) == (S.WAITING, S.RUNNING)


def evictions(house: KubeHouse) -> int:
    return sum(seen.path.endswith("/eviction") for seen in house.api.requests)


def test_an_eviction_that_a_budget_forbids_holds_up_itself_alone(house: KubeHouse) -> None:
    budgets = f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets"
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {names.GROUP: "g"}}},
    }
    house.person.post(budgets, budget)
    for name in ("a", "b"):
        house.create_pod(name, 8, team="nlp", group="g", group_size="2")
    house.run(4)
    request = house.request("g")
    house.desk.release(LEA.id, request.id, key="release")
    house.step()
    go_round(house, 601.0)
    wait_until(lambda: evictions(house) > 40, "evictions to be refused")
    assert house.cluster.writer.stuck == 0.0  # the server is well
    assert house.request("g").state is S.STOPPING
    house.create_job("other", pods=2, gpus=8)
    go_until(house, lambda: house.state("other") is S.RUNNING, "others to start")
    assert len(let_go(house, "other")) == 2
    house.person.delete(f"{budgets}/all", {})
    go_until(house, lambda: house.state("g") is S.RELEASED, "the eviction")


def test_an_error_with_one_object_holds_up_itself_alone(house: KubeHouse) -> None:
    """Such as that of two budgets over one pod, or of a webhook that converts a kind."""
    why = "Internal error occurred: This pod has more than one PodDisruptionBudget"
    error = Refusal(500, "InternalError", why)
    fault = house.api.faults.add(Effect.ANSWER, "PATCH", path="/odd", times=None, refusal=error)
    house.create_job("odd")
    go_round(house)
    wait_until(lambda: fault.taken > 20, "its start to be refused")
    assert house.cluster.writer.stuck == 0.0  # the server is well
    house.create_job("other", pods=2, gpus=8)
    go_until(house, lambda: house.state("other") is S.RUNNING, "others to start")


@pytest.mark.parametrize(
    "why", ["etcdserver: request timed out", "Internal error occurred: etcdserver: no leader"]
)
def test_an_error_of_the_store_is_of_all(house: KubeHouse, why: str) -> None:
    refusal = Refusal(500, "InternalError", why)
    house.api.faults.add(Effect.ANSWER, "PATCH", path="/jobs/odd", times=None, refusal=refusal)
    house.create_job("odd")
    go_round(house)
    wait_until(lambda: house.cluster.writer.stuck > 0.0, "its start to be refused")
