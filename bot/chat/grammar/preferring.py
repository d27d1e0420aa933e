"""Reads what somebody sets for themselves: `prefs language zh quiet 22:00-07:00`."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from bot.asks import Preference
from bot.chat.grammar import commands as said
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.pieces import look_up
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.spans import minute_of
from bot.chat.grammar.tokens import Token
from bot.preferences import AUTO

_TIME = r"(?!24:(?!00))([01]?\d|2[0-4])(?::([0-5]\d))?"
_OFFSET = re.compile(r"[+-]?\d+(:\d+)?$")
_QUIET = re.compile(f"{_TIME}-{_TIME}")


def read_prefs(cursor: Cursor, here: str | None) -> said.Command:
    """`prefs`, `prefs language zh quiet 22:00-07:00 digest weekly`, `prefs mute`."""
    del here
    lexicon = cursor.lexicon
    found: dict[Preference, str] = {}
    while (token := cursor.take()) is not None:
        if not token.quoted and token.word in lexicon.filler:
            continue
        if token.word in lexicon.mutes:
            preference, value = Preference.NOTICES, lexicon.mutes[token.word]
        else:
            known = {**dict.fromkeys(lexicon.mutes, Preference.NOTICES), **lexicon.preferences}
            preference = look_up(token, known, Expected.PREFERENCE)
            value = _preference(cursor, preference)
        if preference in found:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=preference.value)
        found[preference] = value
    return said.Prefs(tuple(found.items()))


def _preference(cursor: Cursor, preference: Preference) -> str:
    token, lexicon = cursor.take(), cursor.lexicon
    expected = Expected(preference.value)
    if token is None:
        raise Wrong(Mistake.MISSING, expected, cursor.end())
    if preference is Preference.QUIET:
        return _quiet(token, lexicon.off)
    if preference is Preference.ZONE:
        return _zone(token, lexicon.autos)
    tables = {
        Preference.LANGUAGE: lexicon.languages,
        Preference.NOTICES: lexicon.notices,
        Preference.DIGEST: lexicon.digests,
        Preference.WHERE: lexicon.wheres,
    }
    return look_up(token, tables[preference], expected)


def _zone(token: Token, autos: frozenset[str]) -> str:
    """A zone as it is spelt in the list. An hour's difference is like none of their names."""
    zones = {name.lower(): name for name in sorted(available_timezones())}
    known = {**dict.fromkeys(sorted(autos), AUTO), **zones}
    if token.word in known:
        return known[token.word]
    names = () if _OFFSET.search(token.word) else tuple(known)
    spelt = {name: zones.get(name, name) for name in names}
    raise Wrong(Mistake.UNKNOWN_WORD, Expected.ZONE, token, known=names, spelt=spelt)


def _quiet(token: Token, off: frozenset[str]) -> str:
    if token.word in off:
        return "off"
    found = _QUIET.fullmatch(token.word)
    if found is None:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.QUIET, token, known=tuple(off))
    start, end = minute_of(found[1], found[2] or "0"), minute_of(found[3], found[4] or "0")
    if start == end:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.QUIET, token)
    return f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
