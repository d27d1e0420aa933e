"""In which language to speak to whom: their own choice, then that of their Slack."""

from __future__ import annotations

from collections.abc import Callable

from bot.chat.voice import Voice

Language = Callable[[str], str | None]
"""The language or locale of a person by Slack id, if it is known: `zh`, `en-US`."""


def _unknown(person: str) -> None:
    del person


class Voices:
    """The voice of the channel, and from it one for each person. Safe to call from any thread.

    `chosen` is what a person set, `locale` that of their Slack. Who has neither is spoken to
    in the language of the channel.
    """

    def __init__(
        self, voice: Voice, *, chosen: Language = _unknown, locale: Language = _unknown
    ) -> None:
        self.channel = voice
        self._chosen, self._locale = chosen, locale

    def of(self, person: str) -> Voice:
        """The voice for what only this person reads."""
        language = self._chosen(person) or self._locale(person)
        return self.channel if language is None else self.channel.within(language)
