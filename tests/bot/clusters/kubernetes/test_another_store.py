"""A new database: what an earlier one let start goes on, and is nothing of the bot's."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clusters.kubernetes import names
from storage.records import Audience, Recipe, RecipeKind
from storage.states import RequestState as S
from storage.store import open_store
from tests.bot.clusters.kubernetes.copying import running
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import change_job
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.house import ADA
from tests.kube.samples import part
from tests.kube.server import ApiServer

GRACE = 601.0


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed, and a namespace for what is made."""
    api.serve_job_sets()
    api.add_namespace("nlp")
    return api


def lose_store(house: KubeHouse) -> None:
    """The bot comes back with an empty database."""
    house.store.close()
    for file in house.folder.glob("gpubot.db*"):
        file.unlink()
    house.restart()
    house.run(4)


def free(house: KubeHouse) -> int:
    return house.control.read(lambda engine: engine.figures().free)


def told(house: KubeHouse) -> list[dict[str, Any]]:
    found = house.said("foreign")
    assert all(one.notice.audience is Audience.ONCALL for one in found)
    return [dict(one.notice.args) for one in found]


def test_what_runs_goes_on_and_is_counted(house: KubeHouse) -> None:
    """Jobs on one node and on several, a JobSet, pods, a group, what was made, a hold's pods."""
    house.create_job("one", gpus=2)
    house.create_job("two", pods=2, gpus=2)
    house.create_job_set("rl", part("workers", pods=2, gpus=2))
    house.create_pod("single", 2, team="nlp")
    create(house, {"a": 2, "b": 2})
    deploy(house, 1)
    house.run(5)
    ask(house, "run", Recipe(kind=RecipeKind.RUN, image="i", command="c"), gpus=2)
    hold = ask(house, "hold", gpus=2)
    house.create_pod("redeemer", 2, request=hold)
    house.run(5)
    before, left = running(house), free(house)
    assert len(before) == 11
    lose_store(house)
    house.step(GRACE)
    house.run(4)
    house.restart()
    house.step(GRACE)
    house.run(4)
    assert running(house) == before
    assert free(house) == left
    assert house.requests() == []
    (args,) = told(house)
    assert (args["count"], args["gpus"]) == (9, 28)
    assert args["objects"][0] == ["Job", "nlp", "gpubot-r-1007-1"]
    assert args["mine"] == house.store.identity != args["bot"]


def test_what_is_new_is_another_and_starts(house: KubeHouse) -> None:
    house.create_job("train", pods=2)
    house.run(3)
    before = running(house)
    lose_store(house)
    house.create_job("next", pods=2)
    house.run(4)
    assert (house.request("next").id, house.state("next")) == ("R-1002", S.RUNNING)
    for _ in range(2):
        house.restart()
        house.run(4)
    assert house.state("next") is S.RUNNING
    assert not house.job("next")["spec"]["suspend"]
    assert before.items() < running(house).items()
    house.desk.release(ADA.id, "R-1001", key="x")
    house.run(2)
    house.step(GRACE)
    house.run(4)
    assert before.items() < running(house).items()


def test_what_waits_is_asked_for_anew(house: KubeHouse) -> None:
    house.create_job("train", pods=4)
    house.run(3)
    house.create_job("later", pods=4)
    create(house, {"a": 8, "b": 8}, priority="low")
    house.run(4)
    assert [one.state for one in house.requests()] == [S.RUNNING, S.WAITING, S.WAITING]
    lose_store(house)
    assert {one.workload.name: one.state for one in house.requests()} == {
        "later": S.WAITING,
        "g": S.RUNNING,
    }


def test_what_is_suspended_becomes_a_request_where_there_is_room(house: KubeHouse) -> None:
    """So its owner can put it back into order; no host of the earlier start binds it."""
    house.create_job("train", gpus=8)
    house.run(3)
    assert house.bound() == {"train-0": "n1"}
    lose_store(house)
    change_job(house, "train", {"spec": {"suspend": True}})
    house.create_pod("other", 8, team="nlp")
    house.run(6)
    request = house.request("train")
    assert (request.state, request.attempt) == (S.RUNNING, 1)
    marks = house.job("train")["metadata"]["annotations"]
    assert marks[names.DECISION] == request.decision
    assert marks[names.SEAL].startswith(house.store.identity)


def test_a_pod_can_be_adopted(house: KubeHouse) -> None:
    house.create_pod("single", 2, team="nlp", owner="U0ADA")
    house.run(4)
    lose_store(house)
    before = running(house)
    house.desk.adopt(ADA.id, "team/single", key="x", team="nlp")
    house.run(3)
    house.restart()
    house.run(3)
    (request,) = house.requests()
    assert (request.state, request.id) == (S.RUNNING, "R-1002")
    assert running(house) == before


def test_a_hold_of_the_new_one_stops_nothing_of_the_old(house: KubeHouse) -> None:
    hold = ask(house, "hold", gpus=2)
    house.create_pod("redeemer", 2, request=hold)
    house.run(4)
    before = running(house)
    lose_store(house)
    again = ask(house, "again", gpus=2)
    assert again != hold
    house.desk.release(ADA.id, again, key="x")
    house.run(2)
    house.step(GRACE)
    house.run(3)
    assert state(house, again) is S.RELEASED
    assert running(house) == before


def test_on_call_is_told_once_for_each_bot(house: KubeHouse) -> None:
    house.create_job("train", gpus=2)
    house.run(3)
    lose_store(house)
    house.restart()
    house.run(2)
    assert len(told(house)) == 1
    house.create_job("next", gpus=2)
    house.run(3)
    lose_store(house)
    assert [one["count"] for one in told(house)] == [1, 1]
    assert len({one["bot"] for one in told(house)}) == 2
    house.create_job("third", gpus=2)
    house.run(3)
    assert house.request("third").id == "R-1003"


def test_nothing_is_told_where_all_is_of_this_bot(house: KubeHouse) -> None:
    house.create_job("train", gpus=2)
    house.run(3)
    house.restart()
    house.run(2)
    assert told(house) == []


def test_with_a_copy_of_the_database_all_goes_on_as_it_was(house: KubeHouse) -> None:
    house.create_job("train", pods=2)
    house.create_pod("single", 2, team="nlp")
    house.run(4)
    before, requests = running(house), house.requests()
    copied = open_store(f"sqlite:///{house.folder / 'copied.db'}")
    house.store.copy_into(copied)
    copied.close()
    for file in house.folder.glob("gpubot.db*"):
        file.unlink()
    (house.folder / "copied.db").rename(house.folder / "gpubot.db")
    house.restart()
    house.run(4)
    assert (running(house), house.requests(), told(house)) == (before, requests, [])
    house.create_job("next", gpus=2)
    house.run(3)
    assert (house.request("next").id, house.state("next")) == ("R-1003", S.RUNNING)
