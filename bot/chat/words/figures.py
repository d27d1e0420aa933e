"""The numbers that come with a reason or refusal, for a language to put into words."""

from __future__ import annotations

from collections.abc import Mapping

from bot.chat.markup import Markup, escape
from scheduler.model import Figure


class Figures:
    """The numbers of a verdict or refusal, any of which may be missing."""

    def __init__(self, figures: Mapping[str, Figure]) -> None:
        self._figures = figures

    def number(self, *names: str) -> float | None:
        """The first of the named figures that is a number."""
        for name in names:
            value = self._figures.get(name)
            if isinstance(value, int | float):
                return value
        return None

    def path(self, name: str) -> tuple[str, ...]:
        """The parts of a figure that is a path, as they are: not yet fit to be shown."""
        value = self._figures.get(name)
        return tuple(value.split("/")) if isinstance(value, str) and value else ()

    def text(self, *names: str) -> Markup | None:
        """The first of the named figures that is there, escaped."""
        for name in names:
            value = self._figures.get(name)
            if value is not None and value != "":
                return escape(f"{value:,}" if isinstance(value, int | float) else value)
        return None


def asked_for(figures: Figures) -> float | None:
    """How much was asked for, by whichever name it goes."""
    return figures.number("asked", "needed", "need", "gpus")


def left_over(figures: Figures) -> float | None:
    """How much is left, by whichever name it goes."""
    return figures.number("available", "free", "left")


def shared_level(figures: Figures) -> str:
    """The level of which it has to have one domain, in the word that people type; or none."""
    label = (figures.path("level") or ("",))[-1]
    return "" if label == "hostname" or figures.number("in_domain") is None else label
