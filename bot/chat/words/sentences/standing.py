"""Where a request stands: the lines of its card."""

from __future__ import annotations

from typing import Protocol

from bot.chat.markup import Markup
from bot.views import CardView


class Standing(Protocol):
    """State words and card lines."""

    def headline(self, card: CardView) -> Markup:
        """State word, id, amount, name."""
        ...

    def who(self, card: CardView, owner: Markup) -> Markup:
        """Owner, team, pool and the terms of the request."""
        ...

    def recipe(self, card: CardView) -> Markup:
        """What the bot makes for it; empty for a hold."""
        ...

    def stand(self, card: CardView, ended_by: Markup | None = None) -> Markup:
        """One or two sentences: what is true of it now, and what comes next."""
        ...

    def extends(self, card: CardView) -> Markup:
        """What the button that extends it makes of its end; empty without one."""
        ...

    def row(self, card: CardView, owner: Markup | None = None) -> Markup:
        """A card in one line, for lists; `owner` where it is not the reader."""
        ...
