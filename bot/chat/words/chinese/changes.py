"""Leases and changes of requests, in Chinese: what was done, what is about to happen."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.answers import Changed, ChangeKind
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.chinese.fields import FIELDS
from bot.chat.words.chinese.standing import Standing
from bot.fields import FieldChange, FieldName, Value
from scheduler.layout import AfterLease
from storage.states import RequestState


class Changes(Standing):
    """Sentences about leases and changes."""

    def field(self, field: FieldName) -> Markup:
        """A part of a request, as people call it."""
        return say(FIELDS[field])

    def field_change(self, change: FieldChange, names: Names) -> Markup:
        """`租期 4 小时 → 6 小时`."""
        return say(
            "{field} {before} → {after}",
            field=self.field(change.field),
            before=self._value(change.field, change.before, names),
            after=self._value(change.field, change.after, names),
        )

    def _value(self, field: FieldName, value: Value, names: Names) -> Markup:
        if value is None or value == "":
            return say("无")
        if field is FieldName.OWNER:
            return names(str(value))
        if isinstance(value, bool):
            return say("是" if value else "否")
        if isinstance(value, int | float):
            return self.span(value)
        return say("{value}", value=self._word(field, str(value)))

    def _word(self, field: FieldName, value: str) -> str:
        match field:
            case FieldName.PRIORITY | FieldName.SPEND:
                return self.priority_word(value)
            case FieldName.PROVISION:
                return self.provision(value)
            case FieldName.TOPOLOGY:
                return self.topology(value)
            case _:
                return value

    def field_changes(self, changes: Sequence[FieldChange], names: Names) -> Markup:
        """All of them in a row."""
        return join("；", [self.field_change(change, names) for change in changes])

    def changed(self, done: Changed, names: Names) -> Markup:
        """What was changed, for the one who did it."""
        card, what = done.card, self.field_changes(done.changes, names)
        if done.kind is ChangeKind.EXTENDED and card.lease_ends is not None and done.decided:
            ends = date(card.lease_ends)
            lead = say(
                "{request} 现在到 {ends} 为止：{what}。", request=card.request, ends=ends, what=what
            )
        elif done.kind is ChangeKind.GIVEN:
            lead = say(
                "{request} 已转让：{what}。双方都会收到通知。", request=card.request, what=what
            )
        else:
            lead = say("{request} 已修改：{what}。", request=card.request, what=what)
        later = Markup() if done.decided else say("已保存，几秒内生效。")
        return join("", [lead, self._place_kept(done), later])

    def _place_kept(self, done: Changed) -> Markup:
        if done.card.state is not RequestState.WAITING:
            return Markup()
        if done.back and done.kind is ChangeKind.GIVEN:
            return say("它排到新团队的队尾。")
        if done.back:
            return say("它要的比原来多，因此排到队尾。")
        return say("排队位置不变。")

    def told_change(self, args: notices.ChangedArgs, actor: Markup, names: Names) -> Markup:
        """For thread and owners: who changed what; that it is held no more."""
        if args.again:
            return say(
                "*重新排队* · {request}：它所代表的对象已在集群中改好{what}，将重新尝试。",
                request=args.request,
                what=say("（{what}）", what=self.field_changes(args.changes, names))
                if args.changes
                else "",
            )
        what = self.field_changes(args.changes, names)
        word = "已转让" if args.given else "已修改"
        ends = say("到 {ends} 为止。", ends=date(args.ends)) if args.ends else Markup()
        return say(
            "*{word}* · {request} · {actor}：{what}。{ends}",
            word=word,
            request=args.request,
            actor=actor,
            what=what,
            ends=ends,
        )

    def yours_now(self, args: notices.ChangedArgs) -> Markup:
        """To whoever has got a request."""
        text = "{request} 现在归你：你可以延长、释放或转让它，并会收到它的通知。"
        return say(text, request=args.request)

    def lease_ending_title(self, args: notices.LeaseEndingArgs) -> Markup:
        """Leads the reminder."""
        return self._title("租期将到", request=args.request, gpus=args.gpus, name=args.name)

    def lease_ending(self, args: notices.LeaseEndingArgs, owner: Markup) -> Markup:
        """When it ends and what happens then."""
        then = "之后卡会被释放。请在那之前保存好。"
        if args.after is AfterLease.UNPROTECT:
            then = "之后它继续运行，但会最先被抢占：谁需要这些卡就给谁。"
        return say(
            "{owner}：{request} 的租期到 {ends} 为止，{then}",
            owner=owner,
            request=args.request,
            ends=date(args.ends),
            then=then,
        )

    def lease_longer(self, args: notices.LeaseEndingArgs, names: Names) -> Markup:
        """Whether it may last longer, and who keeps it from that."""
        if args.waits is not None:
            return say(
                "不能延长：{owner} 的 {request}（团队 {team}，{gpus}）正在等它占用的卡。",
                request=args.waits.request,
                owner=names(args.waits.owner),
                team=args.waits.team,
                gpus=self.gpus(args.waits.gpus),
            )
        if args.step is None:
            return say("它的租期已经是所在资源池的上限，不能再延长。")
        return say(
            "还要用？按下面的按钮可到 {later} 为止，或说 `/gpu extend {request} …` ；"
            "只要没有人因此晚启动，就可以延长。",
            later=date(args.ends + args.step),
            request=args.request,
        )

    def unprotected_title(self, args: notices.UnprotectedArgs) -> Markup:
        """Leads the notice that a lease is over."""
        return self._title("租期已到", request=args.request, gpus=args.gpus, name=args.name)

    def unprotected(self, args: notices.UnprotectedArgs) -> Markup:
        """What that means."""
        return say(
            "{request} 继续运行，但从现在起会最先被抢占：谁需要这些卡就给谁。请经常保存； "
            "`/gpu release {request}` 可以归还。",
            request=args.request,
        )

    def button_extend(self, seconds: float) -> str:
        """The button that extends a lease."""
        return f"延长 {self.span(seconds)}"

    def button_extend_one(self, request: str, seconds: float) -> str:
        """The button that extends one of several leases."""
        return f"{request} 延长 {self.span(seconds)}"

    def _title(self, word: str, *, request: str, gpus: int, name: str) -> Markup:
        lead = say("*{word}*", word=word)
        return join(" · ", [lead, say(request), self.gpus(gpus), say("{name}", name=name)])
