"""Idle GPUs: the question, its answer, and what follows without one."""

from __future__ import annotations

from typing import Protocol

from bot import notices
from bot.answers import Kept
from bot.chat.markup import Markup


class Idle(Protocol):
    """Sentences about GPUs that do nothing."""

    button_keep: str

    def idle_title(self, args: notices.IdleArgs) -> Markup:
        """Heads the question."""
        ...

    def idle(self, args: notices.IdleArgs, owner: Markup | None) -> Markup:
        """What was measured, and what is asked; `owner` where it is not the reader."""
        ...

    def kept(self, answer: Kept) -> Markup:
        """The answer to Keep."""
        ...
