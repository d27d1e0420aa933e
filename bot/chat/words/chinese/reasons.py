"""Why a request waits, in Chinese, with figures, and the one next step.

Any figure may be missing: a sentence then says less, never something wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.units import Units
from bot.chat.words.figures import Figures, asked_for, left_over, shared_level
from scheduler.byhand import Hand
from scheduler.model import GPU, Basis, Figure, RestCause, Verdict, WaitReason

_SHORT: dict[WaitReason, str] = {
    WaitReason.PAUSED: "队列已暂停",
    WaitReason.RESTING: "暂停重试",
    WaitReason.MISCONFIGURED: "队列配置有误",
    WaitReason.EXCEEDS_LIMIT: "超过上限",
    WaitReason.NO_FLAVOR: "没有匹配的 GPU",
    WaitReason.QUOTA: "配额已用完",
    WaitReason.TOPOLOGY: "放不下整组",
    WaitReason.PROTECTED: "对方仍在最短运行时间内",
    WaitReason.WAITING_FOR_TARGETS: "正在腾卡",
    WaitReason.RESERVED: "位置已为别人保留",
    WaitReason.BEHIND: "前面还有人",
    WaitReason.NOT_EVALUATED: "刚到",
}

_NEXT: dict[WaitReason, str] = {
    WaitReason.PAUSED: "位置保留；需要管理员恢复队列。",
    WaitReason.RESTING: "请在集群里或用 `/gpu edit` 修改后重新排队，或者取消。",
    WaitReason.MISCONFIGURED: "位置保留；需要管理员修正策略。",
    WaitReason.EXCEEDS_LIMIT: "请取消，改为申请更少的卡。",
    WaitReason.NO_FLAVOR: "请取消，改为申请其他型号的 GPU。",
    WaitReason.QUOTA: "该配额有卡空出后自动启动。",
    WaitReason.TOPOLOGY: "有足够的空位后自动启动；减少节点数会更快。",
    WaitReason.PROTECTED: "无需操作：到时自动启动，或有其他空位时提前启动。",
    WaitReason.WAITING_FOR_TARGETS: "对方退出后立即启动。",
    WaitReason.RESERVED: "等那个请求启动后，还有空位时启动。",
    WaitReason.BEHIND: "轮到时自动启动，无需操作。",
    WaitReason.NOT_EVALUATED: "无需操作。",
}

_THEN: dict[WaitReason, str] = {
    WaitReason.PAUSED: "位置保留；到时队列会自动恢复。",
    WaitReason.RESTING: "无需操作；修改请求会立即结束暂停。",
}
"""What follows where it is known until when that lasts."""

_IN_VAIN: dict[str, str] = {
    RestCause.UNPLACED: "pod 没有按时排到节点上",
    RestCause.UNMADE: "pod 没有按时全部创建（用 `kubectl describe job` 查看原因）",
}
_OF_OBJECT: dict[str, str] = {
    RestCause.SPOILED: "已搁置：它所代表的对象在集群中被改动，现在的样子不能成为请求。",
    RestCause.LINGERS: "已搁置：故障节点上还留着它的 pod，在该 pod 结束之前不会创建替代的 pod。",
}
_MEND = "请在集群中改好（原因见其消息串）；位置保留，改好后自动重新排队。"

_BASIS: dict[Basis, str] = {
    Basis.DECLARED: "依据是现在占用者的租期。",
    Basis.HISTORY: "这是估计，依据同类任务以往的运行时长。",
    Basis.UNKNOWN: "这只是猜测：有些占用者的结束时间未知。",
}
MINUTE = 60.0


class Reasons(Units):
    """One sentence a reason, one a next step."""

    def short_reason(self, reason: WaitReason | str) -> Markup:
        """A reason in a few words, for lists."""
        return say(_SHORT[WaitReason(reason)])

    def reason(self, verdict: Verdict) -> Markup:
        """The dominant reason with its numbers, as one sentence."""
        sentences: dict[WaitReason, Callable[[Figures], Markup]] = {
            WaitReason.PAUSED: self._paused,
            WaitReason.RESTING: self._resting,
            WaitReason.MISCONFIGURED: self._misconfigured,
            WaitReason.EXCEEDS_LIMIT: self._exceeds_limit,
            WaitReason.NO_FLAVOR: self._no_flavor,
            WaitReason.QUOTA: self._quota,
            WaitReason.TOPOLOGY: self._topology,
            WaitReason.PROTECTED: self._protected,
            WaitReason.WAITING_FOR_TARGETS: self._waiting_for_targets,
            WaitReason.RESERVED: self._reserved,
            WaitReason.BEHIND: self._behind,
            WaitReason.NOT_EVALUATED: self._not_evaluated,
        }
        figures = Figures(verdict.figures)
        said = [sentences[verdict.reason](figures), self._by_hand(figures)]
        return join("", [*said, self._lower_class(figures)])

    def _by_hand(self, figures: Figures) -> Markup:
        """Who set by hand what is in its way, until when, and why; empty where nobody did."""
        hand = str(figures.text("hand") or "")
        because, until = figures.text("because"), figures.number("until")
        rest = [
            say("，到 {until} 为止", until=date(until)) if until else Markup(),
            say("（原因：{because}）", because=because) if because else Markup(),
        ]
        by = figures.text("by") or say("有人")
        if hand == Hand.QUOTA:
            return say(
                "{by} 把 {queue} 的配额从 {before:,} 调低到 {gpus:,}{rest}。",
                by=by,
                queue=figures.text("set_queue") or "所在队列",
                before=int(figures.number("set_from") or 0),
                gpus=int(figures.number("set_to") or 0),
                rest=join("", rest),
            )
        if hand == Hand.DRAIN:
            more = int(figures.number("nodes_drained") or 1) - 1
            others = say("，另有 {count}也被排空", count=self.count(more, "个节点"))
            return say(
                "{by} 排空了节点 {node}{rest}{more}；否则放得下。",
                by=by,
                node=figures.text("drained") or "（有空位）",
                rest=join("", rest),
                more=others if more else "",
            )
        return Markup()

    def _resting(self, figures: Figures) -> Markup:
        cause = str(figures.text("cause") or "")
        if cause in _OF_OBJECT:
            return say(_OF_OBJECT[cause])
        tries, most, until = (figures.number(key) for key in ("tries", "most", "until"))
        said = say(_IN_VAIN.get(cause, "pod 没有按时全部就绪"))
        often = say("（连续第 {tries} 次", tries=int(tries or 1))
        often = say("{often}{most}）", often=often, most=f"，共 {int(most)} 次" if most else "")
        if until is None:
            return say("已搁置：{said}{often}，不再重试。", said=said, often=often)
        return say("{said}{often}，暂停到 {until}。", said=said, often=often, until=date(until))

    def _lower_class(self, figures: Figures) -> Markup:
        """That it has a lower priority than it asked for, and why."""
        asked, has = figures.text("asked_class"), figures.text("class")
        if not asked or not has:
            return Markup()
        return say(
            "所在团队的{asked}预算已用完，因此以{has}排队。",
            asked=self.priority(asked),
            has=self.priority(has),
        )

    def reason_of(self, reason: str, figures: Mapping[str, Figure]) -> Markup:
        """The sentence for a reason that comes as a code."""
        return self.reason(Verdict(reason=WaitReason(reason), figures=figures))

    def next_step(self, verdict: Verdict) -> Markup:
        """The one thing to do, or to expect, about that reason."""
        figures = Figures(verdict.figures)
        asked, free = asked_for(figures), left_over(figures)
        if verdict.reason is WaitReason.QUOTA and figures.number("lowered"):
            if figures.text("hand"):
                return say("调整结束后才能启动。")
            return say("配额被人工调整过：调整结束后才能启动。")
        if figures.text("hand") and verdict.reason in (WaitReason.QUOTA, WaitReason.TOPOLOGY):
            return say("那时恢复后启动；在那之前空出足够位置也会启动。")
        if verdict.reason is WaitReason.QUOTA and asked and free is not None and asked > free:
            text = "那里再空出 {short:,} 卡后启动；少要一些会更快。"
            return say(text, short=int(asked - max(0, free)))
        spoiled = str(figures.text("cause") or "") in _OF_OBJECT
        if verdict.reason in _THEN and (spoiled or figures.number("until")):
            return say(_MEND if spoiled else _THEN[verdict.reason])
        longest = figures.number("seconds")
        if verdict.reason is WaitReason.RESERVED and longest is not None and longest >= MINUTE:
            text = "租期不超过 {longest}的话，现在就可以先启动。"
            return say(text, longest=self.span(longest // MINUTE * MINUTE))
        if verdict.reason is WaitReason.TOPOLOGY:
            return self._room_comes(figures)
        return say(_NEXT[verdict.reason])

    def _room_comes(self, figures: Figures) -> Markup:
        """What is next where quota is there and room is not: one pod cannot have fewer nodes."""
        if level := shared_level(figures):
            return self._one_domain(figures, level)
        if figures.number("pods") == 1:
            one = figures.number("per_pod") == 1
            return say(
                "有节点空出足够的卡后自动启动。"
                if one
                else "有足够的空位后自动启动；少要几张卡会更快。"
            )
        return say(_NEXT[WaitReason.TOPOLOGY])

    def plan(self, *, at: float, nodes: int, domain: str, basis: Basis) -> Markup:
        """The room that is kept for it: from when on, where (`level=value`), and how sure."""
        level, _, value = domain.partition("=")
        path = [(level.rsplit("/", maxsplit=1)[-1], value)]
        return say(
            "已为它保留位置，从 {at} 起：{domain}{nodes}。{basis}",
            at=date(at),
            nodes=self.count(nodes, "个节点"),
            domain=say("{domain} 的 ", domain=self.domain(path)) if domain else "",
            basis=say(_BASIS[basis]),
        )

    def _one_domain(self, figures: Figures, level: str) -> Markup:
        """A required level holds it: it could lie in several domains instead."""
        pods, room = figures.number("pods"), figures.number("room")
        text = "有一个{word}放得下全部时启动；改用 `尽量同一{word}` 可能更快。"
        if pods is not None and room is not None and room >= pods:
            text = (
                "几个{word}合起来现在就放得下：改用 `尽量同一{word}` 重新申请，就可以跨{word}放置。"
            )
        return say(text, word=self.level(level))

    def _paused(self, figures: Figures) -> Markup:
        by = figures.text("by", "author")
        where = figures.text("queue", "where", "pool")
        until, because = figures.number("until"), figures.text("because")
        return say(
            "{where}{by}暂停{until}{because}。",
            where=say("{where} ", where=where) if where else "所在队列",
            by=say("已被 {by} ", by=by) if by else "已",
            until=say("，到 {until} 为止", until=date(until)) if until else "",
            because=say("（原因：{because}）", because=because) if because else "",
        )

    def _misconfigured(self, figures: Figures) -> Markup:
        where = figures.text("queue", "where")
        what = figures.text("problem", "detail", "cause")
        return say(
            "{where}配置有误{what}。",
            where=say("队列 {where} ", where=where) if where else "所在队列",
            what=say("（{what}）", what=what) if what else "",
        )

    def _exceeds_limit(self, figures: Figures) -> Markup:
        asked, most = asked_for(figures), figures.number("most", "limit", "max")
        where = figures.text("where", "queue", "level") or "所在队列"
        if asked is None or most is None:
            return say("申请量超过 {where} 能给出的上限。", where=where)
        return say(
            "申请 {asked}；{where} 最多只能给 {most:,} 卡。",
            asked=self.gpus(asked),
            where=where,
            most=int(most),
        )

    def _no_flavor(self, figures: Figures) -> Markup:
        model = figures.text("model", "flavor")
        if model:
            return say("没有向它开放的 {model} 资源。", model=model)
        return say("没有任何资源符合它的要求。")

    def _quota(self, figures: Figures) -> Markup:
        asked, free = asked_for(figures), left_over(figures)
        where = figures.text("where", "level", "cohort", "queue") or "所在队列"
        if asked is None or free is None:
            return say("{where} 的配额已用完。", where=where)
        total = figures.number("limit", "nominal", "quota", "total")
        flavor, tried = figures.text("flavor"), figures.text("tried")
        return say(
            "需要 {asked}；{where} 的配额{flavor}还剩 {free:,}{of}。{tried}",
            tried=say("已尝试：{tried}。", tried=tried) if tried else "",
            asked=self._units(asked, figures),
            where=where,
            free=max(0, int(free)),
            of=say("（共 {total:,}）", total=int(total)) if total else "",
            flavor=say("（{flavor}）", flavor=flavor) if flavor else "",
        )

    def _units(self, amount: float, figures: Figures) -> Markup:
        """An amount of the resource that is short: GPUs, unless the figures name another."""
        resource = figures.text("resource")
        if resource is None or str(resource) == str(GPU):
            return self.gpus(amount)
        return say("{amount:,} 份 {resource}", amount=int(amount), resource=resource)

    def _topology(self, figures: Figures) -> Markup:
        pods, room = figures.number("pods"), figures.number("room", "fits")
        free, nodes = left_over(figures), figures.number("nodes")
        largest, each = figures.number("largest"), figures.number("per_pod")
        level, in_domain = figures.text("level"), figures.number("in_domain")
        if level and in_domain is not None and pods is not None:
            return self._no_domain(figures, int(in_domain), int(pods))
        parts = [say("配额够，但放不下" if pods == 1 else "配额够，但放不下整组")]
        if room is not None and pods is not None and pods > 1:
            text = "：{pods} 只能放下 {room:,} 个"
            parts.append(say(text, room=int(room), pods=self.count(pods, "个 pod")))
        if free is not None:
            on = say("，分布在 {nodes}上", nodes=self.count(nodes, "个节点")) if nodes else ""
            parts.append(say("。现在空闲 {free}{on}", free=self.gpus(free), on=on))
        if largest is not None and each is not None:
            text = "，单节点最多 {largest:,} 卡，而每个 pod 需要 {each:,} 卡"
            parts.append(say(text, largest=int(largest), each=int(each)))
        return join("", [*parts, say("。")])

    def _no_domain(self, figures: Figures, in_domain: int, pods: int) -> Markup:
        """A required level: the domain that comes closest, and what it lacks."""
        label = (figures.path("level") or ("level",))[-1]
        values, each = figures.path("domain"), figures.number("per_pod")
        best = say("目前没有一个能放下它的任何 pod。")
        if values and in_domain > 0:
            level = "node" if label == "hostname" else label
            path = [*(("", value) for value in values[:-1]), (level, values[-1])]
            short = pods - in_domain
            gpus = say("（{gpus}）", gpus=self.gpus(short * each)) if each else Markup()
            best = say(
                "最接近的是 {domain}：{pods} 能放下 {room:,} 个，还差 {short:,} 个{gpus}。",
                domain=self.domain(path),
                room=in_domain,
                pods=self.count(pods, "个 pod"),
                short=short,
                gpus=gpus,
            )
        return say(
            "配额够，但没有一个{level}放得下全部。{best}", level=self.level(label), best=best
        )

    def _protected(self, figures: Figures) -> Markup:
        at, truce = figures.number("recall_at"), figures.text("truce")
        if truce:
            return say("它与 {truce} 互相抢占的次数过多：双方都不再抢占对方。", truce=truce)
        count, gpus = figures.number("targets", "count"), figures.number("gpus")
        who = self.count(count, "个请求") if count is not None else "其他请求"
        return say(
            "等 {who}{what}跑满最短运行时间后，就可以使用它们的位置{when}。",
            who=who,
            what=say("（{gpus}）", gpus=self.gpus(gpus)) if gpus is not None else "",
            when=say("（ {at} ）", at=date(at)) if at is not None else "",
        )

    def _waiting_for_targets(self, figures: Figures) -> Markup:
        count, gpus = figures.number("targets", "count"), figures.number("gpus", "freed", "leaving")
        who = self.count(count, "个请求") if count is not None else "其他请求"
        what = say("（{gpus}）", gpus=self.gpus(gpus)) if gpus is not None else ""
        return say("正在腾卡：{who}{what}还在退出。", who=who, what=what)

    def _reserved(self, figures: Figures) -> Markup:
        other, at, gpus = figures.text("for"), figures.number("from"), figures.number("gpus")
        lasts = figures.number("lasts")
        why = say("而它没有说明要运行多久")
        if lasts is not None:
            why = say("而它的 {lasts}会超过那个时间", lasts=self.span(lasts))
        return say(
            "现在放得下，但位置{when}已为{other}{size}保留，{why}。",
            other=say(" {other} ", other=other) if other else "等待已久的大请求",
            size=say("（{gpus}）", gpus=self.gpus(gpus)) if gpus is not None else "",
            when=say("从 {at} 起", at=date(at)) if at is not None else "",
            why=why,
        )

    def _behind(self, figures: Figures) -> Markup:
        ahead = figures.number("ahead", "count")
        where = figures.text("queue", "where")
        in_queue = say("在 {where} 中，", where=where) if where else ""
        if ahead is None:
            first = figures.text("first", "behind")
            return say(
                "现在放得下，但{in_queue}{first} 排在它前面。",
                first=say(" {first}", first=first) if first else "另一个请求",
                in_queue=in_queue,
            )
        who = self.count(ahead, "个请求")
        return say("{in_queue}前面还有 {who}。", who=who, in_queue=in_queue)

    def _not_evaluated(self, figures: Figures) -> Markup:
        del figures
        return say("刚刚提交，几秒内就会处理。")
