"""What the bot says on its own: admissions, preemptions, starvation, ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from scheduler.model import Figure, WaitReason
from storage.records import RecipeKind


class Alerts(Protocol):
    """Sentences for notices."""

    def admitted_title(self, args: notices.AdmittedArgs) -> Markup:
        """Leads an admission."""
        ...

    def admitted(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """Who got what, where, until when."""
        ...

    def admitted_details(self, args: notices.AdmittedArgs) -> Markup:
        """Every node, for the thread."""
        ...

    def how_to_use(self, request: str, label: str, made: RecipeKind | None) -> Markup:
        """How pods find their grant, or the person the pods that are made."""
        ...

    def admitted_group_title(self, group: Sequence[notices.AdmittedArgs]) -> Markup:
        """Leads a burst of admissions."""
        ...

    def admitted_row(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """One admission of a burst, in a line."""
        ...

    def preempted_title(self, args: notices.PreemptedArgs) -> Markup:
        """Leads the notice to the one who was stopped."""
        ...

    def preempted_by(self, args: notices.PreemptedArgs, winner: Markup) -> Markup:
        """Who takes the GPUs."""
        ...

    def rule(self, args: notices.PreemptedArgs) -> Markup:
        """By which right, in plain words, with the rule's name and the level it acted at."""
        ...

    def rules(self, group: Sequence[notices.PreemptedArgs], *, code: bool = True) -> Markup:
        """The rule by which the targets of a group, all of one queue, were stopped.

        Its name and level, the `code`, are for those who look into it, not for everybody.
        """
        ...

    def paths(self, args: notices.PreemptedArgs) -> Markup:
        """Both queues with their place in the quota tree."""
        ...

    def preempted_next(self, args: notices.PreemptedArgs) -> Markup:
        """What is lost and what happens next."""
        ...

    def preempted_group_title(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the post about all that one request stopped."""
        ...

    def preempted_group(self, args: notices.PreemptedGroupArgs, winner: Markup) -> Markup:
        """Who needed the room."""
        ...

    def preempted_row(
        self, args: notices.PreemptedArgs, owner: Markup, *, timed: bool = False
    ) -> Markup:
        """One target of a group."""
        ...

    def preempted_rest(self, rest: Sequence[notices.PreemptedArgs]) -> Markup:
        """The targets that are not listed one by one, by team, the largest first."""
        ...

    def preempted_group_next(
        self, args: notices.PreemptedGroupArgs, *, told: bool = True
    ) -> Markup:
        """What happens to the targets; and that their owners know, where others read it."""
        ...

    def for_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call; without a group to mention, in words."""
        ...

    def ask_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call to what somebody has to acknowledge."""
        ...

    def starving_title(self, args: notices.StarvingArgs) -> Markup:
        """Leads a starvation alert."""
        ...

    def starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """How long, against what target, and where."""
        ...

    def why_in_short(self, reason: WaitReason, figures: Mapping[str, Figure]) -> Markup:
        """The reason and the next step."""
        ...

    def starving_holders(self, args: notices.StarvingArgs) -> Markup:
        """Who holds what it needs."""
        ...

    def starving_oncall(self, args: notices.StarvingArgs, group: Markup | None) -> Markup:
        """What on-call can do."""
        ...

    def starving_plan(self, args: notices.StarvingArgs) -> Markup:
        """The room that is kept for it; empty without any."""
        ...

    def ended_title(self, args: notices.EndedArgs) -> Markup:
        """Leads the last reply of a thread."""
        ...

    def ended(self, args: notices.EndedArgs, by: Markup | None) -> Markup:
        """How it ended and what it used."""
        ...

    def ended_for_you(self, args: notices.EndedArgs, by: Markup) -> Markup:
        """To the owner of what somebody else ended."""
        ...

    def requeued(self, args: notices.RequeuedArgs) -> Markup:
        """That it waits again, and where."""
        ...

    def held_elsewhere(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the GPUs are held now."""
        ...

    def repaired(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the pods went."""
        ...

    def node_failed_title(self, args: notices.NodeFailedArgs) -> Markup:
        """Leads the post about a failed node."""
        ...

    def node_failed_row(self, hit: notices.HitArgs, owner: Markup) -> Markup:
        """One who was hit, and what becomes of it."""
        ...

    def node_failed_rest(self, rest: Sequence[notices.HitArgs]) -> Markup:
        """Those who are not listed one by one."""
        ...

    def node_failed_next(self, args: notices.NodeFailedArgs) -> Markup:
        """What the bot does about it."""
        ...

    def overfull(self, args: notices.OverfullArgs) -> Markup:
        """A node that shrank below what it holds."""
        ...

    def flipped(self, args: notices.FlippedArgs) -> Markup:
        """To on-call, once: two requests stopped each other again and again."""
        ...

    def undeliverable(self, *, where: str, error: str) -> Markup:
        """To on-call, once: messages cannot be delivered there."""
        ...

    def meant_for(self, where: str) -> Markup:
        """Leads a message that comes to the fallback channel."""
        ...
