"""Fairness and reports in Chinese: tables in words, and the labels of the plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bot import notices
from bot.asks import Period
from bot.chat.markup import Markup, date, join, plain, say
from bot.chat.words.chinese.units import Units
from bot.fairness import Borrower, FairView
from bot.reports import LENGTHS, Account, Guess, ReportView, Waits
from bot.views import TeamShare

_SPANS = {Period.DAY: "一天", Period.WEEK: "一周", Period.MONTH: "30 天"}
_SPENDS = {"low": "低", "high": "高"}


class Reports(Units):
    """Figures with what they mean. Labels of plots are plain text: a picture knows no markup."""

    report_file_title = "GPU 报告"
    report_pools = "资源池"
    report_teams = "团队"
    plot_use = "使用中的卡"
    plot_stranded = "碎片（部分占用节点上的空闲卡）"
    plot_use_title = "利用率与碎片率（占全部 GPU）"
    plot_waits_title = "启动前的等待，按资源池"
    plot_half = "一半在此时间内启动"
    plot_most = "95% 在此时间内启动"
    plot_hours_title = "各团队卡时"
    plot_used = "已用"
    plot_entitled = "同期自有配额"
    plot_nothing = "还没有数据"

    def fair_title(self, view: FairView) -> Markup:
        """Heads the table, and says how use is counted."""
        if view.half_life is None:
            return say("*各团队用量* · 本策略不计入过去的用量")
        return say(
            "*各团队用量* · 共享队列中用得最少的先排；每个卡时经过 {span}后折半",
            span=self.span(view.half_life),
        )

    def fair_team(self, share: TeamShare, waiting: int, weight: float, *, mine: bool) -> Markup:
        """One team in a line."""
        name = say("*{team}* （你的团队）" if mine else "*{team}*", team=share.team)
        parts = [
            say("{rank}. {name}", rank=share.rank, name=name),
            say("近期 {hours}", hours=self.gpu_hours(share.chip_hours)),
            say("占用 {used:,}", used=share.used),
            say("自有配额 {nominal:,}", nominal=share.nominal) if share.nominal else Markup(),
            say("排队 {gpus}", gpus=self.gpus(waiting)) if waiting else Markup(),
            say("权重 {weight:g}", weight=weight) if weight != 1.0 else Markup(),
        ]
        return join(" · ", parts)

    def fair_borrowers(self, borrowers: Sequence[Borrower], more: int) -> Markup:
        """Which queues live on what others leave idle."""
        if not borrowers:
            return say("目前没有队列在借用。")
        rows = [self._borrower(one) for one in borrowers]
        rest = [say("… 还有 {more:,} 个", more=more)] if more > 0 else []
        return join("\n", [say("*当前借用* · 份额从高到低"), *rows, *rest])

    def _borrower(self, one: Borrower) -> Markup:
        share = say("高于其他所有队列")
        if not math.isinf(one.share):
            share = say("占可借出的 {share:.1%}", share=one.share / 1000)
        return say(
            "• {queue}（{pool}）：已用 {used}，自有配额 {nominal:,}，{share}",
            queue=one.queue,
            pool=one.pool,
            used=self.gpus(one.used),
            nominal=one.nominal,
            share=share,
        )

    def report_title(self, view: ReportView) -> Markup:
        """Which period, of whom."""
        whom = say("团队 {team} · ", team=view.team) if view.team is not None else Markup()
        known = Markup()
        if view.until - view.since < LENGTHS[view.period]:
            known = say("，{since} 起有记录", since=date(view.since))
        return say(
            "*报告* · {whom}截至 {until} 的{span}{known}",
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
                    "• 平均利用率 {used:.1%}，碎片率 {stranded:.1%}",
                    used=view.utilisation,
                    stranded=view.fragmentation,
                )
            )
        lines.append(
            say(
                "• {hours}；{waits}",
                hours=self.gpu_hours(view.gpu_hours),
                waits=self.waits(view.waits),
            )
        )
        lines.append(
            say(
                "• {preempted}，节点故障后 {lost}，{starved}，{manual}",
                preempted=self.count(view.preemptions, "次抢占"),
                lost=self.count(view.lost, "次重启"),
                starved=self.count(view.starvations, "次饥饿"),
                manual=self.count(view.interventions, "次人工干预"),
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
        return say("   按资源池：{rows}", rows=join("，", rows))

    def _guess(self, guess: Guess) -> Markup:
        share = Markup()
        if guess.relative is not None:
            share = say("等待时间的 {part:.0%}，", part=guess.relative)
        return say(
            "• 预计启动时间的误差中位数 {error}（{share}{count}），{late:,} 个晚于预计",
            error=self.span(guess.error),
            share=share,
            count=self.count(guess.count, "次预计"),
            late=guess.late,
        )

    def waits(self, waits: Waits) -> Markup:
        """`40 次启动，一半在 2 分钟内，95% 在 3 小时内`."""
        if not waits.starts:
            return say("没有启动")
        return say(
            "{starts}，一半在 {half}内，95% 在 {most}内",
            starts=self.count(waits.starts, "次启动"),
            half=self.span(waits.p50),
            most=self.span(waits.p95),
        )

    def report_accounts(self, title: str, accounts: Sequence[Account], more: int = 0) -> Markup:
        """A list of teams or pools: GPU-hours against quota, waits, preemptions."""
        rows = [self._account(one) for one in accounts]
        rest = [say("… 还有 {more:,} 个", more=more)] if more > 0 else []
        return join("\n", [say("*{title}*", title=title), *rows, *rest])

    def report_people(self, people: Sequence[tuple[Markup, Account]]) -> Markup:
        """Who used most."""
        rows = [
            say(
                "• {who}：{hours}，{waits}",
                who=who,
                hours=self.gpu_hours(one.gpu_hours),
                waits=self.waits(one.waits),
            )
            for who, one in people
        ]
        return join("\n", [say("*个人* · 卡时从多到少"), *rows])

    def report_spends(self, spends: Sequence[Account]) -> Markup:
        """GPU-hours by the spend label."""
        rows = [
            say(
                "花费{label}：{hours}（{share:.0%}）",
                label=_SPENDS.get(one.name, one.name),
                hours=self.gpu_hours(one.gpu_hours),
                share=one.share,
            )
            for one in spends
        ]
        return join(" · ", rows)

    def _account(self, one: Account) -> Markup:
        quota = Markup()
        if one.entitled:
            quota = say("，配额的 {part:.0%}", part=one.gpu_hours / one.entitled)
        stopped = Markup()
        if one.preempted:
            stopped = say("；被抢占 {n} 次", n=one.preempted)
        return say(
            "• {name}：{hours}（{share:.0%}{quota}）；{waits}{stopped}",
            name=one.name,
            hours=self.gpu_hours(one.gpu_hours),
            share=one.share,
            quota=quota,
            waits=self.waits(one.waits),
            stopped=stopped,
        )

    def report_nothing(self) -> Markup:
        """When the ledger has nothing of that period."""
        return say("这段时间没有任何运行。")

    def report_alt(self, view: ReportView) -> str:
        """The plots in words, for who cannot see them."""
        return plain(
            f"{_SPANS[view.period]}的三张图：利用率与碎片率随时间的变化、各资源池的等待、各团队的卡时。"
            "数字见旁边的文字。",
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
        return say(
            "*月度计划* · 团队 {team} 已用掉 {month} 计划卡时的 {percent}%：{used:,.0f} / "
            "{planned:,}。本月到 {ends} 结束。不会因此停止任何请求； "
            "`/gpu report month {team}` 显示是谁在用。",
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
            "*摘要* · 截至 {until} 的{span}", span=_SPANS[view.period], until=date(view.until)
        )
