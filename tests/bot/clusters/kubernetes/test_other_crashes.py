"""The bot is killed between any two writes about holds, what it makes itself, and replicas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.clusters.kubernetes import names
from bot.views import Submitted
from storage.records import Recipe, RecipeKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy, keep_groups, scale
from tests.bot.clusters.kubernetes.world import TEAM, Doom
from tests.bot.house import ADA, an_ask
from tests.kube.server import ApiServer

Story = Callable[[KubeHouse], None]


def drive(house: KubeHouse, rounds: int) -> None:
    """Go round; a bot that died is started anew at once."""
    for _ in range(rounds):
        house.step()
        house.settle()
        house.let_pods_run()
        house.settle()
        if house.doom is not None and house.doom.dead:
            house.restart()
        taken = [pod["spec"]["nodeName"] for pod in alive(house)]
        assert len(taken) == len(set(taken)), "each pod is one of a whole node"


def alive(house: KubeHouse) -> list[dict[str, dict[str, str]]]:
    return [
        pod
        for pod in house.pods()
        if pod["spec"].get("nodeName") and pod["status"]["phase"] in {"Pending", "Running"}
    ]


def finish(house: KubeHouse, prefix: str) -> None:
    for pod in alive(house):
        name = pod["metadata"]["name"]
        if name.startswith(prefix):
            house.api.kubelet.finish(f"{TEAM}/{name}")
    house.settle()


def ask(house: KubeHouse, recipe: Recipe | None = None) -> str:
    found = house.desk.submit(ADA.id, an_ask(nodes=2), key="ask", recipe=recipe)
    assert isinstance(found, Submitted), found
    return found.card.request


def state(house: KubeHouse, request: str) -> S:
    with house.store.read() as view:
        found = view.requests.get(request)
    assert found is not None
    return found.state


def release(house: KubeHouse, request: str) -> None:
    house.desk.release(ADA.id, request, key="release")
    drive(house, 2)
    house.pass_time(610.0)
    drive(house, 4)
    assert state(house, request) is S.RELEASED
    assert alive(house) == []


def hold(house: KubeHouse) -> None:
    """Two nodes are granted, two pods of three pass; all is released."""
    request = ask(house)
    drive(house, 3)
    for name in ("a", "b", "c"):
        house.create_pod(name, 8, request=request)
    drive(house, 4)
    assert (state(house, request), len(alive(house))) == (S.RUNNING, 2)
    release(house, request)


def run(house: KubeHouse) -> None:
    """A Job of two pods is made, sealed with its uid, and deleted when it is released."""
    request = ask(house, Recipe(kind=RecipeKind.RUN, image="registry.example/t:1", command="t"))
    drive(house, 5)
    assert (state(house, request), len(alive(house))) == (S.RUNNING, 2)
    release(house, request)
    assert house.pods() == []


def deployment(house: KubeHouse) -> None:
    """Three replicas start; one makes room and comes back when there is room again."""
    deploy(house, 3, preemptible="true")
    drive(house, 4)
    assert len(alive(house)) == 3
    house.create_job("mine", pods=1, gpus=8)
    drive(house, 2)
    house.pass_time(130.0)
    drive(house, 5)
    assert (house.state("mine"), len(alive(house))) == (S.RUNNING, 3)
    finish(house, "mine-")
    drive(house, 4)
    assert (house.state("mine"), len(alive(house))) == (S.FINISHED, 3)
    scale(house, 0)
    drive(house, 3)
    assert alive(house) == []


def leader_worker_set(house: KubeHouse) -> None:
    """A leader and its two workers start; they make room whole, and come back when there is."""
    keep_groups(house, 1, 3, preemptible="true")
    drive(house, 5)
    assert len(alive(house)) == 3
    house.create_job("mine", pods=1, gpus=8)
    drive(house, 2)
    house.pass_time(130.0)
    drive(house, 6)
    assert (house.state("mine"), len(alive(house))) == (S.RUNNING, 1)
    finish(house, "mine-")
    drive(house, 5)
    assert (house.state("mine"), len(alive(house))) == (S.FINISHED, 3)


STORIES: dict[Story, int] = {hold: 4, run: 6, deployment: 6, leader_worker_set: 10}
"""What is told, and how many writes that takes."""


def live(story: Story, folder: Path, doom: Doom) -> None:
    with ApiServer() as api:
        for number in range(1, 4):
            api.add_node(f"n{number}", labels=MODEL)
        for space in (TEAM, "nlp"):
            api.add_namespace(space, **{names.MANAGED: "true"})
        api.serve_leader_worker_sets()
        api.grant_shipped_rights()
        house = KubeHouse(api, folder)
        house.doom = doom
        try:
            story(house)
        finally:
            house.close()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_nobody_dies(story: Story, tmp_path: Path) -> None:
    doom = Doom(10_000, sent=True)
    live(story, tmp_path, doom)
    assert doom.written == STORIES[story]


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize(
    ("story", "at"),
    [(story, at) for story, writes in STORIES.items() for at in range(1, writes + 1)],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_it_converges_whichever_write_was_the_last(
    story: Story, at: int, sent: bool, tmp_path: Path
) -> None:
    doom = Doom(at, sent=sent)
    live(story, tmp_path, doom)
    assert doom.dead
