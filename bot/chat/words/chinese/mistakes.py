"""What was wrong, where, and an example that is right, in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import east_asian_width

from bot.asks import SHORTEST_LEASE
from bot.chat.grammar import Expected, GrammarError, Mistake, spell, spell_lease
from bot.chat.markup import Markup, escape, escape_line, join, say
from bot.chat.words.chinese.outside import Outside
from bot.chat.words.chinese.turned_down import TurnedDown
from bot.chat.words.chinese.unplaced import Unplaced
from bot.chat.words.figures import Figures
from bot.views import RefusalCode, Refused
from scheduler.model import LimitKind
from storage.states import RequestState

CARET_WIDTH = 120
"""Longer lines are cut around the token, so that a caret line does not wrap."""

_MISTAKES: dict[Mistake, str] = {
    Mistake.UNKNOWN_VERB: "不认识 `{token}` 。",
    Mistake.UNKNOWN_WORD: "看不懂这里的 `{token}` 。",
    Mistake.MISSING: "末尾少了点什么。",
    Mistake.ZERO: "`{token}` 是零。",
    Mistake.NEGATIVE: "`{token}` 是负数。",
    Mistake.NOT_WHOLE: "`{token}` 不是整数。",
    Mistake.TOO_BIG: "`{token}` 远远超出这里的规模。",
    Mistake.TOO_SHORT: "`{token}` 不到一分钟。",
    Mistake.TOO_LONG: "这一行太长了。",
    Mistake.NAME_TOO_LONG: "名称太长了。",
    Mistake.TWO_SIZES: "`{token}` 是第二个大小；前面已经写了 `{first}` 。",
    Mistake.TWICE: "`{token}` 与 `{first}` 重复或矛盾。",
    Mistake.NO_UNIT: "`{token}` 没有单位。",
    Mistake.NOT_A_REQUEST: "`{token}` 不是请求编号。",
    Mistake.AMBIGUOUS: "`{token}` 有两种意思。",
    Mistake.LEFT_OVER: "`{token}` 是多余的。",
    Mistake.UNCLOSED: "这里的引号没有闭合。",
    Mistake.OTHER_UNIT: "`{token}` 的单位与大小不一致。",
    Mistake.PAST_SIZE: "`{token}` 比申请的大小还大。",
}

_EXPECTED: dict[Expected, str] = {
    Expected.VERB: "请先说要做什么：一个大小，或 `帮助` 里的某个命令。",
    Expected.SIZE: "要多少卡？例如 `16` 、 `4x8` 或 `2节点` 。",
    Expected.DURATION: "要多久？例如 `8小时` 、 `90分钟` 或 `2天` ；一分钟到一年。",
    Expected.OPTION: (
        "可以写大小、GPU 型号、时长、 `可抢占` 、 `优先级 …` 、 `花费 …` 、 `团队 …` 、 "
        "`同一机架` 、 `尽量同机架` 、 `分散` 、 `至少 …` 、 `竞价` 、 `弹性` 和 `名称 …` 。"
    ),
    Expected.PRIORITY: "优先级有 `低` 、 `中` 、 `高` 和 `最高` 。",
    Expected.SPEND: "花费是 `低` 或 `高` 。",
    Expected.TEAM: "这里应是团队名。",
    Expected.NAME: "这里应是名称，最多 60 个字符。",
    Expected.LEVEL: "这里应是集群的层级，例如 `机架` 或 `区块` 。",
    Expected.GROUPING: "地图按 `资源池` 或 `团队` 着色。",
    Expected.REQUEST_ID: "这里应是请求编号，例如 `R-1042` 。",
    Expected.MINIMUM: "这里应是可以接受的最小规模，单位与大小相同。",
    Expected.IMAGE: "这里应是要运行的镜像，例如 `nvcr.io/nvidia/pytorch:25.01-py3` 。",
    Expected.POD: "这里应是 pod 的命名空间和名字，例如 `nlp/notebook-0` 。",
    Expected.TERMS: "pod 之后可以写时长（ `8小时` ）、 `团队 …` 和 `可抢占` 。",
    Expected.CHANGE: "请用申请时的词说明要改什么。",
    Expected.PERSON: "这里应是同事： `@` 加名字。",
    Expected.PERIOD: "报告按 `周` 或 `月` 统计。",
    Expected.PREFERENCE: (
        "可以设置 `语言` 、 `免打扰` 、 `时区` 、 `通知` 、 `地点` 、 `摘要` ，"
        "或者 `静音` 、 `取消静音` 。"
    ),
    Expected.LANGUAGE: "语言是 `中文` 、 `英文` 或 `自动` （跟随你的 Slack）。",
    Expected.QUIET: "免打扰时段写成 `22:00-07:00` ，或者 `关闭` 。",
    Expected.NOTICES: "通知可以是 `全部` 、 `重要` 或 `关闭` 。",
    Expected.DIGEST: "摘要可以是 `每日` 、 `每周` 或 `关闭` 。",
    Expected.WHERE: "只给你的通知发到 `私信` 或 `消息列` 。",
    Expected.ZONE: "这里应是时区，例如 `Asia/Shanghai` ，或随你的 Slack 的 `自动` 。",
    Expected.PLACE: "这里应是队列、资源池或团队。",
    Expected.NODE: "这里应是节点名。",
    Expected.GPUS: "这里应是卡数。",
    Expected.END: "结束时间写成 `2小时` 、 `直到 18:00` 或 `直到 2026-12-05` 。",
    Expected.REASON: "请说明原因： `原因` 加几个字，所有人都能看到。",
    Expected.PAGE: "这里应是页码，从 1 开始。",
    Expected.TOPIC: "这里应是请求、人、团队、资源池或 GPU 型号。",
    Expected.NOTHING: "请去掉，或者只说一次。",
    Expected.SHORTER: "一行简短的话就够了。",
    Expected.QUOTE: "请用同一种引号闭合。",
}


class Mistakes(Outside, Unplaced, TurnedDown):
    """Answers to what cannot be done; each says that nothing was done."""

    def mistake(self, wrong: GrammarError) -> Markup:
        """The error of a line in one or two sentences."""
        token = wrong.token if len(wrong.token) <= 40 else wrong.token[:39] + "…"
        what = say(_MISTAKES[wrong.mistake], token=token, first=wrong.first)
        return join("", [what, say(_EXPECTED[wrong.expected])])

    def caret(self, wrong: GrammarError) -> Markup:
        """The line with carets under the token, as a code block: a wide character takes two."""
        start, end = wrong.start, max(wrong.end, wrong.start + 1)
        line = wrong.text
        if len(line) > CARET_WIDTH:
            left = max(0, start - CARET_WIDTH // 3)
            line = line[left : left + CARET_WIDTH]
            start, end = start - left, min(end - left, CARET_WIDTH)
        under = " " * _columns(line[:start]) + "^" * max(1, _columns(line[start:end]))
        return Markup(f"```{escape_line(line) or ' '}\n{under}```")

    def did_you_mean(self, wrong: GrammarError, command: str) -> Markup:
        """The nearest words, if any, and a line that works."""
        near = Markup()
        if wrong.near:
            near = say("是不是想说 {near} ？", near=self.or_list(wrong.near))
        example = escape(wrong.example, 240)
        return say("{near}试试： `{command}{example}`", near=near, command=command, example=example)

    def nothing_done(self) -> Markup:
        """Closes every refusal."""
        return say("未做任何更改。")

    def refused(self, refused: Refused) -> Markup:
        """Why the desk did not do it, with the numbers and what would do."""
        sentences: dict[RefusalCode, Callable[[Refused, Figures], Markup]] = {
            RefusalCode.NO_SUCH_PERSON: self._no_such_person,
            RefusalCode.NO_TEAM: self._no_team,
            RefusalCode.UNKNOWN_TEAM: self._unknown_team,
            RefusalCode.NOT_YOUR_TEAM: self._not_your_team,
            RefusalCode.UNKNOWN_MODEL: self._unknown_model,
            RefusalCode.UNKNOWN_LEVEL: self._unknown_level,
            RefusalCode.NOT_A_SIZE: self._not_a_size,
            RefusalCode.NOT_DIVISIBLE: self._not_divisible,
            RefusalCode.NEVER_FITS: self._never_fits,
            RefusalCode.LEASE_TOO_LONG: self._lease_too_long,
            RefusalCode.LEASE_TOO_SHORT: self._lease_too_short,
            RefusalCode.PRIORITY_NOT_ALLOWED: self._priority,
            RefusalCode.NO_SUCH_REQUEST: self._no_such_request,
            RefusalCode.NOT_YOURS: self._not_yours,
            RefusalCode.ALREADY_ENDED: self._already_ended,
            RefusalCode.NOT_RUNNING: self._not_running,
            RefusalCode.NOT_WAITING: self._not_waiting,
            RefusalCode.UNKNOWN_TARGET: self._unknown_target,
            RefusalCode.NAME_TOO_LONG: self._name_too_long,
            RefusalCode.TOO_MANY_WAITING: self._too_many,
            RefusalCode.NOT_AN_IMAGE: self._not_an_image,
            RefusalCode.COMMAND_TOO_LONG: self._command_too_long,
            RefusalCode.UNKNOWN_PREFERENCE: self._unknown_preference,
            RefusalCode.NOT_A_PREFERENCE: self._not_a_preference,
            RefusalCode.NOT_ON_CALL: self._not_on_call,
            **self.turned_down(),
            **self.not_adopted(),
            **self.not_placed(),
        }
        why = sentences[refused.code](refused, Figures(refused.args))
        if refused.instead is None:
            return why
        line = refused.line or spell(refused.instead)
        return say("{why}试试： `/gpu {line}`", why=why, line=line)

    def unexpected(self, error_id: str) -> Markup:
        """Something broke on our side."""
        return say(
            "抱歉，我这边出错了，编号 `{error_id}` ，请告诉维护人员。"
            "重试之前先用 `/gpu mine` 看一下。",
            error_id=error_id,
        )

    def not_ready(self) -> Markup:
        """The engine is still being built."""
        return say("我刚启动，还在清点节点，请一分钟后再试。")

    def old_button(self) -> Markup:
        """A button whose value is not, or no longer, understood."""
        return say("这个按钮来自旧消息，已经失效。未做任何更改。 `/gpu mine` 显示你现在的请求。")

    def _nearest(self, refused: Refused) -> Markup:
        if not refused.near:
            return Markup()
        return say("是不是想说 {near} ？", near=self.or_list(refused.near[:5]))

    def _no_such_person(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        who = figures.text("person", "what")
        return say(
            "不认识{who}。请提及对方，例如 `/gpu 转让 R-1042 @ben` 。",
            who=say("这个人（{who}）", who=who) if who else "这个人",
        )

    def _no_team(self, refused: Refused, figures: Figures) -> Markup:
        del refused, figures
        return self.no_team()

    def _unknown_team(self, refused: Refused, figures: Figures) -> Markup:
        team = figures.text("team", "what")
        what = say("名为 {team} 的团队", team=team) if team else say("这个团队")
        near = self._nearest(refused) or say(" `/gpu 份额` 会列出所有团队。")
        return say("没有{what}。{near}", what=what, near=near)

    def _not_your_team(self, refused: Refused, figures: Figures) -> Markup:
        team = figures.text("team")
        yours = self.no_team()
        if refused.near:
            yours = say("你可以用 {near} 。", near=self.or_list(refused.near))
        what = say("团队 {team}", team=team) if team else say("该团队")
        return say("你不在{what}，不能以它的名义申请。{yours}", what=what, yours=yours)

    def _unknown_model(self, refused: Refused, figures: Figures) -> Markup:
        model = figures.text("model", "what")
        what = say("型号为 {model} 的 GPU", model=model) if model else say("这种 GPU")
        near = self._nearest(refused) or say("只输入 `/gpu` ，表单里有所有型号。")
        return say("这里没有{what}。{near}", what=what, near=near)

    def _unknown_level(self, refused: Refused, figures: Figures) -> Markup:
        level, pool = figures.text("level", "what"), figures.text("pool")
        levels = say("可选 {near} 。", near=self.or_list(refused.near)) if refused.near else ""
        return say(
            "{where}没有{level}。{levels}",
            where=say("资源池 {pool} 的节点", pool=pool) if pool else "这些节点",
            level=say("层级 {level}", level=level) if level else "这个层级",
            levels=levels,
        )

    def _not_a_size(self, refused: Refused, figures: Figures) -> Markup:
        asked = figures.text("asked", "gpus")
        return say(
            "{what}不是可以申请的大小。{near}例如 `16 h100 8小时` 或 `2节点 h100 8小时` 。",
            what=say("{asked} ", asked=asked) if asked else "这",
            near=self._nearest(refused),
        )

    def _not_divisible(self, refused: Refused, figures: Figures) -> Markup:
        asked, node = figures.number("asked", "gpus"), figures.number("node", "node_gpus")
        sizes = self.or_list(refused.near)
        return say(
            "{what}不能占满整数个节点{of}，而多节点任务按整机分配。{ask}",
            what=self.gpus(asked) if asked is not None else "这个数量",
            of=say("（每个 {node:,} 卡）", node=int(node)) if node else "",
            ask=say("请申请 {sizes} 。", sizes=sizes) if sizes else "",
        )

    def _never_fits(self, refused: Refused, figures: Figures) -> Markup:
        asked, most = figures.number("asked", "gpus"), figures.number("most", "limit", "max")
        where = figures.text("where", "queue") or say("本集群")
        what = self.gpus(asked) if asked is not None else say("这个申请")
        template = _LIMITS.get(refused.limit or LimitKind.CLUSTER, _LIMITS[LimitKind.CLUSTER])
        if most is None:
            template = "{what}永远无法启动：{where} 没有队列接收它。{near}"
        return say(
            template,
            what=what,
            where=where,
            most=int(most or 0),
            near=self._nearest(refused),
        )

    def _lease_too_long(self, refused: Refused, figures: Figures) -> Markup:
        asked, most = figures.number("asked", "lease"), figures.number("most", "max", "limit")
        pool = figures.text("pool", "where")
        what = self.span(asked) if asked is not None else say("这个时长")
        where = say("资源池 {pool} 的", pool=pool) if pool else Markup()
        if most is None:
            return say("{what}超过了{where}租期上限。", what=what, where=where)
        example = say("可以说 `{line}` 。", line=spell_lease(most))
        return say(
            "{what}太长：{where}租期最长 {most}。{example}",
            what=what,
            most=self.span(most),
            where=where,
            example=example if refused.instead is None else "",
        )

    def _lease_too_short(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        least = self.span(figures.number("least") or SHORTEST_LEASE)
        return say("租期至少 {least}。例如 `8小时` 或 `90分钟` 。", least=least)

    def _priority(self, refused: Refused, figures: Figures) -> Markup:
        asked = figures.text("priority", "asked")
        return say(
            "你不能用{asked}{open_}。团队负责人或管理员可以申请。",
            asked=self.priority(asked) if asked else "这个优先级",
            open_=say("，可以用 {near} ", near=self.or_list(self._levels(refused.near)))
            if refused.near
            else "",
        )

    def _levels(self, priorities: Sequence[str]) -> list[str]:
        return [self.priority_word(each) for each in priorities]

    def _no_such_request(self, refused: Refused, figures: Figures) -> Markup:
        request = figures.text("request", "what")
        return say(
            "没有请求 {request}。{near} `/gpu mine` 列出你的请求。",
            request=request or say("（该编号）"),
            near=self._nearest(refused),
        )

    def _not_yours(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request, team = figures.text("request") or say("这个请求"), figures.text("team")
        return say(
            "{request} 是别人的。只有申请人、{of}团队负责人或管理员可以这样做。",
            request=request,
            of=say(" {team} ", team=team) if team else "",
        )

    def _already_ended(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("这个请求")
        state = str(figures.text("state") or "")
        return say(_ENDED.get(state, "{request} 已经结束。"), request=request)

    def _not_running(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("这个请求")
        return say(
            "{request} 没有占用可以释放的卡。用 `/gpu cancel {request}` 取消它。", request=request
        )

    def _not_waiting(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("这个请求")
        return say("{request} 不在排队。", request=request)

    def _unknown_target(self, refused: Refused, figures: Figures) -> Markup:
        what = figures.text("what", "target", "asked")
        return say(
            "没有叫{what}的请求、人、团队、资源池、队列或 GPU 型号。{near}",
            what=say(" {what} ", what=what) if what else "这个名字",
            near=self._nearest(refused) or say("例如 `/gpu 队列 h100` 。"),
        )

    def _name_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most = figures.number("most", "max", "limit") or 60
        return say("名称最多 {most:,} 个字符，例如 `名称 llama-sft` 。", most=int(most))

    def _not_an_image(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "`{image}` 不是镜像名。试试： "
            "`/gpu run registry.example/train:1 8 h100 2h -- python train.py`",
            image=figures.text("image") or " ",
        )

    def _command_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        length, most = figures.number("length"), figures.number("most")
        sizes = Markup()
        if length is not None and most is not None:
            sizes = say("（ {length:,} 个字符，最多 {most:,} 个）", length=length, most=most)
        return say(
            "这条命令太长{sizes}。请把它写成镜像里的脚本： "
            "`/gpu run registry.example/train:1 8 h100 2h -- bash train.sh`",
            sizes=sizes,
        )

    def _unknown_preference(self, refused: Refused, figures: Figures) -> Markup:
        return say(
            "没有 {field} 这项偏好。{near}有：{fields}。例如 `/gpu 偏好 免打扰 22:00-07:00` 。",
            field=figures.text("field") or say("这样"),
            fields=figures.text("fields") or Markup(),
            near=self._nearest(refused),
        )

    def _not_on_call(self, refused: Refused, figures: Figures) -> Markup:
        del refused, figures
        return say(
            "只有值班、团队负责人或管理员可以接手。如果你已经处理了，请在那条消息下面告诉他们。"
        )

    def _not_a_preference(self, refused: Refused, figures: Figures) -> Markup:
        field = figures.text("field") or say("quiet")
        return say(
            "{field} 不能是 {value}。可以是 {near} ，例如 `/gpu prefs {field} {example}` 。",
            field=field,
            value=figures.text("value") or say("空的"),
            near=self.or_list(refused.near),
            example=refused.near[0] if refused.near else "off",
        )

    def _too_many(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most = figures.number("most", "max", "limit")
        most_said = say("（最多 {most:,} 个）", most=int(most)) if most else Markup()
        return say("你排队的请求太多了{most}。请取消一个，或等一个启动。", most=most_said)


_ENDED: dict[str, str] = {
    RequestState.STOPPING: "{request} 已在停止，卡马上空出。",
    RequestState.FINISHED: "{request} 已经完成。",
    RequestState.FAILED: "{request} 已经结束：pod 失败了。",
    RequestState.CANCELLED: "{request} 已经取消过了。",
    RequestState.RELEASED: "{request} 已经释放过了。",
    RequestState.EXPIRED: "{request} 已经结束：租期到了。",
}

_LIMITS: dict[LimitKind, str] = {
    LimitKind.QUEUE: "{what}永远无法启动：队列 {where} 最多给 {most:,} 卡。{near}",
    LimitKind.COHORT: "{what}永远无法启动：{where} 全部加起来最多给 {most:,} 卡。{near}",
    LimitKind.NODE: ("单个 pod {what}永远无法启动：{where} 最大的节点只有 {most:,} 卡。{near}"),
    LimitKind.SLICES: ("{what}永远无法启动：按每个 {where} {most:,} 个 pod 切分除不尽。{near}"),
    LimitKind.DOMAIN: "{what}永远无法启动：一个 {where} 最多放 {most:,} 个。{near}",
    LimitKind.CLUSTER: "{what}永远无法启动：{where} 总共只有 {most:,} 卡。{near}",
    LimitKind.NO_FLAVOR: "{what}永远无法启动：{where} 没有这种资源。{near}",
    LimitKind.NO_QUEUE: "{what}永远无法启动：{where} 没有向它开放的队列。{near}",
    LimitKind.BUDGET: (
        "{what}超过了 {where} 的优先级预算余量：现在还剩 {most:,} 卡。请少要一些，"
        "或等该团队有请求结束。"
    ),
    LimitKind.LEASE: "{what}永远无法启动：租期超过 {where} 的上限。{near}",
}


def _columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes."""
    return sum(2 if east_asian_width(char) in {"W", "F"} else 1 for char in text)
