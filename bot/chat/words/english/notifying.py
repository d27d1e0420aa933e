"""Bursts in one message, calls for on-call, and what a person wants to hear."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.asks import Preference
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.standing import Standing
from bot.views import Letter, PreferencesView

_FIELDS: dict[str, str] = {
    Preference.NOTICES: (
        "what disturbs you: `all`, `important` (what costs you something) or `none`; the channel "
        "and the threads say the same whatever you choose"
    ),
    Preference.WHERE: "where notices for you alone go: a direct message, or the request's thread",
    Preference.DIGEST: "how often you get the digest: `daily`, `weekly` or `off`",
    Preference.QUIET: "when nobody disturbs you; what comes then is told when it is over",
    Preference.ZONE: "the time zone of your quiet hours; `auto` is that of your Slack",
    Preference.LANGUAGE: "the language of my answers; `auto` is that of your Slack",
}

_GROUPS: dict[notices.NoticeKind, str] = {
    notices.NoticeKind.ADMITTED: "Admitted",
    notices.NoticeKind.PREEMPTED: "Being preempted",
    notices.NoticeKind.PREEMPTED_GROUP: "Preemption",
    notices.NoticeKind.STARVING: "Starving",
    notices.NoticeKind.LEASE_ENDING: "Lease ending",
    notices.NoticeKind.NODE_FAILED: "Node failed",
    notices.NoticeKind.ENDED: "Ended",
}


class Notifying(Standing):
    """Sentences about notices."""

    def burst_title(self, kind: notices.NoticeKind, count: int) -> Markup:
        """Leads several notices of a kind that are said together."""
        return say("*{word}* · {count} together", word=_GROUPS.get(kind, "Notices"), count=count)

    def burst_preempted(self, args: notices.PreemptedGroupArgs, owners: Sequence[Markup]) -> Markup:
        """One preemptor of a burst and everybody it stops, in a line."""
        stopped = [
            say("{request} of {owner}", request=each.target.request, owner=owner)
            for each, owner in zip(args.targets, owners, strict=True)
        ]
        return say(
            "• {winner} ({gpus}, team {team}) takes {freed} from {stopped}",
            winner=args.preemptor.request,
            gpus=self.gpus(args.preemptor.gpus),
            team=args.preemptor.team,
            freed=self.gpus(sum(each.target.gpus for each in args.targets)),
            stopped=self.several(stopped, 12),
        )

    def burst_starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """One starving request of a burst, in a line."""
        return say(
            "• {request} “{name}” of {owner} (team {team}, {gpus}, {priority}) has waited "
            "{waited}, target {target}",
            request=args.request,
            name=args.name,
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            priority=args.priority,
            waited=self.span(args.waited),
            target=self.span(args.target_wait),
        )

    def burst_lease(self, args: notices.LeaseEndingArgs) -> Markup:
        """One lease of several that end, in a line."""
        return say(
            "• {request} “{name}” ({gpus}) ends {ends}",
            request=args.request,
            name=args.name,
            gpus=self.gpus(args.gpus),
            ends=date(args.ends),
        )

    def burst_ended(self, args: notices.EndedArgs, how: Markup) -> Markup:
        """One request of several that ended, in a line."""
        return say("• {request} “{name}”: {how}", request=args.request, name=args.name, how=how)

    def burst_leases(self) -> Markup:
        """Closes a burst of leases that end."""
        return say(
            "Save your work before. `/gpu extend R-… 2h` lets one last longer, unless somebody "
            "would start later for it."
        )

    def burst_details(self) -> Markup:
        """Closes a burst of what has a story."""
        return say("`/gpu why R-…` shows each in full: the rule, the queues, what is next.")

    def preempted_yours(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the one notice to the owner of several targets."""
        return say(
            "*Being preempted* · {count} of yours, {gpus}, for {winner}",
            count=self.count(len(args.targets), "request"),
            gpus=self.gpus(sum(each.target.gpus for each in args.targets)),
            winner=args.preemptor.request,
        )

    def acknowledged(self, by: Markup, at: float) -> Markup:
        """Stands under an on-call notice that somebody has taken."""
        return say("Acknowledged by {by}, {at}.", by=by, at=date(at))

    button_acknowledge = "Acknowledge"

    def acknowledged_now(self, count: int) -> Markup:
        """Answers the press."""
        what = say("It is") if count == 1 else say("These {count} are", count=count)
        return say("{what} yours: nobody is called any more.", what=what)

    def acknowledged_before(self, by: Markup, at: float) -> Markup:
        """Answers a press that came second."""
        return say("{by} has acknowledged it already, {at}.", by=by, at=date(at))

    def escalated(
        self, args: notices.EscalatedArgs, called: Markup, links: Sequence[Markup]
    ) -> Markup:
        """Calls the next in line when nobody has acknowledged."""
        again = say(" (the second call)") if args.level > 1 else Markup()
        return say(
            "*Nobody has acknowledged* · {called}: {count} for on-call {have} waited since "
            "{since}{again}. {links}",
            called=called,
            count=self.count(len(args.calls), "notice"),
            have="has" if len(args.calls) == 1 else "have",
            since=date(args.since),
            again=again,
            links=self.several(links, 8),
        )

    def escalation_over(self, args: notices.EscalatedArgs, links: Sequence[Markup]) -> Markup:
        """Said in the on-call channel when the calls are over and nobody came."""
        return say(
            "*Nobody has acknowledged* · {count} since {since}, on-call and the fallback were "
            "called. I call nobody any more; the button still works. {links}",
            count=self.count(len(args.calls), "notice"),
            since=date(args.since),
            links=self.several(links, 8),
        )

    def call_in(self, kind: notices.NoticeKind, request: str | None, where: Markup) -> Markup:
        """A notice in a few words: what, about which request, in which channel."""
        word = say(_GROUPS.get(kind, "Notice"))
        what = say("{word} {request}", word=word, request=request) if request else word
        return say("{what} in {where}", what=what, where=where)

    def no_fallback(self) -> Markup:
        """Who is called when nobody is named."""
        return say("On-call")

    def listening(self, at: float) -> Markup:
        """The self test's own message, changed in place."""
        return say(
            "I listen here: this line changes when I test that Slack still reaches me. Last "
            "test {at}.",
            at=date(at),
        )

    def letters_title(self, count: int) -> Markup:
        """Leads the messages that were given up, for admins."""
        return say("*Undelivered* · {count}", count=self.count(count, "message"))

    def letter(self, letter: Letter, where: Markup) -> Markup:
        """One message that was given up."""
        about = say(" about {request}", request=letter.request) if letter.request else Markup()
        return say(
            "• {kind}{about} to {where}: `{error}`, {at}",
            kind=letter.kind,
            about=about,
            where=where,
            error=letter.error,
            at=date(letter.at),
        )

    def preferences_title(self, view: PreferencesView) -> Markup:
        """Leads the preferences."""
        if not view.changed:
            return say("*Your preferences*")
        return say("*Your preferences* · set: {fields}", fields=", ".join(view.changed))

    def preferences(self, view: PreferencesView) -> Markup:
        """Every field, its value and what it means."""
        rows = [
            say("• {field}: `{value}` · {about}", field=name, value=value, about=Markup(about))
            for name, value in view.fields.items()
            if (about := _FIELDS.get(name, ""))
        ]
        return join("\n", rows)

    def preferences_example(self) -> Markup:
        """How to change one."""
        return say(
            "Change one with `/gpu prefs quiet 22:00-07:00 zone Europe/Paris` or "
            "`/gpu prefs notices important`."
        )
