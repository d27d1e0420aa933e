"""The map of the cluster in Chinese: its labels, and in words what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from bot.chat.markup import Markup, date, join, literal, plain, say
from bot.chat.words.chinese.units import Units
from bot.maps import Grouping, MapView
from bot.overview import ClusterView, LevelView
from scheduler.doubts import Doubt, NodeDoubt

LONGEST_ALT = 1000  # Slack's limit of a file's alternative text
_SHOWN_NODES = 5
_BY = {Grouping.POOL: "资源池", Grouping.TEAM: "团队"}

_DOUBTS: dict[Doubt, str] = {
    Doubt.MISSING_LABEL: "• {node}（{flavor}）没有标签 `{what}` ：不会往上放任何东西",
    Doubt.SAME_PLACE: "• {node} 和 {what}（{flavor}）每一层的标签都相同",
    Doubt.OVERFULL: "• {node} 的 `{what}` 比其上 pod 占用的少 {excess:,}",
}


class Maps(Units):
    """Labels are plain text: a picture knows no markup."""

    map_file_title = "集群地图"
    map_free = "空闲"
    map_outside = "被不归我们管的 pod 占用"
    map_failed = "节点故障（未就绪）"
    map_cordoned = "节点已隔离（不接收新的）"

    def map_title(self, view: MapView) -> str:
        """Heads the picture."""
        return literal(
            say(
                "集群（按{by}）：{gpus}中已用 {used:,}，空闲 {free:,}",
                by=_BY[view.by],
                used=view.used,
                gpus=self.gpus(view.gpus),
                free=view.free,
            )
        )

    def map_owner(self, owner: str, gpus: int) -> str:
        """`nlp：320 卡`, in the legend."""
        return f"{plain(owner, 40)}：{self.gpus(gpus)}"

    def map_domain(self, kind: str, path: Sequence[tuple[str, str]]) -> str:
        """`reserved-h100，区块 1` above a block, `机架 3` above a rack."""
        domain = literal(self.domain(path))
        return "，".join(part for part in (plain(kind, 40), domain) if part)

    def levels(self, cluster: ClusterView) -> Sequence[Markup]:
        """What is whole at each level, a line for each kind of nodes that has levels."""
        kinds = groupby(cluster.levels, key=lambda one: one.kind)
        return [self._whole(kind, tuple(levels)[::-1]) for kind, levels in kinds]

    def _whole(self, kind: str, levels: Sequence[LevelView]) -> Markup:
        """`levels` are fine to coarse."""
        free = [
            say(
                "{n:,} / {all:,} 个{level}",
                n=one.whole_free,
                all=one.domains,
                level=self.level(one.level),
            )
            for one in levels
        ]
        sizes = [
            say("一个{level}内 {gpus}", level=self.level(one.level), gpus=self.gpus(one.largest))
            for one in levels
            if one.largest
        ]
        if not sizes:
            return say(
                "{kind}：整体空闲 {free}；现在放不下任何整组。", kind=kind, free=self.several(free)
            )
        return say(
            "{kind}：整体空闲 {free}；现在放得下的最大整组：{sizes}。",
            kind=kind,
            free=self.several(free),
            sizes=join("，", sizes),
        )

    def doubts_title(self, count: int) -> Markup:
        """Leads what is odd about the nodes, for those who can mend it."""
        return say("*可疑节点* · {count}", count=self.count(count, "处"))

    def doubt(self, doubt: NodeDoubt) -> Markup:
        """One oddity of a node."""
        return say(
            _DOUBTS[doubt.doubt],
            node=doubt.node,
            what=doubt.what,
            excess=doubt.excess,
            flavor=doubt.flavor or "",
        )

    def map_text(self, view: MapView) -> Markup:
        """What stands under the picture, and instead of it where no picture can be sent."""
        owners = [say("{owner} {gpus:,}", owner=owner, gpus=gpus) for owner, gpus in view.owners]
        use = say(
            "*集群* · {gpus}中已用 {used:,}，空闲 {free:,}；整机空闲 {whole}。",
            used=view.used,
            gpus=self.gpus(view.gpus),
            free=view.free,
            whole=self.count(view.whole, "个节点"),
        )
        held = Markup()
        if owners:
            held = say("各{by}：{owners}。", by=_BY[view.by], owners=join("，", owners))
        as_of = say("截至 {at}。", at=date(view.at))
        return join("\n", [use, held, self._trouble(view), as_of])

    def map_alt(self, view: MapView) -> str:
        """The picture in words, with its figures, for who cannot see it."""
        domains = [self.count(n, f"个{self.level(level)}") for level, n in view.domains().items()]
        owners = [f"{plain(owner, 40)} {gpus:,}" for owner, gpus in view.owners]
        sentences = [
            f"集群地图（按{_BY[view.by]}）：{self.count(len(view.nodes), '个节点')}"
            + (f"，分布在 {self.several(domains)}" if domains else ""),
            f"{self.gpus(view.gpus)}中已用 {view.used:,}，空闲 {view.free:,}",
            f"整机空闲 {self.count(view.whole, '个节点')}",
            f"各{_BY[view.by]}的卡数：{'，'.join(owners)}" if owners else "",
            literal(self._trouble(view)).rstrip("。"),
        ]
        return plain("。".join(one for one in sentences if one) + "。", LONGEST_ALT)

    def _trouble(self, view: MapView) -> Markup:
        parts = []
        for nodes, word in ((view.failed, "故障"), (view.cordoned, "已隔离")):
            if nodes:
                named = self.several([say("{n}", n=node.name) for node in nodes], _SHOWN_NODES)
                count = self.count(len(nodes), "个节点")
                parts.append(say("{count}{word}（{named}）", count=count, word=word, named=named))
        return say("{parts}。", parts=join("；", parts)) if parts else Markup()
