"""Replicas of one Deployment or StatefulSet: their card, and what becomes of them."""

from __future__ import annotations

from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from bot.views import CardView


class Families(Protocol):
    """Sentences about replicas. A family's headline, terms and standing are those of its card."""

    def replica_of(self, card: CardView) -> Markup:
        """What a single replica belongs to; empty for anything else."""
        ...

    def template_held(self, args: notices.RequeuedArgs) -> Markup:
        """That no replica of a template is tried any more, and what to do."""
        ...

    def replicas_title(self) -> Markup:
        """Heads the replicas of a family, one a line."""
        ...

    def replicas_started(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that got their GPUs."""
        ...

    def replicas_ended(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that are gone."""
        ...

    def replica_started(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that got its GPUs, in a line."""
        ...

    def replica_ended(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that is gone, in a line."""
        ...

    def family_started(self, args: notices.ReplicasArgs, owner: Markup) -> Markup:
        """The first start of a family, for the channel."""
        ...
