"""Where a request stands, in Chinese: the lines of its card."""

from __future__ import annotations

from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.families import Families
from bot.views import CLUSTER, OUTSIDE, Boost, CardView
from scheduler.model import Spend
from storage.records import RecipeKind
from storage.states import RequestState

_STATES: dict[RequestState, str] = {
    RequestState.WAITING: "排队中",
    RequestState.ADMITTED: "启动中",
    RequestState.RUNNING: "运行中",
    RequestState.PREEMPTING: "被抢占",
    RequestState.EVICTING: "驱逐中",
    RequestState.STOPPING: "停止中",
    RequestState.FINISHED: "已完成",
    RequestState.FAILED: "失败",
    RequestState.CANCELLED: "已取消",
    RequestState.RELEASED: "已释放",
    RequestState.EXPIRED: "租期已到",
}

_EXTENDABLE = frozenset({RequestState.ADMITTED, RequestState.RUNNING})


class Standing(Families):
    """State words and card lines."""

    def state(self, state: RequestState) -> Markup:
        """The word that leads every card and row."""
        return say(_STATES[state])

    def amount(self, card: CardView) -> Markup:
        """`16 × H100 (2×8)`, or `16 卡` where the model is open."""
        shape = f" ({card.whole})" if card.pods > 1 else ""
        if not card.model:
            return say("{gpus}{shape}", gpus=self.gpus(card.gpus), shape=shape)
        template = "{gpus:,} × {model}{shape}"
        return say(template, gpus=card.gpus, model=card.model.upper(), shape=shape)

    def headline(self, card: CardView) -> Markup:
        """State word, id, amount, name."""
        if card.opens is not None:
            return self.family_headline(card.opens)
        lead = say("*{state}*", state=self.state(card.state))
        rest = [say("{id}", id=card.request), self.amount(card), say("{name}", name=card.name)]
        return join(" · ", [lead, *rest])

    def who(self, card: CardView, owner: Markup) -> Markup:
        """Owner, team, pool and the terms of the request."""
        family = card.opens
        card = card if family is None else family.latest
        kept = None if family is None else self.family_protection(family)
        terms = [
            owner,
            say("团队 {team}", team=card.team),
            self._pool(card),
            self._counts_as(card.priority, card.boost),
            kept or (say("可抢占") if card.preemptible else say("不可抢占")),
        ]
        if card.topology:
            terms.append(say("{topology}", topology=self.topology(card.topology)))
        if card.provision:
            terms.append(say("{provision}", provision=self.provision(card.provision)))
        if card.asked > card.gpus + card.given_back:
            terms.append(say("共申请 {asked}", asked=self.gpus(card.asked)))
        elif card.least and card.state is RequestState.WAITING:
            terms.append(say("至少 {least}", least=self.gpus(card.least)))
        if card.lease is not None:
            terms.append(say("租期 {span}", span=self.span(card.lease)))
        return join(" · ", terms)

    def _counts_as(self, own: str, boost: Boost | None) -> Markup:
        """Its priority; or the one that somebody gave it for a while, and who."""
        if boost is None:
            return say("{priority}", priority=self.priority(own))
        by = say("由 {by} ", by=boost.by) if boost.by else Markup()
        until = say("，到 {until} 为止", until=date(boost.until)) if boost.until else Markup()
        text = "{priority}（{by}加急{until}，原为{own}）"
        return say(
            text,
            priority=self.priority(boost.priority),
            by=by,
            until=until,
            own=self.priority(own),
        )

    def _pool(self, card: CardView) -> Markup:
        """Its pool; or that it is bought by the hour, and how, which nobody need have said."""
        if card.spend == Spend.HIGH:
            return say("按需（{queue}）", queue=card.queue)
        return say("资源池 {pool}", pool=card.pool)

    def recipe(self, card: CardView) -> Markup:
        """What the bot makes for it; empty for a hold."""
        recipe = card.recipe
        if recipe is None:
            return Markup()
        if recipe.kind is RecipeKind.DEBUG:
            return say("启动时会创建一个供登录调试的 pod。")
        command = say("，命令 `{command}` ", command=recipe.command) if recipe.command else Markup()
        return say("运行镜像 `{image}` {command}。", image=recipe.image, command=command)

    def stand(self, card: CardView, ended_by: Markup | None = None) -> Markup:
        """One or two sentences: what is true of it now, and what comes next."""
        if card.opens is not None:
            return self.family_stand(card.opens)
        if card.state is RequestState.WAITING:
            return self._stand_waiting(card)
        if card.state.final:
            return self._stand_ended(card, ended_by)
        return self._stand_holding(card)

    def place(self, card: CardView) -> Markup:
        """Its place in line, in a sentence; empty while nothing is known."""
        why = card.explanation
        if why is None:
            return Markup()
        return say(
            "在 {queue} 中排{place}，自 {since} 起。",
            place=self.place_in_line(why.position),
            queue=why.queue,
            since=date(card.queued if card.queued is not None else card.created),
        )

    def _stand_waiting(self, card: CardView) -> Markup:
        why = card.explanation
        if why is None:
            return say("已保存，几秒内会有第一次调度结果。")
        verdict = why.verdict
        reason = join("", [self.reason(verdict), self.next_step(verdict)])
        return join("\n", [self.place(card), reason])

    def _stand_holding(self, card: CardView) -> Markup:
        domain = self.domain(card.domain)
        place = self.nodes(card.nodes, domain) if card.nodes else self.gpus(card.gpus)
        if card.state is RequestState.ADMITTED:
            first = say("Pod 正在启动，位于 {place}。", place=place)
        elif card.state is RequestState.RUNNING:
            since = card.started if card.started is not None else card.created
            first = say("自 {since} 起运行在 {place}。", since=date(since), place=place)
        elif card.state is RequestState.PREEMPTING:
            if card.to_back:
                return say("正在被人工停止，之后排到队尾。")
            return say("正在为另一个请求让出资源，排队位置保留。")
        elif card.state is RequestState.EVICTING:
            return say(
                "它失去了一个节点，目前没有可替换的节点。剩余的 pod 正在停止，"
                "之后回到原来的排队位置。"
            )
        else:
            return say("Pod 退出后，卡立即空出。")
        return join("", [first, self._given_back(card), self._lease(card)])

    def _given_back(self, card: CardView) -> Markup:
        """What of its grant is others' already; empty where it holds all of it."""
        if not card.given_back:
            return Markup()
        back, whole = self.gpus(card.given_back), self.gpus(card.gpus + card.given_back)
        return say("已归还 {back}（共获得 {whole}），相应的 pod 已完成。", back=back, whole=whole)

    def _lease(self, card: CardView) -> Markup:
        if card.lease_ends is None:
            return Markup()
        over = card.lease_ends <= card.at
        text = "租期已于 {ends} 到期。" if over else "租期到 {ends} 为止。"
        return join("", [say(text, ends=date(card.lease_ends)), self.extends(card)])

    def extends(self, card: CardView) -> Markup:
        """What the button that extends it makes of its end; empty without one."""
        if card.longer is None or card.lease_ends is None or not card.may_end:
            return Markup()
        if card.lease_ends <= card.at or card.state not in _EXTENDABLE:
            return Markup()
        return say("延长后到 {later} 为止。", later=date(card.lease_ends + card.longer))

    def _stand_ended(self, card: CardView, ended_by: Markup | None) -> Markup:
        when = date(card.ended) if card.ended is not None else date(card.at)
        ran = Markup()
        if card.started is not None and card.ended is not None:
            ran = say("，共运行 {span}", span=self.span(card.ended - card.started))
        gone = self.gone(card.ended_by)
        by = say("（由 {who} 操作）", who=ended_by) if ended_by and not gone else Markup()
        state = self.state(card.state)
        text = "{state}{by}，{when}{ran}。{gone}"
        return say(text, state=state, by=by, when=when, ran=ran, gone=gone)

    def gone(self, by: str | None) -> Markup:
        """Why something ended that nobody ended in chat; empty where somebody did."""
        if by == CLUSTER:
            return say("它所代表的对象已不在集群中，或已被他人放行。")
        if by == OUTSIDE:
            return say(
                "它的标签 `gpubot.dev/team` 在运行中被去掉：它在机器人之外继续运行，"
                "它的卡算作已占用。"
            )
        return Markup()

    def row(self, card: CardView, owner: Markup | None = None) -> Markup:
        """A card in one line, for lists; `owner` where it is not the reader."""
        if card.opens is not None:
            return self.family_row(card.opens, owner)
        parts = [self.headline(card), owner or Markup()]
        if card.given_back:
            parts.append(say("已归还 {back}", back=self.gpus(card.given_back)))
        if card.state is RequestState.WAITING and card.explanation is not None:
            why = card.explanation
            place = say("排{place}", place=self.place_in_line(why.position))
            parts += [place, self.short_reason(why.verdict.reason)]
        elif card.state.final and card.ended is not None:
            parts.append(date(card.ended))
        elif card.lease_ends is not None:
            over = card.lease_ends <= card.at
            text = "租期已于 {ends} 到期" if over else "到 {ends}"
            parts.append(say(text, ends=date(card.lease_ends)))
        return join(" · ", parts)

    def holder(self, *, request: str, team: str, gpus: int, ends: float | None) -> Markup:
        """Who holds what until when, as one item of a list."""
        until = say("到 {ends}", ends=date(ends)) if ends is not None else say("结束时间未知")
        return say(
            "{request}（团队 {team}）占用 {gpus}，{until}",
            request=request,
            team=team,
            gpus=self.gpus(gpus),
            until=until,
        )
