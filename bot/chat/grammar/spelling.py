"""The canonical way to write an ask: what `parse` reads back as the same ask."""

from __future__ import annotations

import re

from bot.asks import Ask, Together
from scheduler.model import Spend

_BARE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def spell(ask: Ask) -> str:
    """One line for an ask. Reading it back gives the ask, but for `text`."""
    words = [spell_size(ask)]
    if ask.model is not None:
        words.append(ask.model)
    if ask.duration is not None:
        words.append(spell_lease(ask.duration))
    if ask.preemptible:
        words.append("preemptible")
    if ask.priority is not None:
        words += ["priority", ask.priority.value]
    if ask.topology is not None:
        words.append(spell_topology(ask.topology))
    if ask.spend is not Spend.LOW:
        words += ["spend", ask.spend.value]
    if ask.team is not None:
        words += ["team", _word(ask.team)]
    if ask.name is not None:
        words += ["name", _word(ask.name)]
    return " ".join(words)


def spell_topology(topology: Together) -> str:
    """`same rack`, `prefer block` or `spread`."""
    return " ".join(filter(None, (topology.nearness.value, topology.level)))


def spell_lease(seconds: float) -> str:
    """`8h`, `90m`, `2d`: the largest unit that leaves a whole number, or minutes."""
    for unit, letter in _UNITS:
        if seconds >= unit and seconds % unit == 0:
            return f"{int(seconds // unit)}{letter}"
    return f"{seconds / 60:.6f}".rstrip("0").rstrip(".") + "m"


def spell_size(ask: Ask) -> str:
    """`16`, `2 nodes` or `4x8`."""
    if ask.nodes is not None:
        return f"{ask.nodes} nodes"
    if ask.pods is not None and ask.gpus_per_pod is not None:
        return f"{ask.pods}x{ask.gpus_per_pod}"
    return str(ask.gpus or "")


def _word(text: str) -> str:
    """The word as it is, or quoted if it needs it, in the quotes that it does not hold."""
    if _BARE.fullmatch(text):
        return text
    return f"«{text}»" if '"' in text else f'"{text}"'
