"""A place in a line of tokens, and the way a reader says that a token is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.table import Lexicon
from bot.chat.grammar.tokens import Line, Token


class Wrong(Exception):
    """A token cannot be read. Never leaves the grammar: `parse` makes a GrammarError of it.

    `known` are the words to look for a similar one in, and `spelt` how those are written that
    are not written as they are compared; `near` are replacements known for sure.
    """

    def __init__(
        self,
        mistake: Mistake,
        expected: Expected,
        token: Token,
        *,
        known: tuple[str, ...] = (),
        spelt: Mapping[str, str] | None = None,
        near: tuple[str, ...] = (),
        first: str = "",
    ) -> None:
        super().__init__(mistake, expected, token)
        self.mistake, self.expected, self.token = mistake, expected, token
        self.known, self.near, self.first = known, near, first
        self.spelt = spelt or {}


class Cursor:
    """Walks a line's tokens forward."""

    def __init__(self, line: Line, lexicon: Lexicon) -> None:
        self.line, self.lexicon = line, lexicon
        self.rest_from: int | None = None
        self._next = 0

    def peek(self, ahead: int = 0) -> Token | None:
        """The token that comes next, without taking it."""
        place = self._next + ahead
        return self.line.tokens[place] if place < len(self.line.tokens) else None

    def take(self) -> Token | None:
        """The next token, or None at the end."""
        token = self.peek()
        self._next += token is not None
        return token

    def before(self, count: int) -> Cursor:
        """A cursor at the same place of the line's first `count` tokens."""
        tokens = self.line.tokens[:count]
        end = self.line.tokens[count].start if count < len(self.line.tokens) else None
        cut = Cursor(replace(self.line, text=self.line.text[:end], tokens=tokens), self.lexicon)
        cut._next = self._next
        return cut

    def back(self) -> None:
        """Put the token taken last back."""
        self._next -= 1

    def swap(self) -> None:
        """Let the next two tokens come in the other order."""
        tokens, place = list(self.line.tokens), self._next
        tokens[place : place + 2] = reversed(tokens[place : place + 2])
        self.line = replace(self.line, tokens=tuple(tokens))

    def rest(self) -> str:
        """All that is left, as it was written: quotes in it need not be closed."""
        token = self.peek()
        if token is None:
            return ""
        self.rest_from = token.start
        self._next = len(self.line.tokens)
        if token is self.line.tokens[-1] and token.quoted and self.line.unclosed is None:
            return token.text.strip()
        return self.line.text[token.start :].strip()

    def end(self) -> Token:
        """An empty token where the line ends, to point at what is missing."""
        place = len(self.line.text.rstrip())
        return Token("", "", place, place)
