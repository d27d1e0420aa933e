"""Pods that hold GPUs and that no request stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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
