"""When a request will start, what would start sooner, and what became of an estimate."""

from __future__ import annotations

from typing import Protocol

from bot.answers import Tried
from bot.chat.markup import Markup
from bot.chat.people import Names
from bot.prospects import Offered, Prospect
from bot.views import CardView
from storage.records import Estimate


class Prospects(Protocol):
    """Sentences about what lies ahead."""

    def expected(self, prospect: Prospect) -> Markup:
        """When it starts, as a range with what that rests on."""
        ...

    def offers(self, prospect: Prospect, names: Names) -> Markup:
        """What would start sooner, one a line."""
        ...

    def button_offer(self, offer: Offered, names: Names) -> str:
        """The button that takes an offer."""
        ...

    def when_caveat(self) -> Markup:
        """What an expected start does not know."""
        ...

    def when_not_waiting(self, card: CardView) -> Markup:
        """When it did start, or that it never will."""
        ...

    def first_estimate(self, first: Estimate) -> Markup:
        """What was expected when it was asked for, against what happened."""
        ...

    def tried(self, tried: Tried) -> Markup:
        """What would become of an ask."""
        ...

    def tried_nothing(self) -> Markup:
        """Under what was only tried."""
        ...

    def button_ask_tried(self) -> str:
        """The button that asks for what was tried."""
        ...
