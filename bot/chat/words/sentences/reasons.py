"""Why a request waits, as sentences with figures, and the one next step."""

from __future__ import annotations

from typing import Protocol

from bot.chat.markup import Markup
from scheduler.model import Basis, Verdict


class Reasons(Protocol):
    """One sentence a reason, one a next step."""

    def reason(self, verdict: Verdict) -> Markup:
        """The dominant reason with its numbers, as one sentence."""
        ...

    def plan(self, *, at: float, nodes: int, domain: str, basis: Basis) -> Markup:
        """The room that is kept for it: from when on, where (`level=value`), and how sure."""
        ...
