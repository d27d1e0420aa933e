"""Reads how many GPUs, of which model, for how long: the words of a request with numbers.

Sizes: `16`, `16 gpus` (GPUs), `16xh100`, `2 nodes`, `4x8` or `4 x 8` (pods × GPUs a pod),
`4 pods of 8`.
"""

from __future__ import annotations

import re

from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.spans import check_span, starts_a_span, take_span
from bot.chat.grammar.table import Lexicon
from bot.chat.grammar.tokens import Token

MOST_GPUS = 100_000

NUMBER = re.compile(r"\d{1,30}")
MODEL = re.compile(r"[a-z]{1,5}\d{1,4}[a-z]{0,3}(?:[-_][a-z0-9]{1,12}){0,4}")
SIGNED = re.compile(r"-\d.*")
_SHAPE = re.compile(r"(\d{1,30})x(\d{1,30})")
_OF_MODEL = re.compile(r"(\d{1,30})x([a-z]{1,5}\d.{0,20})")
_DECIMAL = re.compile(r"\d{1,30}\.\d{1,30}")
_SPAN = re.compile(r"(\d{1,30}(?:\.\d{1,6})?)([a-z]{1,8})")


def starts_with_a_size(word: str, lexicon: Lexicon) -> bool:
    """Whether a word can be read by `Sizes`."""
    if SIGNED.fullmatch(word) or MODEL.fullmatch(word):
        return True
    return word[:1].isdigit() or word in lexicon.spans


def whole(token: Token, digits: str, expected: Expected = Expected.SIZE) -> int:
    """A positive number of things. Raises Wrong at zero and at what is far too big."""
    value = int(digits)
    if value == 0:
        raise Wrong(Mistake.ZERO, expected, token)
    if value > MOST_GPUS:
        raise Wrong(Mistake.TOO_BIG, expected, token)
    return value


class Sizes:
    """The size, model and lease understood so far; each may be said once."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor, self.lexicon = cursor, cursor.lexicon
        self.size: dict[str, int] = {}
        self.size_token: Token | None = None
        self.model: Token | None = None
        self.lease: float | None = None
        self.lease_token: Token | None = None

    def read_size(self, token: Token) -> None:
        """Understand a token for which `starts_with_a_size` holds, and those that belong to it."""
        word = token.word
        if SIGNED.fullmatch(word):
            expected = Expected.DURATION if self._meant_as_lease(word) else Expected.SIZE
            raise Wrong(Mistake.NEGATIVE, expected, token)
        self.cursor.back()
        if starts_a_span(self.cursor):
            self._set_lease(*take_span(self.cursor))
            return
        self.cursor.take()
        if MODEL.fullmatch(word):
            self._set_model(token)
        elif shape := _SHAPE.fullmatch(word):
            self._set_shape(token, shape[1], shape[2])
        elif of_model := _OF_MODEL.fullmatch(word):
            self._set_size(token, gpus=whole(token, of_model[1]))
            start = token.end - len(of_model[2])
            self._set_model(Token(of_model[2], of_model[2], start, token.end))
        elif NUMBER.fullmatch(word) or _DECIMAL.fullmatch(word):
            self._read_plain_number(token)
        else:
            known = tuple(unit for unit in self.lexicon.times if len(unit) > 2)
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token, known=known)

    def _read_plain_number(self, token: Token) -> None:
        self._skip_measures()
        after = self.cursor.peek()
        follows = "" if after is None or after.quoted else after.word
        third = self.cursor.peek(1)
        if follows in self.lexicon.times:
            self._set_lease(float(token.word) * self.lexicon.times[follows], self._to_next(token))
        elif self._must_be_lease(follows):
            near = (f"{token.word}h",) if self.lease is None else ()
            raise Wrong(Mistake.NO_UNIT, Expected.DURATION, token, near=near)
        elif _DECIMAL.fullmatch(token.word):
            raise Wrong(Mistake.NOT_WHOLE, Expected.SIZE, token)
        elif follows in self.lexicon.nodes:
            self.cursor.take()
            self._set_size(token, nodes=whole(token, token.word))
        elif follows in self.lexicon.pods:
            self.cursor.take()
            self._read_pods(token)
        elif follows == "x" and third is not None and NUMBER.fullmatch(third.word):
            self.cursor.take()
            self.cursor.take()
            self._set_shape(token, token.word, third.word)
        else:
            self._set_size(token, gpus=whole(token, token.word))

    def _skip_measures(self) -> None:
        """`2 个节点`, `8 张卡`: the word between a number and what it counts says nothing."""
        after = self.cursor.peek()
        while after is not None and not after.quoted and after.word in self.lexicon.measures:
            self.cursor.take()
            after = self.cursor.peek()

    def _to_next(self, token: Token) -> Token:
        """One token from this one to the next, which is taken."""
        last = self.cursor.take() or token
        text = self.cursor.line.text[token.start : last.end]
        return Token(text, text.casefold(), token.start, last.end)

    def _must_be_lease(self, follows: str) -> bool:
        """A bare number after the size, not followed by what would make it a second size."""
        counted = follows in self.lexicon.units() | {"x"}
        looks_like_size = counted or MODEL.fullmatch(follows) is not None
        return self.size_token is not None and not looks_like_size

    def _meant_as_lease(self, signed: str) -> bool:
        """Whether a negative number has a unit of time, or stands where only a time can."""
        after = self.cursor.peek()
        follows = "" if after is None or after.quoted else after.word
        span = _SPAN.match(signed.lstrip("-"))
        if span is not None:
            return span[2] in self.lexicon.times
        return follows in self.lexicon.times or self._must_be_lease(follows)

    def _read_pods(self, token: Token) -> None:
        pods = whole(token, token.word)
        while (after := self.cursor.peek()) is not None and after.word in self.lexicon.filler:
            self.cursor.take()
        each = self.cursor.take()
        if each is None or not NUMBER.fullmatch(each.word):
            raise Wrong(Mistake.MISSING, Expected.SIZE, each or self.cursor.end())
        self._set_size(token, pods=pods, gpus_per_pod=whole(each, each.word))

    def _set_lease(self, seconds: float, token: Token) -> None:
        if self.lease_token is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.lease_token.text)
        self.lease, self.lease_token = check_span(seconds, token), token

    def _set_shape(self, token: Token, pods: str, each: str) -> None:
        self._set_size(token, pods=whole(token, pods), gpus_per_pod=whole(token, each))

    def _set_size(self, token: Token, **size: int) -> None:
        if self.size_token is not None:
            raise Wrong(Mistake.TWO_SIZES, Expected.NOTHING, token, first=self.size_token.text)
        if size.get("pods", 1) * size.get("gpus_per_pod", 1) > MOST_GPUS:
            raise Wrong(Mistake.TOO_BIG, Expected.SIZE, token)
        self.size, self.size_token = size, token

    def _set_model(self, token: Token) -> None:
        if self.model is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.model.text)
        self.model = token
