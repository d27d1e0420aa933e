"""Reads lengths of time, and when something ends: `8h`, `1 h 30 min`, `8小时`, `until 18:00`."""

from __future__ import annotations

import datetime as dt
import re

from bot.asks import LONGEST_SPAN, SHORTEST_LEASE, End
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.tokens import Token

_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,6})?")
_SPAN = re.compile(r"(\d{1,30}(?:\.\d{1,6})?)([a-z]{1,8})")
_CLOCK = re.compile(r"(?!24:(?!00))([01]?\d|2[0-4]):([0-5]\d)")
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")


def starts_a_span(cursor: Cursor) -> bool:
    """Whether the next tokens are a length of time."""
    token = cursor.peek()
    if token is None or token.quoted:
        return False
    if token.word in cursor.lexicon.spans:
        return True
    if _NUMBER.fullmatch(token.word):
        after = cursor.peek(_unit_place(cursor))
        return after is not None and not after.quoted and after.word in cursor.lexicon.times
    found = _SPAN.match(token.word)
    return found is not None and found[2] in cursor.lexicon.times


def _unit_place(cursor: Cursor) -> int:
    """How far ahead the word stands that a number counts: `8 小时`, `8 个 小时`."""
    after = cursor.peek(1)
    return 2 if after is not None and after.word in cursor.lexicon.measures else 1


def take_span(cursor: Cursor) -> tuple[float, Token]:
    """The seconds of a length of time that is there, and one token for all its words.

    A smaller unit right after a larger one adds to it, so `1 h 30 min` is one length.
    """
    total, smallest, first, last = 0.0, float("inf"), cursor.peek() or cursor.end(), cursor.end()
    while starts_a_span(cursor) and _unit(cursor) < smallest:
        smallest, ahead = _unit(cursor), _unit_place(cursor)
        token = cursor.take() or last
        last = token
        if token.word in cursor.lexicon.spans:
            total += cursor.lexicon.spans[token.word]
        elif _NUMBER.fullmatch(token.word):
            for _ in range(ahead):
                last = cursor.take() or token
            total += float(token.word) * smallest
        else:
            seconds, smallest = _glued(cursor, token)
            total += seconds
    text = cursor.line.text[first.start : last.end]
    return total, Token(text, text.casefold(), first.start, last.end)


def check_span(seconds: float, token: Token) -> float:
    """The same seconds. Raises Wrong where no lease could be that long, or that short."""
    if seconds <= 0:
        raise Wrong(Mistake.ZERO, Expected.DURATION, token)
    if seconds < SHORTEST_LEASE:
        raise Wrong(Mistake.TOO_SHORT, Expected.DURATION, token)
    if seconds > LONGEST_SPAN:
        raise Wrong(Mistake.TOO_BIG, Expected.DURATION, token)
    return seconds


def take_end(cursor: Cursor) -> End:
    """`for 2h`, `2h`, `until 18:00`, `until 2026-12-05 18:00`; no end where none is said."""
    lexicon = cursor.lexicon
    token, after = cursor.peek(), cursor.peek(1)
    if token is not None and not token.quoted and token.word in lexicon.until:
        cursor.take()
        return _take_moment(cursor)
    if token is not None and token.word in lexicon.filler and after is not None:
        cursor.take()
        if starts_a_span(cursor):
            return End(after=check_span(*take_span(cursor)))
        cursor.back()
        return End()
    return End(after=check_span(*take_span(cursor))) if starts_a_span(cursor) else End()


def _take_moment(cursor: Cursor) -> End:
    if starts_a_span(cursor):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.END, cursor.peek() or cursor.end())
    day = _take_day(cursor)
    minute = _take_minute(cursor)
    if day is None and minute is None:
        token = cursor.peek()
        mistake = Mistake.MISSING if token is None else Mistake.UNKNOWN_WORD
        raise Wrong(mistake, Expected.END, token or cursor.end())
    return End(day=day, minute=minute)


def _take_day(cursor: Cursor) -> dt.date | None:
    token = cursor.peek()
    found = _DAY.fullmatch(token.word) if token is not None and not token.quoted else None
    if token is None or found is None:
        return None
    cursor.take()
    try:
        return dt.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.END, token) from None


def _take_minute(cursor: Cursor) -> int | None:
    token = cursor.peek()
    found = _CLOCK.fullmatch(token.word) if token is not None and not token.quoted else None
    if found is None:
        return None
    cursor.take()
    return minute_of(found[1], found[2])


def minute_of(hour: str, minute: str) -> int:
    """Minutes from midnight; `24:00` is the midnight that ends the day."""
    return (60 * int(hour) + int(minute)) % 1440


def _unit(cursor: Cursor) -> float:
    """The largest unit of the length of time that comes next."""
    token, after = cursor.peek(), cursor.peek(_unit_place(cursor))
    times = cursor.lexicon.times
    if token is None or token.word in cursor.lexicon.spans:
        return float("inf") if token is None else cursor.lexicon.spans[token.word]
    found = _SPAN.match(token.word)
    return times[found[2]] if found else times[after.word] if after else float("inf")


def _glued(cursor: Cursor, token: Token) -> tuple[float, float]:
    """`1h30m`: its seconds and its last unit. Raises Wrong at anything else."""
    total, unit, place = 0.0, 0.0, 0
    while found := _SPAN.match(token.word, place):
        if found[2] not in cursor.lexicon.times:
            break
        unit = cursor.lexicon.times[found[2]]
        total += float(found[1]) * unit
        place = found.end()
    if place < len(token.word):
        known = tuple(word for word in cursor.lexicon.times if len(word) > 2)
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token, known=known)
    return total, unit
