"""Numbers, spans and places in Chinese."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from bot.chat.markup import Markup, escape, join, say

SHOWN_NODES = 4
_NUMBERED = re.compile(r"(?:.*-)?([a-z]+)-0*(\d+)")
_LEVELS = {"rack": "机架", "block": "区块", "node": "节点", "hostname": "节点"}
_PRIORITIES = {"low": "低", "medium": "中", "high": "高", "critical": "最高"}
_PROVISIONS = {"reserved": "预留", "spot": "竞价", "flex-start": "弹性"}


class Units:
    """How amounts are written. A sentence that says who or what is `Markup` throughout."""

    def count(self, number: float, what: str) -> Markup:
        """`1 个节点`, `1,250 个节点`: `what` begins with its measure word."""
        return say("{number:,} {what}", number=int(number), what=what)

    def gpus(self, number: float) -> Markup:
        """`16 卡`."""
        return self.count(number, "卡")

    def gpu_hours(self, hours: float) -> Markup:
        """`0.4 卡时`, `41,250 卡时`."""
        few = 0 < hours < 9.95 and round(hours, 1) != round(hours)
        return say("{text} 卡时", text=f"{hours:,.1f}" if few else f"{hours:,.0f}")

    def span(self, seconds: float) -> Markup:
        """A length of time in at most two units: `45 秒`, `2 小时 10 分`, `3 天`."""
        if not math.isfinite(seconds):
            return say("无限期")
        left = max(0, round(seconds))
        if left < 60:
            return say("{left} 秒", left=left)
        parts: list[Markup] = []
        for size, unit in ((86400, "天"), (3600, "小时"), (60, "分")):
            amount, left = divmod(left, size)
            if amount and len(parts) < 2:
                parts.append(say("{amount} {unit}", amount=amount, unit=unit))
            elif parts:
                break
        if len(parts) == 1 and parts[0].endswith("分"):
            return Markup(parts[0] + "钟")
        return join(" ", parts)

    def place_in_line(self, position: int) -> Markup:
        """`第 3 位`."""
        return say("第 {position:,} 位", position=position)

    def several(self, items: Sequence[Markup], most: int = 10) -> Markup:
        """`a、b 和 c`; past `most` items `a、b 等 9 项`."""
        if len(items) > most:
            shown = join("、", items[:most])
            return say("{shown} 等共 {count:,} 项", shown=shown, count=len(items))
        if len(items) < 2:
            return items[0] if items else Markup()
        return say("{most} 和 {last}", most=join("、", items[:-1]), last=items[-1])

    def nodes(self, nodes: Sequence[tuple[str, int]], domain: Markup | None = None) -> Markup:
        """`节点 gpu-7 (8)`, `区块 1 机架 3 的 2 个节点：gpu-7 (8) 和 gpu-8 (8)`."""
        where = say("{domain} 的 ", domain=domain) if domain else Markup()
        named = [say("{node} ({gpus})", node=node, gpus=gpus) for node, gpus in nodes]
        if len(named) == 1:
            return say("{where}节点 {node}", node=named[0], where=where)
        return say(
            "{where}{count}：{named}",
            where=where,
            count=self.count(len(named), "个节点"),
            named=self.several(named, SHOWN_NODES),
        )

    def level(self, level: str) -> str:
        """A topology level as people call it."""
        return _LEVELS.get(level, level)

    def domain(self, path: Sequence[tuple[str, str]]) -> Markup:
        """`区块 1 机架 3`, from (level, value) pairs coarse to fine; a level may be empty.

        A value such as `h100-rack-003` already says its level and number.
        """
        return join(" ", [self._domain(level, value) for level, value in path])

    def _domain(self, level: str, value: str) -> Markup:
        numbered = _NUMBERED.fullmatch(value)
        if numbered and level in ("", numbered[1]):
            return say("{level} {number}", level=self.level(numbered[1]), number=numbered[2])
        named = say("{level} {value}", level=self.level(level), value=value)
        return named if level else escape(value)

    def priority_word(self, priority: str) -> str:
        """A level of priority as people say it: `高`."""
        return _PRIORITIES.get(priority, priority)

    def priority(self, priority: str) -> str:
        """`高优先级`."""
        return f"{self.priority_word(priority)}优先级"

    def provision(self, provision: str) -> str:
        """How nodes are had: `预留`."""
        return _PROVISIONS.get(provision, provision)

    def topology(self, said: str) -> str:
        """`same rack` as `同一机架`, `prefer block` as `尽量同一区块`, `spread` as `分散`."""
        nearness, _, level = said.partition(" ")
        if nearness == "spread":
            return "分散放置"
        lead = {"same": "同一", "prefer": "尽量同一"}.get(nearness)
        return said if lead is None else f"{lead}{self.level(level)}"

    def no_team(self) -> Markup:
        """What a person without a team has to do first."""
        return say(
            "你还不属于任何团队，用卡没有记账对象。 `/gpu link` 加团队名可以请负责人把你加入。"
        )

    def or_list(self, words: Sequence[str]) -> Markup:
        """`a`, `b` 或 `c`, each as code."""
        items = [say("`{word}`", word=word) for word in words]
        if len(items) < 2:
            return items[0] if items else Markup()
        return say("{most} 或 {last}", most=join(" 、 ", items[:-1]), last=items[-1])
