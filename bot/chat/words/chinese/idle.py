"""Idle GPUs in Chinese."""

from __future__ import annotations

from bot import notices
from bot.answers import Kept
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.units import Units


class Idle(Units):
    """The question, its answer, and what follows without one."""

    button_keep = "保留"

    def idle_title(self, args: notices.IdleArgs) -> Markup:
        """Heads the question."""
        return say(
            "*卡在空转* · {request} · {idle:,} / {gpus} · {name}",
            request=args.request,
            idle=args.idle,
            gpus=self.gpus(args.gpus),
            name=args.name or args.team,
        )

    def idle(self, args: notices.IdleArgs, owner: Markup | None) -> Markup:
        """What was measured, and what is asked; `owner` where it is not the reader."""
        whose = say("属于 {owner} （团队 {team}）。", owner=owner, team=args.team)
        return join("", [self._seen(args), whose if owner else Markup(), self._next(args)])

    def _seen(self, args: notices.IdleArgs) -> Markup:
        gpus, after = self.gpus(args.gpus), self.span(args.after)
        if args.vacant == args.idle:
            text = "它的 {gpus} 中有 {idle:,} 张在过去 {after} 里没有任何 pod 使用。"
            return say(text, idle=args.idle, gpus=gpus, after=after)
        busy = say(
            "在过去 {after} 里，它的 {gpus} 中有 {idle:,} 张的忙碌时间不到 {below:.0%}",
            idle=args.idle,
            gpus=gpus,
            below=args.below,
            after=after,
        )
        none = say("，其中 {vacant:,} 张没有任何 pod 使用", vacant=args.vacant)
        return say("{busy}{none}。", busy=busy, none=none if args.vacant else Markup())

    def _next(self, args: notices.IdleArgs) -> Markup:
        if args.over and args.releases:
            return say("没有人回应，卡已收回。空转时间同样计入用量。")
        if args.over:
            return say("没有人回应。它不会被自动停止，请去问一下。")
        keep = say("“保留”在 {keep} 内有效。", keep=self.span(args.keep))
        if args.releases:
            rest = say("到 {until} 还没有回应就会收回。", until=date(args.until))
        else:
            rest = say(
                "到 {until} 还没有回应就会通知团队负责人和值班，不会停止任何任务。",
                until=date(args.until),
            )
        return join("", [say("还需要吗？"), keep, rest])

    def kept(self, answer: Kept) -> Markup:
        """The answer to Keep."""
        if answer.until is None:
            return say("{request} 已保留。", request=answer.request)
        return say(
            "{request} 已保留，在 {until} 之前不会再问。",
            request=answer.request,
            until=date(answer.until),
        )
