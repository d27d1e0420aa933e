"""The map of the cluster: its labels, and in words what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from bot.chat.markup import Markup, date, join, literal, plain, say
from bot.chat.words.english.units import Units
from bot.maps import Grouping, MapView
from bot.overview import ClusterView, LevelView
from scheduler.doubts import Doubt, NodeDoubt

LONGEST_ALT = 1000  # Slack's limit of a file's alternative text
_SHOWN_NODES = 5


_DOUBTS: dict[Doubt, str] = {
    Doubt.MISSING_LABEL: "• {node} ({flavor}) has no label `{what}`: nothing is placed on it",
    Doubt.SAME_PLACE: "• {node} and {what} ({flavor}) have the same labels at every level",
    Doubt.OVERFULL: "• {node} has {excess:,} of `{what}` less than its pods hold",
}


class Maps(Units):
    """Labels are plain text: a picture knows no markup."""

    map_file_title = "Map of the cluster"
    map_free = "free"
    map_outside = "held by pods that are not ours"
    map_failed = "node failed (not ready)"
    map_cordoned = "node cordoned (takes nothing new)"

    def map_title(self, view: MapView) -> str:
        """Heads the picture."""
        return literal(
            say(
                "Cluster by {by}: {used:,} of {gpus} in use, {free:,} free",
                by=view.by.value,
                used=view.used,
                gpus=self.gpus(view.gpus),
                free=view.free,
            )
        )

    def map_owner(self, owner: str, gpus: int) -> str:
        """`nlp: 320 GPUs`, in the legend."""
        return f"{plain(owner, 40)}: {self.gpus(gpus)}"

    def map_domain(self, kind: str, path: Sequence[tuple[str, str]]) -> str:
        """`reserved-h100, block 1` above a block, `rack 3` above a rack."""
        domain = literal(self.domain(path))
        return ", ".join(part for part in (plain(kind, 40), domain) if part)

    def levels(self, cluster: ClusterView) -> Sequence[Markup]:
        """What is whole at each level, a line for each kind of nodes that has levels."""
        kinds = groupby(cluster.levels, key=lambda one: one.kind)
        return [self._whole(kind, tuple(levels)[::-1]) for kind, levels in kinds]

    def _whole(self, kind: str, levels: Sequence[LevelView]) -> Markup:
        """`levels` are fine to coarse."""
        free = [
            say("{n:,} of {all}", n=one.whole_free, all=self.count(one.domains, one.level))
            for one in levels
        ]
        sizes = [
            say("in one {level} has {gpus}", level=one.level, gpus=self.gpus(one.largest))
            for one in levels
            if one.largest
        ]
        if not sizes:
            return say(
                "{kind}: {free} wholly free; no gang fits now.", kind=kind, free=self.several(free)
            )
        return say(
            "{kind}: {free} wholly free; the largest gang that fits now {sizes}.",
            kind=kind,
            free=self.several(free),
            sizes=self.several(sizes),
        )

    def doubts_title(self, count: int) -> Markup:
        """Leads what is odd about the nodes, for those who can mend it."""
        return say("*Odd nodes* · {count}", count=self.count(count, "finding"))

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
        per = "Per pool" if view.by is Grouping.POOL else "Per team"
        use = say(
            "*The cluster* · {used:,} of {gpus} in use, {free:,} free; {whole} wholly free.",
            used=view.used,
            gpus=self.gpus(view.gpus),
            free=view.free,
            whole=self.count(view.whole, "node"),
        )
        held = say("{per}: {owners}.", per=per, owners=join(", ", owners)) if owners else Markup()
        return join("\n", [use, held, self._trouble(view), say("As of {at}.", at=date(view.at))])

    def map_alt(self, view: MapView) -> str:
        """The picture in words, with its figures, for who cannot see it."""
        domains = [self.count(n, level) for level, n in view.domains().items()]
        nodes = self.count(len(view.nodes), "node")
        owners = [f"{plain(owner, 40)} {gpus:,}" for owner, gpus in view.owners]
        sentences = [
            f"Map of the cluster by {view.by.value}: {nodes}"
            + (f" in {self.several(domains)}" if domains else ""),
            f"{view.used:,} of {self.gpus(view.gpus)} in use, {view.free:,} free",
            f"{self.count(view.whole, 'node')} wholly free",
            f"GPUs by {view.by.value}: {', '.join(owners)}" if owners else "",
            literal(self._trouble(view)).rstrip("."),
        ]
        return plain(". ".join(one for one in sentences if one) + ".", LONGEST_ALT)

    def _trouble(self, view: MapView) -> Markup:
        parts = []
        for nodes, word in ((view.failed, "failed"), (view.cordoned, "cordoned")):
            if nodes:
                named = self.several([say("{n}", n=node.name) for node in nodes], _SHOWN_NODES)
                count = self.count(len(nodes), "node")
                parts.append(say("{count} {word} ({named})", count=count, word=word, named=named))
        return say("{parts}.", parts=join("; ", parts)) if parts else Markup()
