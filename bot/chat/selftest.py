"""The self test: a line of the bot's own in Slack, changed in place, whose event comes back.

It is posted once and then only edited, which notifies nobody and marks nothing unread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from bot.chat.message import Lines, Message, build
from bot.chat.ports import Posted, SlackRefused, SlackUnreachable
from bot.chat.voice import Voice

KEY = "selftest"
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})

_log = logging.getLogger("gpubot.chat.selftest")


class Mark(Protocol):
    """Remembers where the line is."""

    def read(self) -> Posted | None:
        """Its place, if it was posted."""
        ...

    def write(self, posted: Posted) -> None:
        """Keep its place."""
        ...


class Page(Protocol):
    """The two calls of Slack that it takes."""

    def post(self, channel: str, message: Message, *, keys: Sequence[str]) -> Posted:
        """Post a message. Raises SlackRefused and SlackUnreachable."""
        ...

    def update(self, channel: str, ts: str, message: Message, *, keys: Sequence[str]) -> Posted:
        """Change it in place. Raises the same."""
        ...


class SelfTest:
    """Makes an event by changing the line. `now` gives epoch seconds."""

    def __init__(
        self, slack: Page, mark: Mark, *, channel: str, voice: Voice, now: Callable[[], float]
    ) -> None:
        self._slack, self._mark, self._channel = slack, mark, channel
        self._voice, self._now = voice, now

    def run(self) -> bool:
        """Whether Slack took the change, so that an event has to come."""
        message = build([Lines(self._voice.words.listening(self._now()))])
        try:
            self._say(message)
        except (SlackRefused, SlackUnreachable) as error:
            _log.warning("the self test could not be sent: %s", error)
            return False
        return True

    def _say(self, message: Message) -> None:
        before = self._mark.read()
        if before is not None and before.channel == self._channel:
            try:
                self._slack.update(before.channel, before.ts, message, keys=[KEY])
            except SlackRefused as refused:
                if refused.code not in _GONE:
                    raise
            else:
                return
        self._mark.write(self._slack.post(self._channel, message, keys=[KEY]))
