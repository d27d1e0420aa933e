"""Reads the words of a request: size, model and lease, and the options of it.

Nearness: `same rack`, `prefer block`, `spread`. A smaller start: `at least 8`.
"""

from __future__ import annotations

import re

from bot.asks import Ask, Change, Nearness, Provision, Together
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.pieces import look_up, short, whole_name
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.sizes import NUMBER, Sizes, starts_with_a_size, whole
from bot.chat.grammar.table import Lexicon, Option
from bot.chat.grammar.tokens import Token, is_han
from scheduler.model import Priority, Spend

LONGEST_NAME = 60
LONGEST_TEAM = 40

_LEVEL = re.compile(r"[a-z][a-z0-9._/-]{0,39}")
_KEY = re.compile(r"[=:＝：]")


def starts_a_request(token: Token, lexicon: Lexicon) -> bool:
    """Whether a line that starts with this token can only be a request."""
    word = token.word
    return not token.quoted and (
        starts_with_a_size(word, lexicon)
        or word in lexicon.flags
        or word in lexicon.filler
        or word in lexicon.nearness
        or word in lexicon.provisions
        or word in lexicon.shorthands
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
    return _read(cursor).ask()


def read_change(cursor: Cursor) -> Change:
    """What shall be different, in the words of a request. Raises Wrong where nothing is said."""
    change = _read(cursor).change()
    if change == Change():
        raise Wrong(Mistake.MISSING, Expected.CHANGE, cursor.end())
    return change


def has_size(ask: Ask) -> bool:
    """Whether an ask says how many GPUs."""
    return ask.gpus is not None or ask.nodes is not None or ask.pods is not None


def _option(word: str, lexicon: Lexicon) -> Option | None:
    return lexicon.options.get(_KEY.split(word, maxsplit=1)[0])


def _read(cursor: Cursor) -> _Reader:
    reader = _Reader(cursor)
    while (token := cursor.take()) is not None:
        reader.read(token)
    reader.check_minimum()
    return reader


class _Reader(Sizes):
    """What has been understood so far."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(cursor)
        self.preemptible: bool | None = None
        self.priority: Priority | None = None
        self.spend: Spend | None = None
        self.team: str | None = None
        self.name: str | None = None
        self.topology: Together | None = None
        self.provision: Provision | None = None
        self.minimum: int | None = None
        self._least: tuple[Token, str | None] | None = None

    def read(self, token: Token) -> None:
        """Understand one token, with those after it that belong to it."""
        word, lexicon = token.word, self.lexicon
        if token.quoted or token.user:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token)
        if starts_with_a_size(word, lexicon) and word not in lexicon.provisions:
            self.read_size(token)
        elif word in lexicon.flags:
            self._set_preemptible(token, wanted=lexicon.flags[word])
        elif word in lexicon.nearness:
            self._read_nearness(token)
        elif word in lexicon.negations:
            self._read_negation(token)
        elif word in lexicon.provisions:
            self._set_provision(token)
        else:
            self._read_option(token)

    def _read_option(self, token: Token) -> None:
        """`team nlp`, `高优先级`, or a word that says nothing. Raises Wrong at any other."""
        word, lexicon = token.word, self.lexicon
        named = _option(word, lexicon)
        if word in lexicon.shorthands:
            option, value = lexicon.shorthands[word]
            self._set_option(option, token, Token(value, value, token.start, token.end))
        elif named is not None:
            self._set_option(named, token, self._value_of(token, named))
        elif word in lexicon.priorities:
            self._refuse_bare_level(token)
        elif word not in lexicon.filler | lexicon.gpus | lexicon.measures:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token, known=self._known())

    def ask(self) -> Ask:
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
            minimum=self.minimum,
            provision=self.provision,
        )

    def change(self) -> Change:
        """The change, once all tokens are read."""
        return Change(
            gpus=self.size.get("gpus"),
            nodes=self.size.get("nodes"),
            pods=self.size.get("pods"),
            gpus_per_pod=self.size.get("gpus_per_pod"),
            model=self.model.word if self.model else None,
            duration=self.lease,
            preemptible=self.preemptible,
            spend=self.spend,
            priority=self.priority,
            team=self.team,
            name=self.name,
            topology=self.topology,
            minimum=self.minimum,
            provision=self.provision,
        )

    def check_minimum(self) -> None:
        """Raises Wrong if the smaller start is not smaller, or counted otherwise than the size."""
        if self._least is None or not self.size:
            return
        token, unit = self._least
        counts = next(iter(self.size))
        if unit is not None and unit != counts:
            raise Wrong(Mistake.OTHER_UNIT, Expected.MINIMUM, token)
        if self.minimum is not None and self.minimum > self.size[counts]:
            raise Wrong(Mistake.PAST_SIZE, Expected.MINIMUM, token)

    def _known(self) -> tuple[str, ...]:
        lex = self.lexicon
        tables = (lex.options, lex.flags, lex.nearness, lex.provisions, lex.times, lex.units())
        words = (word for table in tables for word in sorted(table))
        return tuple(word for word in words if len(word) > (1 if is_han(word[:1]) else 3))

    def _refuse_bare_level(self, token: Token) -> None:
        value = self.lexicon.priorities[token.word].value
        options = ("priority", "spend") if token.word in self.lexicon.spends else ("priority",)
        near = tuple(f"{option} {value}" for option in options)
        if is_han(token.word[:1]):
            meant = {(Option(option), value) for option in options}
            pairs = self.lexicon.shorthands.items()
            near = tuple(word for word, pair in pairs if pair in meant and is_han(word[:1]))
        raise Wrong(Mistake.AMBIGUOUS, Expected.OPTION, token, near=near)

    def _read_negation(self, token: Token) -> None:
        after = self.cursor.take()
        if after is None or after.word not in self.lexicon.flags:
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.OPTION, token)
        self._set_preemptible(after, wanted=not self.lexicon.flags[after.word])

    def _set_preemptible(self, token: Token, *, wanted: bool) -> None:
        if self.preemptible is not None and self.preemptible is not wanted:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first="preemptible")
        self.preemptible = wanted

    def _set_provision(self, token: Token) -> None:
        if self.provision is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=self.provision.value)
        self.provision = self.lexicon.provisions[token.word]

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
        word = lexicon.levels.get(level.word, level.word)
        if level.quoted or level.user or not _LEVEL.fullmatch(word):
            known = tuple(sorted(lexicon.levels))
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.LEVEL, level, known=known)
        self.topology = Together(nearness, word)

    def _set_option(self, option: Option, token: Token, value: Token) -> None:
        if getattr(self, option.value) is not None:
            raise Wrong(Mistake.TWICE, Expected.NOTHING, token, first=option.value)
        match option:
            case Option.PRIORITY:
                self.priority = look_up(value, self.lexicon.priorities, Expected.PRIORITY)
            case Option.SPEND:
                self.spend = look_up(value, self.lexicon.spends, Expected.SPEND)
            case Option.TEAM:
                self.team = short(value, LONGEST_TEAM, Expected.TEAM)
            case Option.NAME:
                self.name = short(value, LONGEST_NAME, Expected.NAME)
            case Option.MINIMUM:
                self._set_minimum(value)

    def _set_minimum(self, value: Token) -> None:
        if not NUMBER.fullmatch(value.word):
            raise Wrong(Mistake.UNKNOWN_WORD, Expected.MINIMUM, value)
        self.minimum = whole(value, value.word, Expected.MINIMUM)
        self._skip_measures()
        after, unit = self.cursor.peek(), None
        for words, counted in (
            (self.lexicon.nodes, "nodes"),
            (self.lexicon.pods, "pods"),
            (self.lexicon.gpus, "gpus"),
        ):
            if after is not None and not after.quoted and after.word in words:
                self.cursor.take()
                unit = counted
                break
        self._least = value, unit

    def _value_of(self, token: Token, option: Option) -> Token:
        """An option's value: `team nlp`, `team=nlp`, `team: nlp`, `团队：nlp`, `name "x y"`."""
        key = _KEY.split(token.text, maxsplit=1)[0]
        inside = token.text[len(key) + 1 :]
        if inside:
            start = token.start + len(key) + 1
            return Token(inside, inside.casefold(), start, token.end)
        value = self.cursor.take()
        if value is not None and not value.quoted and value.text[:1] in set("=:＝："):
            rest = value.text[1:]
            value = (
                Token(rest, value.word[1:], value.start + 1, value.end)
                if rest
                else self.cursor.take()
            )
        if value is None or not value.text.strip():
            raise Wrong(Mistake.MISSING, Expected(option.value), value or self.cursor.end())
        if option not in {Option.TEAM, Option.NAME}:
            return value
        return whole_name(self.cursor, value, apart=value.start > token.end)
