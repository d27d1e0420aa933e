"""The words people may say, as data: a language is a `Lexicon`, and lexicons add up.

A second language adds a lexicon here and sentences in `bot.chat.words`; the parser does
not change. Nothing here is a sentence: these are words to read, not to say.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from bot.asks import Nearness
from bot.chat.grammar.commands import Expected, Verb
from bot.views import Grouping
from scheduler.model import Priority, Spend


class Option(enum.StrEnum):
    """A word that takes the next token as its value."""

    PRIORITY = "priority"
    SPEND = "spend"
    TEAM = "team"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """One language's words, normalised as tokens are. Times are in seconds."""

    verbs: Mapping[str, Verb]
    options: Mapping[str, Option]
    flags: Mapping[str, bool]
    priorities: Mapping[str, Priority]
    spends: Mapping[str, Spend]
    nearness: Mapping[str, Nearness]
    levels: frozenset[str]
    groupings: Mapping[str, Grouping]
    times: Mapping[str, float]
    nodes: frozenset[str]
    pods: frozenset[str]
    gpus: frozenset[str]
    page: frozenset[str]
    negations: frozenset[str]
    filler: frozenset[str]


_MINUTE, _HOUR, _DAY, _WEEK = 60.0, 3600.0, 86400.0, 604800.0

ENGLISH = Lexicon(
    verbs={
        "request": Verb.REQUEST, "req": Verb.REQUEST, "ask": Verb.REQUEST, "need": Verb.REQUEST,
        "want": Verb.REQUEST, "get": Verb.REQUEST,
        "status": Verb.STATUS, "st": Verb.STATUS,
        "queue": Verb.QUEUE, "q": Verb.QUEUE,
        "why": Verb.WHY, "why?": Verb.WHY,
        "map": Verb.MAP,
        "mine": Verb.MINE, "my": Verb.MINE, "me": Verb.MINE,
        "cancel": Verb.CANCEL,
        "release": Verb.RELEASE,
        "help": Verb.HELP, "?": Verb.HELP, "-h": Verb.HELP, "--help": Verb.HELP,
    },
    options={
        "priority": Option.PRIORITY, "prio": Option.PRIORITY,
        "spend": Option.SPEND,
        "team": Option.TEAM,
        "name": Option.NAME, "called": Option.NAME, "named": Option.NAME,
    },
    flags={
        "preemptible": True, "preemptable": True, "pre-emptible": True,
        "non-preemptible": False, "nonpreemptible": False, "guaranteed": False,
    },
    priorities={
        "low": Priority.LOW, "medium": Priority.MEDIUM, "normal": Priority.MEDIUM,
        "high": Priority.HIGH, "critical": Priority.CRITICAL,
    },
    spends={"low": Spend.LOW, "high": Spend.HIGH},
    nearness={
        "same": Nearness.SAME,
        "prefer": Nearness.PREFER, "preferred": Nearness.PREFER, "preferably": Nearness.PREFER,
        "spread": Nearness.SPREAD, "anywhere": Nearness.SPREAD,
    },
    levels=frozenset({"rack", "block", "node"}),
    groupings={
        "pool": Grouping.POOL, "pools": Grouping.POOL,
        "team": Grouping.TEAM, "teams": Grouping.TEAM,
    },
    times={
        "m": _MINUTE, "min": _MINUTE, "mins": _MINUTE, "minute": _MINUTE, "minutes": _MINUTE,
        "h": _HOUR, "hr": _HOUR, "hrs": _HOUR, "hour": _HOUR, "hours": _HOUR,
        "d": _DAY, "day": _DAY, "days": _DAY,
        "w": _WEEK, "wk": _WEEK, "week": _WEEK, "weeks": _WEEK,
    },
    nodes=frozenset({"node", "nodes"}),
    pods=frozenset({"pod", "pods"}),
    gpus=frozenset({"gpu", "gpus"}),
    page=frozenset({"page", "p"}),
    negations=frozenset({"not", "non", "no"}),
    filler=frozenset({
        "for", "of", "on", "with", "and", "please", "a", "i", "to", "us", "in", "the",
    }),
)  # fmt: skip


def combine(*lexicons: Lexicon) -> Lexicon:
    """One lexicon with the words of all; an earlier one wins where two disagree."""
    last_first = tuple(reversed(lexicons))
    return Lexicon(
        verbs={word: verb for lex in last_first for word, verb in lex.verbs.items()},
        options={word: option for lex in last_first for word, option in lex.options.items()},
        flags={word: flag for lex in last_first for word, flag in lex.flags.items()},
        priorities={word: value for lex in last_first for word, value in lex.priorities.items()},
        spends={word: value for lex in last_first for word, value in lex.spends.items()},
        nearness={word: value for lex in last_first for word, value in lex.nearness.items()},
        levels=frozenset().union(*(lex.levels for lex in lexicons)),
        groupings={word: value for lex in last_first for word, value in lex.groupings.items()},
        times={word: value for lex in last_first for word, value in lex.times.items()},
        nodes=frozenset().union(*(lex.nodes for lex in lexicons)),
        pods=frozenset().union(*(lex.pods for lex in lexicons)),
        gpus=frozenset().union(*(lex.gpus for lex in lexicons)),
        page=frozenset().union(*(lex.page for lex in lexicons)),
        negations=frozenset().union(*(lex.negations for lex in lexicons)),
        filler=frozenset().union(*(lex.filler for lex in lexicons)),
    )


EXAMPLES: Mapping[Verb, tuple[str, ...]] = {
    Verb.REQUEST: (
        "16 h100 8h",
        "4x8 h100 for 8h",
        "2 nodes h100 8h preemptible priority high team nlp name llama-sft",
        "4 nodes h100 8h same rack",
        "request 1 h100 90m spend high",
    ),
    Verb.STATUS: ("status", "status R-1042", "status nlp"),
    Verb.QUEUE: ("queue", "queue h100", "queue nlp page 2"),
    Verb.WHY: ("why R-1042",),
    Verb.MINE: ("mine",),
    Verb.MAP: ("map", "map team"),
    Verb.CANCEL: ("cancel R-1042",),
    Verb.RELEASE: ("release R-1042",),
    Verb.HELP: ("help", "help request"),
}
"""Lines to learn from, per verb; every one parses (a test holds this)."""

EXAMPLE_OF: Mapping[Expected, str] = {
    Expected.VERB: "help",
    Expected.SIZE: "16 h100 8h",
    Expected.DURATION: "16 h100 8h",
    Expected.OPTION: "16 h100 8h preemptible team nlp",
    Expected.PRIORITY: "16 h100 8h priority high",
    Expected.SPEND: "16 h100 8h spend high",
    Expected.TEAM: "16 h100 8h team nlp",
    Expected.NAME: "16 h100 8h name llama-sft",
    Expected.LEVEL: "16 h100 8h same rack",
    Expected.GROUPING: "map team",
    Expected.REQUEST_ID: "why R-1042",
    Expected.PAGE: "queue nlp page 2",
    Expected.TOPIC: "queue nlp",
    Expected.NOTHING: "16 h100 8h",
    Expected.SHORTER: "16 h100 8h",
    Expected.QUOTE: '16 h100 8h name "long run"',
}
"""The right example where the person's own line cannot be mended."""
