"""What the bot understands: the words of all languages together, so that people may mix them."""

from __future__ import annotations

from bot.chat.grammar.chinese import CHINESE
from bot.chat.grammar.english import ENGLISH
from bot.chat.grammar.table import combine

VOCABULARY = combine(ENGLISH, CHINESE)
