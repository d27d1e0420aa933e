"""What an order of an admin would do, shown before it is given, in Chinese."""

from __future__ import annotations

from bot.byhand import HeldBack, Hit, Preview
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.chinese.standing import Standing
from storage.audit import InterventionKind

K = InterventionKind


class Previews(Standing):
    """Sentences of the question before an order."""

    def preview(self, preview: Preview) -> Markup:
        """What would be done."""
        wish, until = preview.wish, self._until(preview.until)
        match wish.kind:
            case K.PREEMPT:
                return say("*停止 {where}？*", where=preview.where)
            case K.DRAIN:
                return say("*排空节点 {where}{until}？*", where=preview.where, until=until)
            case K.BOOST:
                return say(
                    "*给 {where} {priority}优先级{until}？*",
                    where=preview.where,
                    priority=self.priority_word(wish.priority or "更高"),
                    until=until,
                )
            case K.PAUSE:
                return say("*暂停 {where}{until}？*", where=preview.where, until=until)
            case _:
                return say(
                    "*把 {where} 的配额从 {before}改为 {gpus}{until}？*",
                    where=preview.where,
                    before=self.gpus(preview.before),
                    gpus=self.gpus(wish.gpus or 0),
                    until=until,
                )

    def preview_hits(self, preview: Preview, names: Names) -> Markup:
        """Whom it would hit, a line each."""
        if preview.wish.kind is K.PAUSE:
            return self._kept_waiting(preview, names)
        if not preview.hits:
            return say("不会停止任何人。")
        gpus = self.gpus(sum(hit.gpus for hit in preview.hits))
        count = self.count(len(preview.hits), "个请求")
        lead = say("会停止 {count}，共 {gpus}：", count=count, gpus=gpus)
        if preview.wish.kind is K.DRAIN:
            lead = say("正在上面运行：{count}，共 {gpus}", count=count, gpus=gpus)
        rows = [self.hit_row(hit, names(hit.owner)) for hit in preview.hits[:10]]
        if len(preview.hits) > 10:
            rows.append(say("• 另有 {more}", more=self.count(len(preview.hits) - 10, "个请求")))
        return join("\n", [lead, *rows])

    def _kept_waiting(self, preview: Preview, names: Names) -> Markup:
        """Who would wait on, the next to start first."""
        lead = say(
            "会让 {queues} 的 {count}（共 {gpus}）不能启动。接下来轮到的：",
            count=self.count(preview.waiting, "个请求"),
            gpus=self.gpus(preview.waiting_gpus),
            queues=self.several([say("{queue}", queue=queue) for queue in preview.queues], 6),
        )
        rows = [self._held_row(one, names(one.owner)) for one in preview.held]
        if (left := preview.waiting - len(preview.held)) > 0:
            rows.append(say("• 另有 {more}", more=self.count(left, "个请求")))
        return join("\n", [lead, *rows])

    def _held_row(self, one: HeldBack, owner: Markup) -> Markup:
        start = say("，预计 {at} 启动", at=date(one.start)) if one.start else Markup()
        return say(
            "• {owner} 的 {request}{name}（团队 {team}，{gpus}）{start}",
            request=one.request,
            name=say("“{name}”", name=one.name) if one.name else "",
            owner=owner,
            team=one.team,
            gpus=self.gpus(one.gpus),
            start=start,
        )

    def hit_row(self, hit: Hit, owner: Markup) -> Markup:
        """Somebody's running work, in a line."""
        return say(
            "• {owner} 的 {request}{name}（团队 {team}，{gpus}），已运行 {ran}",
            request=hit.request,
            name=say("“{name}”", name=hit.name) if hit.name else "",
            owner=owner,
            team=hit.team,
            gpus=self.gpus(hit.gpus),
            ran=self.span(hit.ran),
        )

    def preview_after(self, preview: Preview) -> Markup:
        """What it would bring, and that nothing was done yet."""
        wish, lines = preview.wish, []
        if wish.kind is K.PREEMPT and wish.beneficiary:
            lines.append(say("{request} 将在它的位置启动。", request=wish.beneficiary))
        elif wish.kind is K.PREEMPT:
            lines.append(say("它将在队尾重新排队。"))
        elif wish.kind is K.BOOST:
            lines.append(say("被停止的会回到原来的排队位置。"))
        elif wish.kind is K.QUOTA and preview.starts:
            lines.append(say("{gpus} 将会启动。", gpus=self.gpus(preview.starts)))
        elif wish.kind is K.PAUSE:
            lines.append(say("正在运行的不受影响，排队位置保留。"))
        if preview.over:
            lines.append(self._over(preview.over))
        if wish.kind is K.QUOTA and (preview.at_once or preview.an_hour):
            lines.append(self._bounds(preview))
        lines.append(say("尚未做任何更改。"))
        return join("", lines)

    def _bounds(self, preview: Preview) -> Markup:
        at_once, an_hour = preview.at_once, preview.an_hour
        bounds = [
            say("一次 {count:,} 个", count=at_once) if at_once else Markup(),
            say("每小时 {count:,} 个", count=an_hour) if an_hour else Markup(),
        ]
        return say("停止的请求不超过{bounds}。", bounds=join("、", bounds))

    def _over(self, over: int) -> Markup:
        return say(
            "目前用量比它多 {gpus}：这些会继续运行，降到配额以内之前不再启动新的。",
            gpus=self.gpus(over),
        )

    def confirm_text(self, preview: Preview) -> str:
        """The question of the dialog."""
        count = self.count(len(preview.hits), "个请求")
        match preview.wish.kind:
            case K.DRAIN:
                return f"{preview.where} 上的 {count}会停止，有空位时在别处启动。"
            case K.PREEMPT:
                return f"{preview.where} 会被停止。所有人都能看到是你做的，以及原因。"
            case _:
                return f"这会停止 {count}。所有人都能看到是你做的，以及原因。"

    def button_go_on(self, preview: Preview) -> str:
        """The button that orders it."""
        labels = {K.PREEMPT: "停止", K.BOOST: "提高优先级", K.PAUSE: "暂停"}
        return labels.get(preview.wish.kind, "修改配额")

    def button_let_finish(self) -> str:
        """The button that drains a node and lets finish what runs there."""
        return "排空，等它们结束"

    def button_move(self) -> str:
        """The button that drains a node and moves what runs there."""
        return "排空，立即迁移"

    def button_no(self) -> str:
        """The way out of the dialog."""
        return "不"

    def changed_since(self) -> Markup:
        """That a preview is a new one, as what was confirmed is not so any more."""
        return say("你查看之后情况有变：现在执行会是这样。")

    def _until(self, at: float | None) -> Markup:
        return say("，到 {until} 为止", until=date(at)) if at is not None else Markup()
