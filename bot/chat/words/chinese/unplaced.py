"""Why the pods of an object of people's find no node, in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, join, say
from bot.chat.words.chinese.units import Units
from bot.chat.words.figures import Figures
from bot.views import RefusalCode, Refused


class Unplaced(Units):
    """One sentence a code."""

    def not_placed(self) -> Mapping[RefusalCode, Callable[[Refused, Figures], Markup]]:
        """The sentences by code."""
        return {
            RefusalCode.NOT_PLACED: self._not_placed,
            RefusalCode.NODE_NAMED: self._node_named,
        }

    def _not_placed(self, refused: Refused, figures: Figures) -> Markup:
        """`near` are the rules between pods that no grant looks at."""
        parts = [say("它的 pod 已放行，但在获准的节点上没有位置。")]
        if figures.text("resource"):
            text = (
                "每个 pod 要 {asked} 的 {resource}，而获准的是 {granted}："
                "创建时被 webhook 或 LimitRange 加上了。下一次尝试会计入。"
            )
            parts.append(
                say(
                    text,
                    asked=figures.text("asked") or "0",
                    resource=figures.text("resource"),
                    granted=figures.text("granted") or "0",
                )
            )
        if refused.near:
            text = (
                "分配时不考虑 {rules} ，而它们必须满足。请用 `gpubot.dev/topology` "
                "说明要多近，并把它们去掉。"
            )
            rules = [say("`{rule}`", rule=rule) for rule in refused.near]
            parts.append(say(text, rules=self.several(rules)))
        if figures.text("said"):
            parts.append(say("调度器的说明： {said}", said=figures.text("said")))
        return join("", parts)

    def _node_named(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "它的模板指定了节点 {node} ，因此它的 pod 无法等待。请去掉 `nodeName` ；"
            "可以改用 `nodeSelector` 里的 `kubernetes.io/hostname` 。",
            node=figures.text("node") or "…",
        )
