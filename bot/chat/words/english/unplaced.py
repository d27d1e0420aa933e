"""Why the pods of an object of people's find no node, in English."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, join, say
from bot.chat.words.english.units import Units
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
        parts = [say("Its pods were let go, and found no place on the nodes that were granted.")]
        if figures.text("resource"):
            text = (
                "Each asks for {asked} of {resource}, and {granted} was granted: something, a "
                "webhook or a LimitRange, added to them when they were made. The next "
                "attempt counts with that."
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
                "No grant looks at {rules}, which must hold for them. Say with "
                "`gpubot.dev/topology` how near they shall lie, and take that out."
            )
            rules = [say("`{rule}`", rule=rule) for rule in refused.near]
            parts.append(say(text, rules=self.several(rules)))
        if figures.text("said"):
            parts.append(say("The scheduler says: {said}", said=figures.text("said")))
        return join(" ", parts)

    def _node_named(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "Its template names a node, {node}, so that its pods cannot be held back. Take "
            "`nodeName` out; a `nodeSelector` by `kubernetes.io/hostname` is heeded.",
            node=figures.text("node") or "…",
        )
