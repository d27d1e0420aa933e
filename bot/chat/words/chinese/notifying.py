"""Bursts in one message, calls for on-call, and what a person wants to hear, in Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.asks import Preference
from bot.chat.grammar.chinese import CHINESE
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.standing import Standing
from bot.preferences import AUTO
from bot.views import Letter, PreferencesView

_FIELDS: dict[str, str] = {
    Preference.NOTICES: (
        "什么时候打扰你： `全部` 、 `重要` （对你有损失的）或 `关闭` ；频道和消息列里照常说明"
    ),
    Preference.WHERE: "只给你的通知发到哪里： `私信` 或请求的 `消息列`",
    Preference.DIGEST: "多久发一次摘要： `每日` 、 `每周` 或 `关闭`",
    Preference.QUIET: "这段时间不打扰你；期间的事情结束后再告诉你",
    Preference.ZONE: "免打扰所用的时区； `自动` 随你的 Slack",
    Preference.LANGUAGE: "回答的语言； `自动` 随你的 Slack",
}

_VALUES: dict[str, Mapping[str, str]] = {
    Preference.NOTICES: CHINESE.notices,
    Preference.WHERE: CHINESE.wheres,
    Preference.DIGEST: CHINESE.digests,
    Preference.QUIET: {"关闭": "off"},
    Preference.ZONE: {"自动": AUTO},
    Preference.LANGUAGE: CHINESE.languages,
}
"""The words for values, which can be typed as well."""

_GROUPS: dict[notices.NoticeKind, str] = {
    notices.NoticeKind.ADMITTED: "已获准",
    notices.NoticeKind.PREEMPTED: "被抢占",
    notices.NoticeKind.PREEMPTED_GROUP: "抢占",
    notices.NoticeKind.STARVING: "饥饿",
    notices.NoticeKind.LEASE_ENDING: "租期将尽",
    notices.NoticeKind.NODE_FAILED: "节点故障",
    notices.NoticeKind.ENDED: "已结束",
}


class Notifying(Standing):
    """Sentences about notices."""

    def burst_title(self, kind: notices.NoticeKind, count: int) -> Markup:
        """Leads several notices of a kind that are said together."""
        return say("*{word}* · 共 {count} 条", word=_GROUPS.get(kind, "通知"), count=count)

    def burst_preempted(self, args: notices.PreemptedGroupArgs, owners: Sequence[Markup]) -> Markup:
        """One preemptor of a burst and everybody it stops, in a line."""
        stopped = [
            say("{owner} 的 {request}", request=each.target.request, owner=owner)
            for each, owner in zip(args.targets, owners, strict=True)
        ]
        return say(
            "• {winner}（{gpus}，团队 {team}）从 {stopped} 得到 {freed}",
            winner=args.preemptor.request,
            gpus=self.gpus(args.preemptor.gpus),
            team=args.preemptor.team,
            freed=self.gpus(sum(each.target.gpus for each in args.targets)),
            stopped=self.several(stopped, 12),
        )

    def burst_starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """One starving request of a burst, in a line."""
        return say(
            "• {owner} 的 {request} “{name}”（团队 {team}，{gpus}，{priority}）已等 {waited}，"
            "目标 {target}",
            request=args.request,
            name=args.name,
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            priority=self.priority(args.priority),
            waited=self.span(args.waited),
            target=self.span(args.target_wait),
        )

    def burst_lease(self, args: notices.LeaseEndingArgs) -> Markup:
        """One lease of several that end, in a line."""
        return say(
            "• {request} “{name}”（{gpus}）到 {ends}",
            request=args.request,
            name=args.name,
            gpus=self.gpus(args.gpus),
            ends=date(args.ends),
        )

    def burst_ended(self, args: notices.EndedArgs, how: Markup) -> Markup:
        """One request of several that ended, in a line."""
        return say("• {request} “{name}”：{how}", request=args.request, name=args.name, how=how)

    def burst_leases(self) -> Markup:
        """Closes a burst of leases that end."""
        return say(
            "请在那之前保存好。 `/gpu 延长 R-… 2小时` 可以延长其中一个，只要没有人因此晚启动。"
        )

    def burst_details(self) -> Markup:
        """Closes a burst of what has a story."""
        return say("`/gpu 为什么 R-…` 显示每一条的详情：依据、队列、下一步。")

    def preempted_yours(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the one notice to the owner of several targets."""
        return say(
            "*被抢占* · 你的 {count}，{gpus}，让给 {winner}",
            count=self.count(len(args.targets), "个请求"),
            gpus=self.gpus(sum(each.target.gpus for each in args.targets)),
            winner=args.preemptor.request,
        )

    def acknowledged(self, by: Markup, at: float) -> Markup:
        """Stands under an on-call notice that somebody has taken."""
        return say("{by} 已于 {at} 接手。", by=by, at=date(at))

    button_acknowledge = "接手"

    def acknowledged_now(self, count: int) -> Markup:
        """Answers the press."""
        what = say("已由你接手") if count == 1 else say("这 {count} 条已由你接手", count=count)
        return say("{what}，不再呼叫其他人。", what=what)

    def acknowledged_before(self, by: Markup, at: float) -> Markup:
        """Answers a press that came second."""
        return say("{by} 已于 {at} 接手了。", by=by, at=date(at))

    def escalated(
        self, args: notices.EscalatedArgs, called: Markup, links: Sequence[Markup]
    ) -> Markup:
        """Calls the next in line when nobody has acknowledged."""
        again = say("（第二次呼叫）") if args.level > 1 else Markup()
        return say(
            "*无人接手* · {called} ：值班有 {count}从 {since} 起无人接手{again}。{links}",
            called=called,
            count=self.count(len(args.calls), "条通知"),
            since=date(args.since),
            again=again,
            links=self.several(links, 8),
        )

    def escalation_over(self, args: notices.EscalatedArgs, links: Sequence[Markup]) -> Markup:
        """Said in the on-call channel when the calls are over and nobody came."""
        return say(
            "*无人接手* · {count}，从 {since} 起；值班和后备都已呼叫。不再呼叫任何人，按钮仍可用。"
            "{links}",
            count=self.count(len(args.calls), "条通知"),
            since=date(args.since),
            links=self.several(links, 8),
        )

    def call_in(self, kind: notices.NoticeKind, request: str | None, where: Markup) -> Markup:
        """A notice in a few words: what, about which request, in which channel."""
        word = say(_GROUPS.get(kind, "通知"))
        what = say("{word} {request}", word=word, request=request) if request else word
        return say("{where} 里的 {what}", what=what, where=where)

    def no_fallback(self) -> Markup:
        """Who is called when nobody is named."""
        return say("值班")

    def listening(self, at: float) -> Markup:
        """The self test's own message, changed in place."""
        return say(
            "我在这里听着：我检查 Slack 还能不能送达时会改这一行。上次检查 {at}。", at=date(at)
        )

    def letters_title(self, count: int) -> Markup:
        """Leads the messages that were given up, for admins."""
        return say("*未送达* · {count}", count=self.count(count, "条消息"))

    def letter(self, letter: Letter, where: Markup) -> Markup:
        """One message that was given up."""
        about = say("（{request}）", request=letter.request) if letter.request else Markup()
        return say(
            "• {kind}{about}，发往 {where}： `{error}` ，{at}",
            kind=letter.kind,
            about=about,
            where=where,
            error=letter.error,
            at=date(letter.at),
        )

    def preferences_title(self, view: PreferencesView) -> Markup:
        """Leads the preferences."""
        if not view.changed:
            return say("*你的偏好*")
        return say(
            "*你的偏好* · 已设置：{fields}",
            fields="、".join(_said(CHINESE.preferences, name) for name in view.changed),
        )

    def preferences(self, view: PreferencesView) -> Markup:
        """Every field, its value and what it means."""
        rows = [
            say(
                "• {field}： `{value}` · {about}",
                field=_said(CHINESE.preferences, name),
                value=_said(_VALUES.get(name, {}), value),
                about=Markup(about),
            )
            for name, value in view.fields.items()
            if (about := _FIELDS.get(name, ""))
        ]
        return join("\n", rows)

    def preferences_example(self) -> Markup:
        """How to change one."""
        return say(
            "修改用 `/gpu 偏好 免打扰 22:00-07:00 时区 Asia/Shanghai` 或 `/gpu 偏好 通知 重要` 。"
        )


def _said(words: Mapping[str, str], meant: str) -> str:
    """The first word that stands for what is meant; the code itself where there is none."""
    return next((word for word, value in words.items() if value == meant), meant)
