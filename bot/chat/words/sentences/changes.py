"""Leases and changes of requests: what was done, what is about to happen."""

from __future__ import annotations

from typing import Protocol

from bot import notices
from bot.answers import Changed
from bot.chat.markup import Markup
from bot.chat.people import Names


class Changes(Protocol):
    """Sentences about leases and changes."""

    def changed(self, done: Changed, names: Names) -> Markup:
        """What was changed, for the one who did it."""
        ...

    def told_change(self, args: notices.ChangedArgs, actor: Markup, names: Names) -> Markup:
        """For thread and owners: who changed what; that it is held no more."""
        ...

    def yours_now(self, args: notices.ChangedArgs) -> Markup:
        """To whoever has got a request."""
        ...

    def lease_ending_title(self, args: notices.LeaseEndingArgs) -> Markup:
        """Leads the reminder."""
        ...

    def lease_ending(self, args: notices.LeaseEndingArgs, owner: Markup) -> Markup:
        """When it ends and what happens then."""
        ...

    def lease_longer(self, args: notices.LeaseEndingArgs, names: Names) -> Markup:
        """Whether it may last longer, and who keeps it from that."""
        ...

    def unprotected_title(self, args: notices.UnprotectedArgs) -> Markup:
        """Leads the notice that a lease is over."""
        ...

    def unprotected(self, args: notices.UnprotectedArgs) -> Markup:
        """What that means."""
        ...

    def button_extend(self, seconds: float) -> str:
        """The button that extends a lease."""
        ...

    def button_extend_one(self, request: str, seconds: float) -> str:
        """The button that extends one of several leases."""
        ...
