"""Who somebody is, how they come to be in a team, and who is on call, in English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.english.units import Units
from bot.duty import DutyDoubt
from bot.identity import LinkAnswered, LinkAsked, LinkRefusal, LinkRefused, LinkView, OnCallView
from bot.views import CardView
from scheduler.budgets import Budget
from storage.records import Role

_ROLES: Mapping[Role, str] = {
    Role.RESEARCHER: "a researcher",
    Role.LEAD: "a lead",
    Role.ONCALL: "on call",
    Role.ADMIN: "an admin",
}
_REFUSED: Mapping[LinkRefusal, str] = {
    LinkRefusal.UNKNOWN_TEAM: "There is no team {team}. Say {list}.",
    LinkRefusal.UNKNOWN_PERSON: (
        "I do not know {person}. Mention them, for example `/gpu link nlp as @ben`."
    ),
    LinkRefusal.ALREADY_IN: "{person} is in team {team} already.",
    LinkRefusal.FILED: (
        "Your teams stand in the people file, which only an admin changes. Ask {asked}."
    ),
    LinkRefusal.NOT_FOR_OTHERS: (
        "Only a lead of {team} or an admin can put somebody else into it. {person} can ask "
        "with `/gpu link {team}`."
    ),
    LinkRefusal.NOT_YOURS_TO_ANSWER: "Only a lead of {team} or an admin can answer that.",
    LinkRefusal.ANSWERED: "That was answered already, or has lapsed.",
    LinkRefusal.NOT_ON_CALL: "Only an admin or whoever is on call can say who stands in.",
    LinkRefusal.END_PASSED: (
        "That end is in the past. Say a later one, for example `/gpu oncall @bob for 8h`."
    ),
    LinkRefusal.END_TOO_FAR: (
        "That end is more than a year ahead. Say a nearer one, for example "
        "`/gpu oncall @bob for 8h`, or none."
    ),
    LinkRefusal.NOBODY_TO_ASK: "Team {team} has no lead, and there is no admin I could ask.",
}
_DOUBTS: Mapping[DutyDoubt, str] = {
    DutyDoubt.NO_ANSWER: "Slack did not say who is on call, so the fallback is named.",
    DutyDoubt.NO_GROUP: "Slack does not have the on-call group, so the fallback is named.",
    DutyDoubt.NOBODY: "Nobody is in the on-call group, so the fallback is named.",
    DutyDoubt.STALE: (
        "The on-call group has not changed for longer than a shift: whoever is named may not "
        "be on call any more."
    ),
}


class Identity(Units):
    """Sentences about people."""

    def link_view(self, view: LinkView) -> Markup:
        """Whom the bot takes somebody for."""
        teams = self.several([say("{team}", team=team) for team in view.teams])
        inside = say(" in {teams}", teams=teams) if view.teams else say(" without a team")
        waits = self.several([say("{team}", team=team) for team in view.asked])
        asked = say(" Asked for, not answered yet: {waits}.", waits=waits) if view.asked else ""
        how = say(" `/gpu link` and a team's name asks its lead to put you into it.")
        if view.filed:
            how = say(" That stands in the people file.")
        return say(
            "You are {name}, {role}{inside}.{asked}{how}",
            name=view.name,
            role=_ROLES[view.role],
            inside=inside,
            asked=asked,
            how=how,
        )

    def link_asked(self, answer: LinkAsked, names: Names) -> Markup:
        """That the leads were asked."""
        return say(
            "{asked} {was} asked whether you are in team {team}; I tell you the answer. It lapses "
            "{until}.",
            asked=self.several([names(one) for one in answer.asked], 5),
            was="was" if len(answer.asked) == 1 else "were",
            team=answer.team,
            until=date(answer.until),
        )

    def link_answered(self, answer: LinkAnswered, person: Markup) -> Markup:
        """To the lead who answered."""
        text = (
            "{person} is in team {team} now."
            if answer.agreed
            else ("{person} is not put into team {team}, and was told.")
        )
        return say(text, person=person, team=answer.team)

    def link_refused(self, refused: LinkRefused, names: Names, mention: Names) -> Markup:
        """Why not."""
        return say(
            _REFUSED[refused.code],
            team=refused.team,
            person=names(refused.person) if refused.person else say("That person"),
            list=self.or_list(refused.near[:5]),
            asked=self.several([mention(one) for one in refused.near], 3)
            if refused.code is LinkRefusal.FILED
            else "",
        )

    def link_question(self, args: notices.LinkAskedArgs, person: Markup) -> Markup:
        """To a lead: who wants to be in the team."""
        return say(
            "*Team {team}* · {person} says they are in it, and would ask for GPUs in its name. Is "
            "that so? The question lapses {until}.",
            team=args.team,
            person=person,
            until=date(args.until),
        )

    def link_told(self, args: notices.LinkAnsweredArgs, by: Markup) -> Markup:
        """To who asked: what the lead said."""
        if args.agreed:
            text = "*Team {team}* · {by} put you into it. Ask for GPUs with `/gpu 8 h100 8h`."
        else:
            text = "*Team {team}* · {by} did not put you into it. Is that a mistake? Talk to them."
        return say(text, team=args.team, by=by)

    def button_agree(self) -> str:
        """The lead agrees."""
        return "Yes, in the team"

    def button_disagree(self) -> str:
        """The lead does not."""
        return "No"

    def oncall_doubt(self, doubt: DutyDoubt) -> Markup:
        """Under a notice whose on-call may be somebody else."""
        return say(_DOUBTS[doubt])

    def lowered(self, card: CardView) -> Markup:
        """That a request has a lower class than it asked for; empty if it has not."""
        if card.asked_priority is None:
            return Markup()
        return say(
            "It has {has} priority: the budget of {team} for {asked} is used up. "
            "`/gpu status {team}` shows it.",
            has=card.priority,
            asked=card.asked_priority,
            team=card.team,
        )

    def budgets(self, budgets: Sequence[Budget]) -> Markup:
        """What a team has of its priority budgets; empty without any."""
        rows = [
            say(
                "{priority} {has:,} of {most}",
                priority=one.priority.value,
                has=one.has,
                most=self.gpus(one.most),
            )
            for one in budgets
        ]
        if not rows:
            return Markup()
        return join(" · ", [say("Priority budgets, running and waiting"), *rows])

    def on_call(self, view: OnCallView, names: Names) -> Markup:
        """Who is on call, who stands in, and whether that was just changed."""
        if view.substitute is not None:
            until = say(" until {until}", until=date(view.until)) if view.until else Markup()
            text = "{lead}{name} stands in for on-call{until}."
            lead = "Done: " if view.changed else ""
            return say(text, lead=lead, name=names(view.substitute), until=until)
        people = self.several([names(one) for one in view.people], 6)
        if not view.people:
            people = say("I do not know who is in it") if view.called else say("nobody is set")
        lead = "Nobody stands in any more. " if view.changed else ""
        return say("{lead}On call: {people}.", lead=lead, people=people)

    def substitute(self, args: notices.SubstituteArgs, by: Markup, person: Markup | None) -> Markup:
        """That somebody stands in for on-call, or nobody any more."""
        if person is None:
            return say("*On-call* · nobody stands in any more, says {by}.", by=by)
        until = say(" until {until}", until=date(args.until)) if args.until else Markup()
        text = "*On-call* · {person} stands in{until}, says {by}."
        return say(text, person=person, until=until, by=by)
