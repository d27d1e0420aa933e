"""Reads `adopt`: a pod by namespace and name, and on which terms it goes on."""

from __future__ import annotations

import re

from bot.chat.grammar.commands import Adopt, Command
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.pieces import short, skip_filler
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.spans import check_span, starts_a_span, take_span
from bot.chat.grammar.table import Option
from bot.chat.grammar.tokens import Token
from bot.terms import NAME_AT_MOST

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_POD = re.compile(rf"{_LABEL}/[a-z0-9](?:[-.a-z0-9]{{0,251}}[a-z0-9])?")


def read_adopt(cursor: Cursor, here: str | None) -> Command:
    """`adopt nlp/notebook-0`, `adopt nlp/notebook-0 8h team nlp preemptible`."""
    del here
    _skip_pod(cursor)
    pod = _take_pod(cursor)
    lease: float | None = None
    team: str | None = None
    preemptible: bool | None = None
    while True:
        skip_filler(cursor)
        token = cursor.peek()
        if token is None:
            return Adopt(pod, lease, team, bool(preemptible))
        if starts_a_span(cursor):
            _once(lease, token, Expected.DURATION)
            lease = check_span(*take_span(cursor))
        elif _says(cursor, token, Option.TEAM):
            _once(team, token, Expected.TEAM)
            cursor.take()
            name = cursor.take()
            if name is None:
                raise Wrong(Mistake.MISSING, Expected.TEAM, cursor.end())
            team = short(name, NAME_AT_MOST, Expected.TEAM)
        elif not token.quoted and token.word in cursor.lexicon.flags:
            _once(preemptible, token, Expected.TERMS)
            cursor.take()
            preemptible = cursor.lexicon.flags[token.word]
        else:
            known = (*cursor.lexicon.flags, *cursor.lexicon.options)
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.TERMS, token, known=known)


def _skip_pod(cursor: Cursor) -> None:
    """Go past the word `pod` where a name follows, and past words that say nothing."""
    skip_filler(cursor)
    token = cursor.peek()
    if token is not None and token.word in cursor.lexicon.pods and cursor.peek(1) is not None:
        cursor.take()


def _take_pod(cursor: Cursor) -> str:
    token = cursor.take()
    if token is None:
        raise Wrong(Mistake.MISSING, Expected.POD, cursor.end())
    if not _POD.fullmatch(token.text):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.POD, token)
    return token.text


def _says(cursor: Cursor, token: Token, option: Option) -> bool:
    return not token.quoted and cursor.lexicon.options.get(token.word) is option


def _once(said: object, token: Token, expected: Expected) -> None:
    if said is not None:
        raise Wrong(Mistake.TWICE, expected, token)
