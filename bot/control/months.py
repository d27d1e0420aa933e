"""Tells a team's leads and the channel when the GPU-hours planned for a month run out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot import notices
from bot.control.ledger import Ledger
from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.layout import Team
from storage.records import Audience, Notice
from storage.store import Store

PERCENTS = (100, 80)
"""Parts of the plan that are announced; where several are reached, the first alone."""


@dataclass(slots=True)
class MonthCheck:
    """Looks at each team that has a plan; a part is told once a month, whoever restarts when.

    `leads` gives the Slack ids of a team's leads.
    """

    terms: Terms
    store: Store
    leads: Callable[[str], Sequence[str]]

    def __call__(self, _: Engine, ledger: Ledger) -> None:
        """Look at every plan as of the ledger's moment."""
        begin, end = month_of(ledger.at)
        for team in self.terms.layout.teams:
            if team.monthly_gpu_hours is None:
                continue
            with self.store.read() as view:
                grants = view.grants.during(begin, ledger.at, team=team.name)
            used = sum(grant.hours(begin, ledger.at) for grant in grants)
            reached = [p for p in PERCENTS if used * 100 >= p * team.monthly_gpu_hours]
            if reached:
                self._say(ledger, team, reached[0], used, begin, end)

    def _say(
        self,
        ledger: Ledger,
        team: Team,
        percent: int,
        used: float,
        begin: dt.datetime,
        end: dt.datetime,
    ) -> None:
        args = notices.MonthlyArgs(
            team=team.name,
            month=f"{begin:%Y-%m}",
            percent=percent,
            used=used,
            planned=team.monthly_gpu_hours or 0,
            ends=end.timestamp(),
        )
        key = f"monthly:{team.name}:{args.month}:{percent}"
        told = args.model_dump(mode="json")
        ledger.say(
            Notice(key=key, kind=args.kind, audience=Audience.CHANNEL, request=None, args=told)
        )
        for lead in self.leads(team.name):
            ledger.say(
                Notice(
                    key=f"{key}:{lead}",
                    kind=args.kind,
                    audience=Audience.PERSON,
                    request=None,
                    target=lead,
                    args=told,
                )
            )


def month_of(at: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """The calendar month (UTC) that holds a moment: its first instant and the next month's."""
    begin = at.astimezone(dt.UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return begin, (begin + dt.timedelta(days=32)).replace(day=1)
