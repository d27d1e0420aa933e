"""The English words."""

from __future__ import annotations

from bot.asks import Nearness, Period, Preference, Provision
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.table import Lexicon, Option
from bot.maps import Grouping
from scheduler.model import Priority, Spend

_MINUTE, _HOUR, _DAY, _WEEK = 60.0, 3600.0, 86400.0, 604800.0

ENGLISH = Lexicon(
    verbs={
        "request": Verb.REQUEST, "req": Verb.REQUEST, "ask": Verb.REQUEST, "need": Verb.REQUEST,
        "want": Verb.REQUEST, "get": Verb.REQUEST,
        "try": Verb.TRY, "test": Verb.TRY, "what-if": Verb.TRY,
        "debug": Verb.DEBUG, "run": Verb.RUN, "hold": Verb.HOLD,
        "status": Verb.STATUS, "st": Verb.STATUS,
        "queue": Verb.QUEUE, "q": Verb.QUEUE,
        "why": Verb.WHY, "why?": Verb.WHY,
        "when": Verb.WHEN, "when?": Verb.WHEN, "eta": Verb.WHEN,
        "map": Verb.MAP,
        "mine": Verb.MINE, "my": Verb.MINE, "me": Verb.MINE,
        "cancel": Verb.CANCEL,
        "release": Verb.RELEASE,
        "extend": Verb.EXTEND, "prolong": Verb.EXTEND,
        "edit": Verb.EDIT, "change": Verb.EDIT,
        "give": Verb.GIVE, "transfer": Verb.GIVE,
        "adopt": Verb.ADOPT,
        "fair": Verb.FAIR, "shares": Verb.FAIR, "share": Verb.FAIR,
        "report": Verb.REPORT,
        "prefs": Verb.PREFS, "preferences": Verb.PREFS, "settings": Verb.PREFS,
        "link": Verb.LINK,
        "oncall": Verb.ONCALL, "on-call": Verb.ONCALL, "duty": Verb.ONCALL,
        "help": Verb.HELP, "?": Verb.HELP, "-h": Verb.HELP, "--help": Verb.HELP,
        "pause": Verb.PAUSE, "resume": Verb.RESUME, "unpause": Verb.RESUME,
        "boost": Verb.BOOST, "preempt": Verb.PREEMPT,
        "drain": Verb.DRAIN, "undrain": Verb.UNDRAIN,
        "quota": Verb.QUOTA,
    },
    options={
        "priority": Option.PRIORITY, "prio": Option.PRIORITY,
        "spend": Option.SPEND,
        "team": Option.TEAM,
        "name": Option.NAME, "called": Option.NAME, "named": Option.NAME,
        "minimum": Option.MINIMUM, "least": Option.MINIMUM, "at-least": Option.MINIMUM,
    },
    flags={
        "preemptible": True, "preemptable": True, "pre-emptible": True,
        "non-preemptible": False, "nonpreemptible": False, "guaranteed": False,
    },
    shorthands={
        "low-priority": (Option.PRIORITY, "low"),
        "high-priority": (Option.PRIORITY, "high"),
        "critical-priority": (Option.PRIORITY, "critical"),
    },
    priorities={
        "low": Priority.LOW, "medium": Priority.MEDIUM, "normal": Priority.MEDIUM,
        "high": Priority.HIGH, "critical": Priority.CRITICAL,
    },
    spends={"low": Spend.LOW, "high": Spend.HIGH},
    provisions={
        "reserved": Provision.RESERVED, "spot": Provision.SPOT,
        "flex": Provision.FLEX_START, "flex-start": Provision.FLEX_START,
    },
    nearness={
        "same": Nearness.SAME,
        "prefer": Nearness.PREFER, "preferred": Nearness.PREFER, "preferably": Nearness.PREFER,
        "spread": Nearness.SPREAD, "anywhere": Nearness.SPREAD,
    },
    levels={"rack": "rack", "block": "block", "node": "node"},
    groupings={
        "pool": Grouping.POOL, "pools": Grouping.POOL,
        "team": Grouping.TEAM, "teams": Grouping.TEAM,
    },
    periods={
        "day": Period.DAY, "daily": Period.DAY, "today": Period.DAY,
        "week": Period.WEEK, "weekly": Period.WEEK, "month": Period.MONTH,
        "monthly": Period.MONTH,
    },
    preferences={
        "language": Preference.LANGUAGE, "lang": Preference.LANGUAGE,
        "quiet": Preference.QUIET, "quiet-hours": Preference.QUIET,
        "notices": Preference.NOTICES, "notifications": Preference.NOTICES,
        "digest": Preference.DIGEST, "where": Preference.WHERE, "zone": Preference.ZONE,
        "timezone": Preference.ZONE,
    },
    languages={
        "en": "en", "english": "en", "zh": "zh", "chinese": "zh", "zh-cn": "zh", "auto": "auto",
        "automatic": "auto",
    },
    notices={"all": "all", "on": "all", "important": "important", "none": "none", "off": "none",
        "never": "none", "no": "none",
    },
    mutes={"mute": "none", "unmute": "all"},
    wheres={"dm": "dm", "direct": "dm", "thread": "thread"},
    digests={"daily": "daily", "weekly": "weekly", "off": "off", "none": "off",
        "never": "off", "no": "off",
    },
    off=frozenset({"off", "none", "never", "no"}),
    autos=frozenset({"auto", "automatic"}),
    times={
        "m": _MINUTE, "min": _MINUTE, "mins": _MINUTE, "minute": _MINUTE, "minutes": _MINUTE,
        "h": _HOUR, "hr": _HOUR, "hrs": _HOUR, "hour": _HOUR, "hours": _HOUR,
        "d": _DAY, "day": _DAY, "days": _DAY,
        "w": _WEEK, "wk": _WEEK, "week": _WEEK, "weeks": _WEEK,
    },
    spans={},
    until=frozenset({"until", "till"}),
    as_whom=frozenset({"as"}),
    reason=frozenset({"reason", "because"}),
    flavor=frozenset({"flavor", "flavour"}),
    nodes=frozenset({"node", "nodes"}),
    pods=frozenset({"pod", "pods"}),
    gpus=frozenset({"gpu", "gpus"}),
    measures=frozenset(),
    page=frozenset({"page", "p"}),
    negations=frozenset({"not", "non", "no"}),
    filler=frozenset({
        "for", "of", "on", "with", "and", "please", "a", "i", "to", "us", "in", "the", "at", "by",
        "lease", "size", "thanks",
    }),
)  # fmt: skip
