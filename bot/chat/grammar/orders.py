"""One reader for each verb of admins: a target, when it ends, and a reason, which is required."""

from __future__ import annotations

import re

from bot.chat.grammar import commands as said
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.pieces import (
    look_up,
    skip_filler,
    surely_a_request,
    take_name,
    take_request,
)
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.sizes import MOST_GPUS, NUMBER
from bot.chat.grammar.spans import starts_a_span, take_end
from bot.chat.grammar.table import Option
from bot.chat.grammar.tokens import Token

_FLAVOR = re.compile(r"[a-z0-9._]*[-\d][a-z0-9._-]*")


def read_pause(cursor: Cursor, here: str | None) -> said.Command:
    """`pause shared-multi for 2h reason switch upgrade`."""
    del here
    return said.Pause(take_name(cursor, Expected.PLACE), take_end(cursor), take_reason(cursor))


def read_resume(cursor: Cursor, here: str | None) -> said.Command:
    """`resume shared-multi reason upgrade done`."""
    del here
    return said.Resume(take_name(cursor, Expected.PLACE), take_reason(cursor))


def read_drain(cursor: Cursor, here: str | None) -> said.Command:
    """`drain h100-0042 for 2h reason fan`."""
    del here
    return said.Drain(take_name(cursor, Expected.NODE), take_end(cursor), take_reason(cursor))


def read_undrain(cursor: Cursor, here: str | None) -> said.Command:
    """`undrain h100-0042 reason fan replaced`."""
    del here
    return said.Undrain(take_name(cursor, Expected.NODE), take_reason(cursor))


def read_boost(cursor: Cursor, here: str | None) -> said.Command:
    """`boost R-1042 priority high for 6h reason deadline`; the word `priority` may be left out."""
    request = take_request(cursor, here)
    skip_filler(cursor)
    token = cursor.take()
    if token is not None and cursor.lexicon.options.get(token.word) is Option.PRIORITY:
        token = cursor.take()
    if token is None:
        raise Wrong(Mistake.MISSING, Expected.PRIORITY, cursor.end())
    short = cursor.lexicon.shorthands.get(token.word)
    word = short[1] if short is not None and short[0] is Option.PRIORITY else token.word
    priority = look_up(
        Token(token.text, word, token.start, token.end),
        cursor.lexicon.priorities,
        Expected.PRIORITY,
    )
    return said.Boost(request, priority, take_end(cursor), take_reason(cursor))


def read_preempt(cursor: Cursor, here: str | None) -> said.Command:
    """`preempt R-1042 for R-1050 reason node replacement`; for whom may be left out."""
    request, winner = take_request(cursor, here), _take_winner(cursor)
    return said.Preempt(request, take_reason(cursor), winner)


def _take_winner(cursor: Cursor) -> str | None:
    """`for R-1050`, if that comes next."""
    token, after = cursor.peek(), cursor.peek(1)
    if token is None or after is None or not surely_a_request(after):
        return None
    if token.quoted or token.word not in cursor.lexicon.filler:
        return None
    cursor.take()
    return take_request(cursor, None)


def read_quota(cursor: Cursor, here: str | None) -> said.Command:
    """`quota nlp 640 reserved-h100 until 2026-12-05 reason paper deadline`."""
    del here
    where = take_name(cursor, Expected.PLACE)
    skip_filler(cursor)
    number = cursor.take()
    if number is None:
        raise Wrong(Mistake.MISSING, Expected.GPUS, cursor.end())
    if re.fullmatch(r"-\d.*", number.word):
        raise Wrong(Mistake.NEGATIVE, Expected.GPUS, number)
    if not NUMBER.fullmatch(number.word):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.GPUS, number)
    gpus = int(number.word)
    if gpus > MOST_GPUS:
        raise Wrong(Mistake.TOO_BIG, Expected.GPUS, number)
    if starts_a_span_of(cursor, number):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.GPUS, number)
    flavor = _take_flavor(cursor)
    return said.Quota(where, gpus, flavor, take_end(cursor), take_reason(cursor))


def starts_a_span_of(cursor: Cursor, number: Token) -> bool:
    """Whether the number just taken counts time: `quota nlp 2 h`."""
    after = cursor.peek()
    return after is not None and after.word in cursor.lexicon.times and not number.quoted


def _take_flavor(cursor: Cursor) -> str | None:
    """`reserved-h100`, `flavor spot`: a bare word is one only if it looks like one."""
    lexicon = cursor.lexicon
    while (token := cursor.peek()) is not None and not token.quoted:
        if token.word not in lexicon.gpus | lexicon.measures:
            break
        cursor.take()
    if token is None:
        return None
    if not token.quoted and token.word in lexicon.flavor:
        cursor.take()
        return take_name(cursor, Expected.PLACE)
    looks_like_one = _FLAVOR.fullmatch(token.word) is not None and not starts_a_span(cursor)
    return take_name(cursor, Expected.PLACE) if looks_like_one and not token.quoted else None


def take_reason(cursor: Cursor) -> str:
    """The rest of the line, after `reason` if it is said. Raises Wrong if there is none."""
    token = cursor.peek()
    if token is not None and not token.quoted:
        key = re.split(r"[=:]", token.word, maxsplit=1)[0]
        if key in cursor.lexicon.reason:
            cursor.take()
            if key != token.word and token.word[len(key) + 1 :]:
                cursor.back()
                return cursor.rest()[len(key) + 1 :].strip()
    reason = cursor.rest().lstrip(":：=, ").strip()
    if not any(letter.isalnum() for letter in reason):
        raise Wrong(Mistake.MISSING, Expected.REASON, cursor.end())
    return reason
