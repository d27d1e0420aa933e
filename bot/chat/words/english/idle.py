"""Idle GPUs in English."""

from __future__ import annotations

from bot import notices
from bot.answers import Kept
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.units import Units


class Idle(Units):
    """The question, its answer, and what follows without one."""

    button_keep = "Keep"

    def idle_title(self, args: notices.IdleArgs) -> Markup:
        """Heads the question."""
        return say(
            "*Idle GPUs* · {request} · {idle:,} of {gpus} · {name}",
            request=args.request,
            idle=args.idle,
            gpus=self.gpus(args.gpus),
            name=args.name or args.team,
        )

    def idle(self, args: notices.IdleArgs, owner: Markup | None) -> Markup:
        """What was measured, and what is asked; `owner` where it is not the reader."""
        whose = say("It belongs to {owner} (team {team}).", owner=owner, team=args.team)
        return join(" ", [self._seen(args), whose if owner else Markup(), self._next(args)])

    def _seen(self, args: notices.IdleArgs) -> Markup:
        gpus, after = self.gpus(args.gpus), self.span(args.after)
        if args.vacant == args.idle:
            text = "No pod has been on {idle:,} of its {gpus} for {after}."
            return say(text, idle=args.idle, gpus=gpus, after=after)
        busy = say(
            "{idle:,} of its {gpus} were busy for less than {below:.0%} of the last {after}",
            idle=args.idle,
            gpus=gpus,
            below=args.below,
            after=after,
        )
        none = say("; no pod was on {vacant:,} of those", vacant=args.vacant)
        return say("{busy}{none}.", busy=busy, none=none if args.vacant else Markup())

    def _next(self, args: notices.IdleArgs) -> Markup:
        if args.over and args.releases:
            return say("Nobody answered, so its GPUs are given back. Idle time counts as use.")
        if args.over:
            return say("Nobody answered. It is not stopped by itself: please ask.")
        keep = say("Keep holds for {keep}.", keep=self.span(args.keep))
        if args.releases:
            rest = say("Without an answer by {until} they are given back.", until=date(args.until))
        else:
            rest = say(
                "Without an answer by {until} the team's lead and on-call are told; nothing is "
                "stopped.",
                until=date(args.until),
            )
        return join(" ", [say("Still needed?"), keep, rest])

    def kept(self, answer: Kept) -> Markup:
        """The answer to Keep."""
        if answer.until is None:
            return say("{request} is kept.", request=answer.request)
        return say(
            "{request} is kept; I do not ask again before {until}.",
            request=answer.request,
            until=date(answer.until),
        )
