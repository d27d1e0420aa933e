"""What the bot makes for a person: a pod to debug in, a job of an image."""

from __future__ import annotations

import dataclasses
import re

from bot.asks import Ask
from bot.plans import refuse
from bot.terms import NAME_AT_MOST
from bot.views import RefusalCode, Refused
from storage.records import Recipe, RecipeKind

COMMAND_AT_MOST = 2000  # characters of a command line
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:[:/@][A-Za-z0-9._-]+)*")
_IMAGE_AT_MOST = 255


def check_recipe(recipe: Recipe) -> Refused | None:
    """What is wrong with it, by its form alone; whether an image exists the cluster finds out."""
    if recipe.kind is RecipeKind.RUN:
        good = len(recipe.image) <= _IMAGE_AT_MOST and _IMAGE.fullmatch(recipe.image)
        if not good:
            return refuse(RefusalCode.NOT_AN_IMAGE, image=recipe.image[:80])
    if len(recipe.command) > COMMAND_AT_MOST:
        return refuse(
            RefusalCode.COMMAND_TOO_LONG, length=len(recipe.command), most=COMMAND_AT_MOST
        )
    return None


def with_name(ask: Ask, recipe: Recipe) -> Ask:
    """The ask named after what is run, unless it has a name."""
    if ask.name is not None:
        return ask
    return dataclasses.replace(ask, name=_name_of(recipe)[:NAME_AT_MOST])


def _name_of(recipe: Recipe) -> str:
    """`debug`, or the last part of the image without its tag."""
    if recipe.kind is RecipeKind.DEBUG:
        return "debug"
    return re.split("[:@]", recipe.image.rsplit("/", 1)[-1], maxsplit=1)[0]
