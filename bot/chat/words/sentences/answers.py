"""Answers to what people ask: submitted, done, status, queue, why, mine, help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.chat.grammar import Verb
from bot.chat.markup import Markup
from bot.views import CardView, Done, QueueRow, QueueSection, Submitted, Unconfirmed
from scheduler.model import Holder


class Answers(Protocol):
    """Sentences for the answers of the desk."""

    def submitted(self, submitted: Submitted) -> Markup:
        """Leads the answer to a request."""
        ...

    def see_card(self, channel: str | None) -> Markup:
        """Where to look from now on."""
        ...

    def nothing_stopped(self) -> Markup:
        """Under the question whether something is to be stopped."""
        ...

    def unconfirmed(self, asked: Unconfirmed, owner: Markup) -> Markup:
        """Asks whether something running is to be stopped."""
        ...

    def done(self, done: Done) -> Markup:
        """What was done about cancel or release."""
        ...

    def mine_title(self, count: int, *, may_ask: bool = True) -> Markup:
        """Heads a person's own open requests; who has none reads what to do first."""
        ...

    def mine_waiting_title(self, count: int) -> Markup:
        """Heads a person's own requests in the line: how many of them wait."""
        ...

    def ended_list_title(self) -> Markup:
        """Heads the requests that ended last."""
        ...

    def about_title(self, about: Markup) -> Markup:
        """Heads the rows about one request, person, team or queue."""
        ...

    def nothing_found(self) -> Markup:
        """Where a list is empty."""
        ...

    def more(self, count: int) -> Markup:
        """Closes a list that was cut."""
        ...

    def as_of(self, at: float) -> Markup:
        """The moment a view was true."""
        ...

    def asked(self, card: CardView) -> Markup:
        """When it was asked, and how often it started; of replicas, how to have more or fewer."""
        ...

    def cluster_title(self) -> Markup:
        """Heads the cluster's figures."""
        ...

    def queue_title(self, section: QueueSection) -> Markup:
        """Heads one queue."""
        ...

    def queue_empty(self) -> Markup:
        """When nothing waits."""
        ...

    def queue_row(self, row: QueueRow, owner: Markup | None) -> Markup:
        """One waiting request in a line."""
        ...

    def page(self, page: int, pages: int) -> Markup:
        """Which page of how many."""
        ...

    def owned_by(self, request: str, owner: Markup | None) -> Markup:
        """A request and whose it is."""
        ...

    def ahead_of(self, named: Sequence[Markup], rest: int, queue: str) -> Markup:
        """Who stands before it, with owners."""
        ...

    def holders(self, holders: Sequence[Holder]) -> Markup:
        """Who holds what it needs, one a line."""
        ...

    def story(self, rows: Sequence[Markup]) -> Markup:
        """The story of a request, oldest first."""
        ...

    def story_row(self, *, at: float, state: str, reason: str, actor: Markup | None) -> Markup:
        """One line of a request's story."""
        ...

    def hello(self) -> Markup:
        """The first line of the help text."""
        ...

    def help_row(self, verb: Verb, command: str) -> Markup:
        """One command in a line or two."""
        ...

    def help_verb(self, verb: Verb) -> Markup:
        """What one command does."""
        ...

    def examples(self, verb: Verb, command: str) -> Markup:
        """All examples of a command."""
        ...

    def help_admin(self) -> Markup:
        """Heads the commands that only admins may say."""
        ...

    def help_doors(self) -> Markup:
        """Where else it works."""
        ...
