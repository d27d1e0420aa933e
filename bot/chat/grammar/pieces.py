"""What several verbs have in common: a request's id, a person, a place, the end of the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.tokens import Token, is_han

_ID = re.compile(r"#?(?:r-?)?(\d{1,12})")
_SURE_ID = re.compile(r"#?r-?\d{1,12}")
_USER = re.compile(r"[uw](?=[a-z0-9]*\d)[a-z0-9]{2,20}")
_HANDLE = re.compile(r"@[\w.-]{1,80}")
LONGEST_TARGET = 80

_T = TypeVar("_T")


def request_id(token: Token) -> str | None:
    """The canonical id that a token is, if it is one."""
    found = None if token.quoted or token.user else _ID.fullmatch(token.word.rstrip("?."))
    return f"R-{int(found[1])}" if found else None


def surely_a_request(token: Token) -> bool:
    """Whether a token can only be a request's id: not a bare number."""
    return not token.quoted and _SURE_ID.fullmatch(token.word) is not None


def skip_filler(cursor: Cursor) -> None:
    """Go past words that say nothing."""
    while (token := cursor.peek()) is not None and not token.quoted:
        if token.word not in cursor.lexicon.filler:
            return
        cursor.take()


def take_request(cursor: Cursor, here: str | None) -> str:
    """The id that comes next, or that of the thread. Raises Wrong if there is neither."""
    skip_filler(cursor)
    token = cursor.peek()
    if token is not None and token.word in cursor.lexicon.verbs:  # `cancel request R-1042`
        cursor.take()
        token = cursor.peek() or token
    found = None if token is None else request_id(token)
    if found is not None and not (here is not None and _counts_something(cursor)):
        cursor.take()
        return found
    if here is not None:
        return here
    mistake = Mistake.MISSING if token is None else Mistake.UNKNOWN_WORD
    raise Wrong(mistake, Expected.REQUEST_ID, token or cursor.end())


def _counts_something(cursor: Cursor) -> bool:
    """In a thread `edit 8 gpus` is about its request: a bare number before a unit is no id."""
    token, after = cursor.peek(), cursor.peek(1)
    if token is None or surely_a_request(token) or after is None or after.quoted:
        return False
    return after.word in cursor.lexicon.units() or after.word in cursor.lexicon.times


def only_request(cursor: Cursor, here: str | None) -> str:
    """A request's id and nothing else."""
    found = take_request(cursor, None if cursor.peek() is not None else here)
    at_end(cursor)
    return found


def request_or_name(cursor: Cursor, here: str | None) -> str:
    """A request's id or the name it was given, and nothing else; that of the thread if neither."""
    skip_filler(cursor)
    token = cursor.peek()
    if token is None or not _starts_a_name(cursor, token):
        return only_request(cursor, here)
    cursor.take()
    token = whole_name(cursor, token, but=cursor.lexicon.filler)
    found = short(token, LONGEST_TARGET, Expected.REQUEST_ID)
    found = found if token.quoted else found.rstrip("?？")
    if not found.strip() or not (token.quoted or any(letter.isalnum() for letter in found)):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.REQUEST_ID, token)
    at_end(cursor)
    return found


def _starts_a_name(cursor: Cursor, token: Token) -> bool:
    """Whether a token is of a name: no id, no person, and no verb that stands for itself."""
    if request_id(token) is not None or token.user:
        return False
    after = cursor.peek(1)
    goes_on = after is not None and after.start == token.end and request_id(after) is None
    return token.quoted or goes_on or token.word not in cursor.lexicon.verbs


def whole_name(
    cursor: Cursor, value: Token, *, apart: bool = True, but: frozenset[str] = frozenset()
) -> Token:
    """A name with what was cut off it: Chinese words known otherwise, digits, letters.

    `apart` says that it stands after a space: then all that is written without one belongs
    to it; else only what is Chinese too, so that `团队视觉8小时` has a team and a lease.
    A word of `but` at its very end is none of it: `为什么 llama-sft呢`.
    """
    while (after := cursor.peek()) is not None and not value.quoted and not value.user:
        same = is_han(value.text[-1:]) and is_han(after.text[:1])
        if after.quoted or after.user or after.start != value.end or not (apart or same):
            break
        beyond = cursor.peek(1)
        if after.word in but and (beyond is None or beyond.start != after.end):
            break
        cursor.take()
        text = value.text + after.text
        value = Token(text, text.casefold(), value.start, after.end)
    return value


def topic(token: Token) -> str:
    """A request id in its canonical form, a person's Slack id, or the word as it was written."""
    if token.user is not None:
        return token.user
    found = request_id(token)
    if found is not None:
        return found
    if len(token.text) > LONGEST_TARGET or not token.word.strip():
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.TOPIC, token)
    return token.text


def take_person(cursor: Cursor) -> str:
    """The Slack id of a person who is mentioned, or their `@name` where Slack made none of it."""
    skip_filler(cursor)
    token = cursor.take()
    if token is None:
        raise Wrong(Mistake.MISSING, Expected.PERSON, cursor.end())
    if token.user is not None:
        return token.user
    if not token.quoted and _HANDLE.fullmatch(token.text):
        return token.text
    if token.quoted or not _USER.fullmatch(token.word):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.PERSON, token)
    return token.word.upper()


def take_name(cursor: Cursor, expected: Expected) -> str:
    """One word, or several in quotes: the name of a team, queue, pool or node."""
    token = cursor.take()
    if token is None:
        raise Wrong(Mistake.MISSING, expected, cursor.end())
    if token.user or not token.text.strip() or len(token.text) > LONGEST_TARGET:
        raise Wrong(Mistake.UNKNOWN_WORD, expected, token)
    return token.text


def at_end(cursor: Cursor) -> None:
    """Raises Wrong if there is more than words that say nothing."""
    skip_filler(cursor)
    token = cursor.peek()
    while token is not None and token.word in {"?", "."} and not token.quoted:
        cursor.take()
        token = cursor.peek()
    if token is not None:
        raise Wrong(Mistake.LEFT_OVER, Expected.NOTHING, token)


def look_up(token: Token, table: Mapping[str, _T], expected: Expected) -> _T:
    """What a word stands for. Raises Wrong with the nearest word that stands for something."""
    if token.word not in table:
        raise Wrong(Mistake.UNKNOWN_WORD, expected, token, known=tuple(table))
    return table[token.word]


def short(token: Token, longest: int, expected: Expected) -> str:
    """A name as it was written. Raises Wrong if it is too long."""
    if len(token.text) > longest:
        raise Wrong(Mistake.NAME_TOO_LONG, expected, token)
    return token.text
