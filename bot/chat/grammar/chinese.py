"""The Chinese words, simplified, with the traditional forms that differ.

Chinese is written without spaces: the tokenizer cuts these words off the front of a run
of Chinese characters, the longest first, so `8小时可抢占` is three tokens. What no word
fits stays whole, so a team or a name in Chinese needs no quotes.
"""

from __future__ import annotations

from bot.asks import Nearness, Period, Preference, Provision
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.table import Lexicon, Option
from bot.maps import Grouping
from scheduler.model import Priority, Spend

_MINUTE, _HOUR, _DAY, _WEEK = 60.0, 3600.0, 86400.0, 604800.0

CHINESE = Lexicon(
    verbs={
        "要": Verb.REQUEST, "申请": Verb.REQUEST, "申請": Verb.REQUEST, "需要": Verb.REQUEST,
        "想要": Verb.REQUEST, "请求": Verb.REQUEST,
        "试算": Verb.TRY, "试试": Verb.TRY, "预估": Verb.TRY, "試算": Verb.TRY,
        "调试": Verb.DEBUG, "調試": Verb.DEBUG,
        "运行": Verb.RUN, "跑": Verb.RUN, "運行": Verb.RUN,
        "占用": Verb.HOLD, "占卡": Verb.HOLD,
        "状态": Verb.STATUS, "狀態": Verb.STATUS,
        "队列": Verb.QUEUE, "排队": Verb.QUEUE, "隊列": Verb.QUEUE, "排隊": Verb.QUEUE,
        "为什么": Verb.WHY, "为何": Verb.WHY, "為什麼": Verb.WHY,
        "什么时候": Verb.WHEN, "何时": Verb.WHEN, "什麼時候": Verb.WHEN, "多久": Verb.WHEN,
        "地图": Verb.MAP, "地圖": Verb.MAP,
        "我的": Verb.MINE,
        "取消": Verb.CANCEL,
        "释放": Verb.RELEASE, "归还": Verb.RELEASE, "釋放": Verb.RELEASE,
        "延长": Verb.EXTEND, "续期": Verb.EXTEND, "续租": Verb.EXTEND, "延長": Verb.EXTEND,
        "修改": Verb.EDIT, "更改": Verb.EDIT, "改": Verb.EDIT,
        "转让": Verb.GIVE, "转给": Verb.GIVE, "轉讓": Verb.GIVE,
        "接管": Verb.ADOPT, "收编": Verb.ADOPT, "收編": Verb.ADOPT,
        "份额": Verb.FAIR, "公平": Verb.FAIR, "份額": Verb.FAIR,
        "报告": Verb.REPORT, "报表": Verb.REPORT, "報告": Verb.REPORT,
        "偏好": Verb.PREFS, "设置": Verb.PREFS, "設置": Verb.PREFS,
        "值班": Verb.ONCALL,
        "关联": Verb.LINK, "绑定": Verb.LINK, "關聯": Verb.LINK,
        "帮助": Verb.HELP, "幫助": Verb.HELP,
        "暂停": Verb.PAUSE, "暫停": Verb.PAUSE,
        "恢复": Verb.RESUME, "恢復": Verb.RESUME,
        "加急": Verb.BOOST, "提级": Verb.BOOST,
        "抢占": Verb.PREEMPT, "搶占": Verb.PREEMPT,
        "排空": Verb.DRAIN, "下线": Verb.DRAIN,
        "取消排空": Verb.UNDRAIN, "上线": Verb.UNDRAIN,
        "配额": Verb.QUOTA, "配額": Verb.QUOTA,
    },
    options={
        "优先级": Option.PRIORITY, "優先級": Option.PRIORITY,
        "花费": Option.SPEND, "开销": Option.SPEND, "花費": Option.SPEND,
        "团队": Option.TEAM, "小组": Option.TEAM, "團隊": Option.TEAM,
        "名称": Option.NAME, "名字": Option.NAME, "命名为": Option.NAME, "叫": Option.NAME,
        "名稱": Option.NAME,
        "至少": Option.MINIMUM, "最少": Option.MINIMUM,
    },
    flags={
        "可抢占": True, "可被抢占": True, "可搶占": True,
        "不可抢占": False, "非抢占": False, "不抢占": False, "不可被抢占": False, "不可搶占": False,
    },
    shorthands={
        "低优先级": (Option.PRIORITY, "low"), "中优先级": (Option.PRIORITY, "medium"),
        "高优先级": (Option.PRIORITY, "high"), "最高优先级": (Option.PRIORITY, "critical"),
        "低花费": (Option.SPEND, "low"), "高花费": (Option.SPEND, "high"),
    },
    priorities={
        "低": Priority.LOW, "中": Priority.MEDIUM, "普通": Priority.MEDIUM,
        "高": Priority.HIGH, "紧急": Priority.CRITICAL, "最高": Priority.CRITICAL,
    },
    spends={"低": Spend.LOW, "高": Spend.HIGH},
    provisions={
        "预留": Provision.RESERVED, "竞价": Provision.SPOT, "弹性": Provision.FLEX_START,
    },
    nearness={
        "同": Nearness.SAME, "同一": Nearness.SAME, "同一个": Nearness.SAME,
        "最好": Nearness.PREFER, "尽量": Nearness.PREFER, "优先": Nearness.PREFER,
        "分散": Nearness.SPREAD, "打散": Nearness.SPREAD,
    },
    levels={
        "机架": "rack", "机柜": "rack", "機架": "rack", "区块": "block", "节点": "node",
        "機櫃": "rack", "節點": "node",
    },
    groupings={
        "资源池": Grouping.POOL, "池": Grouping.POOL,
        "团队": Grouping.TEAM, "小组": Grouping.TEAM,
    },
    periods={
        "今天": Period.DAY, "今日": Period.DAY, "每天": Period.DAY,
        "周": Period.WEEK, "本周": Period.WEEK, "每周": Period.WEEK, "月": Period.MONTH,
        "本月": Period.MONTH, "每月": Period.MONTH,
    },
    preferences={
        "语言": Preference.LANGUAGE, "免打扰": Preference.QUIET, "通知": Preference.NOTICES,
        "地点": Preference.WHERE, "时区": Preference.ZONE, "時區": Preference.ZONE,
        "摘要": Preference.DIGEST, "語言": Preference.LANGUAGE,
        "免打擾": Preference.QUIET, "地點": Preference.WHERE,
    },
    languages={
        "英文": "en", "英语": "en", "中文": "zh", "汉语": "zh", "自动": "auto",
        "英語": "en", "漢語": "zh", "自動": "auto",
    },
    notices={
        "全部": "all", "开启": "all", "重要": "important", "关闭": "none", "关": "none",
        "无": "none", "開啟": "all", "關閉": "none", "無": "none",
    },
    mutes={"静音": "none", "取消静音": "all", "靜音": "none", "取消靜音": "all"},
    wheres={"私信": "dm", "消息列": "thread", "话题": "thread", "話題": "thread"},
    digests={
        "每日": "daily", "每天": "daily", "每周": "weekly", "关闭": "off", "关": "off", "无": "off",
        "每週": "weekly", "關閉": "off", "無": "off",
    },
    off=frozenset({"关闭", "关", "无", "關閉", "關", "無"}),
    autos=frozenset({"自动", "自動"}),
    times={
        "分": _MINUTE, "分钟": _MINUTE, "分鐘": _MINUTE,
        "小时": _HOUR, "小時": _HOUR, "钟头": _HOUR,
        "天": _DAY, "日": _DAY, "周": _WEEK, "星期": _WEEK,
    },
    spans={"半小时": 0.5 * _HOUR, "半个小时": 0.5 * _HOUR, "半天": 12 * _HOUR},
    until=frozenset({"直到", "截至", "截止"}),
    as_whom=frozenset({"作为", "代表", "替"}),
    reason=frozenset({"原因", "理由", "因为", "因為"}),
    flavor=frozenset({"规格"}),
    nodes=frozenset({"节点", "台机器", "節點", "机器"}),
    pods=frozenset(),
    gpus=frozenset({"卡", "显卡", "张卡", "块卡"}),
    measures=frozenset({"个", "張", "张", "块", "台", "個"}),
    page=frozenset({"页", "頁"}),
    negations=frozenset({"不", "非"}),
    filler=frozenset({
        "请", "我", "我们", "帮我", "给", "给我", "把", "将", "到", "为", "的", "了", "吗", "呢",
        "吧", "一下", "在", "用", "每", "每个", "租期", "时长", "大小", "还在", "还没", "开始",
        "能", "第", "給", "給我", "还没开始", "还在排队", "没开始", "改成", "改为", "再",
        "按", "請", "我要",
    }),
)  # fmt: skip
