"""Pods and jobs that the bot makes: asked for, stored, and told to the cluster."""

from __future__ import annotations

import pytest

from bot.clusters.base import Action, Start
from bot.recipes import COMMAND_AT_MOST, check_recipe
from bot.views import RefusalCode, Refused, Submitted
from storage.records import Recipe, RecipeKind
from tests.bot.house import ADA, House, an_ask

RUN = Recipe(kind=RecipeKind.RUN, image="registry.example/team/llama-sft:v3", command="python a.py")
DEBUG = Recipe(kind=RecipeKind.DEBUG)


def submit(house: House, recipe: Recipe | None, **more: object) -> Submitted:
    answer = house.desk.submit(ADA.id, an_ask(**more), key=house.key(), recipe=recipe)
    assert isinstance(answer, Submitted), answer
    return answer


def started(house: House, monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """Every start that the cluster is told from now on."""
    found: list[Start] = []
    take = house.cluster.apply_all

    def listen(actions: tuple[Action, ...], now: float) -> None:
        found.extend(action for action in actions if isinstance(action, Start))
        take(actions, now)

    monkeypatch.setattr(house.cluster, "apply_all", listen)
    return found


def test_the_cluster_is_told_what_to_make(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    told = started(house, monkeypatch)
    ids = [submit(house, recipe, gpus=1).card.request for recipe in (RUN, DEBUG, None)]
    house.step()
    assert {start.workload.id: start.recipe for start in told} == dict(
        zip(ids, (RUN, DEBUG, None), strict=True)
    )


def test_a_recipe_outlives_a_restart(house: House) -> None:
    request = submit(house, RUN).card.request
    house.restart()
    house.step()
    assert house.request(request).recipe == RUN
    assert house.desk.card(request).recipe == RUN


def test_work_is_named_after_what_is_run_unless_it_has_a_name(house: House) -> None:
    names = [
        submit(house, RUN).card.name,
        submit(house, DEBUG).card.name,
        submit(house, RUN, name="mine").card.name,
        submit(house, Recipe(kind=RecipeKind.RUN, image="host:5000/a@sha256:00")).card.name,
    ]
    assert names == ["llama-sft", "debug", "mine", "a"]


@pytest.mark.parametrize(
    "image", ["", "-x", "a b", "a//b", "a;rm", "$(x)", "a" * 256, "a:", "\u00e9"]
)
def test_what_is_no_image_is_refused_and_creates_nothing(house: House, image: str) -> None:
    recipe = Recipe(kind=RecipeKind.RUN, image=image)
    answer = house.desk.submit(ADA.id, an_ask(), key=house.key(), recipe=recipe)
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.NOT_AN_IMAGE
    assert house.desk.last_request(ADA.id) is None


def test_a_command_has_a_longest_length() -> None:
    assert (
        check_recipe(Recipe(kind=RecipeKind.RUN, image="a", command="x" * COMMAND_AT_MOST)) is None
    )
    refused = check_recipe(
        Recipe(kind=RecipeKind.RUN, image="a", command="x" * (COMMAND_AT_MOST + 1))
    )
    assert refused is not None
    assert refused.code is RefusalCode.COMMAND_TOO_LONG
