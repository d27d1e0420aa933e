"""A place in a line of tokens, and the way a reader says that a token is wrong."""

from __future__ import annotations

from bot.chat.grammar.commands import Expected, Mistake
from bot.chat.grammar.table import Lexicon
from bot.chat.grammar.tokens import Line, Token


class Wrong(Exception):
    """A token cannot be read. Never leaves the grammar: `parse` makes a GrammarError of it.

    `known` are the words to look for a similar one in; `near` replacements known for sure.
    """

    def __init__(
        self,
        mistake: Mistake,
        expected: Expected,
        token: Token,
        *,
        known: tuple[str, ...] = (),
        near: tuple[str, ...] = (),
        first: str = "",
    ) -> None:
        super().__init__(mistake, expected, token)
        self.mistake, self.expected, self.token = mistake, expected, token
        self.known, self.near, self.first = known, near, first


class Cursor:
    """Walks a line's tokens forward."""

    def __init__(self, line: Line, lexicon: Lexicon) -> None:
        self.line, self.lexicon = line, lexicon
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

    def end(self) -> Token:
        """An empty token where the line ends, to point at what is missing."""
        place = len(self.line.text.rstrip())
        return Token("", "", place, place)
