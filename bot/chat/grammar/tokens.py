"""Text as Slack delivers it, cut into tokens that remember where they stood.

Slack writes `&lt;` for `<`, `<@U123|ann>` for a mention and `<https://x|label>` for a link;
phones write curly quotes and full-width digits. A token keeps two forms: what the person
sees (`text`, with its place in the decoded line) and what the grammar compares (`word`).
Work is linear in the input, which is cut off at LONGEST_LINE before anything else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LONGEST_LINE = 1000

_SLACK = re.compile(r"<([@#!]?)([^<>|\s]{1,200})(?:\|([^<>]{0,200}))?>")
_ENTITY = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_QUOTES = {'"': '"', "“": "”", "”": "”", "„": "“", "«": "»", "「": "」", "'": "'", "‘": "’"}
_TIMES = str.maketrans({"×": "x", "✕": "x", "✖": "x", "*": "x", "х": "x"})
_BREAKS = frozenset("，。、；！,;")
"""What parts two words like a space does; an ASCII comma only where no digit follows."""
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2}
_MINUS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "—": "-"})


@dataclass(frozen=True, slots=True)
class Token:
    """`line[start:end]` is `text`; `word` is normalised; `user` is set for a mention."""

    text: str
    word: str
    start: int
    end: int
    user: str | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A decoded line and its tokens; `unclosed` is where a quote was opened for good."""

    text: str
    tokens: tuple[Token, ...]
    unclosed: int | None = None


def tokenize(raw: str, glued: frozenset[str] = frozenset()) -> Line:
    """Cut at white space, quotes, and where Chinese or Japanese script meets other script.

    In such script, the words of `glued` are cut off the front of a run, the longest first.
    """
    text, mentions = _decode(raw[:LONGEST_LINE])
    tokens: list[Token] = []
    unclosed = None
    place = 0
    while place < len(text):
        if text[place].isspace() or text[place] in _BREAKS:
            place += 1
        elif place in mentions:
            end, user = mentions[place]
            tokens.append(Token(text[place:end], text[place:end], place, end, user=user))
            place = end
        elif text[place] in _QUOTES:
            end = text.find(_QUOTES[text[place]], place + 1)
            if end < 0:
                unclosed, end = place, len(text)
            inner = text[place + 1 : end]
            tokens.append(Token(inner, inner, place, min(end + 1, len(text)), quoted=True))
            place = end + 1
        else:
            end = _end_of_word(text, place, mentions)
            tokens += _words(text[place:end], place, glued)
            place = end
    return Line(text, tuple(token for token in tokens if token.word or token.quoted), unclosed)


def _words(piece: str, start: int, glued: frozenset[str]) -> list[Token]:
    """A piece without spaces as tokens: one, or those that known Chinese words make of it."""
    if not is_han(piece[0]):
        return [Token(piece, normalise(piece), start, start + len(piece))]
    tokens: list[Token] = []
    place = 0
    longest = max(map(len, glued), default=0)
    while place < len(piece):
        number = _numeral(piece, place, glued)
        sizes = range(min(longest, len(piece) - place), 0, -1)
        size = next((n for n in sizes if piece[place : place + n] in glued), 0)
        end = place + (number[0] if number else size) if number or size else len(piece)
        text = piece[place:end]
        word = str(number[1]) if number else normalise(text)
        tokens.append(Token(text, word, start + place, start + end))
        place = end
    return tokens


def _numeral(piece: str, place: int, glued: frozenset[str]) -> tuple[int, int] | None:
    """The length and value of a Chinese number up to 99 with a known word after it: `十六卡`."""
    tens, ones, end = 0, None, place
    while end < len(piece) and end < place + 3 and (piece[end] in _DIGITS or piece[end] == "十"):
        if piece[end] == "十":
            tens, ones = (1 if ones is None else ones), None
        else:
            ones = _DIGITS[piece[end]]
        end += 1
    follows = any(piece[end : end + n] in glued for n in (1, 2, 3, 4))
    if end == place or not follows:
        return None
    return end - place, 10 * tens + (ones or 0)


def normalise(text: str) -> str:
    """The comparable form: ASCII digits, no case, no zero-width characters, `x` for times."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_TIMES).translate(_MINUS)
    kept = (char for char in folded if unicodedata.category(char) not in {"Cf", "Cc"})
    return "".join(_digit(char) for char in kept).rstrip(",;!")


def _digit(char: str) -> str:
    value = unicodedata.digit(char, None)
    return char if value is None else str(value)


def _end_of_word(text: str, start: int, mentions: dict[int, tuple[int, str]]) -> int:
    han = is_han(text[start])
    end = start + 1
    while end < len(text) and not text[end].isspace() and end not in mentions:
        if is_han(text[end]) is not han or _parts(text, end):
            break
        end += 1
    return end


def _parts(text: str, place: int) -> bool:
    """Whether a word ends before this character: a quoted value, or a comma and the like."""
    char = text[place]
    if char in _QUOTES:
        return text[place - 1] in "=:＝："
    return char in _BREAKS and not (char in ",;" and text[place + 1 : place + 2].strip())


def is_han(char: str) -> bool:
    """Whether a character is written without spaces between words."""
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff"


def _decode(raw: str) -> tuple[str, dict[int, tuple[int, str]]]:
    """The line a person sees, and where its mentions lie: start -> (end, Slack user id)."""
    out: list[str] = []
    length = 0
    mentions: dict[int, tuple[int, str]] = {}
    place = 0
    for found in _SLACK.finditer(raw):
        between = _unescape(raw[place : found.start()])
        kind, target, label = found.groups()
        shown = _unescape(label or target)
        if kind in {"@", "#"}:
            shown = kind + shown.lstrip("@#")
        out += [between, shown]
        length += len(between)
        if kind == "@":
            mentions[length] = (length + len(shown), target)
        length += len(shown)
        place = found.end()
    out.append(_unescape(raw[place:]))
    return "".join(out), mentions


def _unescape(text: str) -> str:
    return re.sub(r"&(?:amp|lt|gt);", lambda found: _ENTITY[found.group()], text)
