"""Bursts, calls for on-call, and what a person wants to hear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from bot.views import Letter, PreferencesView


class Notifying(Protocol):
    """Sentences about notices."""

    button_acknowledge: str

    def burst_title(self, kind: notices.NoticeKind, count: int) -> Markup:
        """Leads several notices of a kind that are said together."""
        ...

    def burst_preempted(self, args: notices.PreemptedGroupArgs, owners: Sequence[Markup]) -> Markup:
        """One preemptor of a burst and everybody it stops, in a line."""
        ...

    def burst_starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """One starving request of a burst, in a line."""
        ...

    def burst_lease(self, args: notices.LeaseEndingArgs) -> Markup:
        """One lease of several that end, in a line."""
        ...

    def burst_ended(self, args: notices.EndedArgs, how: Markup) -> Markup:
        """One request of several that ended, in a line."""
        ...

    def burst_leases(self) -> Markup:
        """Closes a burst of leases that end."""
        ...

    def burst_details(self) -> Markup:
        """Closes a burst of what has a story."""
        ...

    def preempted_yours(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the one notice to the owner of several targets."""
        ...

    def acknowledged(self, by: Markup, at: float) -> Markup:
        """Stands under an on-call notice that somebody has taken."""
        ...

    def acknowledged_now(self, count: int) -> Markup:
        """Answers the press."""
        ...

    def acknowledged_before(self, by: Markup, at: float) -> Markup:
        """Answers a press that came second."""
        ...

    def escalated(
        self, args: notices.EscalatedArgs, called: Markup, links: Sequence[Markup]
    ) -> Markup:
        """Calls the next in line when nobody has acknowledged."""
        ...

    def escalation_over(self, args: notices.EscalatedArgs, links: Sequence[Markup]) -> Markup:
        """Said in the on-call channel when the calls are over and nobody came."""
        ...

    def call_in(self, kind: notices.NoticeKind, request: str | None, where: Markup) -> Markup:
        """A notice in a few words: what, about which request, in which channel."""
        ...

    def no_fallback(self) -> Markup:
        """Who is called when nobody is named."""
        ...

    def listening(self, at: float) -> Markup:
        """The self test's own message, changed in place."""
        ...

    def letters_title(self, count: int) -> Markup:
        """Leads the messages that were given up, for admins."""
        ...

    def letter(self, letter: Letter, where: Markup) -> Markup:
        """One message that was given up."""
        ...

    def preferences_title(self, view: PreferencesView) -> Markup:
        """Leads the preferences."""
        ...

    def preferences(self, view: PreferencesView) -> Markup:
        """Every field, its value and what it means."""
        ...

    def preferences_example(self) -> Markup:
        """How to change one."""
        ...
