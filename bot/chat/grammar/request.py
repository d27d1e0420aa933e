"""Reads the words of a request: one size, at most one model and lease, and options.

Sizes: `16`, `16 gpus` (GPUs), `16xh100`, `2 nodes`, `4x8` or `4 x 8` (pods × GPUs a pod),
`4 pods of 8`. Nearness: `same rack`, `prefer block`, `spread`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from bot.asks import SHORTEST_LEASE, Ask, Nearness, Together
from bot.chat.grammar.commands import Expected, Mistake
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.table import Lexicon, Option
from bot.chat.grammar.tokens import Token
from scheduler.model import Priority, Spend

MOST_GPUS = 100_000
LONGEST_LEASE = 366 * 86400.0
LONGEST_NAME = 60
LONGEST_TEAM = 40

_T = TypeVar("_T")

_NUMBER = re.compile(r"\d{1,30}")
_SHAPE = re.compile(r"(\d{1,30})x(\d{1,30})")
_OF_MODEL = re.compile(r"(\d{1,30})x([a-z]{1,5}\d.{0,20})")
_MODEL = re.compile(r"[a-z]{1,5}\d{1,4}[a-z]{0,3}(?:[-_][a-z0-9]{1,12}){0,4}")
_SPAN = re.compile(r"(\d{1,30}(?:\.\d{1,6})?)([a-z]{1,8})")
_SIGNED = re.compile(r"-\d.*")
_LEVEL = re.compile(r"[a-z][a-z0-9._/-]{0,39}")
_DECIMAL = re.compile(r"\d{1,30}\.\d{1,30}")


def starts_a_request(token: Token, lexicon: Lexicon) -> bool:
    """Whether a line that starts with this token can only be a request."""
    word = token.word
    return not token.quoted and (
        word[:1].isdigit()
        or _SIGNED.fullmatch(word) is not None
        or _MODEL.fullmatch(word) is not None
        or word in lexicon.flags
        or word in lexicon.filler
        or word in lexicon.nearness
        or _option(word, lexicon) is not None
    )


def read_ask(cursor: Cursor) -> Ask:
    """The ask of all remaining tokens. Raises Wrong at the first token that does not belong."""
    draft = read_draft(cursor)
    if not has_size(draft):
        raise Wrong(Mistake.MISSING, Expected.SIZE, cursor.end())
    return draft


def read_draft(cursor: Cursor) -> Ask:
    """Like `read_ask`, but the size may be missing."""
    reader = _Reader(cursor)
    while (token := cursor.take()) is not None:
        reader.read(token)
    return reader.finish()


def has_size(ask: Ask) -> bool:
    """Whether an ask says how many GPUs."""
    return ask.gpus is not None or ask.nodes is not None or ask.pods is not None


def _option(word: str, lexicon: Lexicon) -> Option | None:
    return lexicon.options.get(re.split(r"[=:]", word, maxsplit=1)[0])


class _Reader:
    """What has been understood so far."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor, self.lexicon = cursor, cursor.lexicon
        self.size: dict[str, int] = {}
        self.size_token: Token | None = None
        self.model: Token | None = None
        self.lease: float | None = None
        self.lease_token: Token | None = None
        self.preemptible: bool | None = None
        self.priority: Priority | None = None
        self.spend: Spend | None = None
        self.team: str | None = None
        self.name: str | None = None
        self.topology: Together | None = None

    def read(self, token: Token) -> None:
        """Understand one token, with those after it that belong to it."""
        word, lexicon = token.word, self.lexicon
        if token.quoted or token.user:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token)
        if _option(word, lexicon) is not None:
            self._read_option(token)
        elif word in lexicon.flags:
            self._set_preemptible(token, wanted=lexicon.flags[word])
        elif word in lexicon.nearness:
            self._read_nearness(token)
        elif word in lexicon.negations:
            self._read_negation(token)
        elif word[:1].isdigit() or _SIGNED.fullmatch(word):
            self._read_number(token)
        elif _MODEL.fullmatch(word):
            self._set_model(token)
        elif word in lexicon.priorities:
            value = lexicon.priorities[word].value
            options = ("priority", "spend") if word in lexicon.spends else ("priority",)
            near = tuple(f"{option} {value}" for option in options)
            raise Wrong(Mistake.AMBIGUOUS, Expected.OPTION, token, near=near)
        elif word not in lexicon.filler | lexicon.gpus:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token, known=self._known())

    def finish(self) -> Ask:
        """The ask, once all tokens are read."""
        return Ask(
            gpus=self.size.get("gpus"),
            nodes=self.size.get("nodes"),
            pods=self.size.get("pods"),
            gpus_per_pod=self.size.get("gpus_per_pod"),
            model=self.model.word if self.model else None,
            duration=self.lease,
            preemptible=bool(self.preemptible),
            spend=self.spend or Spend.LOW,
            priority=self.priority,
            team=self.team,
            name=self.name,
            text=self.cursor.line.text,
            topology=self.topology,
        )

    def _known(self) -> tuple[str, ...]:
        lex = self.lexicon
        words = (
            *lex.options,
            *lex.flags,
            *lex.nearness,
            *lex.times,
            *lex.nodes,
            *lex.pods,
            *lex.gpus,
        )
        return tuple(word for word in words if len(word) > 3)

    def _read_number(self, token: Token) -> None:
        word = token.word
        if _SIGNED.fullmatch(word):
            expected = Expected.DURATION if self._meant_as_lease(word) else Expected.SIZE
            raise Wrong(Mistake.NEGATIVE, expected, token)
        if shape := _SHAPE.fullmatch(word):
            self._set_shape(token, shape[1], shape[2])
        elif of_model := _OF_MODEL.fullmatch(word):
            self._set_size(token, gpus=self._whole(token, of_model[1]))
            start = token.end - len(of_model[2])
            self._set_model(Token(of_model[2], of_model[2], start, token.end))
        elif _NUMBER.fullmatch(word) or _DECIMAL.fullmatch(word):
            self._read_plain_number(token)
        else:
            self._read_span(token)

    def _read_plain_number(self, token: Token) -> None:
        after = self.cursor.peek()
        follows = "" if after is None or after.quoted else after.word
        third = self.cursor.peek(1)
        if follows in self.lexicon.times:
            self._read_span_of_two(token, follows)
        elif self._must_be_lease(follows):
            near = (f"{token.word}h",) if self.lease is None else ()
            raise Wrong(Mistake.NO_UNIT, Expected.DURATION, token, near=near)
        elif _DECIMAL.fullmatch(token.word):
            raise Wrong(Mistake.NOT_WHOLE, Expected.SIZE, token)
        elif follows in self.lexicon.nodes:
            self.cursor.take()
            self._set_size(token, nodes=self._whole(token, token.word))
        elif follows in self.lexicon.pods:
            self.cursor.take()
            self._read_pods(token)
        elif follows == "x" and third is not None and _NUMBER.fullmatch(third.word):
            self.cursor.take()
            self.cursor.take()
            self._set_shape(token, token.word, third.word)
        else:
            self._set_size(token, gpus=self._whole(token, token.word))

    def _must_be_lease(self, follows: str) -> bool:
        """A bare number after the size, not followed by what would make it a second size."""
        lexicon = self.lexicon
        counted = follows in lexicon.gpus | lexicon.nodes | lexicon.pods | {"x"}
        looks_like_size = counted or _MODEL.fullmatch(follows) is not None
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
        pods = self._whole(token, token.word)
        while (after := self.cursor.peek()) is not None and after.word in self.lexicon.filler:
            self.cursor.take()
        each = self.cursor.take()
        if each is None or not _NUMBER.fullmatch(each.word):
            raise Wrong(Mistake.MISSING, Expected.SIZE, each or self.cursor.end())
        self._set_size(token, pods=pods, gpus_per_pod=self._whole(each, each.word))

    def _read_span(self, token: Token) -> None:
        """`8h`, `90min`, `1h30m`, `1.5d`."""
        total, place = 0.0, 0
        while found := _SPAN.match(token.word, place):
            unit = self.lexicon.times.get(found[2])
            if unit is None:
                break
            total += float(found[1]) * unit
            place = found.end()
        if place < len(token.word):
            known = tuple(unit for unit in self.lexicon.times if len(unit) > 2)
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token, known=known)
        self._set_lease(token, total)

    def _read_span_of_two(self, token: Token, unit: str) -> None:
        after = self.cursor.take()
        end = after.end if after else token.end
        both = Token(self.cursor.line.text[token.start : end], token.word, token.start, end)
        self._set_lease(both, float(token.word) * self.lexicon.times[unit])

    def _set_lease(self, token: Token, seconds: float) -> None:
        if self.lease_token is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.lease_token.text)
        if seconds <= 0:
            raise Wrong(Mistake.ZERO, Expected.DURATION, token)
        if seconds < SHORTEST_LEASE:
            raise Wrong(Mistake.TOO_SHORT, Expected.DURATION, token)
        if seconds > LONGEST_LEASE:
            raise Wrong(Mistake.TOO_BIG, Expected.DURATION, token)
        self.lease, self.lease_token = seconds, token

    def _set_shape(self, token: Token, pods: str, each: str) -> None:
        self._set_size(token, pods=self._whole(token, pods), gpus_per_pod=self._whole(token, each))

    def _set_size(self, token: Token, **size: int) -> None:
        if self.size_token is not None:
            raise Wrong(Mistake.TWO_SIZES, Expected.NOTHING, token, first=self.size_token.text)
        if size.get("pods", 1) * size.get("gpus_per_pod", 1) > MOST_GPUS:
            raise Wrong(Mistake.TOO_BIG, Expected.SIZE, token)
        self.size, self.size_token = size, token

    def _whole(self, token: Token, digits: str) -> int:
        value = int(digits)
        if value == 0:
            raise Wrong(Mistake.ZERO, Expected.SIZE, token)
        if value > MOST_GPUS:
            raise Wrong(Mistake.TOO_BIG, Expected.SIZE, token)
        return value

    def _set_model(self, token: Token) -> None:
        if self.model is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.model.text)
        self.model = token

    def _read_negation(self, token: Token) -> None:
        after = self.cursor.take()
        if after is None or after.word not in self.lexicon.flags:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token)
        self._set_preemptible(after, wanted=not self.lexicon.flags[after.word])

    def _set_preemptible(self, token: Token, *, wanted: bool) -> None:
        if self.preemptible is not None and self.preemptible is not wanted:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first="preemptible")
        self.preemptible = wanted

    def _read_nearness(self, token: Token) -> None:
        """`same rack`, `prefer the same block`, `spread`; which levels there are the desk knows."""
        lexicon, nearness = self.lexicon, self.lexicon.nearness[token.word]
        if self.topology is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.topology.nearness.value)
        if nearness is Nearness.SPREAD:
            self.topology = Together(nearness)
            return
        level = self.cursor.take()
        while level is not None and (
            level.word in lexicon.filler or lexicon.nearness.get(level.word) is Nearness.SAME
        ):
            level = self.cursor.take()
        if level is None:
            raise Wrong(Mistake.MISSING, Expected.LEVEL, self.cursor.end())
        if level.quoted or level.user or not _LEVEL.fullmatch(level.word):
            known = tuple(sorted(lexicon.levels))
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.LEVEL, level, known=known)
        self.topology = Together(nearness, level.word)

    def _read_option(self, token: Token) -> None:
        option, value = self._value_of(token)
        if getattr(self, option.value) is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=option.value)
        match option:
            case Option.PRIORITY:
                self.priority = self._look_up(value, self.lexicon.priorities, Expected.PRIORITY)
            case Option.SPEND:
                self.spend = self._look_up(value, self.lexicon.spends, Expected.SPEND)
            case Option.TEAM:
                self.team = self._short(value, LONGEST_TEAM, Expected.TEAM)
            case Option.NAME:
                self.name = self._short(value, LONGEST_NAME, Expected.NAME)

    def _value_of(self, token: Token) -> tuple[Option, Token]:
        """An option and its value: `team nlp`, `team=nlp`, `team: nlp`, `name "long run"`."""
        key = re.split(r"[=:]", token.text, maxsplit=1)[0]
        option = self.lexicon.options[re.split(r"[=:]", token.word, maxsplit=1)[0]]
        inside = token.text[len(key) + 1 :]
        if inside:
            start = token.start + len(key) + 1
            line = Token(inside, inside.casefold(), start, token.end)
            return option, line
        value = self.cursor.take()
        if value is None or not value.text.strip():
            raise Wrong(Mistake.MISSING, Expected(option.value), value or self.cursor.end())
        return option, value

    def _look_up(self, token: Token, table: Mapping[str, _T], expected: Expected) -> _T:
        if token.word not in table:
            raise Wrong(Mistake.UNKNOWN_WORD, expected, token, known=tuple(table))
        return table[token.word]

    def _short(self, token: Token, longest: int, expected: Expected) -> str:
        if len(token.text) > longest:
            raise Wrong(Mistake.NAME_TOO_LONG, expected, token)
        return token.text
