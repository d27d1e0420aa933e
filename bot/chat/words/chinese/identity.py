"""Who somebody is, how they come to be in a team, and who is on call, in Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.chinese.units import Units
from bot.duty import DutyDoubt
from bot.identity import LinkAnswered, LinkAsked, LinkRefusal, LinkRefused, LinkView, OnCallView
from bot.views import CardView
from scheduler.budgets import Budget
from storage.records import Role

_ROLES: Mapping[Role, str] = {
    Role.RESEARCHER: "研究员",
    Role.LEAD: "团队负责人",
    Role.ONCALL: "值班",
    Role.ADMIN: "管理员",
}
_REFUSED: Mapping[LinkRefusal, str] = {
    LinkRefusal.UNKNOWN_TEAM: "没有团队 {team}。请说 {list} 。",
    LinkRefusal.UNKNOWN_PERSON: "我不认识 {person}。请提及对方，例如 `/gpu 关联 nlp 作为 @ben` 。",
    LinkRefusal.ALREADY_IN: "{person} 已经在团队 {team} 中。",
    LinkRefusal.FILED: "你的团队写在人员文件中，只有管理员能改。请找 {asked} 。",
    LinkRefusal.NOT_FOR_OTHERS: (
        "只有 {team} 的负责人或管理员能把别人加入团队。{person} 可以用 `/gpu link {team}` 申请。"
    ),
    LinkRefusal.NOT_YOURS_TO_ANSWER: "只有 {team} 的负责人或管理员能回答。",
    LinkRefusal.ANSWERED: "已经有人回答过，或者已经过期。",
    LinkRefusal.NOT_ON_CALL: "只有管理员或值班的人能设置由谁代班。",
    LinkRefusal.END_PASSED: (
        "这个结束时间已经过去了。请说晚一些的，例如 `/gpu 值班 @bob 8小时` 。"
    ),
    LinkRefusal.END_TOO_FAR: (
        "这个结束时间在一年以后。请说近一些的，例如 `/gpu 值班 @bob 8小时` ，也可以不说。"
    ),
    LinkRefusal.NOBODY_TO_ASK: "团队 {team} 没有负责人，也没有可以询问的管理员。",
}
_DOUBTS: Mapping[DutyDoubt, str] = {
    DutyDoubt.NO_ANSWER: "Slack 没有回答谁在值班，因此呼叫后备。",
    DutyDoubt.NO_GROUP: "Slack 中没有值班用户组，因此呼叫后备。",
    DutyDoubt.NOBODY: "值班用户组里没有人，因此呼叫后备。",
    DutyDoubt.STALE: "值班用户组超过一个班次没有变动：这里呼叫的人可能已不在值班。",
}


class Identity(Units):
    """Sentences about people."""

    def link_view(self, view: LinkView) -> Markup:
        """Whom the bot takes somebody for."""
        teams = self.several([say("{team}", team=team) for team in view.teams])
        inside = say("，属于团队 {teams}", teams=teams) if view.teams else say("，没有团队")
        waits = self.several([say("{team}", team=team) for team in view.asked])
        asked = say("已申请、尚未答复：{waits}。", waits=waits) if view.asked else ""
        how = say(" `/gpu link` 加团队名可以请负责人把你加入团队。")
        if view.filed:
            how = say("这写在人员文件中。")
        return say(
            "你是 {name}，{role}{inside}。{asked}{how}",
            name=view.name,
            role=_ROLES[view.role],
            inside=inside,
            asked=asked,
            how=how,
        )

    def link_asked(self, answer: LinkAsked, names: Names) -> Markup:
        """That the leads were asked."""
        return say(
            "已询问 {asked} 你是否属于团队 {team}，有答复会告诉你。{until} 过期。",
            asked=self.several([names(one) for one in answer.asked], 5),
            team=answer.team,
            until=date(answer.until),
        )

    def link_answered(self, answer: LinkAnswered, person: Markup) -> Markup:
        """To the lead who answered."""
        text = (
            "{person} 现在属于团队 {team}。"
            if answer.agreed
            else ("没有把 {person} 加入团队 {team}，已告知对方。")
        )
        return say(text, person=person, team=answer.team)

    def link_refused(self, refused: LinkRefused, names: Names, mention: Names) -> Markup:
        """Why not."""
        return say(
            _REFUSED[refused.code],
            team=refused.team,
            person=names(refused.person) if refused.person else say("对方"),
            list=self.or_list(refused.near[:5]),
            asked=self.several([mention(one) for one in refused.near], 3)
            if refused.code is LinkRefusal.FILED
            else "",
        )

    def link_question(self, args: notices.LinkAskedArgs, person: Markup) -> Markup:
        """To a lead: who wants to be in the team."""
        return say(
            "*团队 {team}* · {person} 说自己属于这个团队，想以它的名义申请 GPU。是这样吗？"
            "{until} 过期。",
            team=args.team,
            person=person,
            until=date(args.until),
        )

    def link_told(self, args: notices.LinkAnsweredArgs, by: Markup) -> Markup:
        """To who asked: what the lead said."""
        if args.agreed:
            text = "*团队 {team}* · {by} 已把你加入团队。可以申请 GPU 了： `/gpu 8 h100 8小时` 。"
        else:
            text = "*团队 {team}* · {by} 没有把你加入团队。如果弄错了，请与对方联系。"
        return say(text, team=args.team, by=by)

    def button_agree(self) -> str:
        """The lead agrees."""
        return "是，属于本团队"

    def button_disagree(self) -> str:
        """The lead does not."""
        return "不是"

    def oncall_doubt(self, doubt: DutyDoubt) -> Markup:
        """Under a notice whose on-call may be somebody else."""
        return say(_DOUBTS[doubt])

    def lowered(self, card: CardView) -> Markup:
        """That a request has a lower class than it asked for; empty if it has not."""
        if card.asked_priority is None:
            return Markup()
        return say(
            "优先级为{has}：团队 {team} 的{asked}优先级额度已用完，"
            " `/gpu status {team}` 可以查看。",
            has=self.priority_word(card.priority),
            asked=self.priority_word(card.asked_priority),
            team=card.team,
        )

    def budgets(self, budgets: Sequence[Budget]) -> Markup:
        """What a team has of its priority budgets; empty without any."""
        rows = [
            say(
                "{priority} {has:,} / {most}",
                priority=self.priority_word(one.priority.value),
                has=one.has,
                most=self.gpus(one.most),
            )
            for one in budgets
        ]
        return join(" · ", [say("优先级额度（运行和排队）"), *rows]) if rows else Markup()

    def on_call(self, view: OnCallView, names: Names) -> Markup:
        """Who is on call, who stands in, and whether that was just changed."""
        if view.substitute is not None:
            until = say("，到 {until} 为止", until=date(view.until)) if view.until else Markup()
            lead = "好了：" if view.changed else ""
            text = "{lead}由 {name} 代班{until}。"
            return say(text, lead=lead, name=names(view.substitute), until=until)
        people = self.several([names(one) for one in view.people], 6)
        if not view.people:
            people = say("不知道组里有谁") if view.called else say("没有设置")
        lead = "不再有人代班。" if view.changed else ""
        return say("{lead}值班：{people}。", lead=lead, people=people)

    def substitute(self, args: notices.SubstituteArgs, by: Markup, person: Markup | None) -> Markup:
        """That somebody stands in for on-call, or nobody any more."""
        if person is None:
            return say("*值班* · {by} 设置：不再有人代班。", by=by)
        until = say("，到 {until} 为止", until=date(args.until)) if args.until else Markup()
        return say(
            "*值班* · {by} 设置：由 {person} 代班{until}。", person=person, until=until, by=by
        )
