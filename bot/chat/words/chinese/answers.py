"""Answers to what people ask, in Chinese: submitted, done, status, queue, why, mine, help."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat.grammar import CHINESE_EXAMPLES, Verb
from bot.chat.markup import Markup, date, escape, join, mention_channel, say
from bot.chat.words.chinese.standing import Standing
from bot.views import CardView, Done, QueueRow, QueueSection, Submitted, Unconfirmed
from bot.views import Verb as DoneVerb
from scheduler.model import Holder
from storage.states import RequestState

_HELP: dict[Verb, str] = {
    Verb.REQUEST: (
        "申请 GPU：大小（ `16` 、 `4x8` 或 `2节点` ）、型号、时长；还可以加 `可抢占` 、 "
        "`优先级 低|中|高|最高` 、 `团队 …` 、 `花费 低|高` 、 `同一机架|区块` 、 `尽量同机架` 、 "
        "`分散` 、 `至少 …` 、 `竞价` 、 `弹性` 、 `名称 …`"
    ),
    Verb.TRY: "试算：申请的话会怎样，不真正提交",
    Verb.DEBUG: "一个手动调试用的 pod，默认一张卡",
    Verb.RUN: "用镜像运行一个作业； `--` 之后的内容在其中执行",
    Verb.HOLD: "为你自己创建的 pod 占卡，给 pod 打上请求的标签即可",
    Verb.STATUS: "你的请求和集群概况，或某个请求、人、团队",
    Verb.QUEUE: "谁在排队、按什么顺序、为什么",
    Verb.WHY: "一个请求为什么在排队、前面有谁、谁占着它要的卡",
    Verb.WHEN: "一个请求预计何时启动（一个区间），以及依据",
    Verb.MINE: "你的全部请求，带按钮",
    Verb.MAP: "集群地图：区块、机架、节点，每张卡是谁的",
    Verb.CANCEL: "结束一个请求，排队中或运行中都可以",
    Verb.RELEASE: "归还运行中请求的卡",
    Verb.EXTEND: "延长租期，除非有人在等这些卡",
    Verb.EDIT: "用申请时的词修改请求：大小、时长、优先级、名称等",
    Verb.GIVE: "把请求转让给同事，此后记在对方名下",
    Verb.ADOPT: "把一个不归机器人管的运行中的 pod 变成请求，位置不变",
    Verb.FAIR: "各团队的份额和近期用量",
    Verb.REPORT: "一天、一周或一个月的用量和等待时间，附图",
    Verb.PREFS: "你的语言、免打扰时段、通知和摘要",
    Verb.ONCALL: "谁在值班，以及由谁临时代班",
    Verb.LINK: "申请加入团队，由团队负责人确认",
    Verb.PAUSE: "暂停队列或资源池，一段时间内不再启动新请求",
    Verb.RESUME: "提前结束暂停",
    Verb.BOOST: "在一段时间内提高请求的优先级",
    Verb.PREEMPT: "因调度之外的原因停下一个请求，它会重新排队",
    Verb.DRAIN: "排空节点：不再往上放新的 pod",
    Verb.UNDRAIN: "取消排空，节点重新可用",
    Verb.QUOTA: "在一段时间内调整队列或团队的配额",
    Verb.HELP: "本说明，或某个命令的说明",
}

_STORY: dict[str, str] = {
    "submitted": "提交",
    "admitted": "获准",
    "preempted": "被抢占",
    "requeued": "重新排队",
    "pods-ready": "pod 就绪",
    "lease-over": "租期已到",
    "node-lost": "节点丢失",
    "repaired": "已修复",
    "taken": "卡被占",
    "ordered": "按要求",
    "boosted": "加急",
    "boost-over": "加急结束",
    "preempted-by-hand": "被人工停止",
    "drained": "节点排空",
    "queue-gone": "队列已不存在",
    "not-understood": "无法识别",
    "extended": "已续期",
    "edited": "已修改",
    "given": "已转让",
    "held": "已搁置",
    "no-quota": "没有配额",
    "pods-finished": "pod 已完成",
    "pods-failed": "pod 失败",
    "pods-stopped": "pod 被停止",
    "pods-left": "标签被去掉",
    "pods-lost": "pod 随节点丢失",
    "pods-late": "pod 没有按时就绪",
    "pods-unplaced": "pod 没有按时排到节点上",
    "pods-unmade": "pod 没有全部创建",
}
"""Why a request changed its state; a code that is not here is shown as it is."""


class Answers(Standing):
    """Sentences for the answers of the desk."""

    def submitted(self, submitted: Submitted) -> Markup:
        """Leads the answer to a request."""
        card = submitted.card
        span = say("，租期 {span}", span=self.span(card.lease)) if card.lease is not None else ""
        lead = say(
            "你的请求编号是 {request}：{amount}{span}，记在团队 {team} 名下。",
            request=card.request,
            amount=self.amount(card),
            span=span,
            team=card.team,
        )
        return lead if submitted.again else join("\n", [lead, self._at_once(card)])

    def _at_once(self, card: CardView) -> Markup:
        """What became of it when it was asked, which stays true."""
        if card.state is not RequestState.WAITING:
            return say("已获准。")
        why = card.explanation
        if why is None:
            return say("已保存，几秒内会有第一次调度结果。")
        return say(
            "已进入 {queue} 排队，{place}（{reason}）。",
            place=self.place_in_line(why.position),
            queue=why.queue,
            reason=self.short_reason(why.verdict.reason),
        )

    def see_card(self, channel: str | None) -> Markup:
        """Where to look from now on."""
        where = say("{channel} 里", channel=mention_channel(channel)) if channel else ""
        return say("{where}的卡片会显示最新进展，并带有按钮。", where=where or "它")

    def nothing_stopped(self) -> Markup:
        """Under the question whether something is to be stopped."""
        return say("目前什么都没有停。")

    def unconfirmed(self, asked: Unconfirmed, owner: Markup) -> Markup:
        """Asks whether something running is to be stopped."""
        card = asked.card
        name = say("“{name}”", name=card.name) if card.name else ""
        where = self.nodes(card.nodes) if card.nodes else self.gpus(card.gpus)
        anew = say("上次询问之后，它已停止并重新启动。")
        return say(
            "{anew}{owner}（团队 {team}）的 {request}{name} 占用 {amount}，位于 {where}。{verb}它会"
            "停止其中运行的一切，未保存的内容会丢失。确定的话请按下面的按钮。",
            request=card.request,
            name=name,
            owner=owner,
            team=card.team,
            amount=self.amount(card),
            where=where,
            verb="释放" if asked.verb is DoneVerb.RELEASING else "取消",
            anew=anew if asked.anew else "",
        )

    def done(self, done: Done) -> Markup:
        """What was done about cancel or release."""
        request = done.card.request
        if done.verb is DoneVerb.CANCELLED:
            if done.card.state is RequestState.WAITING or done.card.state.final:
                return say("{request} 已取消。", request=request)
            return say("{request} 已取消，正在停止它的 pod。", request=request)
        return say(
            "{request} 正在释放：pod 停止后，{gpus}交给下一个请求。",
            request=request,
            gpus=self.gpus(done.card.gpus),
        )

    def mine_title(self, count: int, *, may_ask: bool = True) -> Markup:
        """Heads a person's own open requests; who has none reads what to do first."""
        if count == 0 and not may_ask:
            return say("*你的请求* · 没有排队或运行的。{no_team}", no_team=self.no_team())
        if count == 0:
            return say("*你的请求* · 没有排队或运行的。 `/gpu 8 h100 4小时` 就能申请。")
        return say("*你的请求* · {count}未结束", count=self.count(count, "个"))

    def mine_waiting_title(self, count: int) -> Markup:
        """Heads a person's own requests in the line: how many of them wait."""
        return say("*你的请求* · {count}在排队", count=self.count(count, "个"))

    def ended_list_title(self) -> Markup:
        """Heads the requests that ended last."""
        return say("*最近结束*")

    def about_title(self, about: Markup) -> Markup:
        """Heads the rows about one request, person, team or queue."""
        return say("*关于 {about}*", about=about)

    def nothing_found(self) -> Markup:
        """Where a list is empty."""
        return say("那里没有排队或运行的请求。")

    def more(self, count: int) -> Markup:
        """Closes a list that was cut."""
        return say("… 还有 {count:,} 项", count=count)

    def as_of(self, at: float) -> Markup:
        """The moment a view was true."""
        return say("截至 {at}。", at=date(at, "{date_short_pretty} {time_secs}"))

    def asked(self, card: CardView) -> Markup:
        """When it was asked, and how often it started; of replicas, how to have more or fewer."""
        if card.opens is not None:
            return self.family_note(card.opens)
        parts = [say("{at} 申请", at=date(card.created))]
        if card.attempt > 1:
            parts.append(say("启动过 {times}", times=self.count(card.attempt, "次")))
        return join(" · ", parts)

    def cluster_title(self) -> Markup:
        """Heads the cluster's figures."""
        return say("*集群*")

    def queue_title(self, section: QueueSection) -> Markup:
        """Heads one queue."""
        quota = f" / {section.nominal:,}" if section.nominal else ""
        return say(
            "*{queue}* · {total:,} 个在排队 · 已用 {used:,}{quota} 卡",
            queue=section.queue,
            total=section.total,
            used=section.used,
            quota=quota,
        )

    def queue_empty(self) -> Markup:
        """When nothing waits."""
        return say("*队列* · 这里没有人排队。")

    def queue_row(self, row: QueueRow, owner: Markup | None) -> Markup:
        """One waiting request in a line."""
        parts = [
            say("{position:,}. {request}", position=row.position, request=row.request),
            self._size(row),
            say("你") if row.mine else owner or Markup(),
            say("团队 {team}", team=row.team),
            say("{priority}", priority=self.priority(row.counts_as)),
            say("已等 {span}", span=self.span(row.waited)),
            self.short_reason(row.reason),
            say("{name}", name=row.name),
        ]
        return join(" · ", parts)

    def _size(self, row: QueueRow) -> Markup:
        shape = "" if row.shape.startswith("1×") else f" ({row.shape})"
        return say("{gpus}{shape}", gpus=self.gpus(row.gpus), shape=shape)

    def page(self, page: int, pages: int) -> Markup:
        """Which page of how many."""
        return say("第 {page:,} / {pages:,} 页。", page=page, pages=pages)

    def owned_by(self, request: str, owner: Markup | None) -> Markup:
        """A request and whose it is."""
        return say("{id}{who}", id=request, who=say("（{who}）", who=owner) if owner else "")

    def ahead_of(self, named: Sequence[Markup], rest: int, queue: str) -> Markup:
        """Who stands before it, with owners."""
        if not named and rest <= 0:
            return say("在 {queue} 中没有人排在它前面。", queue=queue)
        more = say("，另有 {rest:,} 个", rest=rest) if rest > 0 else Markup()
        who = self.several(named, 12) if named else say("其他请求")
        return say("在 {queue} 中排在它前面的：{who}{more}。", queue=queue, who=who, more=more)

    def holders(self, holders: Sequence[Holder]) -> Markup:
        """Who holds what it needs, one a line."""
        rows = [
            say(
                "• {holder}",
                holder=self.holder(
                    request=each.workload, team=each.team, gpus=each.gpus, ends=each.ends
                ),
            )
            for each in holders
        ]
        return join("\n", [say("谁占着它要的卡："), *rows])

    def story(self, rows: Sequence[Markup]) -> Markup:
        """The story of a request, oldest first."""
        return join("\n", [say("*经过*"), *rows])

    def story_row(self, *, at: float, state: str, reason: str, actor: Markup | None) -> Markup:
        """One line of a request's story."""
        known = state in set(RequestState)
        word = self.state(RequestState(state)) if known else say("{state}", state=state)
        why = say("（{reason}）", reason=_STORY.get(reason, reason)) if reason else ""
        by = say("，由 {actor} 操作", actor=actor) if actor else ""
        return say("• {at}：{word}{why}{by}", at=date(at), word=word, why=why, by=by)

    def hello(self) -> Markup:
        """The first line of the help text."""
        return say("*gpubot* 负责分配集群的 GPU。说出你要什么就行；它按策略决定，不看谁的嗓门大。")

    def help_row(self, verb: Verb, command: str) -> Markup:
        """One command in a line or two."""
        example = escape(CHINESE_EXAMPLES[verb][0])
        return say(
            "• `{command}{example}` – {text}",
            command=command,
            example=example,
            text=Markup(_HELP[verb]),
        )

    def help_verb(self, verb: Verb) -> Markup:
        """What one command does."""
        word = CHINESE_EXAMPLES[verb][-1].split()[0]
        text = Markup(_HELP[verb])
        return say("*{word}* （ `{verb}` ）：{text}", word=word, verb=verb.value, text=text)

    def examples(self, verb: Verb, command: str) -> Markup:
        """All examples of a command."""
        lines = [
            say("• `{command}{example}`", command=command, example=escape(example))
            for example in CHINESE_EXAMPLES[verb]
        ]
        return join("\n", [say("例如："), *lines])

    def help_admin(self) -> Markup:
        """Heads the commands that only admins may say."""
        return say("*管理员命令* ：全部公开，必须说明原因。")

    def help_doors(self) -> Markup:
        """Where else it works."""
        return say(
            "在频道里 @ 我（包括在消息列里）、给我发私信，说法都一样，中英文可以混用。"
            "单独输入 `/gpu` 会打开表单。"
        )
