"""Chinese, with and without spaces, mixed with English, in every form a keyboard makes of it."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.asks import Ask, Change, End, Nearness, Period, Preference, Provision, Together
from bot.chat import conversation, grammar
from bot.chat.conversation import Asker
from bot.chat.grammar import Expected, GrammarError, Mistake
from bot.chat.voices import Voices
from bot.maps import Grouping
from scheduler.model import Priority, Spend
from tests.bot.chat import saying
from tests.bot.chat.desks import MemoryDesk

HOUR = 3600.0


def read(text: str, here: str | None = None) -> Any:
    """What is read; an ask without its text."""
    found = grammar.parse(text, here=here)
    ask = getattr(found, "ask", None)
    if isinstance(found, grammar.Request | grammar.Try | grammar.Debug) and ask is not None:
        return dataclasses.replace(found, ask=dataclasses.replace(ask, text=""))
    return found


TWO = Ask(nodes=2, model="h100", duration=8 * HOUR, preemptible=True)


@pytest.mark.parametrize(
    "text",
    [
        "要 2 节点 H100 8 小时 可抢占",
        "要2节点H100 8小时可抢占",
        "我要两个节点H100，8小时，可抢占",
        "申请２节点Ｈ１００ ８小时　可抢占",
        "請給我2節點 h100 8小時 可搶占",
        "帮我申请2台机器h100用8个小时，可被抢占。",
        "2 nodes h100 8小时 可抢占",
        "要 2 nodes h100 for 8h 可抢占",
        "request 2节点 H100 8 hours preemptible",
        "可抢占 8小时 2节点 h100",
        "要二节点 h100 八小时 可抢占",
    ],
)
def test_one_request_in_many_hands(text: str) -> None:
    assert read(text) == grammar.Request(TWO)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("16卡", Ask(gpus=16)),
        ("十六张卡", Ask(gpus=16)),
        ("二十卡", Ask(gpus=20)),
        ("16卡半天", Ask(gpus=16, duration=12 * HOUR)),
        ("1卡半小时", Ask(gpus=1, duration=0.5 * HOUR)),
        ("8卡 1小时30分钟", Ask(gpus=8, duration=1.5 * HOUR)),
        ("8卡 1个小时30分钟", Ask(gpus=8, duration=1.5 * HOUR)),
        ("8卡2天", Ask(gpus=8, duration=48 * HOUR)),
        ("一周 8卡", Ask(gpus=8, duration=168 * HOUR)),
        ("4x8 h100", Ask(pods=4, gpus_per_pod=8, model="h100")),
        ("4×8卡", Ask(pods=4, gpus_per_pod=8)),
        ("4个pod 每个8卡", Ask(pods=4, gpus_per_pod=8)),
        ("16卡 优先级 高", Ask(gpus=16, priority=Priority.HIGH)),
        ("16卡 优先级：高", Ask(gpus=16, priority=Priority.HIGH)),
        ("16卡高优先级", Ask(gpus=16, priority=Priority.HIGH)),
        ("16卡 priority 高", Ask(gpus=16, priority=Priority.HIGH)),
        ("16卡 花费 高", Ask(gpus=16, spend=Spend.HIGH)),
        ("16卡 不可抢占", Ask(gpus=16)),
        ("4节点 同一机架", Ask(nodes=4, topology=Together(Nearness.SAME, "rack"))),
        ("4节点同机柜", Ask(nodes=4, topology=Together(Nearness.SAME, "rack"))),
        ("4节点 尽量同一区块", Ask(nodes=4, topology=Together(Nearness.PREFER, "block"))),
        ("4节点 最好在同一个机架", Ask(nodes=4, topology=Together(Nearness.PREFER, "rack"))),
        ("4节点分散", Ask(nodes=4, topology=Together(Nearness.SPREAD))),
        ("32卡 至少16卡", Ask(gpus=32, minimum=16)),
        ("4节点至少2个节点", Ask(nodes=4, minimum=2)),
        ("8卡 竞价", Ask(gpus=8, provision=Provision.SPOT)),
        ("16卡 团队 nlp", Ask(gpus=16, team="nlp")),
        ("16卡 团队：nlp", Ask(gpus=16, team="nlp")),
        ("16卡团队视觉 8小时", Ask(gpus=16, team="视觉", duration=8 * HOUR)),
        ("16卡 名称 夜间训练", Ask(gpus=16, name="夜间训练")),
        ("16卡 名称 高分辨率训练v2，8小时", Ask(gpus=16, name="高分辨率训练v2", duration=8 * HOUR)),
        ("16卡 名称“夜间 训练”", Ask(gpus=16, name="夜间 训练")),
        ("16卡 名称「夜间 训练」", Ask(gpus=16, name="夜间 训练")),
        ("16卡 name 夜间训练", Ask(gpus=16, name="夜间训练")),
    ],
)
def test_request_is_understood(text: str, wanted: Ask) -> None:
    assert read(text) == grammar.Request(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("要", grammar.Form()),
        ("状态", grammar.Status()),
        ("状态 团队 nlp", grammar.Status("nlp")),
        ("状态R-1042", grammar.Status("R-1042")),
        ("队列第2页", grammar.Queue(page=2)),
        ("队列 h100 第 3 页", grammar.Queue("h100", 3)),
        ("排队 nlp", grammar.Queue("nlp")),
        ("为什么R-1042", grammar.Why("R-1042")),
        ("R-1042为什么还没开始？", grammar.Why("R-1042")),
        ("为什么 Ｒ－１０４２ 还在排队", grammar.Why("R-1042")),
        ("why R-1042 呢", grammar.Why("R-1042")),
        ("R-1042 什么时候能开始？", grammar.When("R-1042")),
        ("我的", grammar.Mine()),
        ("取消R-1042吧", grammar.Cancel("R-1042")),
        ("请取消 1042", grammar.Cancel("R-1042")),
        ("释放 R-1042", grammar.Release("R-1042")),
        ("延长R-1042 2小时", grammar.Extend("R-1042", 2 * HOUR)),
        ("把R-1042延长2小时", grammar.Extend("R-1042", 2 * HOUR)),
        ("修改 R-1042 改为 8卡", grammar.Edit("R-1042", Change(gpus=8))),
        ("把R-1042转让给<@U0BOB|bob>", grammar.Give("R-1042", "U0BOB")),
        ("接管nlp/notebook-0", grammar.Adopt("nlp/notebook-0")),
        (
            "请接管 nlp/notebook-0 8小时 团队 nlp 可抢占",
            grammar.Adopt("nlp/notebook-0", 8 * HOUR, "nlp", preemptible=True),
        ),
        ("份额 nlp", grammar.Fair("nlp")),
        ("报告 本月", grammar.Report(Period.MONTH)),
        ("地图 按团队", grammar.Map(Grouping.TEAM)),
        ("偏好 语言 中文", grammar.Prefs(((Preference.LANGUAGE, "zh"),))),
        ("偏好 免打扰 22:00-07:00", grammar.Prefs(((Preference.QUIET, "22:00-07:00"),))),
        ("偏好 取消静音", grammar.Prefs(((Preference.NOTICES, "all"),))),
        ("关联 nlp 代表 <@U0BOB>", grammar.Link("nlp", "U0BOB")),
        ("帮助 取消", grammar.Help(grammar.Verb.CANCEL)),
        ("帮助？", grammar.Help()),
        ("暂停 nlp 2小时 原因：换交换机", grammar.Pause("nlp", End(after=2 * HOUR), "换交换机")),
        ("取消排空 h100-0042 风扇已换", grammar.Undrain("h100-0042", "风扇已换")),
        (
            "加急 R-7 高优先级 6小时 因为 论文截稿",
            grammar.Boost("R-7", Priority.HIGH, End(after=6 * HOUR), "论文截稿"),
        ),
        (
            "配额 nlp 640卡 直到 18:00 原因 截稿",
            grammar.Quota("nlp", 640, None, End(minute=1080), "截稿"),
        ),
    ],
)
def test_verb_is_understood(text: str, wanted: object) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "mistake", "expected", "token", "near"),
    [
        ("16卡 h100 8", Mistake.NO_UNIT, Expected.DURATION, "8", ("8h",)),
        ("0卡", Mistake.ZERO, Expected.SIZE, "0", ()),
        ("16卡 2节点", Mistake.TWO_SIZES, Expected.NOTHING, "2", ()),
        ("16卡 可枪占", Mistake.UNKNOWN_WORD, Expected.OPTION, "可枪占", ("可抢占",)),
        ("16卡8小时可枪占", Mistake.UNKNOWN_WORD, Expected.OPTION, "可枪占", ("可抢占",)),
        ("16卡 高", Mistake.AMBIGUOUS, Expected.OPTION, "高", ("高优先级", "高花费")),
        ("状泰", Mistake.UNKNOWN_VERB, Expected.VERB, "状泰", ("状态",)),
        ("取消", Mistake.MISSING, Expected.REQUEST_ID, "", ()),
        ("接管 笔记本", Mistake.UNKNOWN_WORD, Expected.POD, "笔记本", ()),
        ("接管 nlp/a 可枪占", Mistake.UNKNOWN_WORD, Expected.TERMS, "可枪占", ("可抢占",)),
        ("暂停 nlp 2小时", Mistake.MISSING, Expected.REASON, "", ()),
        ("你好", Mistake.UNKNOWN_VERB, Expected.VERB, "你好", ()),
    ],
)
def test_error_points_at_the_token_and_answers_in_kind(
    text: str, mistake: Mistake, expected: Expected, token: str, near: tuple[str, ...]
) -> None:
    wrong = read(text)
    assert isinstance(wrong, GrammarError), wrong
    assert (wrong.mistake, wrong.expected, wrong.token) == (mistake, expected, token)
    assert wrong.near == near
    assert not isinstance(read(wrong.example), GrammarError)


_WORDS = [
    "要", "申请", "2", "两", "十", "节点", "个", "卡", "h100", "H100", "8", "小时", "半天",
    "可抢占", "不可抢占", "高优先级", "优先级", "高", "团队", "视觉", "名称", "夜间训练",
    "同", "同一", "机架", "分散", "至少", "竞价", "状态", "队列", "第", "页", "为什么",
    "R-1042", "取消", "延长", "修改", "转让", "给", "<@U0BOB>", "份额", "报告", "偏好",
    "语言", "中文", "免打扰", "22:00-07:00", "关联", "帮助", "暂停", "加急", "抢占", "排空",
    "配额", "直到", "18:00", "原因", "，", "。", "？", "“", "”", "：", "２", "Ｒ－１",
    "pause", "quota", "run", "--", "edit", "for", "2h", "at", "least", "\u200b",
]  # fmt: skip
_LINES = st.one_of(
    st.lists(st.sampled_from(_WORDS), max_size=14).map("".join),
    st.lists(st.sampled_from(_WORDS), max_size=14).map(" ".join),
    st.lists(st.sampled_from(_WORDS) | st.text(max_size=4), max_size=10).map("".join),
)


@settings(max_examples=200)
@given(_LINES, st.none() | st.just("R-1"))
def test_any_line_gives_a_command_or_an_error_inside_the_line(text: str, here: str | None) -> None:
    result = read(text, here)
    if isinstance(result, GrammarError):
        assert 0 <= result.start <= result.end <= len(result.text)
        assert not isinstance(read(result.example, here), GrammarError)


@settings(max_examples=100)
@given(_LINES)
def test_an_error_creates_nothing(text: str) -> None:
    said = grammar.parse(text)
    if not isinstance(said, GrammarError):
        return
    desk = MemoryDesk()
    before = copy.copy(desk.cards)
    answer = conversation.answer(
        desk, Voices(saying.VOICE), said, Asker(person=saying.ANN, key="k")
    )
    assert answer.private
    assert (desk.cards, desk.asks, desk.answers) == (before, [], {})
