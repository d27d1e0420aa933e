"""The rights that the bot is given are those that it uses, and no more."""

from __future__ import annotations

from bot.cli.doctor_cluster import examine_cluster
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.rights import rights
from bot.views import Submitted
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.replicas import SPACE, Hand, candidate
from tests.bot.clusters.kubernetes.serving import keep_groups
from tests.bot.clusters.kubernetes.test_chat_requests import ask, state
from tests.bot.house import ADA, LEA, an_ask
from tests.kube.samples import part

GRACE = 601.0


def end(house: KubeHouse, who: str, request: str) -> None:
    house.desk.release(who, request, key=f"end {request}")
    house.run()
    house.pass_time(GRACE)
    house.run(3)
    assert state(house, request) is S.RELEASED


def stop_unheard(house: KubeHouse) -> None:
    """Release what the bot makes before it has heard that it is there."""
    recipe = Recipe(kind=RecipeKind.RUN, image="x")
    found = house.desk.submit(ADA.id, an_ask(gpus=8), key="k3", recipe=recipe)
    assert isinstance(found, Submitted)
    house.control.step()
    house.desk.release(ADA.id, found.card.request, key="end k3")
    house.control.step()
    house.run(2)
    house.step(61.0)
    house.run(2)
    assert state(house, found.card.request) is S.RELEASED
    assert not [one for one in house.pods() if one["metadata"]["namespace"] == "nlp"]


def test_no_right_is_given_for_nothing(house: KubeHouse) -> None:
    house.api.serve_job_sets()
    house.api.serve_leader_worker_sets()
    house.api.add_namespace("nlp")  # of the team, in which /gpu run makes its Job
    house.restart()
    house.step()
    house.create_job("train", pods=2)
    house.create_job_set("set", part("w", pods=2))
    house.run(3)
    for name in ("train", "set"):
        end(house, LEA.id, house.request(name).id)
    create(house, {"a": 8, "b": 8})
    keep_groups(house, 1, 2)
    house.run(3)
    end(house, LEA.id, house.request("g").id)
    hold = ask(house, "k1", gpus=4)
    house.create_pod("mine", 4, request=hold)
    made = ask(house, "k2", Recipe(kind=RecipeKind.RUN, image="x"), gpus=8)
    for request in (hold, made):
        end(house, ADA.id, request)
    stop_unheard(house)
    house.create_job("odd", labels={"priority": "urgent"})  # which is told by an Event
    house.run()
    assert house.cluster.remarks.wait(10.0)
    hand = Hand()
    leader = candidate(house.api, "a", hand)
    for _ in range(2):
        leader.attend()
        hand.now += 2.0
    connection = Connection(lambda: house.api.client("bot"))
    assert list(examine_cluster(connection, house.layout, SPACE))
    used = house.api.cluster.gate.people["bot-token"].used
    given = {(one.verb, one.group, one.resource) for one in rights(SPACE)}
    assert {one for one in used if not one[1].startswith("auth")} == given
