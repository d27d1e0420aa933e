"""What the bot says on its own, in Chinese: admissions, preemptions, starvation, ends.

People come as ready `Markup` (a mention or a name): who may be mentioned is not a matter
of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.standing import Standing
from scheduler.model import Figure, PreemptionRule, Verdict, WaitReason
from storage.records import RecipeKind
from storage.states import RequestState

_RULES: dict[PreemptionRule, str] = {
    PreemptionRule.IN_QUEUE: "在队列 {loser_queue} 中，{winner} 按优先级或时间排在 {losers} 之前",
    PreemptionRule.RECLAIM: (
        "队列 {winner_queue} 回收自己的配额，{losers} 是通过 {loser_queue} 借用的"
    ),
    PreemptionRule.RECLAIM_WHILE_BORROWING: (
        "{winner} 可以先于 {losers} 借用，后者在 {loser_queue} 的优先级较低，须让出"
    ),
    PreemptionRule.FAIR_SHARING: (
        "借用按公平份额分配：{losers} 所在的 {loser_queue} 超过了份额，{winner_queue} 还不到"
    ),
    PreemptionRule.DEFRAGMENTATION: (
        "{winner} 需要整机，而 {losers} 有别的位置可放，会立即在那里重新启动"
    ),
    PreemptionRule.INTERVENTION: "管理员人工停止了 {losers}",
}

_OVERSTAYED = "在队列 {loser_queue} 中，租期已到的须让给等待者：{losers} 让给 {winner}"

_FIND = "请用 `kubectl describe pod` 查明 pod 为何未就绪（看镜像和节点）"
_ALLOW = "请让命名空间允许这些 pod，或者把它们改成允许的样子"
_CAUSES: dict[str, str] = {
    "preempted": "被抢占了",
    "taken": "保留的卡被机器人之外的 pod 占用",
    "node-lost": "失去了一个节点，整组已停止",
    "drained": "它的一个节点正在排空，整组已停止",
    "failed": "的 pod 失败了",
    "late": "的 pod 没有按时全部就绪，整组已停止",
    "unplaced": "的 pod 没有按时排到节点上，整组已停止",
    "unmade": (
        "的 pod 没有全部创建，整组已停止：似乎是命名空间的配额、策略或 webhook 拒绝了它们"
        "（用 `kubectl describe job` 查看）"
    ),
    "stopped": "它在集群里被停止或修改了",
}


_HOW_TO_USE: dict[RecipeKind | None, str] = {
    None: "使用方法：给 pod 打上标签 `{label}={request}` 。提前用完？ `/gpu release {request}`",
    RecipeKind.DEBUG: (
        "正在创建 pod。用 `kubectl get pods -A -l gpubot.dev/admitted={request}` 找到它，再用 "
        "`kubectl exec -it POD -- bash` 进入。提前用完？ `/gpu release {request}`"
    ),
    RecipeKind.RUN: (
        "正在创建 pod： `kubectl get pods -A -l gpubot.dev/admitted={request}` ， "
        "`kubectl logs -f POD` 。运行完自动结束，也可以 `/gpu release {request}`"
    ),
}


class Alerts(Standing):
    """Sentences for notices."""

    def title(self, word: str, *, request: str, gpus: int, name: str) -> Markup:
        """The first line of a notice: what happened, to what."""
        lead = say("*{word}*", word=word)
        return join(" · ", [lead, say(request), self.gpus(gpus), say("{name}", name=name)])

    def admitted_title(self, args: notices.AdmittedArgs) -> Markup:
        """Leads an admission."""
        return self.title("已获准", request=args.request, gpus=args.gpus, name=args.name)

    def admitted(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """Who got what, where, until when."""
        until = say("，到 {until} 为止", until=date(args.until)) if args.until else Markup()
        return say(
            "{owner}（团队 {team}）获得 {gpus} {flavor}，位于 {nodes}{until}。资源池 {pool}，"
            "等了 {waited}。",
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            flavor=args.flavor,
            nodes=self.nodes(args.nodes, self.domain(args.domain)),
            until=until,
            pool=args.pool,
            waited=self.span(args.waited),
        )

    def admitted_details(self, args: notices.AdmittedArgs) -> Markup:
        """Every node, for the thread."""
        named = [say("{node} ({gpus})", node=node, gpus=gpus) for node, gpus in args.nodes]
        return say("节点（各自的卡数）：{named}", named=self.several(named, 60))

    def how_to_use(self, request: str, label: str, made: RecipeKind | None) -> Markup:
        """How pods find their grant, or the person the pods that are made."""
        return say(
            _HOW_TO_USE[made],
            label=label,
            request=request,
        )

    def admitted_group_title(self, group: Sequence[notices.AdmittedArgs]) -> Markup:
        """Leads a burst of admissions."""
        return say(
            "*已获准* · {count} · {gpus}",
            count=self.count(len(group), "个请求"),
            gpus=self.gpus(sum(args.gpus for args in group)),
        )

    def admitted_row(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """One admission of a burst, in a line."""
        until = say("到 {until}", until=date(args.until)) if args.until else Markup()
        what = say(
            "{request} · {owner} · 团队 {team} · {gpus}，{nodes}",
            request=args.request,
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            nodes=self.count(len(args.nodes), "个节点"),
        )
        return join(" · ", [what, say("{name}", name=args.name), until])

    def preempted_title(self, args: notices.PreemptedArgs) -> Markup:
        """Leads the notice to the one who was stopped."""
        target = args.target
        return self.title("被抢占", request=target.request, gpus=target.gpus, name=target.name)

    def preempted_by(self, args: notices.PreemptedArgs, winner: Markup) -> Markup:
        """Who takes the GPUs."""
        return say(
            "{target} 须为 {party}让出资源。",
            target=args.target.request,
            party=self.party(args.preemptor, winner),
        )

    def party(self, party: notices.Party, owner: Markup) -> Markup:
        """One side of a preemption: request, name, owner, team, pool, size."""
        name = say("“{name}”", name=party.name) if party.name else Markup()
        return say(
            "{owner} 的 {request}{name}（团队 {team}，资源池 {pool}，{gpus}）",
            request=party.request,
            name=name,
            owner=owner,
            team=party.team,
            pool=party.pool,
            gpus=self.gpus(party.gpus),
        )

    def rule(self, args: notices.PreemptedArgs) -> Markup:
        """By which right, in plain words, with the rule's name and the level it acted at."""
        return self.rules([args])

    def rules(self, group: Sequence[notices.PreemptedArgs], *, code: bool = True) -> Markup:
        """The rule by which the targets of a group, all of one queue, were stopped.

        Its name and level, the `code`, are for those who look into it, not for everybody.
        """
        first = group[0]
        losers = [say("{request}", request=each.target.request) for each in group]
        plain = say(
            _OVERSTAYED if first.overstayed else _RULES[first.rule],
            winner=first.preemptor.request,
            losers=self.several(losers, 6),
            winner_queue=first.preemptor.queue,
            loser_queue=first.target.queue,
        )
        named = say("（ `{rule}` ，层级 `{level}` ）", rule=first.rule.value, level=first.level)
        return say("依据：{plain}{named}。", plain=plain, named=named if code else "")

    def paths(self, args: notices.PreemptedArgs) -> Markup:
        """Both queues with their place in the quota tree."""
        return say(
            "配额： {loser} 让给 {winner} 。",
            loser=self._path(args.target),
            winner=self._path(args.preemptor),
        )

    def _path(self, party: notices.Party) -> Markup:
        steps = party.path or (party.queue,)
        return say("`{path}`", path=" › ".join(steps))

    def preempted_next(self, args: notices.PreemptedArgs) -> Markup:
        """What is lost and what happens next."""
        return say(
            "它已运行 {ran}，未保存的内容会丢失。pod 有 {grace}的时间退出，之后回到原来的排队位置，"
            "有空位时自动重新启动。",
            ran=self.span(args.ran),
            grace=self.span(args.grace),
        )

    def preempted_group_title(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the post about all that one request stopped."""
        return say(
            "*抢占* · {count}，{gpus}，为 {winner} 让出",
            count=self.count(len(args.targets), "个请求"),
            gpus=self.gpus(sum(each.target.gpus for each in args.targets)),
            winner=args.preemptor.request,
        )

    def preempted_group(self, args: notices.PreemptedGroupArgs, winner: Markup) -> Markup:
        """Who needed the room."""
        party = self.party(args.preemptor, winner)
        return say("{party}在资源腾出后立即启动。为它停下的：", party=party)

    def preempted_row(
        self, args: notices.PreemptedArgs, owner: Markup, *, timed: bool = False
    ) -> Markup:
        """One target of a group."""
        grace = say("，有 {grace}的时间退出", grace=self.span(args.grace))
        return say(
            "• {party}，已运行 {ran}{grace}",
            party=self.party(args.target, owner),
            ran=self.span(args.ran),
            grace=grace if timed else "",
        )

    def preempted_rest(self, rest: Sequence[notices.PreemptedArgs]) -> Markup:
        """The targets that are not listed one by one, by team, the largest first."""
        teams: dict[str, int] = {}
        for each in rest:
            teams[each.target.team] = teams.get(each.target.team, 0) + each.target.gpus
        by_size = sorted(teams.items(), key=lambda item: (-item[1], item[0]))
        named = [say("{team} {gpus}", gpus=self.gpus(gpus), team=team) for team, gpus in by_size]
        return say(
            "• 另有 {count}：{teams}",
            count=self.count(len(rest), "个请求"),
            teams=self.several(named, 8),
        )

    def preempted_group_next(
        self, args: notices.PreemptedGroupArgs, *, told: bool = True
    ) -> Markup:
        """What happens to the targets; and that their owners know, where others read it."""
        graces = [each.grace for each in args.targets] or [0.0]
        grace = self.span(max(graces))
        if min(graces) < max(graces):
            grace = say("{least}至 {most}", least=self.span(min(graces)), most=grace)
        return say(
            "有 {grace}的时间退出，之后回到原来的排队位置。{told}",
            grace=grace,
            told=say("已通知申请人。") if told else Markup(),
        )

    def for_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call; without a group to mention, in words."""
        return say("{who}：请知悉。", who=group or say("值班"))

    def ask_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call to what somebody has to acknowledge."""
        return say("{who}：请接手。", who=group or say("值班"))

    def starving_title(self, args: notices.StarvingArgs) -> Markup:
        """Leads a starvation alert."""
        return self.title("饥饿", request=args.request, gpus=args.gpus, name=args.name)

    def starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """How long, against what target, and where."""
        return say(
            "{owner}（团队 {team}）已等 {waited}；{priority}的目标是 {target}。"
            "排{place}，资源池 {pool}。",
            owner=owner,
            team=args.team,
            waited=self.span(args.waited),
            priority=self.priority(args.priority),
            target=self.span(args.target_wait),
            place=self.place_in_line(args.position),
            pool=args.pool,
        )

    def why_in_short(self, reason: WaitReason, figures: Mapping[str, Figure]) -> Markup:
        """The reason and the next step."""
        verdict = Verdict(reason=reason, figures=figures)
        return join("", [self.reason(verdict), self.next_step(verdict)])

    def starving_holders(self, args: notices.StarvingArgs) -> Markup:
        """Who holds what it needs."""
        rows = [
            say(
                "• {holder}",
                holder=self.holder(
                    request=each.request, team=each.team, gpus=each.gpus, ends=each.ends
                ),
            )
            for each in args.holders
        ]
        return join("\n", [say("谁占着它要的卡："), *rows]) if rows else Markup()

    def starving_plan(self, args: notices.StarvingArgs) -> Markup:
        """The room that is kept for it; empty without any."""
        plan = args.plan
        if plan is None:
            return Markup()
        return self.plan(at=plan.at, nodes=plan.nodes, domain=plan.domain, basis=plan.basis)

    def starving_oncall(self, args: notices.StarvingArgs, group: Markup | None) -> Markup:
        """What on-call can do."""
        return say(
            "{who}：请看一下。 `/gpu why {request}` 显示实时情况。",
            who=group or say("值班"),
            request=args.request,
        )

    def ended_title(self, args: notices.EndedArgs) -> Markup:
        """Leads the last reply of a thread."""
        state = self.state(RequestState(args.state))
        return self.title(state, request=args.request, gpus=args.gpus, name=args.name)

    def ended(self, args: notices.EndedArgs, by: Markup | None) -> Markup:
        """How it ended and what it used."""
        state = RequestState(args.state)
        gone = self.gone(args.by)
        who = say("（由 {by} 操作）", by=by) if by and not gone else Markup()
        if args.ran <= 0 and args.gpu_hours <= 0:
            text = "{state}{who}，还没有启动过。{gone}"
            return say(text, state=self.state(state), who=who, gone=gone)
        return say(
            "{state}{who}，用 {gpus}运行了 {ran}，共 {hours:,.1f} 卡时。{gone}",
            gone=gone,
            state=self.state(state),
            who=who,
            ran=self.span(args.ran),
            gpus=self.gpus(args.gpus),
            hours=args.gpu_hours,
        )

    def ended_for_you(self, args: notices.EndedArgs, by: Markup) -> Markup:
        """To the owner of what somebody else ended."""
        text = "{by} 结束了你的请求 {request}。如果是误操作，请与对方联系。"
        return say(text, by=by, request=args.request)

    def requeued(self, args: notices.RequeuedArgs) -> Markup:
        """That it waits again, and where; or that it is not tried for a while, or at all."""
        cause, rest = say(_CAUSES[args.cause]), args.rest
        if rest is None:
            return say(
                "*重新排队* · {request}。它{cause}；现在排{place}，有空位时自动启动。",
                request=args.request,
                cause=cause,
                place=self.place_in_line(args.position),
            )
        if rest.until is None:
            return say(
                "*已搁置* · {request}。它{cause}，已连续 {tries} 次，不再自动重试。"
                "{find}，然后在集群里"
                "或用 `/gpu edit {request} …` 修改，它就会重新排队；"
                "放弃请用 `/gpu cancel {request}` 。",
                request=args.request,
                cause=cause,
                find=say(_ALLOW if args.cause == "unmade" else _FIND),
                tries=rest.tries,
            )
        return say(
            "*重新排队* · {request}。它{cause}{tries}。最早 {until} 再试，届时排{place}。",
            request=args.request,
            cause=cause,
            tries=say("（第 {tries} 次，共 {most} 次）", tries=rest.tries, most=rest.most)
            if rest.most is not None
            else "",
            until=date(rest.until),
            place=self.place_in_line(args.position),
        )

    def repaired(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the pods went."""
        if args.whole:
            return say(
                "*节点故障* · {request}：{lost} 故障。它的 pod 不能改到其他节点，因此整组停止。",
                request=args.request,
                lost=self._named_nodes(args.lost),
            )
        return say(
            "*已修复* · {request}：{lost} 故障，其上的 pod 已移到 {to}，其余不受影响。",
            request=args.request,
            lost=self._named_nodes(args.lost),
            to=self.several([say("{name}", name=name) for name in args.to], 6),
        )

    def held_elsewhere(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the GPUs are held now."""
        return say(
            "*已修复* · {request}：{lost} 故障，其上占用的卡已改到 {to}。"
            "你在那里的 pod 已不存在，请用同样的标签重新创建。",
            request=args.request,
            lost=self._named_nodes(args.lost),
            to=self.several([say("{name}", name=name) for name in args.to], 6),
        )

    def _named_nodes(self, names: Sequence[str]) -> Markup:
        """`节点 a`, or `节点 a、b 等共 5 项`."""
        named = self.several([say("{name}", name=name) for name in names], 6)
        return say("节点 {named}", named=named)

    def node_failed_title(self, args: notices.NodeFailedArgs) -> Markup:
        """Leads the post about a failed node."""
        hit = say("影响 {count}", count=self.count(len(args.hit), "个请求"))
        return say(
            "*{what}* · {node} · {hit}",
            what=say("节点即将离开") if args.leaving else say("节点故障"),
            node=args.node,
            hit=hit if args.hit else say("无人受影响"),
        )

    def node_failed_row(self, hit: notices.HitArgs, owner: Markup) -> Markup:
        """One who was hit, and what becomes of it."""
        moved = say("已移到{to}", to=self._named_nodes(hit.to))
        stopped = say("没有可替换的节点：整组停止，回到原来的排队位置")
        if hit.pinned:
            stopped = say("它的 pod 不能改到其他节点：整组停止")
        return say(
            "• {owner} 的 {request}{name}（团队 {team}，{gpus}）：{fate}",
            request=hit.request,
            name=say("“{name}”", name=hit.name) if hit.name else Markup(),
            owner=owner,
            team=hit.team,
            gpus=self.gpus(hit.gpus),
            fate=moved if hit.to else stopped,
        )

    def node_failed_rest(self, rest: Sequence[notices.HitArgs]) -> Markup:
        """Those who are not listed one by one."""
        return say("• 另有 {count}", count=self.count(len(rest), "个请求"))

    def node_failed_next(self, args: notices.NodeFailedArgs) -> Markup:
        """What the bot does about it."""
        told = say("已通知申请人。") if args.hit else Markup()
        rest = say("恢复就绪之前不会往上放任何东西。")
        if args.leaving:
            rest = say("云厂商或自动扩缩容正在收回它（带有污点）。污点还在时不会往上放任何东西。")
        return join("", [rest, told])

    def overfull(self, args: notices.OverfullArgs) -> Markup:
        """A node that shrank below what it holds."""
        return say(
            "*节点超占* · {node} 的 `{resource}` 比其上 pod 占用的少 {excess:,}。已有的继续运行，"
            "不再往上放新的。是设备坏了，还是节点被改动了？",
            node=args.node,
            excess=args.excess,
            resource=args.resource,
        )

    def flipped(self, args: notices.FlippedArgs) -> Markup:
        """To on-call, once: two requests stopped each other again and again."""
        return say(
            "*互相抢占* · {one} 和 {other}，已有 {times}。从现在起双方都不再抢占对方。"
            "请检查它们所在队列的配额和优先级。",
            one=args.one,
            other=args.other,
            times=self.count(args.times, "次"),
        )

    def undeliverable(self, *, where: str, error: str) -> Markup:
        """To on-call, once: messages cannot be delivered there."""
        return say(
            "*无法送达* · Slack 拒收发往 {where} 的消息（ `{error}` ）。修复之前消息会发到这里，"
            "或作为未送达保留。机器人还在频道里吗？频道有没有归档？",
            where=where,
            error=error,
        )

    def meant_for(self, where: str) -> Markup:
        """Leads a message that comes to the fallback channel."""
        return say("原本发往 {where}：", where=where)
