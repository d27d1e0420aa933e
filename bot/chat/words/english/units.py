"""Numbers and spans in English."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from bot.chat.markup import Markup, escape, join, say

SHOWN_NODES = 4
_NUMBERED = re.compile(r"(?:.*-)?([a-z]+)-0*(\d+)")


class Units:
    """How amounts are written."""

    def count(self, number: float, one: str, many: str | None = None) -> Markup:
        """`1 node`, `12 nodes`, `1,250 nodes`."""
        word = one if number == 1 else many or f"{one}s"
        return say("{number:,} {word}", number=int(number), word=word)

    def gpus(self, number: float) -> Markup:
        """`16 GPUs`."""
        return self.count(number, "GPU")

    def gpu_hours(self, hours: float) -> Markup:
        """`0.4 GPU-hours`, `1 GPU-hour`, `41,250 GPU-hours`."""
        few = 0 < hours < 9.95 and round(hours, 1) != round(hours)
        text = f"{hours:,.1f}" if few else f"{hours:,.0f}"
        return say("{text} {word}", text=text, word="GPU-hour" if text == "1" else "GPU-hours")

    def span(self, seconds: float) -> Markup:
        """A length of time in at most two units: `45 s`, `2 h 10 min`, `3 d`."""
        if not math.isfinite(seconds):
            return say("no end")
        left = max(0, round(seconds))
        if left < 60:
            return say("{left} s", left=left)
        parts: list[Markup] = []
        for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
            amount, left = divmod(left, size)
            if amount and len(parts) < 2:
                parts.append(say("{amount} {unit}", amount=amount, unit=unit))
            elif parts:
                break
        return join(" ", parts)

    def ordinal(self, number: int) -> Markup:
        """`1st`, `2nd`, `11th`."""
        ending = (
            "th"
            if number % 100 in {11, 12, 13}
            else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        )
        return say("{number:,}{ending}", number=number, ending=ending)

    def several(self, items: Sequence[Markup], most: int = 10) -> Markup:
        """`a, b and c`; past `most` items `a, b and 7 more`."""
        if len(items) > most:
            rest = say("{count:,} more", count=len(items) - most)
            return self.several([*items[:most], rest], most + 1)
        if len(items) < 2:
            return items[0] if items else Markup()
        return say("{most} and {last}", most=join(", ", items[:-1]), last=items[-1])

    def nodes(self, nodes: Sequence[tuple[str, int]], domain: Markup | None = None) -> Markup:
        """`node gpu-7 (8)`, `2 nodes in rack 3: gpu-7 (8) and gpu-8 (8)`, a count past four."""
        where = say(" in {domain}", domain=domain) if domain else Markup()
        named = [say("{node} ({gpus})", node=node, gpus=gpus) for node, gpus in nodes]
        if len(named) == 1:
            return say("node {node}{where}", node=named[0], where=where)
        return say(
            "{count}{where}: {named}",
            where=where,
            count=self.count(len(named), "node"),
            named=self.several(named, SHOWN_NODES),
        )

    def domain(self, path: Sequence[tuple[str, str]]) -> Markup:
        """`rack 3 of block 1`, from (level, value) pairs coarse to fine; a level may be empty.

        A value such as `h100-rack-003` already says its level and number.
        """
        return join(" of ", [self._domain(level, value) for level, value in reversed(path)])

    def _domain(self, level: str, value: str) -> Markup:
        numbered = _NUMBERED.fullmatch(value)
        if numbered and level in ("", numbered[1]):
            return say("{level} {number}", level=numbered[1], number=numbered[2])
        return say("{level} {value}", level=level, value=value) if level else escape(value)

    def no_team(self) -> Markup:
        """What a person without a team has to do first."""
        return say(
            "You are not in a team yet, so there is nobody to charge GPUs to. `/gpu link` "
            "and the name of your team asks its lead to put you into it."
        )

    def or_list(self, words: Sequence[str]) -> Markup:
        """`a`, `b` or `c`, each as code."""
        items = [say("`{word}`", word=word) for word in words]
        if len(items) < 2:
            return items[0] if items else Markup()
        return say("{most} or {last}", most=join(", ", items[:-1]), last=items[-1])
