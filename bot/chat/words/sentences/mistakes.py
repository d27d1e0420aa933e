"""What was wrong, where, and an example that is right: for typing errors and for refusals."""

from __future__ import annotations

from typing import Protocol

from bot.chat.grammar import GrammarError
from bot.chat.markup import Markup
from bot.views import Refused


class Mistakes(Protocol):
    """Answers to what cannot be done; each says that nothing was done."""

    def mistake(self, wrong: GrammarError) -> Markup:
        """The error of a line in one or two sentences."""
        ...

    def caret(self, wrong: GrammarError) -> Markup:
        """The line with carets under the token, as a code block."""
        ...

    def did_you_mean(self, wrong: GrammarError, command: str) -> Markup:
        """The nearest words, if any, and a line that works."""
        ...

    def nothing_done(self) -> Markup:
        """Closes every refusal."""
        ...

    def refused(self, refused: Refused) -> Markup:
        """Why the desk did not do it, with the numbers and what would do."""
        ...

    def unexpected(self, error_id: str) -> Markup:
        """Something broke on our side."""
        ...

    def not_ready(self) -> Markup:
        """The engine is still being built."""
        ...

    def old_button(self) -> Markup:
        """A button whose value is not, or no longer, understood."""
        ...
