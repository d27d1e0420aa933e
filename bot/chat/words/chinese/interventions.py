"""What admins do by hand, in Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.byhand import LONGEST_REASON, DeclineCode, Declined, Intervened
from bot.chat.markup import Markup, date, escape, join, say
from bot.chat.people import Names
from bot.chat.words.chinese.previews import Previews
from bot.chat.words.figures import Figures
from bot.views import RefusalCode
from storage.audit import Intervention, InterventionKind

K = InterventionKind

_DOING: Mapping[InterventionKind, str] = {
    K.PAUSE: "暂停队列",
    K.RESUME: "恢复队列",
    K.BOOST: "加急请求",
    K.PREEMPT: "停止别人的请求",
    K.DRAIN: "排空节点",
    K.UNDRAIN: "恢复已排空的节点",
    K.QUOTA: "修改配额",
}
_TITLES: Mapping[InterventionKind, str] = {
    K.PAUSE: "已暂停",
    K.RESUME: "已恢复",
    K.BOOST: "已加急",
    K.PREEMPT: "已停止",
    K.DRAIN: "已排空",
    K.UNDRAIN: "重新开放",
    K.QUOTA: "配额",
}
_OVER: Mapping[InterventionKind, str] = {
    K.PAUSE: "{actor} 于 {began} 对 {target} 设置的暂停已结束，请求重新开始启动。",
    K.BOOST: "{actor} 于 {began} 给 {target} 的加急已结束，恢复其原有优先级。",
    K.DRAIN: "{actor} 于 {began} 排空的节点 {target} 重新接受新任务。",
    K.QUOTA: "{actor} 于 {began} 为 {target} 设置的配额已结束，恢复策略中的配额。",
}
_DECLINED: Mapping[DeclineCode, str] = {
    DeclineCode.ADMINS_ONLY: "只有管理员可以{doing}。{ask}",
    DeclineCode.NO_REASON: "请说明原因，所有人都能看到，例如 `原因 交换机升级` 。",
    DeclineCode.END_PASSED: "这个结束时间已经过去了。请说晚一些的，例如 `2小时` 或 `直到 18:00` 。",
    DeclineCode.END_TOO_FAR: (
        "这个结束时间在一年以后。请说近一些的，例如 `2小时` 或 `直到 18:00` ，也可以不说。"
    ),
    DeclineCode.UNKNOWN_PLACE: "没有名为 {where} 的队列、资源池或团队。{near}",
    DeclineCode.UNKNOWN_NODE: "没有节点 {node}。{near}",
    DeclineCode.NO_SUCH_REQUEST: "没有请求 {request}。 `/gpu 队列` 会列出排队的请求。",
    DeclineCode.NOT_PAUSED: "{where} 没有暂停。{instead}",
    DeclineCode.NOT_DRAINED: "节点 {node} 没有排空。{instead}",
    DeclineCode.NOT_WAITING: "{request} 不在排队，无从帮起。 `/gpu 队列` 会列出排队的请求。",
    DeclineCode.NOT_RUNNING: "{request} 没有在运行，或者已在停止。",
    DeclineCode.NOT_HIGHER: "{request} 已是{priority}，加急须更高，例如 `优先级 最高` 。",
    DeclineCode.WOULD_NOT_START: (
        "即使没有 {target}，{request} 也无法启动，所以不为它停止任何人。"
        " `/gpu why {request}` 显示还缺什么。"
    ),
    DeclineCode.NEEDS_QUEUE: "{where} 有多个队列，请指明一个： {list} 。",
    DeclineCode.NEEDS_FLAVOR: "{where} 有多种配额，请指明一种： {list} 。",
    DeclineCode.NO_SUCH_FLAVOR: "{where} 没有 {flavor} 的配额，请说 {list} 。",
    DeclineCode.SAME_QUOTA: "{where} 已经是这个配额了。",
}


_EXAMPLES: Mapping[DeclineCode, Markup] = {
    DeclineCode.UNKNOWN_PLACE: Markup("例如 `/gpu 暂停 shared-multi 2小时 原因 交换机升级` 。"),
    DeclineCode.UNKNOWN_NODE: Markup(
        " `/gpu 地图` 显示节点的位置，例如 `/gpu 排空 h100-0042 2小时 原因 换风扇` 。"
    ),
}


class Interventions(Previews):
    """Sentences about orders of admins."""

    def declined(self, declined: Declined, mention: Names) -> Markup:
        """Why an order was not taken, and what would do or whom to ask."""
        figures = Figures(declined.args)
        named = {key: figures.text(key) or Markup() for key in declined.args}
        if "priority" in named:
            named["priority"] = say("{has}", has=self.priority(str(named["priority"])))
        near = say("是不是想说 {near} ？", near=self.or_list(declined.near[:3]))
        example = _EXAMPLES.get(declined.code, Markup())
        instead = say("目前生效的： {near} 。", near=self.or_list(declined.near[:6]))
        asked = self.several([mention(one) for one in declined.near], 3)
        return say(
            _DECLINED[declined.code],
            doing=_DOING[declined.kind],
            ask=say("请找 {asked} 。", asked=asked) if declined.near else "",
            near=near if declined.near else example,
            instead=instead if declined.near else "",
            list=self.or_list(declined.near[:8]),
            **named,
        )

    def intervened(self, answer: Intervened) -> Markup:
        """The private answer to who ordered it."""
        what = say(
            "*人工干预* · {word} · {target}",
            word=_TITLES[answer.done.kind],
            target=answer.done.target,
        )
        if answer.pending:
            return join("。", [what, say("已保存，马上执行。")])
        return join("。", [what, say("已连同原因发布到频道。")])

    # ---- notices

    def intervention_title(self, args: notices.InterventionArgs) -> Markup:
        """Leads the post."""
        word = _TITLES[args.what]
        lead = say("*人工干预* · {word} · {target}", word=word, target=args.target)
        of = args.request
        if of is None:
            return lead
        return join(" · ", [lead, self.gpus(of.gpus), say("{name}", name=of.name)])

    def intervention(self, args: notices.InterventionArgs, actor: Markup, names: Names) -> Markup:
        """Who did what until when, and what it means."""
        match args.what:
            case K.PAUSE | K.RESUME:
                return self._paused_post(args, actor)
            case K.BOOST:
                return say(
                    "{actor} 给了 {party}{priority}优先级{until}。",
                    actor=actor,
                    party=self._of(args.request, names),
                    priority=self.priority_word(args.priority or "更高"),
                    until=self._until(args.until),
                )
            case K.PREEMPT:
                winner = say("它将在队尾重新排队。")
                if args.winner is not None:
                    winner = say("{party} 在它的位置启动。", party=self._of(args.winner, names))
                stopped = self._of(args.request, names)
                return say(
                    "{actor} 停止了 {party}。{winner}", actor=actor, party=stopped, winner=winner
                )
            case K.DRAIN | K.UNDRAIN:
                return self._drained_post(args, actor)
            case K.QUOTA:
                return self._quota_post(args, actor)

    def _paused_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        queues = self.several([say("{queue}", queue=queue) for queue in args.queues], 6)
        if args.what is K.RESUME:
            return say("{actor} 恢复了 {queues}，请求重新开始启动。", actor=actor, queues=queues)
        waits = say("没有人在那里排队。")
        if args.waiting:
            waits = say(
                "有 {count}（{gpus}）在那里排队。",
                count=self.count(args.waiting, "个请求"),
                gpus=self.gpus(args.gpus),
            )
        return say(
            "{actor} 暂停了 {queues}{until}。不再启动任何请求，运行中的继续。{waits}",
            actor=actor,
            queues=queues,
            until=self._until(args.until) or say("，直到恢复为止"),
            waits=waits,
        )

    def _drained_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        if args.what is K.UNDRAIN:
            return say("{actor} 重新开放节点 {node}。", actor=actor, node=args.target)
        fate = say("上面没有运行任何请求。")
        if args.hit and args.moved:
            fate = say("上面运行的会停止，有空位时在别处启动：")
        elif args.hit:
            fate = say("上面运行的可以运行到结束：")
        return say(
            "{actor} 排空节点 {node}{until}：不再放置新任务。{fate}",
            actor=actor,
            node=args.target,
            until=self._until(args.until),
            fate=fate,
        )

    def _quota_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        changed = say(
            "{actor} 把 {queue} 在 {flavor} 的配额从 {before}改为 {gpus}{until}。",
            actor=actor,
            queue=args.target,
            flavor=args.flavor or say("唯一类型"),
            before=self.gpus(args.before),
            gpus=self.gpus(args.gpus),
            until=self._until(args.until),
        )
        return join("", [changed, self._over(args.over) if args.over else Markup()])

    def intervention_reason(self, reason: str) -> Markup:
        """Why, in the admin's own words."""
        return say("原因：{reason}", reason=escape(reason, LONGEST_REASON))

    def intervention_hits(self, args: notices.InterventionArgs, names: Names) -> Sequence[Markup]:
        """Whom it hits, a line each."""
        if args.what is not K.DRAIN:
            return ()
        rows = [say("• {party}", party=self._of(hit, names)) for hit in args.hit[:10]]
        left = args.more + max(0, len(args.hit) - 10)
        more = say("• 另有 {more}", more=self.count(left, "个请求"))
        return [*rows, more] if left else rows

    def intervention_over(self, args: notices.InterventionOverArgs, actor: Markup) -> Markup:
        """That something set by hand has ended by itself."""
        what = say(_OVER[args.what], target=args.target, actor=actor, began=date(args.began))
        return say("*人工干预结束* · {what}", what=what)

    def intervention_failed(self, args: notices.InterventionFailedArgs) -> Markup:
        """That an order came too late."""
        return say(
            "*没有做任何更改* · {target}：在执行你的指令（{what}）之前情况已经变化。请再看一下，"
            "如仍需要就再下一次指令。",
            target=args.target,
            what=_DOING[args.what],
        )

    def displaced_title(self, args: notices.DisplacedArgs) -> Markup:
        """Leads the notice to the one who is stopped."""
        target = args.target
        return join(
            " · ",
            [
                say("*被人工停止*"),
                say(target.request),
                self.gpus(target.gpus),
                say("{name}", name=target.name),
            ],
        )

    def displaced(self, args: notices.DisplacedArgs, actor: Markup, names: Names) -> Markup:
        """Who stops it, for whom, by which right."""
        target = args.target.request
        if args.node is not None:
            return say(
                "{actor} 正在排空 {target} 所在的节点 {node}（规则 `{rule}` ）。",
                actor=actor,
                node=args.node,
                target=target,
                rule=args.rule.value,
            )
        purpose = say("腾出它的卡")
        if args.preemptor is not None:
            winner = args.preemptor
            purpose = say(
                "{owner} 的 {request}{name}（团队 {team}，资源池 {pool}，{gpus}）",
                request=winner.request,
                name=say("“{name}”", name=winner.name) if winner.name else "",
                owner=names(winner.owner),
                team=winner.team,
                pool=winner.pool,
                gpus=self.gpus(winner.gpus),
            )
        return say(
            "{actor} 为了{purpose}停止了 {target}。这不是策略的规则，而是人的决定（ `{rule}` ）。",
            actor=actor,
            target=target,
            purpose=purpose,
            rule=args.rule.value,
        )

    def displaced_paths(self, args: notices.DisplacedArgs) -> Markup:
        """The quota paths of both sides."""
        loser = say("`{path}`", path=" › ".join(args.target.path or (args.target.queue,)))
        if args.preemptor is None:
            return say("配额： {loser} 收回它的卡。", loser=loser)
        path = " › ".join(args.preemptor.path or (args.preemptor.queue,))
        winner = say("`{path}`", path=path)
        return say("配额： {loser} 让给 {winner} 。", loser=loser, winner=winner)

    def displaced_next(self, args: notices.DisplacedArgs) -> Markup:
        """What is lost and what happens next."""
        back = args.what is K.PREEMPT and args.preemptor is None
        return say(
            "已运行 {ran}，没有保存的会丢失。pod 有 {grace} 停止，之后回到{place}重新排队，"
            "有空位时自动启动。",
            ran=self.span(args.ran),
            grace=self.span(args.grace),
            place="队尾" if back else "原来的位置",
        )

    def stuck(self, args: notices.StuckArgs, owner: Markup) -> Markup:
        """To on-call: something was told to stop and does not go."""
        return say(
            "*停不下来* · {owner} 的 {request}{name}（团队 {team}，{gpus}）于 {told} 被要求停止，"
            "宽限 {grace}，但 pod 仍在 {nodes}。等它的请求会另找别处，它的卡在消失之前仍算占用。"
            "请查看它的 pod；在 Kubernetes 上可用 `kubectl get pdb -A` 看看是否有中断预算拦着。",
            request=args.request,
            name=say("“{name}”", name=args.name) if args.name else "",
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            told=date(args.told),
            grace=self.span(args.grace),
            nodes=self.nodes(args.nodes),
        )

    def node_avoided(self, args: notices.NodeAvoidedArgs) -> Markup:
        """To on-call: a node is used no more for a while; why, and how to undo it."""
        return say(
            "*避开节点* · {node}：{requests} 在其上的 pod 没有按时就绪。到 {until} 为止不再往上放"
            "新的，已在运行的不受影响。请用 `kubectl describe node {node}` 查看。"
            "要立即恢复使用请发 `/gpu undrain {node} reason …` ；"
            "要停用更久请发 `/gpu drain {node} for 2d reason …` 。",
            node=args.node,
            requests=self.several([say("{id}", id=one) for one in args.held_up]),
            until=date(args.until),
        )

    def not_taken(self, args: notices.NotTakenArgs) -> Markup:
        """An object of the cluster cannot become a request, or be one still; why is said below."""
        if args.request and args.refusal.get("refused") == RefusalCode.LINGERS:
            return say(
                "*已搁置* · {request}：{what} `{where}` 暂时不能重新启动：",
                request=args.request,
                what=args.what,
                where=f"{args.namespace}/{args.name}",
            )
        if args.request:
            return say(
                "*已搁置* · {request}：{what} `{where}` 在等待时被改动，现在的样子不能成为请求：",
                request=args.request,
                what=args.what,
                where=f"{args.namespace}/{args.name}",
            )
        return say(
            "*未受理* · {what} `{where}` 在集群中等待，但不能成为请求：",
            what=args.what,
            where=f"{args.namespace}/{args.name}",
        )

    def not_taken_next(self, args: notices.NotTakenArgs) -> Markup:
        """What to do about it."""
        if args.request and args.refusal.get("refused") == RefusalCode.LINGERS:
            return say(
                "期间不会尝试启动，位置保留，届时自动重新排队；"
                "要放弃请发 `/gpu cancel {request}` 。",
                request=args.request,
            )
        if args.request:
            return say(
                "期间不会尝试启动，位置保留。用 kubectl 改好后会自动重新排队；"
                "要放弃请发 `/gpu cancel {request}` 。",
                request=args.request,
            )
        return say("它会继续等待。用 kubectl 修改后会重新检查。")

    def lasting_title(self) -> Markup:
        """Leads what admins have set that still lasts."""
        return say("*人工设置*")

    def lasting(self, one: Intervention, actor: Markup) -> Markup:
        """Something that lasts, in a line."""
        gpus = one.after.get("gpus")
        amount = say(" {gpus}", gpus=self.gpus(gpus)) if isinstance(gpus, int) else Markup()
        until = None if one.until is None else one.until.timestamp()
        return say(
            "• {word} · {target}{amount}{until}，由 {actor} 设置（原因：{reason}）",
            word=_TITLES[one.kind],
            target=one.target,
            amount=amount,
            until=self._until(until),
            actor=actor,
            reason=one.reason,
        )

    def _of(self, party: notices.HitArgs | None, names: Names) -> Markup:
        if party is None:
            return say("一个请求")
        return say(
            "{owner} 的 {request}{name}（团队 {team}，{gpus}）",
            request=party.request,
            name=say("“{name}”", name=party.name) if party.name else "",
            owner=names(party.owner),
            team=party.team,
            gpus=self.gpus(party.gpus),
        )
