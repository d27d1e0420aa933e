"""What the bot understands: the words of all languages, but for verbs nobody answers yet."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.grammar.chinese import CHINESE
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.english import ENGLISH
from bot.chat.grammar.table import Option, combine, without

UNANSWERED: frozenset[Verb] = frozenset(
    {
        Verb.TRY,
        Verb.WHEN,
        Verb.LINK,
    }
)
"""Verbs that are read but that no desk answers: who makes one work takes it out here."""


ALL_WORDS = combine(ENGLISH, CHINESE)
ACTIVE = replace(without(ALL_WORDS, UNANSWERED, frozenset({Option.MINIMUM})), provisions={})
"""Until a desk looks at them, a smaller start and the provision are not read either."""
