"""When a request will start and what would start sooner, in Chinese."""

from __future__ import annotations

from bot.answers import Tried
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.chinese.changes import Changes
from bot.prospects import SOON, Offered, Prospect
from bot.views import CardView
from scheduler.byhand import Hand
from scheduler.forecast import Forecast, Reach
from scheduler.model import Basis
from scheduler.offers import OfferKind
from storage.records import Estimate
from storage.states import RequestState

_BASES: dict[Basis, str] = {
    Basis.DECLARED: "按运行中请求的租期",
    Basis.HISTORY: "按近来同类任务的运行时间",
    Basis.UNKNOWN: "有的运行中请求不知何时结束",
}

_HINGES: dict[Hand, str] = {
    Hand.PAUSE: "这要等 {where} 的暂停在 {at} 结束。",
    Hand.QUOTA: "这要等 {where} 的配额在 {at} 恢复。",
    Hand.DRAIN: "这要等节点 {where} 的排空在 {at} 结束。",
    Hand.BOOST: "这要等 {where} 的加急在 {at} 结束。",
}
"""What was set by hand and has to end before."""

_OFFERS: dict[OfferKind, str] = {
    OfferKind.SHORTER_LEASE: "缩短租期",
    OfferKind.LOOSER_TOPOLOGY: "放宽放置",
    OfferKind.SPLIT: "拆成更小的 pod",
    OfferKind.PREEMPTIBLE: "可抢占",
    OfferKind.OTHER_MODEL: "换 GPU 型号",
    OfferKind.FEWER_GPUS: "减少卡数",
    OfferKind.FLEX_START: "弹性节点（按需）",
    OfferKind.SPOT: "竞价节点（按需）",
}

_PLAIN = frozenset({OfferKind.PREEMPTIBLE, OfferKind.FLEX_START, OfferKind.SPOT})
"""What is or is not, without figures."""


class Prospects(Changes):
    """Sentences about what lies ahead."""

    def expected(self, prospect: Prospect) -> Markup:
        """When it starts, as a range with what that rests on."""
        told = prospect.forecast
        match told.reason:
            case Reach.NOW:
                return say("预计启动：马上。")
            case Reach.ENDS:
                return join("", [self._range(told), self._hinge(told)])
            case Reach.BEYOND:
                return say("预计启动：不早于 {until}。", until=date(told.horizon))
            case Reach.ENDLESS:
                return say("预计启动：未知，有的运行中请求不知何时结束。")
            case Reach.STUCK:
                return say("预计启动：未知；没有会自行结束的请求给它腾出位置。")
            case Reach.NEVER:
                return say("预计启动：按现在的样子永远不能启动。")

    def _range(self, told: Forecast) -> Markup:
        basis = say(_BASES[told.basis])
        if told.low is None or told.likely is None:
            return say("预计启动：未知（{basis}）。", basis=basis)
        if told.high is None:
            text = "预计启动：最早 {low} ，多半在 {likely} （{basis}）。"
            return say(text, low=date(told.low), likely=date(told.likely), basis=basis)
        if told.high - told.low < SOON:
            return say("预计启动： {likely} （{basis}）。", likely=date(told.likely), basis=basis)
        text = "预计启动： {low} 到 {high} 之间（{basis}）。"
        return say(text, low=date(told.low), high=date(told.high), basis=basis)

    def _hinge(self, told: Forecast) -> Markup:
        """What was set by hand that has to end as ordered; empty where nothing has to."""
        if told.hinge is None:
            return Markup()
        held = told.hinge.held
        return say(_HINGES[held.hand], where=held.where, at=date(told.hinge.at))

    def offers(self, prospect: Prospect, names: Names) -> Markup:
        """What would start sooner, one a line."""
        if not prospect.offers:
            return Markup()
        rows = [self._offer(offer, prospect.at, names) for offer in prospect.offers]
        return join("\n", [say("*这样改可以更早启动*"), *rows])

    def _offer(self, offer: Offered, at: float, names: Names) -> Markup:
        start = say("马上启动")
        if offer.start - at > SOON:
            start = say("大约 {start} 启动", start=date(offer.start))
        return say(
            "• {what}：{start}{back}",
            what=self._offered(offer, names),
            start=start,
            back=say("，从队尾排起") if offer.back else Markup(),
        )

    def button_offer(self, offer: Offered, names: Names) -> str:
        """The button that takes an offer."""
        return f"采用：{self._offered(offer, names)}"

    def _offered(self, offer: Offered, names: Names) -> Markup:
        """What it is, with the figures where it could be more or less."""
        kind = say(_OFFERS[offer.kind])
        if offer.kind in _PLAIN:
            return kind
        what = self.field_changes(offer.changes[:1], names)
        if offer.kind is OfferKind.OTHER_MODEL:  # the change says it all
            return what
        return say("{kind}（{what}）", kind=kind, what=what)

    def when_caveat(self) -> Markup:
        """What an expected start does not know."""
        return say("前提是运行中的请求按预期结束；有更紧急的请求到来，或有人提前结束，都会改变它。")

    def when_not_waiting(self, card: CardView) -> Markup:
        """When it did start, or that it never will."""
        if card.started is not None:
            return say("它在 {at} 启动。", at=date(card.started))
        if card.state is RequestState.ADMITTED:
            return say("它正在启动。")
        return say("它已经不在排队了。")

    def first_estimate(self, first: Estimate) -> Markup:
        """What was expected when it was asked for, against what happened."""
        if first.likely is None:
            return say("最初无法预计启动时间。")
        likely = date(first.likely.timestamp())
        error = first.error
        if error is None:
            at = date(first.at.timestamp())
            return say("在 {at} 预计：多半在 {likely} 。", at=at, likely=likely)
        if abs(error) < SOON:
            return say("最初预计 {likely} ，果然如此。", likely=likely)
        way = "晚" if error > 0 else "早"
        text = "最初预计 {likely} ；实际{way}了 {error}。"
        return say(text, likely=likely, error=self.span(abs(error)), way=way)

    def tried(self, tried: Tried) -> Markup:
        """What would become of an ask."""
        card = tried.card
        span = say("，{span}", span=self.span(card.lease)) if card.lease is not None else ""
        return say(
            "*只是试算* · {amount}{span}，记在团队 {team} 名下，会进入资源池 {pool}，{priority}。",
            amount=self.amount(card),
            span=span,
            team=card.team,
            pool=card.pool,
            priority=self.priority(card.priority),
        )

    def tried_nothing(self) -> Markup:
        """Under what was only tried."""
        return say("没有创建任何请求。")

    def button_ask_tried(self) -> str:
        """The button that asks for what was tried."""
        return "就要这个"
