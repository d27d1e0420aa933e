"""Who somebody is, how they come to be in a team, and who is on call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from bot.chat.people import Names
from bot.duty import DutyDoubt
from bot.identity import LinkAnswered, LinkAsked, LinkRefused, LinkView, OnCallView
from bot.views import CardView
from scheduler.budgets import Budget


class Identity(Protocol):
    """Sentences about people."""

    def link_view(self, view: LinkView) -> Markup:
        """Whom the bot takes somebody for."""
        ...

    def link_asked(self, answer: LinkAsked, names: Names) -> Markup:
        """That the leads were asked."""
        ...

    def link_answered(self, answer: LinkAnswered, person: Markup) -> Markup:
        """To the lead who answered."""
        ...

    def link_refused(self, refused: LinkRefused, names: Names, mention: Names) -> Markup:
        """Why not."""
        ...

    def link_question(self, args: notices.LinkAskedArgs, person: Markup) -> Markup:
        """To a lead: who wants to be in the team."""
        ...

    def link_told(self, args: notices.LinkAnsweredArgs, by: Markup) -> Markup:
        """To who asked: what the lead said."""
        ...

    def button_agree(self) -> str:
        """The lead agrees."""
        ...

    def button_disagree(self) -> str:
        """The lead does not."""
        ...

    def oncall_doubt(self, doubt: DutyDoubt) -> Markup:
        """Under a notice whose on-call may be somebody else."""
        ...

    def lowered(self, card: CardView) -> Markup:
        """That a request has a lower class than it asked for; empty if it has not."""
        ...

    def budgets(self, budgets: Sequence[Budget]) -> Markup:
        """What a team has of its priority budgets; empty without any."""
        ...

    def on_call(self, view: OnCallView, names: Names) -> Markup:
        """Who is on call, who stands in, and whether that was just changed."""
        ...

    def substitute(self, args: notices.SubstituteArgs, by: Markup, person: Markup | None) -> Markup:
        """That somebody stands in for on-call, or nobody any more."""
        ...
