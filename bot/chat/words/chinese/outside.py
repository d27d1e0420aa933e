"""Pods that hold GPUs and that no request stands for, in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bot import notices
from bot.chat.markup import Markup, say
from bot.chat.words.chinese.units import Units
from bot.chat.words.figures import Figures
from bot.maps import OutsidePod
from bot.views import RefusalCode, Refused

_WHY: dict[RefusalCode, str] = {
    RefusalCode.NOTHING_TO_ADOPT: (
        "这里是模拟集群，除了请求的 pod 之外没有别的 pod，没有可接管的。"
    ),
    RefusalCode.NO_SUCH_POD: (
        "没有名为 `{where}` 的 pod。 `kubectl get"
        " pods -A` 会列出所有 pod；请写命名空间和名字，例如 "
        "`nlp/notebook-0` 。"
    ),
    RefusalCode.POD_TAKEN: ("Pod `{where}` 已经属于 {request}。"),
    RefusalCode.POD_WITHOUT_GPUS: ("Pod `{where}` 没有 GPU，没有可接管的。"),
    RefusalCode.POD_NOT_RUNNING: (
        "Pod `{where}` 不在运行。等待中的 pod 加上标签 `gpubot.dev/team` 就成为请求。"
    ),
    RefusalCode.POD_KEPT: (
        "Pod `{where}` 由 {kind} `{name}` "
        "管理，它还会再建同样的 pod。请在 {kind} 的模板上加标签 "
        "`gpubot.dev/team` ，之后的 pod 就是请求。"
    ),
    RefusalCode.POD_NOT_YOURS: (
        "你不能接管 pod `{where}` ：它的命名空间不是以你的团队命名，或者标明了别的所有者。"
        "所有者本人、所属团队的负责人或管理员可以。"
    ),
    RefusalCode.POD_WITHOUT_QUOTA: (
        "团队 {team} 在 {queue} 中没有足够的配额容纳 "
        "`{where}` 的 {gpus}。它的卡仍算作已占用；可以按 "
        "`可抢占` 接管。"
    ),
}


class Outside(Units):
    """Sentences about them."""

    def outside_title(self, pods: Sequence[OutsidePod]) -> Markup:
        """Leads them, with how many there are."""
        gpus = self.gpus(sum(pod.gpus for pod in pods))
        count = self.count(len(pods), "个 pod")
        return say("*机器人之外* · {pods}，共 {gpus}", pods=count, gpus=gpus)

    def outside(self, pod: OutsidePod) -> Markup:
        """One of them, in a line."""
        gpus = self.gpus(pod.gpus)
        return say("• {where} · {gpus}，位于 {node}", where=pod.where, gpus=gpus, node=pod.node)

    def outside_hint(self, command: str) -> Markup:
        """How to make a request of one."""
        return say(
            "它们算作已占用，机器人不会动它们。"
            "把你自己的变成请求： `{command}接管 命名空间/POD` 。",
            command=command,
        )

    def taken(self, args: notices.TakenArgs) -> Markup:
        """Who is on GPUs that a hold has no pods on, and what becomes of that."""
        return say(
            "*卡被占* · {request}{name}：它在 {node} 上保留而尚未使用的卡，被 {who} 占用，"
            "后者不属于任何请求。{follows}",
            request=args.request,
            name=say("（{name}）", name=args.name) if args.name else "",
            who=self._pods_outside(args.by),
            node=args.node,
            follows=self._follows(args),
        )

    def _pods_outside(self, pods: Sequence[tuple[str, int]]) -> Markup:
        each = [say("`{pod}` （{gpus}）", pod=pod, gpus=self.gpus(gpus)) for pod, gpus in pods]
        return self.several(each, 6)

    def _follows(self, args: notices.TakenArgs) -> Markup:
        if args.to:
            nodes = self.several([say("{name}", name=name) for name in args.to], 6)
            return say("现已改为保留 {nodes} 上的卡。", nodes=nodes)
        if args.waits:
            return say("其他节点没有空位，它回到原来的排队位置。")
        return say(
            "保留不变：它有 pod 在运行、不能改到其他节点，或其他节点没有空位。"
            "那里尚未使用的卡，要等这些 pod 结束后才能用。"
        )

    def foreign(self, args: notices.ForeignArgs) -> Markup:
        """What runs that a bot with another database let start."""
        return say(
            "*另一个数据库的工作* · {count} 个对象（{gpus}）正在运行，"
            "由使用数据库 `{bot}` 的机器人启动，"
            "本机器人的数据库是 `{mine}` ： {objects} 。"
            "它们不会被停止，算作机器人之外的占用。",
            count=args.count,
            gpus=self.gpus(args.gpus),
            bot=args.bot,
            mine=args.mine,
            objects=self._objects(args),
        )

    def _objects(self, args: notices.ForeignArgs) -> Markup:
        each = [
            say("{kind} `{where}`", kind=kind, where=f"{space}/{name}")
            for kind, space, name in args.objects
        ]
        if args.count > len(each):
            each.append(say("另外 {count:,} 个", count=args.count - len(each)))
        return self.several(each, len(each))

    def foreign_next(self) -> Markup:
        """What on-call may do about it."""
        return say(
            "要保留机器人原来的记录？停止它，改用一个空数据库，用旧数据库的地址运行 "
            "`gpubot db import` ，再启动。否则不必处理：Job 或 JobSet 被挂起后成为请求"
            "（ `kubectl -n 命名空间 patch job NAME "
            '--type merge -p \'{{"spec":{{"suspend":true}}}}\'` ），'
            "pod 可以被接管。"
        )

    def taken_next(self) -> Markup:
        """What on-call may do about such pods."""
        return say(
            "机器人之外的 pod 不会被触碰。给其命名空间加上标签 `gpubot.dev/managed=true` 后，"
            "新的 pod 会在门口等待； `状态` 会列出正在运行的。"
        )

    def not_adopted(self) -> Mapping[RefusalCode, Callable[[Refused, Figures], Markup]]:
        """Why a pod is not adopted, by code."""
        return {code: partial(self._not_adopted, text) for code, text in _WHY.items()}

    def _not_adopted(self, text: str, refused: Refused, figures: Figures) -> Markup:
        del refused
        known = ("where", "request", "kind", "name", "namespace", "team", "queue")
        said = {name: figures.text(name) or "…" for name in known}
        return say(text, gpus=self.gpus(figures.number("gpus") or 0), **said)
