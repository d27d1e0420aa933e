"""What the bot understands: the words of all languages, but for verbs nobody answers yet."""

from __future__ import annotations

from bot.chat.grammar.chinese import CHINESE
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.english import ENGLISH
from bot.chat.grammar.table import combine, without

UNANSWERED: frozenset[Verb] = frozenset({})
"""Verbs that are read but that no desk answers: who makes one work takes it out here."""


ALL_WORDS = combine(ENGLISH, CHINESE)
ACTIVE = without(ALL_WORDS, UNANSWERED)
