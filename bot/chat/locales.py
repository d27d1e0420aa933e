"""The locale of people's Slack, asked for once and then seldom: `users.info` is rate limited."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.chat.discreet import discreet_logger

FRESH = 12 * 3600.0
"""Seconds for which an answer is good: few people change the language of their Slack."""
RETRY = 300.0
"""Seconds until Slack is asked again after it did not answer, or did not know the person."""


class Locales:
    """A cache of what Slack says. Safe to call from any thread; never raises.

    What is old stays in use while Slack cannot be asked. Two threads that ask about one
    person at the same time may both ask Slack, which does no harm.
    """

    def __init__(self, client: WebClient, *, now: Callable[[], float] = time.monotonic) -> None:
        self._client, self._now = client, now
        self._known: dict[str, tuple[str | None, float]] = {}
        self._lock = threading.Lock()
        self._log: logging.Logger = discreet_logger("gpubot.chat.locales")

    def of(self, person: str) -> str | None:
        """The locale, such as `zh-CN`; None while it is not known."""
        with self._lock:
            locale, good_until = self._known.get(person, (None, 0.0))
        if self._now() < good_until:
            return locale
        try:
            answer = self._client.users_info(user=person, include_locale=True)
            fresh = str((answer.get("user") or {}).get("locale") or "") or None
            entry = (fresh, self._now() + FRESH)
        except (SlackApiError, SlackClientError, OSError) as error:
            self._log.info("the locale of a person is not known: %s", error)
            entry = (locale, self._now() + RETRY)
        with self._lock:
            self._known[person] = entry
        return entry[0]
