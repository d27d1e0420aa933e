"""Replicas of one Deployment or StatefulSet, in Chinese."""

from __future__ import annotations

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.chinese.reasons import Reasons
from bot.views import CardView, FamilyView


class Families(Reasons):
    """Sentences about replicas."""

    def family_headline(self, family: FamilyView) -> Markup:
        """State word, id, what keeps the replicas, and how many of which size."""
        total, one = family.total, family.latest
        if not total:
            state = say("*没有副本*")
        elif family.waiting == total:
            state = say("*排队中*")
        elif family.running == total:
            state = say("*运行中*")
        else:
            text = "*{running:,} / {total:,} 运行中*"
            state = say(text, running=family.running, total=total)
        each = self.gpus(one.gpus_per_pod)
        if one.model:
            each = say("{gpus:,} × {model}", gpus=one.gpus_per_pod, model=one.model.upper())
        size = say("{replicas}，每个 {each}", replicas=self.count(total, "个副本"), each=each)
        parts = [state, say("{id}", id=family.head), self.family_name(family)]
        return join(" · ", [*parts, size if total else Markup()])

    def family_name(self, family: FamilyView) -> Markup:
        """What keeps the replicas, by kind, namespace and name."""
        return say(
            "{kind} {space}/{name}", kind=family.kind, space=family.namespace, name=family.name
        )

    def family_protection(self, family: FamilyView) -> Markup | None:
        """How many replicas are guaranteed, where some are and some are not."""
        if family.guaranteed in (0, family.total):
            return None
        return say("{count}有保障，其余可抢占", count=self.count(family.guaranteed, "个"))

    def family_stand(self, family: FamilyView) -> Markup:
        """How many run, start, stop and wait, since when, and why the next one waits."""
        if not family.total:
            return say("目前没有副本，之后的副本仍在这里显示。")
        parts = []
        if family.running and family.runs_since is not None:
            text = "{count}在运行，最早的自 {since} 起。"
            text = text if family.running > 1 else "{count}在运行，自 {since} 起。"
            count = self.count(family.running, "个")
            parts.append(say(text, count=count, since=date(family.runs_since)))
        if family.starting:
            parts.append(say("{count}正在启动。", count=self.count(family.starting, "个")))
        if family.stopping:
            parts.append(say("{count}正在停止。", count=self.count(family.stopping, "个")))
        return join("\n", [join("", parts), self._family_waits(family)])

    def _family_waits(self, family: FamilyView) -> Markup:
        if not family.waiting or family.waits_since is None:
            return Markup()
        text = "{count}在排队，最早的自 {since} 起{next}。"
        text = text if family.waiting > 1 else "{count}在排队，自 {since} 起{next}。"
        count = self.count(family.waiting, "个")
        first, why = family.first, None if family.first is None else family.first.explanation
        if first is None or why is None:
            return say(text, count=count, since=date(family.waits_since), next="")
        place = say(
            "；{request} 在 {queue} 中排{place}",
            request=first.request,
            place=self.place_in_line(why.position),
            queue=why.queue,
        )
        waits = say(text, count=count, since=date(family.waits_since), next=place)
        return join("", [waits, self.reason(why.verdict)])

    def family_row(self, family: FamilyView, owner: Markup | None) -> Markup:
        """A family in one line, for lists."""
        parts = [self.family_headline(family), owner or Markup()]
        why = None if family.first is None else family.first.explanation
        if why is not None:
            parts += [
                say("排{place}", place=self.place_in_line(why.position)),
                self.short_reason(why.verdict.reason),
            ]
        return join(" · ", parts)

    def family_note(self, family: FamilyView) -> Markup:
        """How to have more or fewer of them."""
        return say(
            "每个副本都是单独的请求。增减副本： "
            "`kubectl -n {space} scale {kind}/{name} --replicas=…`",
            space=family.namespace,
            kind=family.kind.lower(),
            name=family.name,
        )

    def replica_of(self, card: CardView) -> Markup:
        """What a single replica belongs to; empty for anything else."""
        family = card.family
        if family is None or card.opens is not None:
            return Markup()
        return say("{head}（{name}）的一个副本。", head=family.head, name=self.family_name(family))

    def template_held(self, args: notices.RequeuedArgs) -> Markup:
        """That no replica of a template is tried any more, and what to do."""
        return say(
            "*已搁置* · {what} `{where}` ：它的副本没有按时就绪，已连续 {tries} 次，"
            "这个模板的副本不再自动重试。请用 `kubectl describe pod` 查明 pod 为何未就绪"
            "（看镜像和节点），然后修改模板：新模板的副本会立即尝试"
            "（对 Deployment 或 StatefulSet， `kubectl rollout restart` 会生成内容相同的新模板）。",
            what=args.what,
            where=args.where,
            tries=1 if args.rest is None else args.rest.tries,
        )

    def replicas_title(self) -> Markup:
        """Heads the replicas of a family, one a line."""
        return say("*各个副本*")

    def replicas_started(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that got their GPUs."""
        return say("*已启动* · {what}", what=self._some(args, len(args.started)))

    def replicas_ended(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that are gone."""
        return say("*已结束* · {what}", what=self._some(args, len(args.ended)))

    def _some(self, args: notices.ReplicasArgs, count: int) -> Markup:
        return say(
            "{kind} {space}/{name} 的 {count}",
            count=self.count(count, "个副本"),
            kind=args.what,
            space=args.namespace,
            name=args.name,
        )

    def replica_started(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that got its GPUs, in a line."""
        return say(
            "• {request} · {name} · {gpus}，位于 {nodes}",
            request=one.request,
            name=one.name,
            gpus=self.gpus(one.gpus),
            nodes=self.several([say("{node}", node=node) for node in one.nodes]),
        )

    def replica_ended(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that is gone, in a line."""
        how = say("未曾启动")
        if one.ran:
            text = "运行 {span} 后失败" if one.failed else "运行了 {span}"
            how = say(text, span=self.span(one.ran))
        return say("• {request} · {name} · {how}", request=one.request, name=one.name, how=how)

    def family_started(self, args: notices.ReplicasArgs, owner: Markup) -> Markup:
        """The first start of a family, for the channel."""
        return say(
            "*已启动* · {request} · {what}，共 {gpus}\n"
            "{owner}（团队 {team}），资源池 {pool}。之后副本的增减只在消息列中通知。",
            request=args.request,
            what=self._some(args, len(args.started)),
            gpus=self.gpus(sum(one.gpus for one in args.started)),
            owner=owner,
            team=args.team,
            pool=args.pool,
        )
