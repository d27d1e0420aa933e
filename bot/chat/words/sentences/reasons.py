"""Why a request waits, as sentences with figures, and the one next step."""

from __future__ import annotations

from typing import Protocol

from bot.chat.markup import Markup
from scheduler.model import Verdict


class Reasons(Protocol):
    """One sentence a reason, one a next step."""

    def reason(self, verdict: Verdict) -> Markup:
        """The dominant reason with its numbers, as one sentence."""
        ...
