"""Lines to learn from, by verb and by what is missing, in each language; every one parses."""

from __future__ import annotations

from collections.abc import Mapping

from bot.chat.grammar.commands import Verb
from bot.chat.grammar.errors import Expected

EXAMPLES: Mapping[Verb, tuple[str, ...]] = {
    Verb.REQUEST: (
        "16 h100 8h",
        "4x8 h100 for 8h",
        "2 nodes h100 8h preemptible priority high team nlp name llama-sft",
        "4 nodes h100 8h same rack",
        "32 h100 8h at least 16",
        "8 a100 4h spot",
        "request 1 h100 90m spend high",
    ),
    Verb.TRY: ("try 16 h100 8h", "try 4 nodes h100 8h same rack"),
    Verb.DEBUG: ("debug h100 2h", "debug 2 h100 1h"),
    Verb.RUN: ("run nvcr.io/nvidia/pytorch:25.01-py3 2 nodes h100 8h -- python train.py",),
    Verb.HOLD: ("hold 16 h100 8h",),
    Verb.STATUS: ("status", "status R-1042", "status nlp"),
    Verb.QUEUE: ("queue", "queue h100", "queue nlp page 2"),
    Verb.WHY: ("why R-1042", "why llama-sft"),
    Verb.WHEN: ("when R-1042", "when llama-sft"),
    Verb.MINE: ("mine",),
    Verb.MAP: ("map", "map team"),
    Verb.CANCEL: ("cancel R-1042",),
    Verb.RELEASE: ("release R-1042",),
    Verb.EXTEND: ("extend R-1042 2h",),
    Verb.EDIT: ("edit R-1042 8 gpus", "edit R-1042 4h priority low", "edit R-1042 preemptible"),
    Verb.GIVE: ("give R-1042 @bob",),
    Verb.ADOPT: ("adopt nlp/notebook-0", "adopt nlp/notebook-0 8h team nlp"),
    Verb.FAIR: ("fair", "fair nlp"),
    Verb.REPORT: ("report", "report day", "report month nlp"),
    Verb.PREFS: (
        "prefs",
        "prefs language zh",
        "prefs quiet 22:00-07:00",
        "prefs notices important",
        "prefs digest weekly",
        "prefs where thread",
        "prefs zone Europe/Paris",
        "prefs mute",
    ),
    Verb.LINK: ("link", "link nlp", "link nlp as @bob"),
    Verb.ONCALL: ("oncall", "oncall @bob for 8h", "oncall off"),
    Verb.HELP: ("help", "help request"),
    Verb.PAUSE: ("pause shared-multi for 2h reason switch upgrade",),
    Verb.RESUME: ("resume shared-multi reason upgrade done",),
    Verb.BOOST: ("boost R-1042 priority high for 6h reason paper deadline",),
    Verb.PREEMPT: (
        "preempt R-1042 for R-1050 reason paper deadline",
        "preempt R-1042 reason node replacement",
    ),
    Verb.DRAIN: ("drain h100-0042 for 2h reason fan replacement",),
    Verb.UNDRAIN: ("undrain h100-0042 reason fan replaced",),
    Verb.QUOTA: (
        "quota nlp 640 until 2026-12-05 reason paper deadline",
        "quota nlp 640 reserved-h100 for 2d reason paper deadline",
    ),
}

CHINESE_EXAMPLES: Mapping[Verb, tuple[str, ...]] = {
    Verb.REQUEST: (
        "16 h100 8小时",
        "4x8 h100 8小时",
        "要 2 节点 H100 8 小时 可抢占 高优先级 团队 nlp 名称 llama-sft",
        "4节点 h100 8小时 同一机架",
        "32卡 h100 8小时 至少16卡",
        "8卡 a100 4小时 竞价",
        "申请 1卡 h100 90分钟 花费 高",
    ),
    Verb.TRY: ("试算 16 h100 8小时", "试算 4节点 h100 8小时 同一机架"),
    Verb.DEBUG: ("调试 h100 2小时", "调试 2卡 h100 1小时"),
    Verb.RUN: ("运行 nvcr.io/nvidia/pytorch:25.01-py3 2节点 h100 8小时 -- python train.py",),
    Verb.HOLD: ("占卡 16 h100 8小时",),
    Verb.STATUS: ("状态", "状态 R-1042", "状态 nlp"),
    Verb.QUEUE: ("队列", "队列 h100", "队列 nlp 第2页"),
    Verb.WHY: ("为什么 R-1042", "为什么 llama-sft"),
    Verb.WHEN: ("什么时候 R-1042", "什么时候 llama-sft"),
    Verb.MINE: ("我的",),
    Verb.MAP: ("地图", "地图 团队"),
    Verb.CANCEL: ("取消 R-1042",),
    Verb.RELEASE: ("释放 R-1042",),
    Verb.EXTEND: ("延长 R-1042 2小时",),
    Verb.EDIT: ("修改 R-1042 8卡", "修改 R-1042 4小时 低优先级", "修改 R-1042 可抢占"),
    Verb.GIVE: ("转让 R-1042 给 @bob",),
    Verb.ADOPT: ("接管 nlp/notebook-0", "接管 nlp/notebook-0 8小时 团队 nlp"),
    Verb.FAIR: ("份额", "份额 nlp"),
    Verb.REPORT: ("报告", "报告 今天", "报告 本月 nlp"),
    Verb.PREFS: (
        "偏好",
        "偏好 语言 中文",
        "偏好 免打扰 22:00-07:00",
        "偏好 通知 重要",
        "偏好 摘要 每周",
        "偏好 地点 话题",
        "偏好 时区 Asia/Shanghai",
        "偏好 静音",
    ),
    Verb.LINK: ("关联", "关联 nlp", "关联 nlp 代表 @bob"),
    Verb.ONCALL: ("值班", "值班 @bob 8小时", "值班 关闭"),
    Verb.HELP: ("帮助", "帮助 申请"),
    Verb.PAUSE: ("暂停 shared-multi 2小时 原因 交换机升级",),
    Verb.RESUME: ("恢复 shared-multi 原因 升级完成",),
    Verb.BOOST: ("加急 R-1042 高优先级 6小时 原因 论文截稿",),
    Verb.PREEMPT: ("抢占 R-1042 给 R-1050 原因 论文截稿", "抢占 R-1042 原因 更换节点"),
    Verb.DRAIN: ("排空 h100-0042 2小时 原因 更换风扇",),
    Verb.UNDRAIN: ("取消排空 h100-0042 原因 风扇已更换",),
    Verb.QUOTA: (
        "配额 nlp 640 直到 2026-12-05 原因 论文截稿",
        "配额 nlp 640 reserved-h100 2天 原因 论文截稿",
    ),
}

EXAMPLE_OF: Mapping[Expected, str] = {
    Expected.VERB: "help",
    Expected.PRIORITY: "16 h100 8h priority high",
    Expected.OPTION: "16 h100 8h preemptible team nlp",
    Expected.SPEND: "16 h100 8h spend high",
    Expected.TEAM: "16 h100 8h team nlp",
    Expected.NAME: "16 h100 8h name llama-sft",
    Expected.LEVEL: "16 h100 8h same rack",
    Expected.MINIMUM: "16 h100 8h at least 8",
    Expected.QUOTE: '16 h100 8h name "long run"',
}
"""The right example for a request that cannot be mended; any other is `USUAL`."""

USUAL = "16 h100 8h"

CHINESE_EXAMPLE_OF: Mapping[Expected, str] = {
    Expected.VERB: "帮助",
    Expected.PRIORITY: "16 h100 8小时 高优先级",
    Expected.OPTION: "16 h100 8小时 可抢占 团队 nlp",
    Expected.SPEND: "16 h100 8小时 花费 高",
    Expected.TEAM: "16 h100 8小时 团队 nlp",
    Expected.NAME: "16 h100 8小时 名称 llama-sft",
    Expected.LEVEL: "16 h100 8小时 同一机架",
    Expected.MINIMUM: "16 h100 8小时 至少 8卡",
    Expected.QUOTE: "16 h100 8小时 名称 “长跑”",
}
CHINESE_USUAL = "16 h100 8小时"


_PREFERENCE = {
    Expected.LANGUAGE: 1,
    Expected.PREFERENCE: 2,
    Expected.QUIET: 2,
    Expected.NOTICES: 3,
    Expected.DIGEST: 4,
    Expected.WHERE: 5,
    Expected.ZONE: 6,
}
"""Which example of `prefs` shows the preference that was meant."""


def stock(verb: Verb, expected: Expected, *, chinese: bool) -> str:
    """A line that would do: of the verb that was meant, about what was expected."""
    if verb is not Verb.REQUEST:
        lines = (CHINESE_EXAMPLES if chinese else EXAMPLES)[verb]
        return lines[_PREFERENCE.get(expected, -1)] if verb is Verb.PREFS else lines[-1]
    if chinese:
        return CHINESE_EXAMPLE_OF.get(expected, CHINESE_USUAL)
    return EXAMPLE_OF.get(expected, USUAL)
