"""Fairness and reports: tables in words, and the labels of the plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot import notices
from bot.chat.markup import Markup
from bot.fairness import Borrower, FairView
from bot.reports import Account, ReportView
from bot.views import TeamShare


class Reports(Protocol):
    """Figures with what they mean. Labels of plots are plain text: a picture knows no markup."""

    report_file_title: str
    plot_use: str
    plot_stranded: str
    plot_use_title: str
    plot_waits_title: str
    plot_half: str
    plot_most: str
    plot_hours_title: str
    plot_used: str
    plot_entitled: str
    plot_nothing: str

    def fair_title(self, view: FairView) -> Markup:
        """Heads the table, and says how use is counted."""
        ...

    def fair_team(self, share: TeamShare, waiting: int, weight: float, *, mine: bool) -> Markup:
        """One team in a line."""
        ...

    def fair_borrowers(self, borrowers: Sequence[Borrower], more: int) -> Markup:
        """Which queues live on what others leave idle."""
        ...

    def report_title(self, view: ReportView) -> Markup:
        """Which period, of whom."""
        ...

    def report_summary(self, view: ReportView) -> Markup:
        """The few figures that everybody wants first."""
        ...

    def report_accounts(self, title: str, accounts: Sequence[Account], more: int = 0) -> Markup:
        """A list of teams or pools: GPU-hours against quota, waits, preemptions."""
        ...

    def report_people(self, people: Sequence[tuple[Markup, Account]]) -> Markup:
        """Who used most."""
        ...

    def report_spends(self, spends: Sequence[Account]) -> Markup:
        """GPU-hours by the spend label."""
        ...

    report_pools: str
    report_teams: str

    def report_nothing(self) -> Markup:
        """When the ledger has nothing of that period."""
        ...

    def report_alt(self, view: ReportView) -> str:
        """The plots in words, for who cannot see them."""
        ...

    def plot_span(self, seconds: float) -> str:
        """A length of time beside a bar."""
        ...

    def plot_hours(self, hours: float) -> str:
        """GPU-hours beside a bar."""
        ...

    def monthly(self, args: notices.MonthlyArgs) -> Markup:
        """A team nears, or has reached, what it planned for a month."""
        ...

    def digest_lead(self, view: ReportView) -> Markup:
        """The first line of a digest, which comes by itself."""
        ...
