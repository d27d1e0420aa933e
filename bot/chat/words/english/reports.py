"""Fairness and reports in English: tables in words, and the labels of the plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bot import notices
from bot.asks import Period
from bot.chat.markup import Markup, date, join, plain, say
from bot.chat.words.english.units import Units
from bot.fairness import Borrower, FairView
from bot.reports import LENGTHS, Account, Guess, ReportView, Waits
from bot.views import TeamShare

_SPANS = {Period.DAY: "day", Period.WEEK: "week", Period.MONTH: "30 days"}


class Reports(Units):
    """Figures with what they mean. Labels of plots are plain text: a picture knows no markup."""

    report_file_title = "GPU report"
    plot_use = "GPUs in use"
    plot_stranded = "stranded (free on a part-filled node)"
    plot_use_title = "Use and fragmentation, share of all GPUs"
    plot_waits_title = "Waits before a start, by pool"
    plot_half = "half started within"
    plot_most = "95 % started within"
    plot_hours_title = "GPU-hours by team"
    plot_used = "used"
    plot_entitled = "own quota over the period"
    plot_nothing = "nothing to show yet"

    # ---- fair

    def fair_title(self, view: FairView) -> Markup:
        """Heads the table, and says how use is counted."""
        if view.half_life is None:
            return say("*How the teams stand* · use of the past is not counted by this policy")
        return say(
            "*How the teams stand* · who used least comes first in shared queues; "
            "each GPU-hour counts half after {span}",
            span=self.span(view.half_life),
        )

    def fair_team(self, share: TeamShare, waiting: int, weight: float, *, mine: bool) -> Markup:
        """One team in a line."""
        name = say("*{team}* (yours)" if mine else "*{team}*", team=share.team)
        parts = [
            say("{rank}. {name}", rank=share.rank, name=name),
            say("{hours} lately", hours=self.gpu_hours(share.chip_hours)),
            say("holds {used:,}", used=share.used),
            say("own quota {nominal:,}", nominal=share.nominal) if share.nominal else Markup(),
            say("waits for {gpus}", gpus=self.gpus(waiting)) if waiting else Markup(),
            say("weight {weight:g}", weight=weight) if weight != 1.0 else Markup(),
        ]
        return join(" · ", parts)

    def fair_borrowers(self, borrowers: Sequence[Borrower], more: int) -> Markup:
        """Which queues live on what others leave idle."""
        if not borrowers:
            return say("No queue borrows at the moment.")
        rows = [self._borrower(one) for one in borrowers]
        rest = [say("… and {more:,} more", more=more)] if more > 0 else []
        return join("\n", [say("*Borrowed at the moment* · highest share first"), *rows, *rest])

    def _borrower(self, one: Borrower) -> Markup:
        share = say("above all others")
        if not math.isinf(one.share):
            share = say("{share:.1%} of what can be lent", share=one.share / 1000)
        return say(
            "• {queue} ({pool}): uses {used}, own quota {nominal:,}, {share}",
            queue=one.queue,
            pool=one.pool,
            used=self.gpus(one.used),
            nominal=one.nominal,
            share=share,
        )

    # ---- report

    def report_title(self, view: ReportView) -> Markup:
        """Which period, of whom."""
        whom = say(" of team {team}", team=view.team) if view.team is not None else Markup()
        known = Markup()
        if view.until - view.since < LENGTHS[view.period]:
            known = say(", known since {since}", since=date(view.since))
        return say(
            "*Report{whom}* · the {span} up to {until}{known}",
            whom=whom,
            known=known,
            span=_SPANS[view.period],
            until=date(view.until),
        )

    def report_summary(self, view: ReportView) -> Markup:
        """The few figures that everybody wants first."""
        lines = []
        if view.utilisation is not None and view.fragmentation is not None:
            lines.append(
                say(
                    "• in use {used:.1%} of all GPUs, fragmentation {stranded:.1%} (means)",
                    used=view.utilisation,
                    stranded=view.fragmentation,
                )
            )
        lines.append(
            say(
                "• {hours}; {waits}",
                hours=self.gpu_hours(view.gpu_hours),
                waits=self.waits(view.waits),
            )
        )
        lines.append(
            say(
                "• {preempted}, {lost} after node failures, {starved}, {manual}",
                preempted=self.count(view.preemptions, "preemption"),
                lost=self.count(view.lost, "restart"),
                starved=self.count(view.starvations, "starvation"),
                manual=self.count(view.interventions, "manual intervention"),
            )
        )
        if view.guess is not None:
            lines.append(self._guess(view.guess))
        if len(view.guesses) > 1:
            lines.append(self._guesses(view.guesses))
        return join("\n", lines)

    def _guesses(self, guesses: Mapping[str, Guess]) -> Markup:
        rows = [
            say("{pool} {error}", pool=pool, error=self.span(guess.error))
            for pool, guess in guesses.items()
        ]
        return say("   by pool: {rows}", rows=join(", ", rows))

    def _guess(self, guess: Guess) -> Markup:
        share = Markup()
        if guess.relative is not None:
            share = say("{part:.0%} of the wait, ", part=guess.relative)
        return say(
            "• expected starts were off by {error} in the median ({share}{count}), "
            "{late:,} started later than said",
            error=self.span(guess.error),
            share=share,
            count=self.count(guess.count, "estimate"),
            late=guess.late,
        )

    def waits(self, waits: Waits) -> Markup:
        """`40 starts, half within 2 min, 95 % within 3 h`."""
        if not waits.starts:
            return say("no starts")
        return say(
            "{starts}, half within {half}, 95 % within {most}",
            starts=self.count(waits.starts, "start"),
            half=self.span(waits.p50),
            most=self.span(waits.p95),
        )

    def report_accounts(self, title: str, accounts: Sequence[Account], more: int = 0) -> Markup:
        """A list of teams or pools: GPU-hours against quota, waits, preemptions."""
        rows = [self._account(one) for one in accounts]
        rest = [say("… and {more:,} more", more=more)] if more > 0 else []
        return join("\n", [say("*{title}*", title=title), *rows, *rest])

    def report_people(self, people: Sequence[tuple[Markup, Account]]) -> Markup:
        """Who used most."""
        rows = [
            say(
                "• {who}: {hours}, {waits}",
                who=who,
                hours=self.gpu_hours(one.gpu_hours),
                waits=self.waits(one.waits),
            )
            for who, one in people
        ]
        return join("\n", [say("*People* · most GPU-hours first"), *rows])

    def report_spends(self, spends: Sequence[Account]) -> Markup:
        """GPU-hours by the spend label."""
        rows = [
            say(
                "spend {label}: {hours} ({share:.0%})",
                label=one.name,
                hours=self.gpu_hours(one.gpu_hours),
                share=one.share,
            )
            for one in spends
        ]
        return join(" · ", rows)

    def _account(self, one: Account) -> Markup:
        quota = Markup()
        if one.entitled:
            quota = say(", {part:.0%} of its quota", part=one.gpu_hours / one.entitled)
        stopped = Markup()
        if one.preempted:
            stopped = say("; {n} preempted", n=one.preempted)
        return say(
            "• {name}: {hours} ({share:.0%}{quota}); {waits}{stopped}",
            name=one.name,
            hours=self.gpu_hours(one.gpu_hours),
            share=one.share,
            quota=quota,
            waits=self.waits(one.waits),
            stopped=stopped,
        )

    report_pools = "Pools"
    report_teams = "Teams"

    def report_nothing(self) -> Markup:
        """When the ledger has nothing of that period."""
        return say("Nothing ran in that time.")

    def report_alt(self, view: ReportView) -> str:
        """The plots in words, for who cannot see them."""
        return plain(
            f"Three plots of the {_SPANS[view.period]}: use and fragmentation over time, waits by "
            "pool, GPU-hours by team. The text beside them has the figures.",
            1000,
        )

    def plot_span(self, seconds: float) -> str:
        """A length of time beside a bar."""
        return str(self.span(seconds))

    def plot_hours(self, hours: float) -> str:
        """GPU-hours beside a bar."""
        return f"{hours:,.0f}"

    def monthly(self, args: notices.MonthlyArgs) -> Markup:
        """A team nears, or has reached, what it planned for a month."""
        text = (
            "*Month's plan* · team {team} has used {percent}% of its GPU-hours for {month}: "
            "{used:,.0f} of {planned:,}. The month ends {ends}. Nothing is stopped for it; "
            "`/gpu report month {team}` shows by whom."
        )
        return say(
            text,
            team=args.team,
            percent=args.percent,
            month=args.month,
            used=args.used,
            planned=args.planned,
            ends=date(args.ends),
        )

    def digest_lead(self, view: ReportView) -> Markup:
        """The first line of a digest, which comes by itself."""
        return say(
            "*Digest* · the {span} up to {until}", span=_SPANS[view.period], until=date(view.until)
        )
