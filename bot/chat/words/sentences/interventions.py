"""What admins do by hand: why not, what it would do, what was done, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot import notices
from bot.byhand import Declined, Intervened, Preview
from bot.chat.markup import Markup
from bot.chat.people import Names
from storage.audit import Intervention


class Interventions(Protocol):
    """Sentences about orders of admins."""

    def declined(self, declined: Declined, mention: Names) -> Markup:
        """Why an order was not taken, and what would do or whom to ask."""
        ...

    def preview(self, preview: Preview) -> Markup:
        """What would be done."""
        ...

    def preview_hits(self, preview: Preview, names: Names) -> Markup:
        """Whom it would hit, a line each."""
        ...

    def preview_after(self, preview: Preview) -> Markup:
        """What it would bring, and that nothing was done yet."""
        ...

    def changed_since(self) -> Markup:
        """That a preview is a new one, as what was confirmed is not so any more."""
        ...

    def confirm_text(self, preview: Preview) -> str:
        """The question of the dialog."""
        ...

    def button_go_on(self, preview: Preview) -> str:
        """The button that orders it."""
        ...

    def button_let_finish(self) -> str:
        """The button that drains a node and lets finish what runs there."""
        ...

    def button_move(self) -> str:
        """The button that drains a node and moves what runs there."""
        ...

    def button_no(self) -> str:
        """The way out of the dialog."""
        ...

    def intervened(self, answer: Intervened) -> Markup:
        """The private answer to who ordered it."""
        ...

    def intervention_title(self, args: notices.InterventionArgs) -> Markup:
        """Leads the post."""
        ...

    def intervention(self, args: notices.InterventionArgs, actor: Markup, names: Names) -> Markup:
        """Who did what until when, and what it means."""
        ...

    def intervention_reason(self, reason: str) -> Markup:
        """Why, in the admin's own words."""
        ...

    def intervention_hits(self, args: notices.InterventionArgs, names: Names) -> Sequence[Markup]:
        """Whom it hits, a line each."""
        ...

    def intervention_over(self, args: notices.InterventionOverArgs, actor: Markup) -> Markup:
        """That something set by hand has ended by itself."""
        ...

    def intervention_failed(self, args: notices.InterventionFailedArgs) -> Markup:
        """That an order came too late."""
        ...

    def displaced_title(self, args: notices.DisplacedArgs) -> Markup:
        """Leads the notice to the one who is stopped."""
        ...

    def displaced(self, args: notices.DisplacedArgs, actor: Markup, names: Names) -> Markup:
        """Who stops it, for whom, by which right."""
        ...

    def displaced_paths(self, args: notices.DisplacedArgs) -> Markup:
        """The quota paths of both sides."""
        ...

    def displaced_next(self, args: notices.DisplacedArgs) -> Markup:
        """What is lost and what happens next."""
        ...

    def stuck(self, args: notices.StuckArgs, owner: Markup) -> Markup:
        """To on-call: something was told to stop and does not go."""
        ...

    def node_avoided(self, args: notices.NodeAvoidedArgs) -> Markup:
        """To on-call: a node is used no more for a while; why, and how to undo it."""
        ...

    def not_taken(self, args: notices.NotTakenArgs) -> Markup:
        """An object of the cluster cannot become a request; why is said below."""
        ...

    def not_taken_next(self, args: notices.NotTakenArgs) -> Markup:
        """What to do about it."""
        ...

    def lasting_title(self) -> Markup:
        """Leads what admins have set that still lasts."""
        ...

    def lasting(self, one: Intervention, actor: Markup) -> Markup:
        """Something that lasts, in a line."""
        ...
