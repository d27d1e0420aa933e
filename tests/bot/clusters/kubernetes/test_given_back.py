"""What was given back stays given back: through restarts, and when the pods are gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.control.ledger import Ledger
from bot.views import QueueView, StatusView, WhyView
from scheduler.rest import Readiness
from storage.states import RequestState as S
from storage.work import Work
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_jobset_giveback import end_pods, remove_done
from tests.bot.clusters.kubernetes.test_progress import used
from tests.bot.house import LEA
from tests.kube.samples import part
from tests.kube.server import ApiServer

READY_WITHIN = Readiness().ready_in
STEPS = 7


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


def start(house: KubeHouse, kind: str) -> str:
    """Work of three pods of 8 GPUs, which runs; its name."""
    if kind == "group":
        create(house, {"a": 8, "b": 8, "c": 8})
        name = "g"
    elif kind == "job":
        house.create_job("train", pods=3, gpus=8, backoffLimit=6)
        name = "train"
    else:
        house.create_job_set("train", part("w", pods=3, backoffLimit=6))
        name = "train"
    house.run(3)
    assert (house.state(name), used(house)) == (S.RUNNING, 24)
    return name


def last_pod(kind: str) -> str:
    """How the name of the last of its pods begins."""
    return {"group": "c", "job": "train-2", "jobset": "train-w-0-2"}[kind]


KINDS = pytest.mark.parametrize("kind", ["group", "job", "jobset"])


@KINDS
def test_a_pod_that_is_done_and_removed_is_not_counted_again(house: KubeHouse, kind: str) -> None:
    name = start(house, kind)
    end_pods(house, last_pod(kind))
    house.run(1)
    remove_done(house)
    house.run(1)
    assert used(house) == 16
    house.restart()
    house.run(2)
    assert used(house) == 16
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state(name), house.request(name).attempt, used(house)) == (S.RUNNING, 1, 16)


@KINDS
def test_its_gpus_are_anothers_also_after_a_restart(house: KubeHouse, kind: str) -> None:
    """Also those of pods outside the bot's care are seen on such a node."""
    name = start(house, kind)
    create_next(house)
    assert house.state("next") is S.WAITING
    end_pods(house, last_pod(kind))
    house.run(1)
    remove_done(house)
    house.run(3)
    assert house.state("next") is S.RUNNING
    house.restart()
    house.run(2)
    assert [house.state(one) for one in (name, "next")] == [S.RUNNING, S.RUNNING]
    assert used(house) == 16 + 16
    assert house.said("overfull") == []


def create_next(house: KubeHouse) -> None:
    house.create_job("next", pods=2, gpus=8)
    house.run(2)


@KINDS
def test_whoever_is_not_restarted_does_not_miss_them_either(house: KubeHouse, kind: str) -> None:
    name = start(house, kind)
    end_pods(house, last_pod(kind))
    house.run(1)
    remove_done(house)
    for _ in range(3):
        house.step(READY_WITHIN)
    assert (house.state(name), house.request(name).attempt, used(house)) == (S.RUNNING, 1, 16)


@KINDS
@pytest.mark.parametrize("at", range(STEPS))
def test_the_bot_may_die_at_any_step(house: KubeHouse, kind: str, at: int) -> None:
    name = start(house, kind)
    house.create_job("next", pods=2, gpus=8)
    for step in range(STEPS):
        if step == at:
            house.restart()
        house.run(1)
        if step == 1:
            end_pods(house, last_pod(kind))
        if step == 3:
            remove_done(house)
    house.run(3)
    assert [house.state(one) for one in (name, "next")] == [S.RUNNING, S.RUNNING]
    assert used(house) == 16 + 16


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No step can be stored."""

    def fail(self: Ledger, work: Work) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", fail)
        yield


@KINDS
def test_what_could_not_be_stored_is_told_again(
    house: KubeHouse, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(house, kind)
    end_pods(house, last_pod(kind))
    with failing(monkeypatch), pytest.raises(OSError, match="the disk is full"):
        house.step()
    house.run(1)
    assert used(house) == 16
    remove_done(house)
    house.restart()
    house.run(2)
    assert used(house) == 16


@KINDS
def test_who_is_being_stopped_holds_no_more_after_a_restart(house: KubeHouse, kind: str) -> None:
    name = start(house, kind)
    end_pods(house, last_pod(kind))
    house.run(1)
    remove_done(house)
    house.run(1)
    house.desk.release(LEA.id, house.request(name).id, key="k")
    house.step()
    assert house.state(name) is S.STOPPING
    house.restart()
    house.step()
    assert used(house) == 16
    house.pass_time(601.0)
    house.run(3)
    assert (house.state(name), used(house)) == (S.RELEASED, 0)


@pytest.mark.parametrize("kind", ["job", "jobset"])
def test_a_pod_that_comes_anew_after_a_restart_gets_its_node(house: KubeHouse, kind: str) -> None:
    """The others run: it need not wait until as many are there as were granted."""
    name = start(house, kind)
    end_pods(house, last_pod(kind))
    house.run(1)
    remove_done(house)
    house.restart()
    house.run(2)
    before = house.bound()
    end_pods(house, {"job": "train-0", "jobset": "train-w-0-0"}[kind], exit_code=1)
    house.pass_time(30.0)
    house.run(3)
    alive = [pod for pod in house.pods() if pod["status"]["phase"] == "Running"]
    there = {p["metadata"]["name"].rpartition("-")[0]: p["spec"]["nodeName"] for p in alive}
    assert there == before
    assert (house.state(name), used(house)) == (S.RUNNING, 16)


@KINDS
def test_what_is_shown_is_what_is_held(house: KubeHouse, kind: str) -> None:
    name = start(house, kind)
    whole = house.request(name)
    end_pods(house, last_pod(kind))
    house.run(1)
    house.create_job("more", pods=3, gpus=8)
    house.run(1)
    for _ in range(2):
        told = house.desk.why(LEA.id, whole.id)
        assert isinstance(told, WhyView)
        card = told.card
        assert (card.gpus, card.given_back, card.pods, len(card.nodes)) == (16, 8, 2, 2)
        status = house.desk.status(LEA.id, whole.id)
        assert isinstance(status, StatusView)
        (row,) = status.rows
        assert (row.gpus, row.given_back) == (16, 8)
        assert sum(pool.used for pool in status.cluster.pools) == 16
        queue = house.desk.queue(LEA.id)
        assert isinstance(queue, QueueView)
        assert [(one.used, one.total) for one in queue.sections] == [(16, 1)]
        more = house.desk.why(LEA.id, house.request("more").id)
        assert isinstance(more, WhyView)
        assert more.card.explanation is not None
        assert [one.gpus for one in more.card.explanation.holders] == [16]
        house.restart()
        house.run(1)
    end_pods(house, *(pod["metadata"]["name"] for pod in house.pods()))
    house.run(2)
    (ended,) = house.said("ended")
    assert ended.notice.args["gpus"] == 24
