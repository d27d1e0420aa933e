"""Pods that hold GPUs and that no request stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from bot.maps import OutsidePod


class Outside(Protocol):
    """Sentences about them."""

    def outside_title(self, pods: Sequence[OutsidePod]) -> Markup:
        """Leads them, with how many there are."""
        ...

    def outside(self, pod: OutsidePod) -> Markup:
        """One of them, in a line."""
        ...

    def outside_hint(self, command: str) -> Markup:
        """How to make a request of one."""
        ...

    def taken(self, args: notices.TakenArgs) -> Markup:
        """Who is on GPUs that a hold has no pods on, and what becomes of that."""
        ...

    def foreign(self, args: notices.ForeignArgs) -> Markup:
        """What runs that a bot with another database let start."""
        ...

    def foreign_next(self) -> Markup:
        """What on-call may do about it."""
        ...

    def taken_next(self) -> Markup:
        """What on-call may do about such pods."""
        ...
