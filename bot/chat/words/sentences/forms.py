"""The form and the App Home: labels are short, plain text, never built from what people typed."""

from __future__ import annotations

from typing import Protocol

from bot.chat.grammar import GrammarError
from bot.chat.markup import Markup
from bot.overview import ClusterView, PoolView
from bot.views import Refused, TeamShare, Verb


class Forms(Protocol):
    """Labels, hints and headings."""

    form_title: str
    form_edit_title: str
    button_edit: str
    form_submit: str
    form_close: str
    form_size: str
    form_size_hint: str
    form_model: str
    form_lease: str
    form_lease_hint: str
    form_team: str
    form_priority: str
    form_spend: str
    form_spend_low: str
    form_spend_high: str
    form_preemptible: str
    form_preemptible_no: str
    form_preemptible_yes: str
    form_topology: str
    form_topology_any: str
    form_topology_spread: str
    form_minimum: str
    form_minimum_hint: str
    form_provision: str
    form_provision_any: str
    form_name: str
    form_name_hint: str
    button_why: str
    button_cancel: str
    button_refresh: str
    button_request: str
    button_previous: str
    button_next: str
    confirm_keep: str
    home_title: str
    home_teams: str
    home_cluster: str

    def form_error(self, wrong: GrammarError) -> str:
        """An error under its field: plain text, no markup."""
        ...

    def form_refused(self, refused: Refused) -> str:
        """A refusal under its field; the form itself is what can be tried instead."""
        ...

    def form_topology_level(self, said: str) -> str:
        """`Same rack: all of it or wait` and `Prefer rack: if it fits there now`."""
        ...

    def provision_word(self, provision: str) -> str:
        """How nodes are had, as people say it."""
        ...

    def priority_word(self, priority: str) -> str:
        """A level of priority as people say it."""
        ...

    def confirm_cancel_title(self, request: str) -> str:
        """Asks before a request is cancelled."""
        ...

    def confirm_cancel(self, gpus: int) -> str:
        """What cancelling a waiting request means."""
        ...

    def confirm_stop_title(self, verb: Verb, request: str) -> str:
        """Asks before something running is stopped."""
        ...

    def stop_label(self, verb: Verb) -> str:
        """What the button says that stops something running."""
        ...

    def confirm_stop(self, *, gpus: int, nodes: int) -> str:
        """What is stopped by it."""
        ...

    def cluster(self, cluster: ClusterView) -> Markup:
        """The cluster in two sentences."""
        ...

    def pool(self, pool: PoolView) -> Markup:
        """One pool in a line."""
        ...

    def share(self, share: TeamShare) -> Markup:
        """A team's standing in a line."""
        ...
