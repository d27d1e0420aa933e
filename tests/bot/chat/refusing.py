"""What is turned down, and what cannot be read: one of each, for the golden files."""

from __future__ import annotations

from bot import views
from bot.asks import Ask
from scheduler.model import LimitKind
from tests.bot.chat import notifying, saying

_Row = tuple[views.RefusalCode, dict[str, int | float | str], tuple[str, ...], LimitKind | None]
_PODS: dict[views.RefusalCode, dict[str, int | float | str]] = {
    views.RefusalCode.NOTHING_TO_ADOPT: {},
    views.RefusalCode.NO_SUCH_POD: {},
    views.RefusalCode.POD_TAKEN: {"request": "R-1042"},
    views.RefusalCode.POD_WITHOUT_GPUS: {},
    views.RefusalCode.POD_NOT_RUNNING: {},
    views.RefusalCode.POD_KEPT: {"kind": "Deployment", "name": "chat"},
    views.RefusalCode.POD_NOT_YOURS: {"namespace": "nlp"},
    views.RefusalCode.POD_WITHOUT_QUOTA: {"team": "nlp", "queue": "team-nlp", "gpus": 8},
}
REFUSED: list[_Row] = [
    *((code, {"where": "nlp/notebook-0", **more}, (), None) for code, more in _PODS.items()),
    (views.RefusalCode.NO_SUCH_PERSON, {"person": "dan"}, (), None),
    (views.RefusalCode.NOT_ASKED, {"request": "R-1042"}, (), None),
    (views.RefusalCode.NOT_AN_IMAGE, {"image": "train model"}, (), None),
    (views.RefusalCode.COMMAND_TOO_LONG, {"length": 2400, "most": 2000}, (), None),
    (
        views.RefusalCode.REPLICA,
        {
            "request": "R-1043",
            "kind": "Deployment",
            "namespace": "nlp",
            "name": "chat",
            "left": 1200,
        },
        (),
        None,
    ),
    (
        views.RefusalCode.REPLICA,
        {"request": "R-1043", "kind": "StatefulSet", "namespace": "nlp", "name": "index"},
        (),
        None,
    ),
    (
        views.RefusalCode.OF_OBJECT,
        {"request": "R-1043", "kind": "JobSet", "namespace": "nlp", "name": "llama"},
        (),
        None,
    ),
    (views.RefusalCode.NO_TEAM, {}, (), None),
    (views.RefusalCode.UNKNOWN_TEAM, {"team": "npl"}, ("nlp",), None),
    (views.RefusalCode.NOT_YOUR_TEAM, {"team": "rl"}, ("nlp", "vision"), None),
    (views.RefusalCode.UNKNOWN_MODEL, {"model": "h1000"}, ("h100",), None),
    (
        views.RefusalCode.UNKNOWN_LEVEL,
        {"level": "zone", "pool": "shared-multi"},
        ("block", "rack", "node"),
        None,
    ),
    (views.RefusalCode.NOT_A_SIZE, {"asked": 0}, (), None),
    (
        views.RefusalCode.NOT_DIVISIBLE,
        {"asked": 12, "node": 8},
        ("8", "16", "2x6"),
        None,
    ),
    (
        views.RefusalCode.NEVER_FITS,
        {"asked": 20000, "most": 10000, "where": "company"},
        (),
        LimitKind.CLUSTER,
    ),
    (
        views.RefusalCode.LEASE_TOO_LONG,
        {"asked": 1209600, "most": 604800, "pool": "team"},
        (),
        LimitKind.LEASE,
    ),
    (views.RefusalCode.LEASE_TOO_SHORT, {"asked": 0.36, "least": 60}, (), None),
    (views.RefusalCode.PRIORITY_NOT_ALLOWED, {"priority": "critical"}, ("high",), None),
    (views.RefusalCode.NO_SUCH_REQUEST, {"request": "R-9"}, (), None),
    (views.RefusalCode.NO_SUCH_REQUEST, {"request": "lama-sft"}, ("llama-sft",), None),
    (
        views.RefusalCode.AMBIGUOUS_NAME,
        {"name": "<sweep>", "count": 12, "example": "R-1001"},
        ("R-1001 (Bob <b>)", "R-1002 (Cat Lindqvist)"),
        None,
    ),
    (views.RefusalCode.UNKNOWN_TEAM, {"team": "zzz"}, (), None),
    (views.RefusalCode.UNKNOWN_MODEL, {"model": "zzz"}, (), None),
    (views.RefusalCode.UNKNOWN_TARGET, {"what": "zzz"}, (), None),
    (views.RefusalCode.NOT_YOURS, {"request": "R-1042", "owner": "U0BOB"}, (), None),
    (views.RefusalCode.ALREADY_ENDED, {"request": "R-1042", "state": "finished"}, (), None),
    (views.RefusalCode.NOT_RUNNING, {"request": "R-1042"}, (), None),
    (views.RefusalCode.NOT_WAITING, {"request": "R-1042"}, (), None),
    (views.RefusalCode.UNKNOWN_TARGET, {"what": "nlpp"}, ("nlp",), None),
    (views.RefusalCode.NAME_TOO_LONG, {"most": 60}, (), None),
    (views.RefusalCode.TOO_MANY_WAITING, {"most": 20}, (), None),
    (
        views.RefusalCode.SOMEBODY_WAITS,
        {"request": "R-1042", "first": "R-1050", "owner": "Bob", "team": "vision", "gpus": 8},
        (),
        None,
    ),
    (
        views.RefusalCode.SOMEBODY_WAITS,
        {"request": "R-1", "first": "R-2", "owner": "Bob", "team": "rl", "gpus": 8, "more": 3},
        (),
        None,
    ),
    (
        views.RefusalCode.EXTENDED_TOO_LONG,
        {"request": "R-1042", "most": 604800.0, "left": 86400.0, "pool": "team", "asked": 9e5},
        (),
        LimitKind.LEASE,
    ),
    (
        views.RefusalCode.EXTENDED_TOO_LONG,
        {"request": "R-1042", "most": 604800.0, "left": 0.0, "pool": "team", "asked": 9e5},
        (),
        LimitKind.LEASE,
    ),
    (
        views.RefusalCode.NO_PROVISION,
        {"provision": "spot", "model": "b200"},
        ("reserved", "flex-start"),
        None,
    ),
    (
        views.RefusalCode.NO_SMALLER_START,
        {"pods": 4, "per_pod": 8, "asked": 12},
        ("8", "16"),
        None,
    ),
    (views.RefusalCode.NO_SMALLER_START, {"pods": 1, "per_pod": 8, "asked": 4}, (), None),
    (
        views.RefusalCode.BAD_MARK,
        {"label": "gpubot.dev/preemptible", "value": "yes"},
        ("true", "false"),
        None,
    ),
    (views.RefusalCode.NO_LEASE, {"request": "R-1042"}, (), None),
    (views.RefusalCode.LEASE_OVER, {"request": "R-1042", "ended": saying.NOW}, (), None),
    (views.RefusalCode.LEASE_MOVED, {"request": "R-1042", "ends": saying.NOW}, (), None),
    (views.RefusalCode.CHANGED_MEANWHILE, {"request": "R-1042", "state": "running"}, (), None),
    (views.RefusalCode.NOTHING_NEW, {"request": "R-1042"}, (), None),
    (views.RefusalCode.RUNS, {"request": "R-1042"}, ("size", "topology"), None),
    (
        views.RefusalCode.NOT_LOWER,
        {"request": "R-1042", "has": "medium", "priority": "high"},
        (),
        None,
    ),
    (
        views.RefusalCode.LEASE_PAST,
        {"request": "R-1042", "had": 7200.0, "asked": 3600.0},
        (),
        None,
    ),
    (views.RefusalCode.IN_TRANSIT, {"request": "R-1042", "state": "preempting"}, (), None),
    (views.RefusalCode.SAME_OWNER, {"request": "R-1042", "person": "Bob"}, (), None),
    (
        views.RefusalCode.NOT_IN_TEAM,
        {"request": "R-1042", "person": "Bob", "team": "nlp"},
        (),
        None,
    ),
    (views.RefusalCode.ON_TEAM_QUOTA, {"request": "R-1042", "team": "nlp"}, (), None),
    (views.RefusalCode.RECEIVER_FULL, {"person": "Bob", "most": 200}, (), None),
    (views.RefusalCode.RUNS_ALREADY, {"request": "R-1042"}, (), None),
    (views.RefusalCode.OFFER_STALE, {"request": "R-1042"}, (), None),
    (views.RefusalCode.OFFER_GONE, {"request": "R-1042"}, (), None),
    (views.RefusalCode.LOOKING, {"request": "R-1042"}, (), None),
]
REFUSED += notifying.REFUSED
_INSTEAD = {
    views.RefusalCode.NEVER_FITS: Ask(gpus=10000, model="h100", duration=8 * 3600.0),
    views.RefusalCode.LEASE_TOO_LONG: Ask(gpus=16, duration=604800.0, name="llama-sft"),
}
REFUSALS = tuple(
    views.Refused(code=code, args=args, near=near, limit=limit, instead=_INSTEAD.get(code))
    for code, args, near, limit in REFUSED
)
MISTAKES = {
    "en": (
        "16 h100 8",
        "0 h100",
        "-4 h100",
        "1.5 h100",
        "16 h100 -3h",
        "4 h100 0.0001h",
        "999999999 h100",
        "16 h100 2 nodes",
        "16 h100 8h 4h",
        "16 h100 8h preemtible",
        "16 h100 8h high",
        "16 h100 prio hgh",
        "16 h100 same",
        "16 h100 same rack prefer block",
        "stauts",
        "why",
        "mine too",
        "<!channel>",
        '4 h100 name "x',
        "4 h100 name " + "y" * 61,
    ),
    "zh": (
        "16 h100 8",
        "0 卡 h100",
        "16卡 h100 -3小时",
        "16卡 h100 2节点",
        "16卡 h100 8小时 4小时",
        "16卡h100 8小时 可枪占",
        "16卡 h100 高",
        "16卡 h100 同一",
        "状泰",
        "为什么",
        "我的 一切",
        "２节点 Ｈ１００ 8小时 优先级 特高",
        "队列 第0页",
        "4卡 h100 名称 “长跑",
    ),
}
