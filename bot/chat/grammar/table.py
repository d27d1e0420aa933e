"""The words people may say, as data: a language is a `Lexicon`, and lexicons add up.

Another language adds a lexicon beside `english` and `chinese` and sentences in
`bot.chat.words`; the parser does not change. Nothing here is a sentence: these are words
to read, not to say.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from bot.asks import Nearness, Period, Preference, Provision
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.tokens import is_han
from bot.maps import Grouping
from scheduler.model import Priority, Spend


class Option(enum.StrEnum):
    """A word that takes the next token as its value."""

    PRIORITY = "priority"
    SPEND = "spend"
    TEAM = "team"
    NAME = "name"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """One language's words, normalised as tokens are. Times are in seconds.

    `shorthands` say an option with its value, `spans` a whole time. `levels` gives the
    cluster's word for a level. `measures` stand between a number and what it counts.
    `autos` leave the choice to the person's Slack. `glued` are the words that may be written
    without a space before what follows, `known` all there are.
    """

    verbs: Mapping[str, Verb]
    options: Mapping[str, Option]
    flags: Mapping[str, bool]
    shorthands: Mapping[str, tuple[Option, str]]
    priorities: Mapping[str, Priority]
    spends: Mapping[str, Spend]
    provisions: Mapping[str, Provision]
    nearness: Mapping[str, Nearness]
    levels: Mapping[str, str]
    groupings: Mapping[str, Grouping]
    periods: Mapping[str, Period]
    preferences: Mapping[str, Preference]
    languages: Mapping[str, str]
    notices: Mapping[str, str]
    mutes: Mapping[str, str]
    digests: Mapping[str, str]
    wheres: Mapping[str, str]
    off: frozenset[str]
    autos: frozenset[str]
    times: Mapping[str, float]
    spans: Mapping[str, float]
    until: frozenset[str]
    reason: frozenset[str]
    as_whom: frozenset[str]
    flavor: frozenset[str]
    nodes: frozenset[str]
    pods: frozenset[str]
    gpus: frozenset[str]
    measures: frozenset[str]
    page: frozenset[str]
    negations: frozenset[str]
    filler: frozenset[str]
    glued: frozenset[str] = field(default_factory=frozenset)
    known: frozenset[str] = field(default_factory=frozenset)

    def units(self) -> frozenset[str]:
        """The words that say what a size counts."""
        return self.nodes | self.pods | self.gpus


def combine(*lexicons: Lexicon) -> Lexicon:
    """One lexicon with the words of all; an earlier one wins where two disagree."""
    merged: dict[str, object] = {}
    for each in fields(Lexicon):
        tables = [getattr(lexicon, each.name) for lexicon in reversed(lexicons)]
        if isinstance(tables[0], frozenset):
            merged[each.name] = frozenset().union(*tables)
        else:
            merged[each.name] = {key: value for table in tables for key, value in table.items()}
    known = frozenset(word for table in merged.values() for word in _words(table))
    merged["known"] = known
    merged["glued"] = frozenset(word for word in known if is_han(word[:1]))
    return Lexicon(**merged)  # type: ignore[arg-type]  # each value is its field's own, merged


def _words(table: object) -> Iterable[str]:
    return [str(word) for word in table] if isinstance(table, Iterable) else []
