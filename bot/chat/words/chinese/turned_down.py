"""Why a change of a request was not made, in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, date, say
from bot.chat.words.chinese.units import Units
from bot.chat.words.figures import Figures
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
            RefusalCode.NO_LEASE: self._no_lease,
            RefusalCode.LEASE_OVER: self._lease_over,
            RefusalCode.LEASE_MOVED: self._lease_moved,
            RefusalCode.CHANGED_MEANWHILE: self._meanwhile,
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
        return say(
            "{request} 不能延长这么久：{pool}的租期总共最长 {most}，{rest}。",
            request=_request(figures),
            pool=say("资源池 {pool} ", pool=pool) if pool else say("所在资源池"),
            most=self.span(most),
            rest=say("还可以延长 {left}", left=self.span(left)) if left > 0 else say("不能再延长"),
        )

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
