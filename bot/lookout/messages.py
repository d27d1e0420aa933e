"""What travels between the bot and the process that looks ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.control.transcript import Line
from bot.lookout.port import Question
from scheduler.layout import Layout
from scheduler.model import Seconds


@dataclass(frozen=True, slots=True)
class Begin:
    """Forget everything: an engine of this policy comes."""

    layout: Layout


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the engine was told next."""

    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and the time of the bot's world."""

    question: Question[Any]
    now: Seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a message, or what went wrong."""

    value: Any = None
    error: Exception | None = None


Message = Begin | Repeat | Ask
