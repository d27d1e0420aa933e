"""Why a change of a request was not made, in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.grammar import spell_lease
from bot.chat.markup import Markup, date, say
from bot.chat.words.chinese.fields import FIELDS
from bot.chat.words.chinese.units import Units
from bot.chat.words.figures import Figures
from bot.fields import FieldName
from bot.views import RefusalCode, Refused
from storage.states import RequestState

Sentence = Callable[[Refused, Figures], Markup]


class TurnedDown(Units):
    """One sentence a code."""

    def turned_down(self) -> Mapping[RefusalCode, Sentence]:
        """The sentences by code."""
        return {
            RefusalCode.SOMEBODY_WAITS: self._somebody_waits,
            RefusalCode.EXTENDED_TOO_LONG: self._extended_too_long,
            RefusalCode.NOT_ASKED: self._not_asked,
            RefusalCode.NO_LEASE: self._no_lease,
            RefusalCode.NO_PROVISION: self._no_provision,
            RefusalCode.NO_SMALLER_START: self._no_smaller_start,
            RefusalCode.BAD_MARK: self._bad_mark,
            RefusalCode.RAISED_IN_CHAT: self._raised_in_chat,
            RefusalCode.NOT_HELD: self._not_held,
            RefusalCode.MANAGED_ELSEWHERE: self._managed_elsewhere,
            RefusalCode.LINGERS: self._lingers,
            RefusalCode.HOLDS_NOTHING: self._holds_nothing,
            RefusalCode.HOLDS_LESS: self._holds_less,
            RefusalCode.NOT_A_CHECKPOINT: self._not_a_checkpoint,
            RefusalCode.OUTGROWN: self._outgrown,
            RefusalCode.GROUP_SHORT: self._group_short,
            RefusalCode.GROUP_MIXED: self._group_mixed,
            RefusalCode.GROUP_UNLIKE: self._group_unlike,
            RefusalCode.REPLICA: self._replica,
            RefusalCode.OF_OBJECT: self._of_object,
            RefusalCode.LEASE_OVER: self._lease_over,
            RefusalCode.LEASE_MOVED: self._lease_moved,
            RefusalCode.CHANGED_MEANWHILE: self._meanwhile,
            RefusalCode.NOTHING_NEW: self._nothing_new,
            RefusalCode.RUNS: self._runs,
            RefusalCode.NOT_LOWER: self._not_lower,
            RefusalCode.LEASE_PAST: self._lease_past,
            RefusalCode.IN_TRANSIT: self._in_transit,
            RefusalCode.SAME_OWNER: self._same_owner,
            RefusalCode.NOT_IN_TEAM: self._not_in_team,
            RefusalCode.ON_TEAM_QUOTA: self._on_team_quota,
            RefusalCode.RECEIVER_FULL: self._receiver_full,
            RefusalCode.RUNS_ALREADY: self._runs_already,
            RefusalCode.OFFER_STALE: self._offer_stale,
            RefusalCode.OFFER_GONE: self._offer_gone,
            RefusalCode.LOOKING: self._looking,
            RefusalCode.AMBIGUOUS_NAME: self._ambiguous_name,
        }

    def _somebody_waits(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        more = figures.number("more") or 0
        return say(
            "{request} 不能延长：{owner} 的 {first}（团队 {team}，{gpus}）{others}"
            "正在等它占用的卡。",
            request=_request(figures),
            first=figures.text("first") or say("另一个请求"),
            owner=figures.text("owner") or say("别人"),
            team=figures.text("team") or say("其他"),
            gpus=self.gpus(figures.number("gpus") or 0),
            others=say("和另外 {more}", more=self.count(more, "个请求")) if more else Markup(),
        )

    def _extended_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most, left = figures.number("most") or 0.0, figures.number("left") or 0.0
        pool = figures.text("pool")
        rest = say(
            "还可以延长 {left}： `/gpu 延长 {request} {line}` ",
            left=self.span(left),
            request=_request(figures),
            line=spell_lease(left),
        )
        return say(
            "{request} 不能延长这么久：{pool}的租期总共最长 {most}，{rest}。",
            request=_request(figures),
            pool=say("资源池 {pool} ", pool=pool) if pool else say("所在资源池"),
            most=self.span(most),
            rest=rest if left > 0 else say("不能再延长；到期后请重新申请"),
        )

    def _ambiguous_name(self, refused: Refused, figures: Figures) -> Markup:
        count = int(figures.number("count") or len(refused.near))
        listed = [say("{one}", one=one) for one in refused.near]
        if count > len(listed):
            listed.append(say("另外 {more:,} 个", more=count - len(listed)))
        return say(
            "有 {count}叫 {name}：{listed}。请说明是哪个，例如 `/gpu 为什么 {example}` 。",
            count=self.count(count, "个请求"),
            name=figures.text("name") or say("这个名字"),
            listed=self.several(listed),
            example=figures.text("example") or "R-1042",
        )

    def _bad_mark(self, refused: Refused, figures: Figures) -> Markup:
        near = say("可以写 {near} 。", near=self.or_list(refused.near)) if refused.near else ""
        label, value = figures.text("label") or "gpubot.dev/…", figures.text("value")
        if not value:
            return say("缺少标签 `{label}` 。{near}", label=label, near=near)
        return say("标签 `{label}` 不能是 `{value}` 。{near}", label=label, value=value, near=near)

    def _raised_in_chat(self, refused: Refused, figures: Figures) -> Markup:
        """A class that needs a role, asked for by a label, which anybody can have written."""
        priority, request = figures.text("priority") or "critical", figures.text("request")
        why = say(
            "{priority}需要相应的身份，而标签是谁写的无从得知。可以写 {near} ",
            priority=self.priority(priority),
            near=self.or_list(refused.near) if refused.near else "别的优先级",
        )
        if figures.number("replica"):
            return say(
                "{why}；它等待时，管理员可以在聊天中提升： "
                "`/gpu boost {request} priority {priority} for 6h reason …`",
                why=why,
                request=request or "R-1042",
                priority=priority,
            )
        team = figures.text("team") or say("其")
        if request:
            return say(
                "{why}，或者请团队 {team} 的负责人或管理员在聊天中提升： "
                "`/gpu edit {request} priority {priority}`",
                why=why,
                team=team,
                request=request,
                priority=priority,
            )
        return say(
            "{why}；它等待时，团队 {team} 的负责人或管理员可以用它的编号在聊天中提升： "
            "`/gpu edit R-1042 priority {priority}`",
            why=why,
            team=team,
            priority=priority,
        )

    def _not_held(self, refused: Refused, figures: Figures) -> Markup:
        """A Job whose pods wait for GPUs one by one; `near` are teams where it names none."""
        del figures
        if not refused.near:
            return say(
                "它的 pod 在等待 GPU，但它没有暂停，而只有暂停的任务才能整体启动。"
                "请设置 `suspend: true` 。"
            )
        return say(
            "它的 pod 在等待 GPU，但缺少标签 `gpubot.dev/team` 。可以写 {near} 。"
            "请在同一次修改中加上该标签和 `suspend: true` 。",
            near=self.or_list(refused.near),
        )

    def _managed_elsewhere(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "它的 pod 由 `{manager}` 创建 (`spec.managedBy`)，何时启动、何时停止由它自行决定。"
            "请去掉 `managedBy` 重新创建；或者用 `/gpu` 申请 GPU，"
            "再给它的 pod 加上标签 `gpubot.dev/request` ，值为该请求的编号。",
            manager=figures.text("manager") or "…",
        )

    def _lingers(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "节点 {node} 已故障，但还留着它的 pod `{pod}` ；在该 pod 结束之前不会创建替代的 pod"
            " (`podReplacementPolicy: Failed` ，设了 `podFailurePolicy` 时默认如此)。节点恢复、"
            "管理员删除该节点，或者（确定不再开机时）给它加上污点 "
            "`node.kubernetes.io/out-of-service` 之后，就会继续。",
            node=figures.text("node") or "…",
            pod=figures.text("pod") or "…",
        )

    def _holds_nothing(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or "…"
        return say(
            "它的标签 `gpubot.dev/request` 写的是 {request} ，而该请求现在没有卡可供 pod 使用："
            "它自己还在等待、已经结束，或者根本不是占位请求（可用 `/gpu why {request}` 查看）。"
            "{request} 有了卡后它会继续；如果不会再有，请用 `/gpu hold {count} h100 8h` 申请，"
            "再把标签改为新的编号。",
            request=request,
            count=int(figures.number("gpus") or 0) or 8,
        )

    def _holds_less(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "它需要 {gpus} ，而标签 `gpubot.dev/request` 所写的 {request} 在任何一个节点上最多只有 "
            "{most} 卡。请减小它，或者用 `/gpu hold {count} h100 8h` 申请更多，"
            "再把标签改为新的编号。",
            gpus=self.gpus(figures.number("gpus") or 0),
            request=figures.text("request") or "…",
            most=int(figures.number("most") or 0),
            count=int(figures.number("gpus") or 0),
        )

    def _not_a_checkpoint(self, refused: Refused, figures: Figures) -> Markup:
        near = say("可以写 {near} 。", near=self.or_list(refused.near)) if refused.near else ""
        value, ahead = figures.text("value") or Markup(), figures.number("ahead")
        if ahead is None:
            return say(
                "注解 `gpubot.dev/checkpointed-at` 不能是 `{value}` ，因此不计入。{near}",
                value=value,
                near=near,
            )
        return say(
            "注解 `gpubot.dev/checkpointed-at` 是 `{value}` ，比现在晚 {ahead}，因此不计入。"
            "没有时区的时间按 UTC 理解。{near}",
            value=value,
            ahead=self.span(ahead),
            near=near,
        )

    def _outgrown(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "它获准 {granted:,} 个 pod，现在有 {pods:,} 个：超出的在等待，不会启动。"
            "请改回原来的数量；或者暂停它，它会按新的数量重新申请。",
            granted=int(figures.number("granted") or 0),
            pods=int(figures.number("pods") or 0),
        )

    def _group_short(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "该组应有 {size:,} 个 pod，现有 {there:,} 个；整组齐了才会启动。请补齐其余 pod，"
            "或把 `gpubot.dev/group-size` 改为实际数量。",
            there=int(figures.number("there") or 0),
            size=int(figures.number("size") or 0),
        )

    def _group_mixed(self, refused: Refused, figures: Figures) -> Markup:
        return say(
            "组内 pod 的标签 `{label}` 不一致: {values} 。一组 pod 是一个请求，请写成相同的值。",
            label=figures.text("label") or "gpubot.dev/…",
            values=self.several([_mark(value) for value in refused.near]),
        )

    def _group_unlike(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "组内角色为 `{role}` 的 pod 要求不一致（GPU、CPU、内存、节点选择器、亲和性或容忍）。"
            "要求不同的 pod 请用标签 `{label}` 区分，例如 `leader` 和 `worker` 。",
            role=figures.text("role") or "main",
            label=figures.text("label") or "gpubot.dev/role",
        )

    def _of_object(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 就是 {kind} `{space}/{name}` 本身，Pod 数量、每个 Pod 的 GPU "
            "和所需节点都写在它里面。请在那里修改或重新创建；"
            "租期、优先级、花费、放置和可抢占可以在这里修改",
            request=_request(figures),
            kind=figures.text("kind") or Markup("Job"),
            space=figures.text("namespace") or "…",
            name=figures.text("name") or "…",
        )

    def _replica(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        left = figures.number("left")
        text = (
            "{request} 是 {kind} `{space}/{name}` 的副本，申请内容写在它的模板里。"
            "请在那里修改： `kubectl -n {space} edit {short}/{name}`"
        )
        if left is not None:
            text = (
                "{request} 是 {kind} `{space}/{name}` 的副本，停掉后会立刻再建一个。"
                "请减少副本： `kubectl -n {space} scale {short}/{name} --replicas={left}`"
            )
        kind = figures.text("kind") or Markup("Deployment")
        return say(
            text,
            request=_request(figures),
            kind=kind,
            short=Markup(kind.lower()),
            space=figures.text("namespace") or "…",
            name=figures.text("name") or "…",
            left=int(left or 0),
        )

    def _no_provision(self, refused: Refused, figures: Figures) -> Markup:
        asked, model = figures.text("provision"), figures.text("model")
        near = say("可选 {near} 。", near=self.or_list(refused.near)) if refused.near else ""
        return say(
            "这里没有{asked}{model}节点。{near}",
            asked=self.provision(str(asked)) if asked else say("这种"),
            model=say("的 {model} ", model=model) if model else "",
            near=near,
        )

    def _no_smaller_start(self, refused: Refused, figures: Figures) -> Markup:
        pods, each = figures.number("pods"), figures.number("per_pod")
        shape = Markup()
        if pods is not None and each is not None:
            shape = say("（每个 {each}）", each=self.gpus(each))
        near = say("最小可以是 {near} 。", near=self.or_list(refused.near))
        return say(
            "它按整个 pod {shape}启动，不能以这个大小启动。{near}",
            shape=shape,
            near=near if refused.near else say("请分成更多的 pod，例如 `2x4` 。"),
        )

    def _not_asked(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or Markup("?")
        return say("{request} 的卡没有在询问之中，无需保留。", request=request)

    def _no_lease(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say("{request} 没有结束时间，不需要延长。", request=_request(figures))

    def _lease_over(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ended = figures.number("ended")
        at = say("（ {at} ）", at=date(ended)) if ended is not None else Markup()
        return say(
            "{request} 的租期已到{at}，来不及延长了。还要用的话请重新申请。",
            request=_request(figures),
            at=at,
        )

    def _lease_moved(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ends = figures.number("ends")
        at = say("：到 {at} 为止", at=date(ends)) if ends is not None else Markup()
        return say("按钮出现之后，{request} 的租期已经变了{at}。", request=_request(figures), at=at)

    def _meanwhile(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        state = figures.text("state")
        now = say("它现在{state}。", state=_STATES.get(str(state), state)) if state else ""
        return say(
            "{request} 同时被修改，或状态刚好变了。{now}请看一下，仍有需要的话再说一次。",
            request=_request(figures),
            now=now,
        )

    def _nothing_new(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say("{request} 本来就是这样。", request=_request(figures))

    def _runs(self, refused: Refused, figures: Figures) -> Markup:
        named = self.several([say(FIELDS[FieldName(field)]) for field in refused.near])
        return say(
            "{request} 正在运行，不能修改{named}：只能修改名称、租期，或降低优先级。"
            "其他修改请释放后重新申请。",
            request=_request(figures),
            named=named,
        )

    def _not_lower(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 以{has}优先级运行；运行中的请求只能降低优先级，不能提高到{priority}，"
            "例如 `/gpu 修改 {request} 低优先级` 。",
            request=_request(figures),
            has=self.priority_word(str(figures.text("has") or "")),
            priority=self.priority_word(str(figures.text("priority") or "")),
        )

    def _lease_past(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "租期从启动时算起，{request} 已经运行了 {had}：{asked} 已经过了。"
            "要现在结束，请说 `/gpu release {request}` 。",
            request=_request(figures),
            had=self.span(figures.number("had") or 0),
            asked=self.span(figures.number("asked") or 0),
        )

    def _in_transit(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 正在停止，之后会回到队列：请过一两分钟再修改。", request=_request(figures)
        )

    def _same_owner(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        person = figures.text("person") or say("对方")
        return say("{request} 本来就归 {person}。", request=_request(figures), person=person)

    def _not_in_team(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 记在团队 {team} 名下，而 {person} 不在这个团队。请转让给团队里的人；"
            "转让给别的团队，只有 {team} 的负责人或管理员可以。",
            request=_request(figures),
            team=figures.text("team") or say("所属"),
            person=figures.text("person") or say("对方"),
        )

    def _on_team_quota(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 用的是团队 {team} 自己的配额，不能记到别的团队名下。"
            "请释放它，让对方自己申请。",
            request=_request(figures),
            team=figures.text("team") or say("所属"),
        )

    def _receiver_full(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{person} 已经有 {most:,} 个请求在排队，这是一个人的上限。",
            person=figures.text("person") or say("对方"),
            most=int(figures.number("most") or 0),
        )

    def _runs_already(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "{request} 已经在运行，不需要再为更早启动而修改。",
            request=_request(figures),
        )

    def _offer_stale(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "这个方案针对的是之前的 {request}，或者不是我给出的。"
            " `/gpu when {request}` 显示现在可行的方案。",
            request=_request(figures),
        )

    def _offer_gone(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "现在这样改不会让 {request} 更早启动。 `/gpu when {request}` 显示现在可行的方案。",
            request=_request(figures),
        )

    def _looking(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "我正在同时为很多人推算，请过几秒再按一次。",
            request=_request(figures),
        )


def _request(figures: Figures) -> Markup:
    return figures.text("request") or say("这个请求")


_STATES: dict[str, str] = {
    RequestState.WAITING: "排队中",
    RequestState.ADMITTED: "启动中",
    RequestState.RUNNING: "运行中",
    RequestState.PREEMPTING: "被抢占",
    RequestState.EVICTING: "驱逐中",
    RequestState.STOPPING: "停止中",
}


def _mark(value: str) -> Markup:
    return say("`{value}`", value=value) if value else say("(无)")
